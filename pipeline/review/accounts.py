"""Accounts, passwords, sessions and tokens: who somebody is."""

from __future__ import annotations

import builtins
import re
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import ValidationError

from pipeline.review.attempts import Attempts
from pipeline.review.errors import DeskError
from pipeline.review.passwords import Passwords
from pipeline.review.permissions import Permission, may
from pipeline.review.sessions import Sessions, hash_secret
from pipeline.store import Store
from pipeline.types import Account, Role, Token

__all__ = ["Accounts"]

#: What people may change of their own account.
_OWN: Final = frozenset({"display", "hours_tonight", "conflicts"})

#: How old accounts and tokens in memory may be: the command line changes them in another process.
_FRESH: Final = timedelta(seconds=3)

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")


class Accounts:
    """The accounts of one store; any number of threads may use it.

    Passwords are kept as Argon2id hashes, session keys and API tokens as SHA-256 hashes.
    """

    def __init__(
        self,
        store: Store,
        *,
        session_hours: float = 12.0,
        passwords: Passwords | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Read what the store knows.

        Args:
            store: Where everything is kept.
            session_hours: How long somebody stays logged in without doing anything.
            passwords: Hashes them; default: at a cost that makes guessing dear.
            clock: Tells the time (UTC); for tests.
        """
        self._records = store.desk
        self._sessions = Sessions(store.desk, timedelta(hours=session_hours))
        self._clock = clock or (lambda: datetime.now(UTC))
        self._passwords = passwords or Passwords()
        self._attempts = Attempts()
        self._lock = threading.RLock()
        self._accounts: dict[str, Account] = {}
        self._tokens: dict[str, Token] = {}
        self._loaded_at: datetime | None = None
        self._load()

    def list(self) -> builtins.list[Account]:
        """Return every account, by name, those that are not active included."""
        with self._lock:
            self._load()
            return sorted(self._accounts.values(), key=lambda account: account.name)

    def find(self, name: str) -> Account | None:
        """Return the active account with that name, or None."""
        with self._lock:
            self._load()
            account = self._accounts.get(name)
        return account if account is not None and account.active else None

    def create(self, account: Account, password: str | None = None) -> Account:
        """Keep a new account.

        Raises:
            DeskError: ``invalid`` if the name is taken or the password too short (12 characters) or long.
        """
        hashed = "" if password is None else self._passwords.hash(password)
        account = account.model_copy(update={"password": hashed})
        with self._lock:
            self._load(now=True)
            if account.name in self._accounts:
                raise DeskError(
                    "invalid", f"the name {account.name!r} is taken", "choose another, or change that account"
                )
            self._keep(account)
        return account

    def change(self, lead: Account, account: Account) -> None:
        """Keep `account` in place of the one with its name; the last active lead stays one.

        Its password stays as it is. People who are no leads may change what others see of themselves: their
        display name, their hours tonight and their conflicts.

        Raises:
            DeskError: ``unknown``; ``forbidden``; ``invalid``.
        """
        with self._lock:
            self._load(now=True)
            before = self._known(account.name)
            account = account.model_copy(update={"password": before.password})
            changed = {
                name for name in Account.model_fields if getattr(before, name) != getattr(account, name)
            }
            if not may(lead.role, Permission.MANAGE) and (lead.name != account.name or not changed <= _OWN):
                raise DeskError(
                    "forbidden",
                    "only a lead changes accounts",
                    "ask a lead; your own display name, hours and conflicts you may change",
                )
            if _leads(before) and not _leads(account) and sum(map(_leads, self._accounts.values())) == 1:
                raise DeskError(
                    "invalid", f"{account.name} is the last active lead", "make somebody else a lead first"
                )
            if changed:
                self._keep(account)

    def set_password(self, name: str, password: str) -> None:
        """Give an account a new password and end its sessions.

        Raises:
            DeskError: ``unknown``; ``invalid``.
        """
        self._known(name)
        hashed = self._passwords.hash(password)
        with self._lock:
            self._load(now=True)
            self._keep(self._known(name).model_copy(update={"password": hashed}))

    def change_password(self, account: Account, current: str, password: str, *, address: str) -> str | None:
        """Give oneself a new password and return a new session's key, for all others end.

        None is returned if `current` is wrong.

        Raises:
            DeskError: ``forbidden`` as `log_in`; ``invalid``.
        """
        if self._identify(account.name, current, address) is None:
            return None
        self.set_password(account.name, password)
        return self._sessions.start(self._known(account.name), self._clock())

    # Sessions

    def log_in(self, name: str, password: str, *, address: str) -> str | None:
        """Return a new session's key, or None: a wrong name takes as long as a wrong password.

        Raises:
            DeskError: ``forbidden`` while too many attempts failed: for this name from this address or, where
                it never succeeded from there, for this name or from this address alone.
        """
        account = self._identify(name, password, address)
        return self._sessions.start(account, self._clock()) if account is not None else None

    def _identify(self, name: str, password: str, address: str) -> Account | None:
        now = self._clock()
        name = name.strip().lower()
        # A name that nobody can have is not worth remembering, and may be as long as a request.
        counted = name if _NAME.fullmatch(name) else "?"
        self._attempts.begin(counted, address, now)
        account = self.find(name)
        if not self._passwords.verify(account.password if account else "", password) or account is None:
            return None
        self._attempts.succeed(counted, address, now)
        return account

    def find_session(self, key: str) -> Account | None:
        """Return whose session it is, or None; one that was not used for too long has ended."""
        session = self._sessions.find(key, self._clock())
        account = self.find(session.account) if session else None
        if session is None or account is None or hash_secret(account.password) != session.password:
            return None
        return account

    def log_out(self, key: str) -> None:
        """End a session; ending it again is harmless."""
        self._sessions.end(key)

    # Tokens

    def issue_token(self, account: Account, label: str) -> str:
        """Return a new API token for `account`; it is shown this once.

        Raises:
            DeskError: ``unknown``; ``invalid`` if the label is empty or too long.
        """
        if self.find(account.name) is None:
            raise _unknown(account.name)
        label = label.strip()
        if not label:
            raise DeskError("invalid", "a token needs a label", "say what it is for")
        token = "nkg_" + secrets.token_urlsafe(32)
        try:
            record = Token(
                sha256=hash_secret(token), account=account.name, label=label, issued_at=self._clock()
            )
        except ValidationError:
            raise DeskError(
                "invalid", f"a label has at most 100 characters, this one has {len(label)}", "shorten it"
            ) from None
        with self._lock:
            self._records.save_record("token", record.sha256, record)
            self._tokens[record.sha256] = record
        return token

    def find_token(self, token: str) -> Account | None:
        """Return whose token it is, or None."""
        hashed = hash_secret(token)
        with self._lock:
            self._load()
            record = self._tokens.get(hashed)
        return None if record is None or record.revoked else self.find(record.account)

    def list_tokens(self, account: Account) -> builtins.list[Token]:
        """Return the tokens of `account`, oldest first, those that were revoked included."""
        with self._lock:
            self._load()
            mine = [token for token in self._tokens.values() if token.account == account.name]
        return sorted(mine, key=lambda token: (token.issued_at, token.sha256))

    def revoke_token(self, account: Account, sha256: str) -> None:
        """Make a token worthless; leads may do it with anybody's.

        Raises:
            DeskError: ``unknown``, also for another's: whether it exists is not for them to know.
        """
        with self._lock:
            self._load(now=True)
            token = self._tokens.get(sha256)
            if token is None or not (token.account == account.name or may(account.role, Permission.MANAGE)):
                raise DeskError("unknown", "there is no such token of yours", "choose one from the list")
            if not token.revoked:
                token = token.model_copy(update={"revoked": True})
                self._records.save_record("token", sha256, token)
                self._tokens[sha256] = token

    # What is kept in memory

    def _load(self, *, now: bool = False) -> None:
        """Read accounts and tokens again if they may have changed; with `now` in any case."""
        with self._lock:
            time = self._clock()
            # A clock that goes back makes nothing fresh.
            if not now and self._loaded_at is not None and abs(time - self._loaded_at) < _FRESH:
                return
            self._accounts = {
                account.name: account for account in self._records.list_records("account", Account)
            }
            self._tokens = {token.sha256: token for token in self._records.list_records("token", Token)}
            self._loaded_at = time

    def _keep(self, account: Account) -> None:
        self._records.save_record("account", account.name, account)
        self._accounts[account.name] = account

    def _known(self, name: str) -> Account:
        with self._lock:
            self._load()
            account = self._accounts.get(name)
        if account is None:
            raise _unknown(name)
        return account


def _leads(account: Account) -> bool:
    return account.active and account.role is Role.LEAD


def _unknown(name: str) -> DeskError:
    return DeskError("unknown", f"there is no account {name!r}", "choose one from the list of accounts")
