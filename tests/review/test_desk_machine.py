"""A desk under everything people do to it, in any order, with restarts in between."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import Place, PlaceState, ReviewStanding
from pipeline.review.set_aside import find_set_aside
from pipeline.types import (
    Account,
    Assessment,
    Cause,
    Claimed,
    Committed,
    Decision,
    Destination,
    Finished,
    Pick,
    Purpose,
    Released,
    Reopened,
    Revision,
    SavedDraft,
    SlotOpened,
)
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    EVE,
    HASH,
    NOON,
    PLAIN,
    Clock,
    add_waiting,
    assess,
    copy_store,
)

PEOPLE = (ANNA, BEN, EVE, CARLA)
people = st.sampled_from(PEOPLE)
levels = st.sampled_from((2, 4, 3, None))


class Outcome:
    """What a request came to: the code of its refusal, or nothing."""

    code = ""


@contextmanager
def allowing(*codes: str) -> Iterator[Outcome]:
    """Let refusals with these codes pass, and tell which it was."""
    outcome = Outcome()
    try:
        yield outcome
    except DeskError as error:
        if error.code not in codes:
            raise
        outcome.code = error.code


class DeskMachine(RuleBasedStateMachine):
    """Drives a desk and keeps its own books."""

    empty_database: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = copy_store(self.empty_database, self.folder)
        for number in range(3):
            two = number == 1
            add_waiting(
                self.store,
                f"n{number}",
                minute=number,
                destination=Destination.SECOND_REVIEW if two else Destination.REVIEW,
            )
        self.clock = Clock()
        self.store.desk.save_record("settings", "desk", PLAIN.model_copy(update={"second_review_rate": 0.5}))
        self.desk = self.open()
        self.keys = 0
        self.leases: dict[str, Place] = {}
        self.drafts: dict[tuple[str, int, str], Assessment] = {}
        self.blind: dict[tuple[str, int], tuple[str, Assessment]] = {}
        self.final: dict[tuple[str, int], Assessment] = {}
        self.decided: dict[str, Decision] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    def open(self) -> Desk:
        return Desk(self.store, clock=self.clock, chance=random.Random(7))

    def key(self) -> str:
        self.keys += 1
        return str(self.keys)

    # What people do

    @rule(account=people, clarity=levels, safety=levels)
    def work(self, account: Account, clarity: int | None, safety: int | None) -> None:
        """Take the next step: finish what is committed, commit what is held, or draw."""
        begun = self.desk.describe_queue(account).mine
        if begun and begun[0].state is PlaceState.COMMITTED:
            self.finish(account, clarity)
        elif begun and begun[0] == self.leases.get(account.name):
            self.commit(account, clarity, safety)
        else:
            self.draw(account)

    @rule(account=people, clarity=levels, safety=levels, seconds=st.sampled_from((0, 11, 1801)))
    def review(self, account: Account, clarity: int | None, safety: int | None, seconds: int) -> None:
        """Do a whole review, while time passes after each step; what is due then is decided."""
        for _ in range(3):
            self.work(account, clarity, safety)
            self.decide(seconds)

    def draw(self, account: Account) -> None:
        place = self.desk.draw(account, key=self.key())
        if place is not None:
            assert place.holder == account.name
            assert place.state in (PlaceState.HELD, PlaceState.COMMITTED)
            self.leases[account.name] = place

    @rule(account=people, clarity=levels)
    def save_draft(self, account: Account, clarity: int | None) -> None:
        place = self.leases.get(account.name)
        if place is None:
            return
        name, slot = place.item.review.id, place.slot
        known = self.store.desk.find_draft(name, slot, account.name)
        draft = SavedDraft(
            review_id=name,
            slot=slot,
            account=account.name,
            revision=known.revision + 1 if known else 0,
            assessment=assess(clarity, None),
            stage="blind",
            saved_at=NOON,
        )
        with allowing("lease_lost", "already_committed", "already_decided") as outcome:
            self.desk.save_draft(account, place.lease_id, draft)
        if outcome.code != "already_committed":
            self.drafts[name, slot, account.name] = draft.assessment
        self.expect_kept(name, slot, account, draft.assessment)

    def expect_kept(self, name: str, slot: int, account: Account, said: Assessment) -> None:
        """Expect a text where its writer finds it, taken or refused."""
        late = find_set_aside(self.store, name, slot, account.name)
        draft = self.store.desk.find_draft(name, slot, account.name)
        kept = [one.assessment for one in (late, draft) if one is not None]
        who, blind = self.blind.get((name, slot), ("", None))
        if who == account.name:
            kept += [one for one in (blind, self.final.get((name, slot))) if one is not None]
        assert said in kept

    @rule(account=people, clarity=levels, safety=levels, knows=st.booleans())
    def commit(self, account: Account, clarity: int | None, safety: int | None, knows: bool = False) -> None:
        """Commit what a window says that knows the newest draft, or a program that knows of none."""
        place = self.leases.get(account.name)
        if place is None:
            return
        name, slot = place.item.review.id, place.slot
        said = assess(clarity, safety)
        picks = None
        if place.purpose is Purpose.ADJUDICATION:
            pick = Pick(source="other", cause=Cause.OTHER)
            picks = {"clarity": pick, "safety": pick}
        known = self.store.desk.find_draft(name, slot, account.name)
        with allowing("lease_lost", "already_committed", "already_decided") as outcome:
            self.desk.commit(
                account,
                name,
                slot,
                place.lease_id,
                said,
                rubric=HASH,
                seconds=1,
                key=self.key(),
                picks=picks,
                made_from=known.revision if known and knows else None,
            )
        if not outcome.code:
            assert (name, slot) not in self.blind
            self.blind[name, slot] = (account.name, said)
        elif outcome.code != "already_committed" and (known is None or knows):
            self.drafts[name, slot, account.name] = said
        self.expect_kept(name, slot, account, said)

    def finish(self, account: Account, clarity: int | None) -> None:
        for (name, slot), (who, said) in self.blind.items():
            if who != account.name or (name, slot) in self.final:
                continue
            before = said.answers["clarity"].level
            final = assess(clarity, said.answers["safety"].level)
            changed = (Revision(criterion="clarity", before=before, after=clarity, cause=Cause.SLIP),)
            revisions = changed if clarity != before else ()
            with allowing("already_decided") as outcome:
                self.desk.finish(account, name, slot, final, revisions=revisions, seconds=1, key=self.key())
            if not outcome.code:
                self.final[name, slot] = final
            return

    @rule(account=people)
    def undo(self, account: Account) -> None:
        for name, slot in list(self.final):
            if self.blind[name, slot][0] == account.name:
                with allowing("too_late", "already_decided") as outcome:
                    self.desk.undo(account, name, slot, key=self.key())
                if not outcome.code:
                    del self.final[name, slot]
                return

    @rule(account=people, skip=st.booleans())
    def hand_back(self, account: Account, skip: bool) -> None:
        place = self.leases.get(account.name)
        if place is not None:
            with allowing("already_committed"):
                self.desk.hand_back(
                    account, place.item.review.id, place.slot, place.lease_id, reason="", skip=skip
                )

    @rule(number=st.integers(0, 2))
    def take_back(self, number: int) -> None:
        with allowing("not_held") as outcome:
            self.desk.take_back(DORA, f"r-n{number}", 0, "away", key=self.key())
        if not outcome.code and (f"r-n{number}", 0) in self.blind:
            self.final[f"r-n{number}", 0] = self.blind[f"r-n{number}", 0][1]

    # What happens beside

    @rule(seconds=st.sampled_from((1, 11, 1700, 1801)))
    def pass_by(self, seconds: int) -> None:
        self.clock.pass_by(seconds)

    @rule()
    def refresh(self) -> None:
        self.desk.refresh()

    @rule(seconds=st.sampled_from((0, 11)))
    def decide(self, seconds: int) -> None:
        self.clock.pass_by(seconds)
        for decision in self.desk.decide_due():
            assert decision.review_id not in self.decided
            self.decided[decision.review_id] = decision
            self.check(decision)

    @precondition(lambda self: self.keys > 30)
    @rule(number=st.integers(0, 2))
    def decide_elsewhere(self, number: int) -> None:
        name = f"r-n{number}"
        if name not in self.decided:
            decision = Decision(review_id=name, reviewer="root", levels={}, decided_at=self.clock.now)
            self.store.decide(decision)
            self.decided[name] = decision
            self.desk.refresh()

    @rule()
    def restart(self) -> None:
        self.desk.refresh()
        before = [replace(place, lease_until=None) for place in self.desk.list_places()]
        queues = [self.desk.describe_queue(account).recent for account in PEOPLE]
        self.desk = self.open()
        assert [replace(place, lease_until=None) for place in self.desk.list_places()] == before
        assert [self.desk.describe_queue(account).recent for account in PEOPLE] == queues

    # What always holds

    def check(self, decision: Decision) -> None:
        """A decision is what the books say: an adjudication alone, else the lower of two levels."""
        name = decision.review_id
        purposes = {
            event.slot: event.action.purpose
            for event in self.store.desk.list_events_of(name)
            if isinstance(event.action, SlotOpened)
        }
        finals = {slot: final for (review, slot), final in self.final.items() if review == name}
        deciding = [slot for slot in finals if purposes.get(slot) is Purpose.ADJUDICATION] or sorted(finals)
        for criterion in ("clarity", "safety"):
            given = [finals[slot].answers[criterion].level for slot in deciding]
            expected = min((level for level in given if level is not None), default=None)
            assert decision.levels.get(criterion) == expected
            assert (criterion in decision.unjudged) == (expected is None)
        for slot in deciding:
            assert self.blind[name, slot][0] in decision.reviewer

    @invariant()
    def blind_assessments_never_change(self) -> None:
        for (name, slot), (who, said) in self.blind.items():
            place = self.desk.place(name, slot)
            assert place.submitted is not None
            assert (place.submitted.account, place.submitted.blind) == (who, said)
            assert place.submitted.final == self.final.get((name, slot))

    @invariant()
    def nobody_assesses_a_review_twice(self) -> None:
        makers = defaultdict(list)
        for (name, _), (who, _) in self.blind.items():
            makers[name].append(who)
        assert all(len(set(who)) == len(who) for who in makers.values())

    @invariant()
    def no_draft_is_lost(self) -> None:
        for (name, slot, who), said in self.drafts.items():
            kept = self.store.desk.find_draft(name, slot, who)
            assert kept is not None
            assert kept.stage == "final" or kept.assessment == said

    @invariant()
    def a_place_has_one_holder_at_a_time_and_events_say_so(self) -> None:
        holder: dict[tuple[str, int], str] = {}
        said: dict[tuple[str, int], Assessment | None] = {}
        for _, event in self.store.desk.list_events():
            place, action = (event.review_id, event.slot), event.action
            if isinstance(action, Claimed):
                assert place not in holder
                holder[place] = event.actor
            elif isinstance(action, Released):
                del holder[place]
            elif isinstance(action, Committed):
                assert holder[place] == event.actor
                said[place] = None
            elif isinstance(action, Finished):
                assert said[place] is None
                said[place] = action.assessment
            elif isinstance(action, Reopened):
                assert said[place] is not None
                said[place] = None
        assert said == {place: self.final.get(place) for place in self.blind}

    @invariant()
    def decisions_stand(self) -> None:
        for name, decision in self.decided.items():
            assert self.store.find_decision(name) == decision
            assert self.desk.place(name, 0).standing is ReviewStanding.DECIDED


def test_nothing_that_people_do_in_any_order_breaks_the_desk(empty_database: Path) -> None:
    DeskMachine.empty_database = empty_database
    run_state_machine_as_test(
        DeskMachine,
        settings=settings(
            max_examples=8,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
