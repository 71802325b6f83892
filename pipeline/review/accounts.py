"""Accounts, passwords, sessions and tokens: who somebody is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pipeline.store import Store
from pipeline.types import Account, Role

__all__ = ["Accounts"]


class Accounts:
    """The accounts of one store; any number of threads may use it.

    Passwords are kept as Argon2id hashes, session keys and API tokens as SHA-256 hashes.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] | None = None) -> None:
        """Read what the store knows."""
        raise NotImplementedError

    def list(self) -> list[Account]:
        """Return every account, by name, those that are not active included."""
        raise NotImplementedError

    def find(self, name: str) -> Account | None:
        """Return the active account with that name, or None."""
        raise NotImplementedError

    def create(self, account: Account, password: str | None = None) -> Account:
        """Keep a new account.

        Raises:
            DeskError: ``invalid`` if the name is taken or the password too short (12 characters) or long.
        """
        raise NotImplementedError

    def change(self, lead: Account, account: Account) -> None:
        """Keep `account` in place of the one with its name; the last active lead stays one.

        Raises:
            DeskError: ``unknown``; ``forbidden``; ``invalid``.
        """
        raise NotImplementedError

    def set_password(self, name: str, password: str) -> None:
        """Give an account a new password and end its sessions.

        Raises:
            DeskError: ``unknown``; ``invalid``.
        """
        raise NotImplementedError

    def log_in(self, name: str, password: str, *, address: str) -> str | None:
        """Return a new session's key, or None: a wrong name takes as long as a wrong password.

        Raises:
            DeskError: ``forbidden`` while too many attempts failed, for this name or from this address.
        """
        raise NotImplementedError

    def find_session(self, key: str) -> Account | None:
        """Return whose session it is, or None; one that was not used for too long has ended."""
        raise NotImplementedError

    def log_out(self, key: str) -> None:
        """End a session; ending it again is harmless."""
        raise NotImplementedError

    def issue_token(self, account: Account, label: str) -> str:
        """Return a new API token for `account`; it is shown this once."""
        raise NotImplementedError

    def find_token(self, token: str) -> Account | None:
        """Return whose token it is, or None."""
        raise NotImplementedError

    def revoke_token(self, account: Account, sha256: str) -> None:
        """Make a token worthless; leads may do it with anybody's."""
        raise NotImplementedError

    def ensure(self, name: str, role: Role = Role.REVIEWER) -> Account | None:
        """Return the account that a trusted proxy names; None if it is unknown or not active."""
        raise NotImplementedError
