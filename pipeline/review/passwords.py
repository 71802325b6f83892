"""Passwords: what one must be like, and its Argon2id hash."""

from __future__ import annotations

import secrets
import threading
import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.review.errors import DeskError

__all__ = ["LONGEST", "SHORTEST", "Passwords"]

#: Characters of a password.
SHORTEST: Final = 12
LONGEST: Final = 1024

#: Each hash takes 64 MiB: a flood of logins must not take all memory.
_SLOTS: Final = threading.BoundedSemaphore(4)


class Passwords:
    """Makes and checks hashes; any number of threads may use it."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        """Hash at the cost of `hasher`; default: RFC 9106 for little memory. Tests have a cheaper one."""
        self._hasher = hasher or PasswordHasher()
        self._lock = threading.Lock()
        self._nobody = ""

    def hash(self, password: str) -> str:
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
            return self._hasher.hash(data)

    def verify(self, known: str, password: str) -> bool:
        """Return whether `known` is the hash of `password`; none is of any, and says so as late."""
        data = _encode(password)
        with _SLOTS:
            try:
                matches = self._hasher.verify(known or self._hash_nobody(), (data or b"")[: 4 * LONGEST])
            except (VerificationError, InvalidHashError):
                return False
        return matches and bool(known) and data is not None

    def _hash_nobody(self) -> str:
        with self._lock:
            self._nobody = self._nobody or self._hasher.hash(secrets.token_bytes(32))
            return self._nobody


def _encode(password: str) -> bytes | None:
    """Return the bytes of a password, the same whichever keyboard composed its letters."""
    try:
        return unicodedata.normalize("NFKC", password).encode()
    except UnicodeEncodeError:
        return None
