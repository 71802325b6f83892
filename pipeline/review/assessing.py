"""Drafts, the blind assessment, the final one: what a person says of a place, and none of it ever lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from pipeline.review.board import PlaceId, Sheet, Slot
from pipeline.review.chances import chance_of
from pipeline.review.completeness import require_complete_blind, require_complete_final
from pipeline.review.errors import DeskError
from pipeline.review.floor import DESK, Floor, blind_of, event_id_of, require, require_handed
from pipeline.review.leases import Leases
from pipeline.review.material import Settled
from pipeline.review.permissions import Permission
from pipeline.review.places import PlaceState, ReviewStanding
from pipeline.review.set_aside import set_aside
from pipeline.review.wording import make, require_keepable
from pipeline.review.working_time import WorkingTime
from pipeline.types import (
    Account,
    Assessment,
    Committed,
    DeskEvent,
    Finished,
    Flagged,
    Purpose,
    Reopened,
    SavedDraft,
    SlotOpened,
)

__all__ = ["Assessing"]

Stage: TypeAlias = Literal["blind", "final"]

#: Which assessment each kind of event makes.
_STAGES: Final[dict[str, Stage]] = {"committed": "blind", "finished": "final"}


class Assessing:
    """What people say, on one floor."""

    def __init__(self, floor: Floor, leases: Leases) -> None:
        self._floor = floor
        self._leases = leases
        self._time = WorkingTime(floor)

    # Drafts

    def save_draft(
        self, account: Account, lease_id: str, draft: SavedDraft, claimed: float | None
    ) -> SavedDraft:
        """Keep a draft; see `Desk.save_draft`."""
        require(account, Permission.REVIEW)
        floor = self._floor
        slot = floor.find_slot(draft.review_id, draft.slot)
        if draft.account != account.name:
            raise DeskError("forbidden", "the draft is under another name", "save your own")
        require_handed(account, slot)
        require_keepable(draft)
        with floor.lock_of(slot.sheet.id):
            previous = floor.store.desk.find_draft(*slot.id, account.name)
            if previous is not None and _says_the_same(previous, draft):
                self._leases.hold(account, slot, lease_id)
                return previous
            try:
                _require_stage(slot, account, draft.stage)
            except DeskError:
                self._set_aside(slot, draft.model_copy(update={"saved_at": floor.now()}), previous)
                raise
            if previous is not None and previous.revision >= draft.revision:
                raise DeskError(
                    "stale_revision",
                    f"another window saved revision {previous.revision} of this draft meanwhile",
                    "reload the page to see it, or save yours as the next revision",
                )
            stretch = self._time.measure(slot, account.name, draft.stage, claimed, previous)
            lost: DeskError | None = None
            try:
                self._leases.hold(account, slot, lease_id)
            except DeskError as refusal:
                lost = refusal
            saved = draft.model_copy(update={"saved_at": stretch.until, "active_seconds": stretch.total})
            floor.store.desk.save_draft(saved)
            self._time.keep(slot, account.name, stretch)
            if lost is not None:
                raise lost
            return saved

    def _set_aside(self, slot: Slot, late: SavedDraft, draft: SavedDraft | None) -> None:
        """Keep what can be no draft, unless it says nothing, or what stands already."""
        events = [event.action for event in (slot.blind, slot.final) if event is not None]
        standing = [action.assessment for action in events if isinstance(action, Committed | Finished)]
        if draft is not None and draft.stage == late.stage:
            standing.append(draft.assessment)
        if late.assessment not in (Assessment(), *standing):
            set_aside(self._floor.store, late)

    # Blind, then final

    def commit(
        self,
        account: Account,
        slot: Slot,
        lease_id: str,
        committed: Committed,
        claimed: float | None,
        key: str,
        others: Mapping[str, Assessment] | None,
        made_from: int | None,
    ) -> Slot:
        """Make the blind assessment; see `Desk.commit`."""

        def check() -> None:
            self._leases.hold(account, slot, lease_id)
            self._require_current_rubric(slot, committed.rubric)
            settled = self._settled(slot)
            require_complete_blind(committed.assessment, settled, committed.picks, others)

        return self._send(
            account, slot, committed, claimed, key, made_from, check, lambda: self._draw_second(slot)
        )

    def finish(
        self,
        account: Account,
        slot: Slot,
        finished: Finished,
        claimed: float | None,
        key: str,
        made_from: int | None,
    ) -> Slot:
        """Make the final assessment; see `Desk.finish`."""

        def check() -> None:
            if slot.is_closed:
                raise DeskError(
                    "already_decided", "this review was decided meanwhile", "go on with the next item"
                )
            settled = self._settled(slot)
            require_complete_final(finished.assessment, settled, blind_of(slot), finished.revisions)

        with self._floor.lock_of(slot.sheet.id):
            self._send(account, slot, finished, claimed, key, made_from, check)
            self.call_adjudicator(slot.sheet)
            return slot

    def _send(
        self,
        account: Account,
        slot: Slot,
        said: Committed | Finished,
        claimed: float | None,
        key: str,
        made_from: int | None,
        check: Callable[[], None],
        follow: Callable[[], list[DeskEvent]] = list,
    ) -> Slot:
        """Make an assessment that `check` does not refuse, and keep the text of one that is refused.

        That text takes the place of the draft that it was made from; beside any other it is set aside.

        Args:
            account: Whose.
            slot: Where.
            said: The assessment.
            claimed: Active seconds of its stage, as the page counted them.
            key: Of the request: the same key is the same request.
            made_from: Revision of the draft that it was made from; None where nobody knows.
            check: Refuses what is not as it must be.
            follow: Gives the events that go with it.
        """
        require(account, Permission.REVIEW)
        floor, stage = self._floor, _STAGES[said.kind]
        event_id = event_id_of(said.kind, account, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id):
                return slot
            require_handed(account, slot)
            previous = floor.store.desk.find_draft(*slot.id, account.name)
            stretch = self._time.measure(slot, account.name, stage, claimed, previous)
            try:
                _require_stage(slot, account, stage)
                _require_newest(previous, made_from)
                check()
            except DeskError:
                refused = SavedDraft(
                    review_id=slot.sheet.id,
                    slot=slot.number,
                    account=account.name,
                    # No new number: the window it came from knows no other.
                    revision=previous.revision if previous else 0,
                    assessment=said.assessment,
                    stage=stage,
                    active_seconds=stretch.total,
                    saved_at=stretch.until,
                )
                if _takes_the_place(refused, previous, made_from) and _stage_of(slot, account) == stage:
                    floor.store.desk.save_draft(refused)
                    self._time.keep(slot, account.name, stretch)
                else:
                    self._set_aside(slot, refused, previous)
                raise
            self._time.keep(slot, account.name, stretch)
            timed = said.model_copy(update={"seconds": stretch.total})
            floor.keep([floor.event(slot.id, account.name, timed, event_id), *follow()])
            return slot

    def _settled(self, slot: Slot) -> Settled:
        _, item = self._floor.find_sheet(slot.sheet.id)
        return self._floor.material.settled(item)

    def _require_current_rubric(self, slot: Slot, rubric: str) -> None:
        _, item = self._floor.find_sheet(slot.sheet.id)
        if not self._floor.material.means_the_same(rubric, item.rubric):
            raise DeskError(
                "stale_rubric",
                "this form was made from another version of the rubric than the review's",
                "reload the page: it shows what the rubric asks; what you wrote is kept",
            )

    def _draw_second(self, slot: Slot) -> list[DeskEvent]:
        """Return the opening of a second review, if chance wants one: the same chance for ever."""
        floor, sheet = self._floor, slot.sheet
        rate = floor.settings.second_review_rate
        if slot.purpose is not Purpose.FIRST or sheet.slots_for(Purpose.SECOND):
            return []
        if chance_of(floor.secret, "second", sheet.id) >= rate:
            return []
        action = SlotOpened(purpose=Purpose.SECOND, probability=rate, reason="drawn at random")
        return [floor.event(PlaceId(sheet.id, sheet.next_number), DESK, action)]

    def call_adjudicators(self) -> None:
        """Open what a server that was killed in between did not open any more."""
        with self._floor.lock:
            for sheet in self._floor.board.list_concluding():
                self.call_adjudicator(sheet)

    def call_adjudicator(self, sheet: Sheet) -> None:
        """Open an adjudication where the first two differ and there is none yet."""
        floor = self._floor
        with floor.lock:
            if sheet.slots_for(Purpose.ADJUDICATION) or floor.standing(sheet) is not ReviewStanding.DIFFERS:
                return
            action = SlotOpened(purpose=Purpose.ADJUDICATION, reason="two final assessments differ")
            floor.keep_at_once([floor.event(PlaceId(sheet.id, sheet.next_number), DESK, action)])

    def undo(self, account: Account, slot: Slot, key: str) -> Slot:
        """Take the final assessment back; see `Desk.undo`."""
        require(account, Permission.REVIEW)
        floor = self._floor
        event_id = event_id_of("reopened", account, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id):
                return slot
            require_handed(account, slot)
            if _stage_of(slot, account) == "blind":
                raise _not_committed()
            until = floor.undo_until(slot)
            if until is None:
                raise DeskError("too_late", "there is no final assessment to take back", "go on with it")
            if slot.is_closed:
                raise DeskError("already_decided", "the grade is out", "tell a lead if it is wrong")
            adjudications = slot.sheet.slots_for(Purpose.ADJUDICATION)
            begun = any(other.state is not PlaceState.WAITING for other in adjudications if other is not slot)
            if floor.now() > until or begun:
                raise DeskError("too_late", "it can no longer be taken back", "tell a lead if it is wrong")
            floor.keep([floor.event(slot.id, account.name, Reopened(), event_id)])
            return slot

    def flag(self, account: Account, slot: Slot, reason: str, key: str) -> None:
        """Ask a lead to look; see `Desk.flag`."""
        require(account, Permission.REVIEW)
        floor = self._floor
        flagged = make(Flagged, reason=reason.strip())
        require_handed(account, slot)
        event_id = event_id_of("flagged", account, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id) is None:
                floor.keep([floor.event(slot.id, account.name, flagged, event_id)])


def _says_the_same(previous: SavedDraft, draft: SavedDraft) -> bool:
    return (previous.revision, previous.stage, previous.assessment) == (
        draft.revision,
        draft.stage,
        draft.assessment,
    )


def _takes_the_place(refused: SavedDraft, draft: SavedDraft | None, made_from: int | None) -> bool:
    """Whether nothing is lost with `draft`: it is none, of the stage before, or in what was made from it."""
    if draft is None or draft.stage != refused.stage:
        return True
    return made_from is not None and made_from >= draft.revision


def _stage_of(slot: Slot, account: Account) -> Stage | None:
    """Return what somebody may write of a place now; None once both assessments stand."""
    if slot.blind is None or slot.holder != account.name:
        return "blind"
    return "final" if slot.final is None else None


def _require_stage(slot: Slot, account: Account, stage: Stage) -> None:
    now = _stage_of(slot, account)
    if stage == now:
        return
    if stage == "blind":
        raise DeskError(
            "already_committed",
            "your blind assessment is committed, for good",
            "go on with the final one; what you wrote is kept beside it",
        )
    if now is None:
        raise DeskError(
            "too_late",
            "your final assessment is sent",
            "take it back first, if you still can; what you wrote is kept beside it",
        )
    raise _not_committed()


def _require_newest(previous: SavedDraft | None, made_from: int | None) -> None:
    if previous is not None and made_from is not None and previous.revision > made_from:
        raise DeskError(
            "stale_revision",
            f"another window saved this item at {previous.saved_at:%H:%M:%S} UTC, after this one",
            "below is what this window says; compare the two, then press again to let this one count",
        )


def _not_committed() -> DeskError:
    return DeskError(
        "not_committed", "the final assessment comes after the blind one", "commit the blind one first"
    )
