"""Saved comments: remarks that are made again and again, one's own and everybody's."""

from __future__ import annotations

import builtins
import threading
import uuid
from typing import Final

from pydantic import ValidationError

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.store import Store
from pipeline.types import Account, SavedComment

__all__ = ["MOST", "SavedComments"]

#: Comments that one person, or everybody together, may keep.
MOST: Final = 1000


class SavedComments:
    """The saved comments of one store; any number of threads may use it.

    People see their own and those that are everybody's. They change and delete their own, and leads what is
    everybody's. Older versions, and what was deleted, stay in the store.
    """

    def __init__(self, store: Store) -> None:
        """Keep comments in `store`."""
        self._records = store.desk
        self._lock = threading.Lock()

    def list(self, account: Account) -> builtins.list[SavedComment]:
        """Return what `account` may use: their own first, then everybody's, each by use."""
        return sorted(
            self._seen_by(account), key=lambda comment: (not comment.owner, -comment.uses, comment.text)
        )

    def suggest(self, account: Account, task_id: str, limit: int = 20) -> builtins.list[SavedComment]:
        """Return the comments most likely wanted while reviewing a submission to `task_id`.

        Those of the task come first, then those of no task, then others; among these the most used.
        """

        def rank(comment: SavedComment) -> tuple[int, int, bool, str]:
            distance = 0 if comment.task_id == task_id else 1 if not comment.task_id else 2
            return distance, -comment.uses, not comment.owner, comment.text

        return sorted(self._seen_by(account), key=rank)[:limit]

    def save(
        self,
        account: Account,
        text: str,
        *,
        task_id: str = "",
        shared: bool = False,
        comment_id: str | None = None,
    ) -> SavedComment:
        """Keep a comment; one with the same words for the same task is there already and returned.

        Args:
            account: Who saves it.
            text: What it says.
            task_id: Task that it is about; empty for any.
            shared: Whether it is everybody's.
            comment_id: Of the comment that it replaces; None for a new one.

        Raises:
            DeskError: ``invalid``; ``forbidden`` for those without reviews; ``unknown`` if there is no such
                comment of theirs to replace.
        """
        if not may(account.role, Permission.REVIEW):
            raise DeskError(
                "forbidden", "only people who review save comments", "ask a lead for another role"
            )
        text = text.strip()
        if not text:
            raise DeskError("invalid", "a saved comment needs words", "write what it should say")
        owner = "" if shared else account.name
        with self._lock:
            known = self._records.list_records("saved_comment", SavedComment)
            replaced = None if comment_id is None else _pick(known, account, comment_id)
            siblings = [comment for comment in known if comment.text and comment.owner == owner]
            for comment in siblings:
                if (comment.text, comment.task_id) == (text, task_id) and comment.id != comment_id:
                    if replaced is not None:
                        self._keep(replaced.model_copy(update={"text": ""}))
                    return comment
            if len(siblings) >= MOST and (replaced is None or replaced.owner != owner):
                raise DeskError(
                    "invalid", f"{MOST} comments are saved already", "delete some that nobody uses"
                )
            try:
                comment = SavedComment(
                    id=replaced.id if replaced else "c-" + uuid.uuid4().hex[:16],
                    owner=owner,
                    text=text,
                    task_id=task_id,
                    uses=replaced.uses if replaced else 0,
                )
            except ValidationError:
                raise DeskError(
                    "invalid",
                    f"a saved comment has at most 4,000 characters of text, this one has {len(text):,}",
                    "shorten it",
                ) from None
            self._keep(comment)
        return comment

    def delete(self, account: Account, comment_id: str) -> None:
        """Offer a comment no longer; deleting it again is harmless.

        Raises:
            DeskError: ``unknown`` if there is no such comment of theirs to delete; ``forbidden`` for those
                who are no leads, if it is everybody's.
        """
        with self._lock:
            known = self._records.list_records("saved_comment", SavedComment)
            comment = _pick(known, account, comment_id)
            if comment.text:
                self._keep(comment.model_copy(update={"text": ""}))

    def use(self, account: Account, comment_id: str) -> SavedComment:
        """Return a comment that is put into an assessment, and count that.

        Raises:
            DeskError: ``unknown`` if there is none that `account` sees.
        """
        with self._lock:
            for comment in self._seen_by(account):
                if comment.id == comment_id:
                    used = comment.model_copy(update={"uses": comment.uses + 1})
                    self._keep(used)
                    return used
        raise _unknown()

    def _seen_by(self, account: Account) -> builtins.list[SavedComment]:
        known = self._records.list_records("saved_comment", SavedComment)
        return [comment for comment in known if comment.text and comment.owner in ("", account.name)]

    def _keep(self, comment: SavedComment) -> None:
        self._records.save_record("saved_comment", comment.id, comment)


def _pick(known: builtins.list[SavedComment], account: Account, comment_id: str) -> SavedComment:
    """Return the comment if `account` may change it."""
    for comment in known:
        if comment.id == comment_id and comment.owner in ("", account.name):
            if not comment.owner and not may(account.role, Permission.MANAGE):
                raise DeskError(
                    "forbidden", "this comment is everybody's: a lead changes it", "save one of your own"
                )
            return comment
    raise _unknown()


def _unknown() -> DeskError:
    return DeskError("unknown", "there is no such comment of yours", "choose one from the list")
