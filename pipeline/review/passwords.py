"""Passwords: what one must be like, and its Argon2id hash."""

from __future__ import annotations

import functools
import secrets
import threading
import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.review.errors import DeskError

__all__ = ["LONGEST", "SHORTEST", "hash_password", "verify_password"]

#: Characters of a password.
SHORTEST: Final = 12
LONGEST: Final = 1024

_HASHER: Final = PasswordHasher()

#: Each hash takes 64 MiB: a flood of logins must not take all memory.
_SLOTS: Final = threading.BoundedSemaphore(4)


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a new password.

    Raises:
        DeskError: ``invalid`` if it is too short, too long or no text.
    """
    data = _encode(password)
    if data is None:
        raise DeskError(
            "invalid", "the password holds characters that are no text", "choose one that can be typed"
        )
    length = len(password)
    if not SHORTEST <= length <= LONGEST:
        raise DeskError(
            "invalid",
            f"a password has {SHORTEST} to {LONGEST} characters, this one has {length}",
            "choose one of that length, such as four words that have nothing to do with each other",
        )
    with _SLOTS:
        return _HASHER.hash(data)


def verify_password(known: str, password: str) -> bool:
    """Return whether `password` is the one hashed as `known`; without a hash it takes as long and is not."""
    data = _encode(password)
    with _SLOTS:
        try:
            matches = _HASHER.verify(known or _hash_of_nobody(), (data or b"")[: 4 * LONGEST])
        except (VerificationError, InvalidHashError):
            return False
    return matches and bool(known) and data is not None


def _encode(password: str) -> bytes | None:
    """Return the bytes of a password, the same whichever keyboard composed its letters."""
    try:
        return unicodedata.normalize("NFKC", password).encode()
    except UnicodeEncodeError:
        return None


@functools.cache
def _hash_of_nobody() -> str:
    return _HASHER.hash(secrets.token_bytes(32))
