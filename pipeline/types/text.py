"""Text that others wrote, as a field of ours takes it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator

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


def _join(value: Any) -> Any:
    # Before pydantic looks: it takes no text with a lone surrogate.
    return join_lines(value) if isinstance(value, str) else value


OneLine = Annotated[str, BeforeValidator(_join)]
"""A message: whatever is put into it, a table, a log and a terminal get one bounded line."""
