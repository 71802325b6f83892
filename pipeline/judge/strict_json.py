"""JSON as strictly as a grade needs it: finite numbers, unique keys, and text that every encoding takes.

Python's decoder keeps the last of two equal keys, reads NaN, and passes on half of a surrogate pair. Each of
these would let an answer say two things, or break whoever stores it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

__all__ = ["JsonError", "parse_json"]

_FENCED: Final = re.compile(r"```(?:json|JSON)?[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
#: Digits of the largest integer that a database column takes.
_DIGITS: Final = 19


class JsonError(Exception):
    """Text that is no JSON in this sense.

    Attributes:
        code: ``empty_answer``, ``not_json``, ``duplicate_key``, ``not_a_number`` or ``not_text``.
        problem: One line that goes on from "the answer"; it repeats nothing of the text.
    """

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


def parse_json(text: str) -> Any:
    """Return the value of `text`, around which white space and one Markdown fence are forgiven.

    Raises:
        JsonError: If `text` is anything else.
    """
    body = text.strip()
    if not body:
        raise JsonError("empty_answer", "is empty")
    fenced = _FENCED.fullmatch(body)
    try:
        return json.loads(
            fenced[1] if fenced else body,
            object_pairs_hook=_read_object,
            parse_constant=_refuse_constant,
            parse_float=_read_float,
            parse_int=_read_int,
            # A line break within a string: llama.cpp's grammar lets models write it, and nobody misreads it.
            strict=False,
        )
    except json.JSONDecodeError as error:
        # The decoder names what it expected and where, never what stands there.
        raise JsonError(
            "not_json", f"is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise JsonError("not_json", "is nested too deeply") from None


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonError("duplicate_key", "has the same key twice in one object")
    for value in found.values():
        if isinstance(value, str) and _SURROGATE.search(value):
            raise JsonError("not_text", "holds half of a surrogate pair")
    return found


def _refuse_constant(name: str) -> Any:
    raise JsonError("not_a_number", f"holds {name}, which is no number in JSON")


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonError("not_a_number", "holds a number that is too large")
    return value


def _read_int(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise JsonError("not_a_number", "holds a number that is too large")
    return int(text)
