"""Text that others wrote, as a field of ours takes it."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator

__all__ = ["OneLine", "join_lines"]

_MAX_CHARACTERS: Final = 2000


def join_lines(text: str) -> str:
    """Return `text` as one line of at most 2000 characters that every encoding takes.

    Any run of white space becomes one space, and a lone surrogate a question mark.
    """
    if len(text) > _MAX_CHARACTERS:
        # Cut first: the text may be the megabytes of a hostile exception.
        text = text[: _MAX_CHARACTERS - 2] + " …"
    return " ".join(text.split()).encode("utf-8", "replace").decode()


OneLine = Annotated[str, AfterValidator(join_lines)]
"""A message: whatever is put into it, a table, a log and a terminal get one bounded line."""
