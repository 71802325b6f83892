"""The review desk: who gets which submission, what they say of it, and when that becomes a decision.

Everything here holds without HTTP: the web's routes, the HTTP API and tests call these methods. One process
keeps a desk; whatever it knows it can read again from the store's events, and does when it starts.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import datetime

from pipeline.review.assessing import Assessing
from pipeline.review.deciding import Deciding
from pipeline.review.floor import Floor, require
from pipeline.review.intake import Intake
from pipeline.review.leases import Leases
from pipeline.review.oversight import Oversight
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, QueueState
from pipeline.review.standing import describe_queue
from pipeline.review.wording import make
from pipeline.store import DeskItem, Store
from pipeline.types import (
    Account,
    Answer,
    Assessment,
    Committed,
    Decision,
    DeskEvent,
    DeskSettings,
    Finished,
    Pick,
    Purpose,
    Revision,
    Rubric,
    SavedDraft,
)

__all__ = ["Desk"]


class Desk:
    """One desk over one store; any number of threads may use it.

    Every method that acts for a person takes the account and checks what its role and its history allow; one
    that is not allowed raises `DeskError` and changes nothing. Methods that return a place return it as it is
    afterwards. Ids called `key` make a request safe to send again: the same key is the same request.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], datetime] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Read what the store knows; `clock` (UTC) and `chance` are for tests."""
        self._floor = Floor(store, clock, chance)
        self._leases = Leases(self._floor)
        self._assessing = Assessing(self._floor, self._leases)
        self._deciding = Deciding(self._floor)
        self._oversight = Oversight(self._floor)
        self._intake = Intake(self._floor)
        self._intake.take_in()
        self._leases.renew_all()
        self._assessing.call_adjudicators()

    # The queue

    def refresh(self) -> None:
        """Take in reviews that were opened and decided elsewhere, free what is overdue, and draw audits."""
        self._intake.take_in()
        self._leases.free_overdue()
        self._assessing.call_adjudicators()

    def describe_queue(self, account: Account) -> QueueState:
        """Return what the queue's page says to `account`."""
        require(account, Permission.REVIEW)
        self._leases.free_overdue()
        return describe_queue(self._floor, self._leases.drawing, account)

    def list_upcoming(self, count: int) -> list[DeskItem]:
        """Return what stands first in the queue, whoever gets it, so that it can be prepared."""
        with self._floor.lock:
            front = itertools.islice(self._floor.board.list_waiting(), count)
            items = [slot.sheet.item for slot in front]
        return [item for item in items if item is not None]

    def draw(self, account: Account, *, key: str) -> Place | None:
        """Hand `account` the next item and lease it, or return None when there is none for them.

        What they have begun comes first. Nobody is served a review they took part in, a task outside their
        skills, or an author they have a conflict with; adjudicators are served adjudications first.

        Raises:
            DeskError: ``forbidden``; ``paused``.
        """
        require(account, Permission.REVIEW)
        slot = self._leases.draw(account, key)
        if slot is None:
            return None
        # Whoever has an item writes on it next: no crash may forget that it was theirs.
        self._floor.store.desk.flush()
        return self._floor.show(slot, draft=True)

    def open(self, account: Account, review_id: str, slot: int) -> Place:
        """Return a place to its holder, renewing the lease, or to whoever finished it.

        One whose lease ran out is leased again if nobody else has it meanwhile.

        Raises:
            DeskError: ``unknown``; ``forbidden`` if it is another's; ``not_held`` if another holds it now.
        """
        require(account, Permission.REVIEW)
        opened = self._leases.open(account, self._floor.find_slot(review_id, slot))
        return self._floor.show(opened, draft=True)

    def renew(self, account: Account, review_id: str, slot: int, lease_id: str) -> Place:
        """Extend the lease: somebody is at work.

        Raises:
            DeskError: ``lease_lost``.
        """
        require(account, Permission.REVIEW)
        held = self._floor.find_slot(review_id, slot)
        self._leases.hold(account, held, lease_id)
        return self._floor.show(held, draft=True)

    def join(self, account: Account, review_id: str, *, key: str) -> Place:
        """Return the account's place in the norming session of a review, opened when there is none yet.

        It is assessed as any other and never shapes the decision.

        Raises:
            DeskError: ``unknown``; ``forbidden`` if the account took part in the review itself.
        """
        require(account, Permission.REVIEW)
        slot = self._leases.join(account, review_id, key)
        self._floor.store.desk.flush()
        return self._floor.show(slot, draft=True)

    def hand_back(
        self, account: Account, review_id: str, slot: int, lease_id: str, *, reason: str, skip: bool
    ) -> None:
        """Free a place before it is committed; one that is skipped is not served to this person again."""
        require(account, Permission.REVIEW)
        held = self._floor.find_slot(review_id, slot)
        self._leases.hand_back(account, held, lease_id, reason, skip=skip)

    # Blind, then final

    def save_draft(
        self, account: Account, lease_id: str, draft: SavedDraft, *, counted: bool = True
    ) -> SavedDraft:
        """Keep what has been written so far and renew the lease.

        The draft's active seconds are believed as far as so much time has passed since the last sign of life.

        A draft that comes after its lease ran out is kept all the same, and the place leased again if nobody
        has it; where another has it the draft is kept and ``lease_lost`` says so.

        Args:
            counted: Whether the page counted active seconds; if not, `DeskSettings.idle_seconds` tells work
                from a pause between two signs of life.

        Raises:
            DeskError: ``stale_revision`` if a newer revision is there (the message says which);
                ``lease_lost``; ``already_committed`` for a blind draft after the commit; ``invalid``.
        """
        return self._assessing.save_draft(account, lease_id, draft, draft.active_seconds if counted else None)

    def commit(
        self,
        account: Account,
        review_id: str,
        slot: int,
        lease_id: str,
        assessment: Assessment,
        *,
        rubric: str,
        seconds: float | None,
        key: str,
        picks: dict[str, Pick] | None = None,
        rubric_change: str = "",
        made_from: int | None = None,
    ) -> Place:
        """Make the blind assessment: for good, journalled on return. From now on its maker sees the judge's.

        Args:
            rubric: Content hash of the rubric that the form was made from.
            seconds: Active seconds of all of it, as `save_draft` has them; None where nobody counted.
            picks: Of an adjudication, one per criterion that a person levels.
            rubric_change: Of an adjudication.
            made_from: Revision of the draft that the form was made from; None where nobody knows.

        What is refused is kept: in the place of the draft that it was made from, or set aside.

        Raises:
            DeskError: ``incomplete`` (every missing or wrong answer is listed), ``stale_rubric``,
                ``lease_lost``, ``already_committed``; ``stale_revision`` if another draft came after
                `made_from`.
        """
        held = self._floor.find_slot(review_id, slot)
        committed = make(
            Committed,
            assessment=assessment,
            rubric=rubric,
            seconds=seconds or 0,
            picks=picks or {},
            rubric_change=rubric_change,
        )
        adjudicates = held.purpose is Purpose.ADJUDICATION
        others = dict(self._deciding.label_assessments(held.sheet)) if adjudicates else None
        return self._floor.show(
            self._assessing.commit(account, held, lease_id, committed, seconds, key, others, made_from),
            draft=True,
        )

    def finish(
        self,
        account: Account,
        review_id: str,
        slot: int,
        assessment: Assessment,
        *,
        revisions: tuple[Revision, ...],
        seconds: float | None,
        key: str,
        made_from: int | None = None,
    ) -> Place:
        """Make the final assessment. It becomes a decision once no place is open and undoing is over.

        Raises:
            DeskError: ``not_committed``; ``incomplete``, also where a level differs from the blind one
                without a revision that says why; ``already_decided``; ``stale_revision``, as `commit`.
        """
        held = self._floor.find_slot(review_id, slot)
        finished = make(Finished, assessment=assessment, revisions=revisions, seconds=seconds or 0)
        return self._floor.show(self._assessing.finish(account, held, finished, seconds, key, made_from))

    def undo(self, account: Account, review_id: str, slot: int, *, key: str) -> Place:
        """Take the final assessment back; the place is committed again.

        Raises:
            DeskError: ``too_late`` after `DeskSettings.undo_seconds`; ``already_decided``.
        """
        held = self._floor.find_slot(review_id, slot)
        return self._floor.show(self._assessing.undo(account, held, key), draft=True)

    def flag(self, account: Account, review_id: str, slot: int, reason: str, *, key: str) -> None:
        """Ask a lead to look at an item."""
        self._assessing.flag(account, self._floor.find_slot(review_id, slot), reason, key)

    # What a place is judged by

    def rubric_of(self, review_id: str) -> Rubric:
        """Return the rubric of a review; once somebody has begun it stays as it is, to the word."""
        return self._floor.material.rubric(self._floor.find_sheet(review_id)[1])

    def asked_criteria(self, review_id: str) -> tuple[str, ...]:
        """Return the criteria that a person levels: those whose level no check settled."""
        return self._floor.material.settled(self._floor.find_sheet(review_id)[1]).asked

    def settled_answers(self, review_id: str) -> dict[str, Answer]:
        """Return the levels that checks settled, which people see and may object to."""
        return self._floor.material.settled(self._floor.find_sheet(review_id)[1]).answers

    def others(self, account: Account, review_id: str) -> list[tuple[str, Assessment]]:
        """Return the final assessments of other people as A and B, in an order that chance chose.

        Only for an adjudicator who holds the adjudication, or once the review is decided.

        Raises:
            DeskError: ``forbidden``.
        """
        return self._deciding.others_for(account, self._floor.find_sheet(review_id)[0])

    # Leads

    def place(self, review_id: str, slot: int) -> Place:
        """Return any place, without its draft.

        Raises:
            DeskError: ``unknown``.
        """
        return self._floor.show(self._floor.find_slot(review_id, slot))

    def list_places(self, viewer: Account | None = None, *, held: bool = False) -> list[Place]:
        """Return every place that is not decided, oldest first, without drafts.

        Args:
            viewer: Whoever is shown it, which is nothing of a review that they hold and have not committed.
            held: Whether only places that somebody has and has not committed are wanted.
        """
        self._leases.free_overdue()
        return self._oversight.list_places(viewer, held=held)

    def count_open(self) -> int:
        """Return how many reviews are not decided."""
        return self._oversight.count_open()

    def find_review(self, beginning: str) -> str:
        """Return the id of the one review whose id begins with `beginning`, for people who type it.

        Raises:
            DeskError: ``unknown`` if there is none; ``invalid`` if there are several, which it names.
        """
        return self._oversight.find_review(beginning)

    def list_flags(self, viewer: Account | None = None) -> list[DeskEvent]:
        """Return flags and objections' commits of reviews that are not decided, newest first.

        Args:
            viewer: As for `list_places`.
        """
        return self._oversight.list_flags(viewer)

    def take_back(self, lead: Account, review_id: str, slot: int, reason: str, *, key: str) -> None:
        """Free a place that somebody holds; the draft stays with them."""
        freed = self._floor.find_slot(review_id, slot)
        self._leases.take_back(lead, freed, reason, key)
        self._assessing.call_adjudicator(freed.sheet)

    def unblind(self, lead: Account, review_id: str, reason: str, *, key: str) -> str:
        """Return where a submission came from, with its declared author, once the reason is on record.

        Raises:
            DeskError: ``unknown``; ``forbidden``, also to whoever holds it and has not committed.
        """
        return self._oversight.unblind(lead, review_id, reason, key)

    def plant(self, lead: Account, review_id: str, levels: dict[str, int], *, key: str) -> None:
        """Make a decided review a gold item with known levels; none for it to be one no longer."""
        self._oversight.plant(lead, review_id, levels, key)

    def settings(self) -> DeskSettings:
        """Return how the desk is run now."""
        return self._floor.settings

    def change_settings(self, lead: Account, settings: DeskSettings) -> None:
        """Run the desk differently from now on."""
        self._oversight.change_settings(lead, settings)

    # Decisions

    def list_due(self) -> list[str]:
        """Return reviews that are concluded and whose time to undo is over, and that no lead holds back."""
        return self._deciding.list_due()

    def list_held_back(self) -> list[str]:
        """Return reviews that only `DeskSettings.hold_release` keeps from their decision, oldest first."""
        self._leases.free_overdue()
        return self._deciding.list_held_back()

    def release(self, lead: Account, review_id: str) -> Decision:
        """Make a decision that was held back.

        Raises:
            DeskError: ``forbidden``; ``incomplete`` if it is none of `list_held_back`; ``already_decided``.
        """
        return self._deciding.release(lead, review_id)

    def release_all(self, lead: Account) -> list[Decision]:
        """Make every decision that was held back; one that cannot be made keeps no other waiting."""
        return self._deciding.release_all(lead)

    def decide(self, review_id: str) -> Decision:
        """Make the decision of a concluded review and keep it in the store for good.

        Where two agree within one level the lower level counts; an adjudication counts alone. What nobody
        could judge is unscored.

        Raises:
            DeskError: ``incomplete`` if it is not concluded; ``already_decided``.
        """
        return self._deciding.decide(review_id)

    def decide_due(self) -> list[Decision]:
        """Make every decision that is due; the graph's side then releases the grades."""
        return self._deciding.decide_due()

    # Time

    def pseudonym(self, review_id: str) -> str:
        """Return the name under which the author of a review's submission is known here."""
        return self._floor.find_sheet(review_id)[0].author
