"""Answers to a schema, always the same to the same request, and ways to spoil them."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["find_schema", "spoil", "write_answer"]

_CODE_LINE = re.compile(r"^ *(\d+) \| (.*\S.*)$", re.MULTILINE)
_FACT_ROW = re.compile(r"^\| *`?([a-z][\w.]*\.[\w.]+)`? *\| *`?([^|`]+?)`? *\|", re.MULTILINE)
_IN_PROMPT = re.compile(r"JSON Schema, and nothing else:\n(\{.*)", re.DOTALL)

#: At least three words, no number, no name: nothing that a check of citations would have to look up.
_SENTENCE = "This is what the cited place shows"


def write_answer(schema: dict[str, Any], prompt: str) -> str:
    """Return a valid answer to `schema` that cites what `prompt` shows."""
    return json.dumps(_Writer(prompt).write(schema, "answer"), ensure_ascii=False)


def find_schema(prompt: str) -> dict[str, Any] | None:
    """Return the schema that stands in a prompt, as servers get it that take none."""
    found = _IN_PROMPT.search(prompt)
    return json.JSONDecoder().raw_decode(found.group(1))[0] if found else None


class _Writer:
    def __init__(self, prompt: str) -> None:
        self._line = _CODE_LINE.search(prompt)
        self._fact = _FACT_ROW.search(prompt)

    def write(self, schema: dict[str, Any], name: str) -> Any:
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self.write(self._choose(schema[choice]), name)
        if "enum" in schema:
            options = schema["enum"]
            return 2 if 2 in options and name == "level" else options[0]
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type")
        if kind == "object":
            return self._write_object(schema.get("properties", {}))
        if kind == "array":
            return self._write_array(schema.get("items", {"type": "string"}))
        if kind in ("integer", "number"):
            return 0.8 if kind == "number" else 2
        return {"boolean": True, "null": None}.get(str(kind), f"{_SENTENCE}.")

    def _choose(self, options: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = "quote" if self._line else "fact"
        for option in options:
            if wanted in option.get("properties", {}):
                return option
        return next((option for option in options if option.get("type") != "null"), options[0])

    def _write_object(self, properties: dict[str, Any]) -> dict[str, Any]:
        if "quote" in properties and self._line:
            number = int(self._line.group(1))
            known: dict[str, Any] = {
                "first_line": number,
                "last_line": number,
                "quote": self._line.group(2).strip(),
            }
        elif "fact" in properties and self._fact:
            known = {"fact": self._fact.group(1), "value": self._fact.group(2).strip()}
        else:
            known = {}
        return {name: known.get(name, self.write(inner, name)) for name, inner in properties.items()}

    def _write_array(self, items: dict[str, Any]) -> list[Any]:
        parts = items.get("properties", {}).get("part", {}).get("enum")
        if parts:
            return [self.write(items, "item") | {"part": part} for part in parts]
        return [self.write(items, "item")]


def spoil(answer: str, how: str) -> str:
    """Return `answer` as a model would write it that gets it wrong in one way."""
    if how == "fence":
        return f"```json\n{answer}\n```"
    if how == "prose":
        return f"Here is my judgment, as you asked: {answer} I hope that it helps."
    if how == "blank":
        return ""
    given = json.loads(answer)
    scores = given["scores"]
    first = next(iter(scores))
    if how == "missing":
        del scores[first]
    elif how == "extra":
        scores["nobody_asked"] = scores[first]
    elif how == "range":
        scores[first]["level"] = 17
    elif how == "duplicate":
        entry = f"{json.dumps(first)}: {json.dumps(scores[first])}"
        return json.dumps(given).replace('"scores": {', '"scores": {' + entry + ", ", 1)
    return json.dumps(given)
