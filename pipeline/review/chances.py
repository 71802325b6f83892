"""Chance that can be asked again: drawn from a secret and a name, it falls the same way for ever."""

from __future__ import annotations

import secrets
from typing import Final

from pipeline.store import Store
from pipeline.types import Frozen, hash_text

__all__ = ["Secret", "chance_of", "load_secret"]

_DIGITS: Final = 13
"""Hexadecimal digits that a float holds exactly."""


class Secret(Frozen):
    """What nobody outside can guess; kept in the store, so that what follows from it stays."""

    value: str


def load_secret(store: Store, name: str = "desk") -> str:
    """Return the secret of that name in hexadecimal digits, made when it is first needed."""
    known = store.desk.find_record("secret", name, Secret)
    if known is None:
        store.desk.save_record("secret", name, Secret(value=secrets.token_hex(32)))
        known = store.desk.find_record("secret", name, Secret)
        assert known is not None
    return known.value


def chance_of(secret: str, *names: object) -> float:
    """Return a number in 0..1, without 1, that `names` always get; uniform over names."""
    return int(hash_text(secret, *names)[:_DIGITS], 16) / 16**_DIGITS
