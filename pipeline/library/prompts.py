"""Prompts: Markdown with placeholders, and only as published."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.library.errors import LibraryError
from pipeline.library.lock import read_locked
from pipeline.library.roots import prompts_root
from pipeline.types import Fault, Owner, Prompt

__all__ = ["load_prompt", "parse_prompt"]

_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z_]*)\}\}")


def load_prompt(id: str = "judge", version: str | None = None, *, root: Path | None = None) -> Prompt:
    """Return a published prompt, the newest version unless one is named.

    Raises:
        LibraryError: If it is unknown, was edited after publication, or has a malformed placeholder.
    """
    version, text, path = read_locked(root or prompts_root(), id, version, ".md")
    return parse_prompt(text, id=id, version=version, where="/".join(path.parts[-3:]))


def parse_prompt(text: str, *, id: str, version: str, where: str) -> Prompt:
    """Return the prompt that `text` spells; its placeholders are listed in order of first use.

    Raises:
        LibraryError: If the text is empty, or holds braces that are no placeholder.
    """
    if not text.strip():
        raise _refuse(where, "is empty", "write the prompt")
    rest = _PLACEHOLDER.sub("", text)
    if "{{" in rest or "}}" in rest:
        line = next(
            number
            for number, line in enumerate(text.split("\n"), start=1)
            if "{{" in _PLACEHOLDER.sub("", line) or "}}" in _PLACEHOLDER.sub("", line)
        )
        raise _refuse(f"{where}:{line}", "has braces that are no placeholder", "write {{lower_case_name}}")
    placeholders = tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
    return Prompt(id=id, version=version, text=text, placeholders=placeholders)


def _refuse(where: str, message: str, remedy: str) -> LibraryError:
    return LibraryError(
        Fault(owner=Owner.GRADER, code="invalid_prompt", message=message, where=where, remedy=remedy)
    )
