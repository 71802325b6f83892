"""Norming: everybody assesses the same submissions blind, then all look at where they differ, and talk.

A session never shapes a decision: its places are for norming alone, and whoever took one is served the review
in the queue no more.
"""

from __future__ import annotations

import builtins
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import Field, ValidationError

from pipeline.review.chances import load_secret
from pipeline.review.comparison import Comparison, Remark, compare_blind
from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.review.places import Place, PlaceState, ReviewStanding
from pipeline.store import Store
from pipeline.types import (
    Account,
    Assessment,
    Commented,
    Committed,
    DeskEvent,
    Frozen,
    Planted,
    Purpose,
    SlotOpened,
    hash_text,
)

__all__ = ["MOST", "Norming", "NormingItem", "NormingSession"]

#: Submissions of one session.
MOST: Final = 50

_KIND: Final = "norming_session"


class NormingSession(Frozen):
    """Submissions that everybody assesses; the newest record under an id counts."""

    id: str
    title: str = Field(min_length=1, max_length=200)
    review_ids: tuple[str, ...]
    opened_by: str
    opened_at: datetime
    revealed_at: datetime | None = None
    """When a lead ended the blind part."""


@dataclass(frozen=True, slots=True)
class NormingItem:
    """One submission of a session, as one person sees it.

    Attributes:
        review_id: Its review.
        task_id: Its task.
        at_work: How many are at it.
        committed: How many have assessed it.
        mine: The person's own place, if they took one.
        decided: Whether the review has its decision. If not, whoever joins does not decide it any more.
    """

    review_id: str
    task_id: str
    at_work: int
    committed: int
    mine: Place | None
    decided: bool


