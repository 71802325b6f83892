"""Holding what people send to what the desk keeps, before anything is done with it."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from pydantic import ValidationError

from pipeline.review.errors import DeskError
from pipeline.types import Frozen

__all__ = ["make", "require_keepable"]

Model = TypeVar("Model", bound=Frozen)

#: Characters of JSON that one thing said may have: far more than anybody writes.
_LONGEST: Final = 1_000_000


def make(kind: type[Model], **values: Any) -> Model:
    """Return a value of `kind` made of what somebody sent.

    Raises:
        DeskError: ``invalid`` if it is out of bounds.
    """
    try:
        made = kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DeskError("invalid", f"{where}: {first['msg']}", "correct it and send it again") from None
    require_keepable(made)
    return made


def require_keepable(said: Frozen) -> None:
    """Refuse what no database takes.

    Raises:
        DeskError: ``invalid``.
    """
    try:
        length = len(said.model_dump_json())
    except ValueError:
        raise DeskError(
            "invalid", "a text holds half a character, which nothing can show", "type it again"
        ) from None
    if length > _LONGEST:
        raise DeskError(
            "invalid",
            f"this has {length:,} characters; at most {_LONGEST:,} are kept",
            "shorten comments and feedback",
        )
