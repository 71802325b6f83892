"""Sessions: that somebody is logged in, in one browser, until they log out or do nothing for too long."""

from __future__ import annotations

import hashlib
import secrets
import threading
from datetime import datetime, timedelta
from typing import Final

from pipeline.store.desk import DeskRecords
from pipeline.types import Account, Frozen

__all__ = ["Sessions", "hash_secret"]

#: Part of a session's length after which the store hears again that it is in use: not with every request.
_NOTE_EVERY: Final = 1 / 50


class Session(Frozen):
    """One session; kept under the hash of its key, which nobody can read back."""

    account: str
    password: str
    """Hash of the password's hash: a new password ends every session, whoever sets it."""
    seen_at: datetime
    ended: bool = False


class Sessions:
    """The sessions of one store: in memory, where a lookup costs nothing, and in the store for a restart."""

    def __init__(self, records: DeskRecords, length: timedelta) -> None:
        """Keep sessions in `records`; one that is not used for `length` has ended."""
        self._records = records
        self._length = length
        self._lock = threading.Lock()
        self._known: dict[str, Session] = {}
        self._seen: dict[str, datetime] = {}

    def start(self, account: Account, now: datetime) -> str:
        """Return the key of a new session of `account`."""
        key = secrets.token_urlsafe(32)
        hashed = hash_secret(key)
        session = Session(account=account.name, password=hash_secret(account.password), seen_at=now)
        self._records.save_record("session", hashed, session)
        with self._lock:
            self._forget_ended(now)
            self._known[hashed] = session
            self._seen[hashed] = now
        return key

    def find(self, key: str, now: datetime) -> Session | None:
        """Return the session, which is in use from now on, or None if it has ended or never was."""
        hashed = hash_secret(key)
        with self._lock:
            session = self._known.get(hashed)
        session = session or self._records.find_record("session", hashed, Session)
        if session is None:
            return None
        with self._lock:
            # It may have been ended meanwhile.
            session = self._known.setdefault(hashed, session)
            if not self._is_alive(hashed, session, now):
                if now < session.seen_at:
                    # Or it would be alive again once the clock comes by.
                    self._end(hashed, session)
                return None
            self._seen[hashed] = now
            if abs(now - session.seen_at) > self._length * _NOTE_EVERY:
                session = self._known[hashed] = session.model_copy(update={"seen_at": now})
                self._records.save_record("session", hashed, session, wait=False)
        return session

    def end(self, key: str) -> None:
        """End a session; ending it again is harmless."""
        hashed = hash_secret(key)
        with self._lock:
            session = self._known.get(hashed) or self._records.find_record("session", hashed, Session)
            if session is not None:
                self._end(hashed, session)

    def _end(self, hashed: str, session: Session) -> None:
        if not session.ended:
            session = self._known[hashed] = session.model_copy(update={"ended": True})
            self._records.save_record("session", hashed, session)

    def _is_alive(self, hashed: str, session: Session, now: datetime) -> bool:
        # A clock that went back leaves times in the future. Near ones are taken for now, since people are at
        # work; by the others a session would have no end.
        return not session.ended and abs(now - self._seen.get(hashed, session.seen_at)) < self._length

    def _forget_ended(self, now: datetime) -> None:
        for hashed in [key for key, session in self._known.items() if not self._is_alive(key, session, now)]:
            del self._known[hashed]
            self._seen.pop(hashed, None)


def hash_secret(secret: str) -> str:
    """Return what is kept of a session's key or a token: 256 random bits need no salt."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