class Norming:
    """The norming sessions of one desk; any number of threads may use it."""

    def __init__(
        self,
        store: Store,
        desk: Desk,
        *,
        clock: Callable[[], datetime] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Keep sessions in `store` and take places at `desk`; `clock` (UTC) and `chance` are for tests."""
        self._records = store.desk
        self._desk = desk
        self._secret = load_secret(store)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._chance = chance or random.SystemRandom()
        self._lock = threading.Lock()

    # Sessions

    def list(self, account: Account) -> builtins.list[NormingSession]:
        """Return every session, the newest first.

        Raises:
            DeskError: ``forbidden`` for those who do not review.
        """
        _require(account, Permission.REVIEW, "only people who review take part in norming")
        sessions = self._records.list_records(_KIND, NormingSession)
        return sorted(sessions, key=lambda session: (session.opened_at, session.id), reverse=True)

    def find(self, account: Account, session_id: str) -> NormingSession:
        """Return a session.

        Raises:
            DeskError: ``unknown``; ``forbidden``.
        """
        _require(account, Permission.REVIEW, "only people who review take part in norming")
        session = self._records.find_record(_KIND, session_id, NormingSession)
        if session is None:
            raise DeskError(
                "unknown", "there is no such norming session", "choose one from the list of sessions"
            )
        return session

    def choose(self, lead: Account, count: int) -> tuple[str, ...]:
        """Return up to `count` decided reviews by chance, of those that no session and no gold item uses.

        Raises:
            DeskError: ``forbidden``.
        """
        _require(lead, Permission.MANAGE, "only a lead opens norming sessions")
        decided = [item.review.id for _, item in self._records.list_items() if item.decided]
        self._chance.shuffle(decided)
        taken = self._taken()
        chosen: list[str] = []
        for review_id in decided:
            if len(chosen) >= min(count, MOST):
                break
            if review_id not in taken and not _is_gold(self._records.list_events_of(review_id)):
                chosen.append(review_id)
        return tuple(chosen)

    def start(self, lead: Account, title: str, review_ids: Sequence[str], *, key: str) -> NormingSession:
        """Open a session; from now on everybody may join.

        A review that is not decided yet may be among them, but then people who join do not decide it.

        Args:
            lead: Who opens it.
            title: What it is about.
            review_ids: Ids of reviews, or as much of each as tells it from others.
            key: The same key is the same request.

        Raises:
            DeskError: ``forbidden``; ``unknown``; ``invalid`` if there are too few or too many, one is a gold
                item, or one is in another session.
        """
        _require(lead, Permission.MANAGE, "only a lead opens norming sessions")
        named = dict.fromkeys(review_ids)
        if not 1 <= len(named) <= MOST:
            raise DeskError(
                "invalid", f"a session has 1 to {MOST} submissions, not {len(named)}", "choose that many"
            )
        chosen = tuple(dict.fromkeys(map(self._desk.find_review, named)))
        session_id = _id_of(lead, key)
        for review_id in chosen:
            if _is_gold(self._records.list_events_of(review_id)):
                raise DeskError(
                    "invalid",
                    f"{review_id} is a gold item: a session would give its levels away",
                    "choose another, or take it out of the gold items first",
                )
        with self._lock:
            known = self._records.find_record(_KIND, session_id, NormingSession)
            if known is not None:
                return known
            taken = self._taken()
            for review_id in chosen:
                if review_id in taken:
                    raise DeskError(
                        "invalid", f"{review_id} is in session {taken[review_id]!r} already", "choose another"
                    )
            try:
                session = NormingSession(
                    id=session_id,
                    title=title.strip(),
                    review_ids=chosen,
                    opened_by=lead.name,
                    opened_at=self._clock(),
                )
            except ValidationError:
                raise DeskError(
                    "invalid", "a session needs a title of 1 to 200 characters", "say what it is about"
                ) from None
            self._records.save_record(_KIND, session_id, session)
        return session

    def start_drawn(self, lead: Account, title: str, count: int, *, key: str) -> NormingSession:
        """Open a session over up to `count` reviews as `choose` draws them.

        Raises:
            DeskError: As `start`; ``invalid`` also if there is none to draw from.
        """
        _require(lead, Permission.MANAGE, "only a lead opens norming sessions")
        # Sent again it is the same session, though its own reviews cannot be drawn any more.
        known = self._records.find_record(_KIND, _id_of(lead, key), NormingSession)
        if known is not None:
            return known
        chosen = self.choose(lead, count)
        if not chosen:
            raise DeskError("invalid", "no decided review is left to draw from", "name the reviews")
        return self.start(lead, title, chosen, key=key)

    def reveal(self, lead: Account, session_id: str) -> NormingSession:
        """End the blind part: nobody joins any more, and all levels are shown; doing it again is harmless.

        Raises:
            DeskError: ``forbidden``; ``unknown``.
        """
        _require(lead, Permission.MANAGE, "only a lead reveals a session")
        with self._lock:
            session = self.find(lead, session_id)
            if session.revealed_at is None:
                session = session.model_copy(update={"revealed_at": self._clock()})
                self._records.save_record(_KIND, session_id, session)
        return session

    # Taking part

    def list_items(self, account: Account, session_id: str) -> builtins.list[NormingItem]:
        """Return a session's submissions and how far they have come, in the session's order.

        Raises:
            DeskError: ``forbidden``; ``unknown``.
        """
        return [self._item(account, review_id) for review_id in self.find(account, session_id).review_ids]

    def join(self, account: Account, session_id: str, review_id: str, *, key: str) -> Place:
        """Return the account's own place for a submission, leased to it; the workspace takes it from there.

        Raises:
            DeskError: ``forbidden`` also if the account reviewed that submission before; ``unknown``;
                ``too_late`` after the reveal, unless the account committed before it.
        """
        session = self._with(account, session_id, review_id)
        mine = self._item(account, review_id).mine
        if mine is not None and mine.state is not PlaceState.HELD:
            return mine
        if mine is None and session.revealed_at is not None:
            raise DeskError(
                "too_late",
                "the levels of this session are revealed: nobody can assess it blind any more",
                "join the next session",
            )
        return self._desk.join(account, review_id, key=key)

    def compare(self, account: Account, session_id: str, review_id: str) -> Comparison:
        """Return what all said about one submission, without names.

        Those who reviewed it in the queue, blind as well, count among them once it is decided.

        Raises:
            DeskError: ``forbidden`` before the reveal, and for those who have not assessed it themselves;
                leads see what is decided. ``unknown``.
        """
        events = self._require_in_view(account, session_id, review_id)
        remarks = tuple(
            Remark(event.action.text, event.at, event.actor == account.name)
            for event in events
            if isinstance(event.action, Commented)
        )
        return compare_blind(
            review_id,
            self._desk.asked_criteria(review_id),
            self._blind(review_id, events),
            remarks,
            looking=account.name,
            secret=self._secret,
        )

    def remark(self, account: Account, session_id: str, review_id: str, text: str, *, key: str) -> None:
        """Keep a remark for everybody who sees the comparison; the author of the submission never does.

        Raises:
            DeskError: As `compare`; ``invalid``.
        """
        events = self._require_in_view(account, session_id, review_id)
        try:
            action = Commented(text=text.strip())
        except ValidationError:
            raise DeskError(
                "invalid", "a remark has 1 to 4,000 characters of text", "write some, or less"
            ) from None
        mine = self._item(account, review_id).mine
        event = DeskEvent(
            id="e-" + hash_text("remark", account.name, key, session_id, review_id)[:40],
            review_id=review_id,
            slot=mine.slot if mine else 0,
            actor=account.name,
            at=self._clock(),
            action=action,
        )
        if all(known.id != event.id for known in events):
            self._records.record([event])

    # What a session knows

    def _with(self, account: Account, session_id: str, review_id: str) -> NormingSession:
        session = self.find(account, session_id)
        if review_id not in session.review_ids:
            raise DeskError("unknown", "that submission is not in this session", "choose one from its list")
        return session

    def _item(self, account: Account, review_id: str) -> NormingItem:
        events = self._records.list_events_of(review_id)
        places = [self._desk.place(review_id, slot) for slot in _slots_for(events, {Purpose.NORMING})]
        mine = [place for place in places if place.holder == account.name]
        first = self._desk.place(review_id, 0)
        return NormingItem(
            review_id=review_id,
            task_id=first.item.task_id,
            at_work=sum(place.state is PlaceState.HELD for place in places),
            committed=sum(place.submitted is not None for place in places),
            mine=mine[0] if mine else None,
            decided=first.standing is ReviewStanding.DECIDED,
        )

    def _require_in_view(self, account: Account, session_id: str, review_id: str) -> builtins.list[DeskEvent]:
        """Return the events of a submission whose levels `account` may see."""
        if self._with(account, session_id, review_id).revealed_at is None:
            raise DeskError(
                "forbidden", "the levels of this session are not revealed yet", "a lead reveals them"
            )
        events = self._records.list_events_of(review_id)
        item = self._item(account, review_id)
        if item.mine is not None and item.mine.submitted is None:
            raise DeskError(
                "forbidden",
                "you are still at this submission",
                "commit your assessment first, or hand it back",
            )
        # An undecided one could still be served to a lead.
        leads = item.decided and may(account.role, Permission.MANAGE)
        if account.name not in self._blind(review_id, events) and not leads:
            raise DeskError(
                "forbidden", "you have not assessed this submission yourself", "join the next session"
            )
        return events

    def _blind(self, review_id: str, events: Sequence[DeskEvent]) -> dict[str, Assessment]:
        """Return what people said blind, by name; before the decision only those of the session."""
        purposes = {Purpose.NORMING}
        if self._desk.place(review_id, 0).standing is ReviewStanding.DECIDED:
            purposes |= {Purpose.FIRST, Purpose.SECOND}
        slots = _slots_for(events, purposes)
        return {
            event.actor: event.action.assessment
            for event in events
            if isinstance(event.action, Committed) and event.slot in slots
        }

    def _taken(self) -> dict[str, str]:
        """Return the title of the session that every review is in."""
        return {
            review_id: session.title
            for session in self._records.list_records(_KIND, NormingSession)
            for review_id in session.review_ids
        }


def _id_of(lead: Account, key: str) -> str:
    return "n-" + hash_text("norming", lead.name, key)[:16]


def _slots_for(events: Sequence[DeskEvent], purposes: set[Purpose]) -> builtins.list[int]:
    purpose_of = {0: Purpose.FIRST} | {
        event.slot: event.action.purpose for event in events if isinstance(event.action, SlotOpened)
    }
    return [slot for slot, purpose in sorted(purpose_of.items()) if purpose in purposes]


def _is_gold(events: Sequence[DeskEvent]) -> bool:
    planted = [event.action.levels for event in events if isinstance(event.action, Planted)]
    return bool(planted and planted[-1])


def _require(account: Account, permission: Permission, message: str) -> None:
    if not may(account.role, permission):
        raise DeskError("forbidden", message, "ask a lead for another role")
