"""Drafts, the blind assessment, the final one: what a person says of a place, and none of it ever lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pipeline.review.board import PlaceId, Sheet, Slot
from pipeline.review.chances import chance_of
from pipeline.review.completeness import require_complete_blind, require_complete_final
from pipeline.review.errors import DeskError
from pipeline.review.floor import DESK, Floor, blind_of, event_id_of, require, require_handed
from pipeline.review.leases import Leases
from pipeline.review.permissions import Permission
from pipeline.review.places import PlaceState, ReviewStanding
from pipeline.review.wording import make, require_keepable
from pipeline.review.working_time import Stretch, WorkingTime
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
            if previous is not None and previous.revision >= draft.revision:
                if _says_the_same(previous, draft):
                    self._leases.hold(account, slot, lease_id)
                    return previous
                raise DeskError(
                    "stale_revision",
                    f"another window saved revision {previous.revision} of this draft meanwhile",
                    "reload the page to see it, or save yours as the next revision",
                )
            self._refuse_late_stage(slot, account, draft.stage)
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

    def _refuse_late_stage(self, slot: Slot, account: Account, stage: Literal["blind", "final"]) -> None:
        mine = slot.blind is not None and slot.holder == account.name
        if stage == "final" and not mine:
            raise _not_committed()
        if stage == "blind" and mine:
            raise _already_committed()
        if stage == "final" and slot.final is not None:
            raise _already_sent()

    def _keep_refused(
        self,
        slot: Slot,
        account: Account,
        assessment: Assessment,
        stage: Literal["blind", "final"],
        stretch: Stretch,
    ) -> None:
        """Keep as a draft what could not be committed, unless that is the draft already.

        It takes the place of the last revision and no new number: the window it came from knows no other.
        """
        previous = self._floor.store.desk.find_draft(*slot.id, account.name)
        if previous is not None and previous.assessment == assessment and previous.stage == stage:
            return
        draft = SavedDraft(
            review_id=slot.sheet.id,
            slot=slot.number,
            account=account.name,
            revision=previous.revision if previous else 0,
            assessment=assessment,
            stage=stage,
            active_seconds=stretch.total,
            saved_at=stretch.until,
        )
        self._floor.store.desk.save_draft(draft)
        self._time.keep(slot, account.name, stretch)

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
    ) -> Slot:
        """Make the blind assessment; see `Desk.commit`."""
        require(account, Permission.REVIEW)
        floor = self._floor
        event_id = event_id_of("committed", account, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id):
                return slot
            if slot.blind is not None and slot.holder == account.name:
                raise _already_committed()
            require_handed(account, slot)
            previous = floor.store.desk.find_draft(*slot.id, account.name)
            stretch = self._time.measure(slot, account.name, "blind", claimed, previous)
            try:
                self._leases.hold(account, slot, lease_id)
                self._require_current_rubric(slot, committed.rubric)
                _, item = floor.find_sheet(slot.sheet.id)
                require_complete_blind(
                    committed.assessment, floor.material.settled(item), committed.picks, others
                )
            except DeskError:
                self._keep_refused(slot, account, committed.assessment, "blind", stretch)
                raise
            self._time.keep(slot, account.name, stretch)
            timed = committed.model_copy(update={"seconds": stretch.total})
            event = floor.event(slot.id, account.name, timed, event_id)
            with_second = self._draw_second(slot)
            floor.keep([event, *with_second])
            return slot

    def _require_current_rubric(self, slot: Slot, rubric: str) -> None:
        _, item = self._floor.find_sheet(slot.sheet.id)
        if rubric != item.rubric:
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

    def finish(
        self, account: Account, slot: Slot, finished: Finished, claimed: float | None, key: str
    ) -> Slot:
        """Make the final assessment; see `Desk.finish`."""
        require(account, Permission.REVIEW)
        floor = self._floor
        event_id = event_id_of("finished", account, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id):
                return slot
            self._require_own(slot, account)
            if slot.final is not None:
                raise _already_sent()
            previous = floor.store.desk.find_draft(*slot.id, account.name)
            stretch = self._time.measure(slot, account.name, "final", claimed, previous)
            try:
                if slot.is_closed:
                    raise DeskError(
                        "already_decided", "this review was decided meanwhile", "go on with the next item"
                    )
                _, item = floor.find_sheet(slot.sheet.id)
                settled = floor.material.settled(item)
                require_complete_final(finished.assessment, settled, blind_of(slot), finished.revisions)
            except DeskError:
                self._keep_refused(slot, account, finished.assessment, "final", stretch)
                raise
            self._time.keep(slot, account.name, stretch)
            timed = finished.model_copy(update={"seconds": stretch.total})
            floor.keep([floor.event(slot.id, account.name, timed, event_id)])
            self.call_adjudicator(slot.sheet)
            return slot

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
            self._require_own(slot, account)
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

    def _require_own(self, slot: Slot, account: Account) -> None:
        require_handed(account, slot)
        if slot.blind is None or slot.holder != account.name:
            raise _not_committed()


def _says_the_same(previous: SavedDraft, draft: SavedDraft) -> bool:
    return (previous.revision, previous.stage, previous.assessment) == (
        draft.revision,
        draft.stage,
        draft.assessment,
    )


def _not_committed() -> DeskError:
    return DeskError(
        "not_committed", "the final assessment comes after the blind one", "commit the blind one first"
    )


def _already_committed() -> DeskError:
    return DeskError(
        "already_committed", "your blind assessment is committed, for good", "go on with the final one"
    )


def _already_sent() -> DeskError:
    return DeskError("too_late", "your final assessment is sent", "take it back first, if you still can")
