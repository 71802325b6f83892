"""A desk in the middle of an evening: something on every screen, made by the desk's own rules."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.report.collect import Collector
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.norming import Norming
from pipeline.review.places import Place
from pipeline.review.saved_comments import SavedComments
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Account,
    Answer,
    Assessment,
    Citation,
    Committed,
    DeskSettings,
    FeedbackItem,
    LineComment,
    Role,
    SavedDraft,
)

__all__ = ["PASSWORD", "PEOPLE", "Evening", "Screen", "furnish", "grade_kernels", "hire"]

PROGRAM = Path(sys.executable).with_name("nki-grader")
TASKS = Path(__file__).parents[2] / "data" / "tasks"
PASSWORD = "a password of the exhibition"
PEOPLE = {
    "anna": Role.REVIEWER,
    "ben": Role.REVIEWER,
    "carla": Role.ADJUDICATOR,
    "dora": Role.LEAD,
}

#: How long people take for an item before and after they see the draft, in seconds.
_BLIND: Final = 240.0
_FINAL: Final = 60.0

#: Who handed in what: mostly kernels that work, since a person is asked about those.
_SUBMITTED = (
    ("mira", "rmsnorm", "good_simple.py"),
    ("mira", "softmax_rows", "good_fused.py"),
    ("tomas", "transpose", "good_simple.py"),
    ("ines", "rmsnorm", "good_fused.py"),
    ("ines", "softmax_rows", "good_simple.py"),
    ("jun", "transpose", "good_fused.py"),
    ("jun", "rmsnorm", "bad_gain_ignored.py"),
    ("jun", "layernorm", "good_simple.py"),
    ("leo", "bias_gelu_residual", "good_simple.py"),
    ("leo", "cumsum", "good_simple.py"),
)


#: What that judge says of everything, and what it would tell the author.
_OPINION: dict[str, Any] = {
    "reason": "Every sum is formed in float32 and rounded once, where the output is stored.",
    "citations": (Citation(kind="lines", first_line=11, last_line=12),),
}
_FEEDBACK = (
    FeedbackItem(part="works", text="Each tile is loaded once, and the sums stay in float32."),
    FeedbackItem(part="change", text="The gain is loaded anew in each round: load it before the loop."),
    FeedbackItem(part="next", text="Try two buffers, so that loads and arithmetic overlap."),
)


class Evening:
    """A clock that begins some hours ago, goes on while people work, and ends at the present."""

    def __init__(self, hours_ago: float = 0.0) -> None:
        """Begin that many hours ago."""
        self._behind = timedelta(hours=hours_ago)

    def now(self) -> datetime:
        """Return what it shows, in UTC."""
        return datetime.now(UTC) - self._behind

    def go_on(self, seconds: float) -> None:
        """Let time pass, as far as there is any."""
        self._behind = max(timedelta(), self._behind - timedelta(seconds=seconds))

    def catch_up(self) -> None:
        """Show the present from now on."""
        self._behind = timedelta()


class Screen(NamedTuple):
    """One screen.

    Attributes:
        name: What it is called in files and messages.
        account: Who looks at it; empty for nobody who is logged in.
        path: Its address.
    """

    name: str
    account: str
    path: str


def grade_kernels(folder: Path) -> Path:
    """Grade the kernels in a fresh database below `folder`; return the database."""
    submissions, database = folder / "submissions", folder / "desk.duckdb"
    for author, task, name in _SUBMITTED:
        source = TASKS / task / "solutions" / name
        if source.exists():
            target = submissions / author / task / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    subprocess.run([PROGRAM, "grade", submissions, "--db", database], check=True, stdout=subprocess.DEVNULL)
    return database


def hire(accounts: Accounts) -> None:
    """Give the people of the exhibition their accounts."""
    for name, role in PEOPLE.items():
        accounts.create(Account(name=name, role=role, display=name.capitalize()), PASSWORD)


def furnish(store: Store, desk: Desk, accounts: Accounts, evening: Evening | None = None) -> list[Screen]:
    """Have people work at every kind of thing there is; return all screens.

    Args:
        store: With at least four reviews that wait.
        desk: The desk over it.
        accounts: With the people of `PEOPLE`.
        evening: The clock of `desk`; None where it shows the present, and all of it takes no time.
    """
    evening = evening or Evening()
    anna, ben, carla, dora = (_find(accounts, name) for name in PEOPLE)
    by_chance = {"second_review_rate": 1.0, "gold_rate": 0.0, "audit_rate": 0.0}
    desk.change_settings(dora, DeskSettings(**by_chance, undo_seconds=0.0, lease_minutes=600.0))
    _draft_all(store, desk)
    waiting = len({place.item.review.id for place in desk.list_places()})
    # While others hold two, ben is served second reviews alone.
    kept_back = [(person, _draw(desk, person)) for person in (carla, dora)]
    for _ in range(waiting - 2):
        drawn = _draw(desk, anna)
        evening.go_on(_BLIND)
        committed = _commit(desk, anna, drawn, 4, "The pools rotate; no race is left.")
        evening.go_on(_FINAL)
        _finish(desk, committed)
    done = []
    for level in [1, *(3 if number % 2 else 4 for number in range(waiting - 3))]:
        drawn = _draw(desk, ben)
        evening.go_on(_BLIND)
        place = _commit(desk, ben, drawn, level, "It may read a tile before it is written.")
        evening.go_on(_FINAL)
        _finish(desk, place)
        done.append(place.item.review.id)
    differing, *agreeing = done
    agreed = agreeing[0]
    desk.decide_due()
    for person, place in kept_back:
        desk.hand_back(person, place.item.review.id, place.slot, place.lease_id, reason="", skip=False)
    drawn, begun = _draw(desk, ben), _draw(desk, anna)
    evening.go_on(_BLIND)
    revealed = _commit(desk, ben, drawn, 2, "Sound, but it rounds twice.")
    evening.catch_up()
    _draw(desk, carla)
    _write_half(desk, anna, begun)

    comments = SavedComments(store)
    comments.save(anna, "Hoist this load out of the loop: it reads the same tile every time.")
    comments.save(dora, "Say in the docstring which axis lies on the partitions.", shared=True)
    norming = Norming(store, desk)
    session = norming.start(dora, "What counts as rounding twice", [agreed], key=_key())
    for person, level in ((carla, 2), (dora, 3)):
        _commit(desk, person, norming.join(person, session.id, agreed, key=_key()), level)
    norming.reveal(dora, session.id)
    norming.remark(dora, session.id, agreed, "The anchor of level 3 covers it.", key=_key())
    desk.change_settings(dora, DeskSettings(**by_chance, undo_seconds=10.0))
    (batch, *_) = store.list_batches()
    return [
        Screen("login", "", "/login"),
        Screen("queue", "ben", "/queue"),
        Screen("workspace", "anna", _address(begun)),
        Screen("reveal", "ben", _address(revealed)),
        Screen("finished", "anna", f"/review/{agreed}/{_slot(store, agreed, anna)}"),
        Screen("adjudication", "carla", f"/adjudicate/{differing}"),
        Screen("history", "dora", f"/history/{agreed}"),
        Screen("progress", "dora", "/progress"),
        Screen("progress-list", "dora", "/progress/reviews"),
        Screen("batches", "dora", "/batches"),
        Screen("batch", "dora", f"/batches/{batch.id}"),
        Screen("batch-checks", "dora", f"/batches/{batch.id}/checks"),
        Screen("batch-list", "dora", f"/batches/{batch.id}/gradings"),
        Screen("comments", "anna", "/comments"),
        Screen("norming", "dora", "/norming"),
        Screen("norming-session", "dora", f"/norming/{session.id}"),
        Screen("norming-comparison", "dora", f"/norming/{session.id}/{agreed}"),
        Screen("timesheet", "anna", "/timesheet"),
        Screen("admin", "dora", "/admin"),
        Screen("accounts", "dora", "/admin/accounts"),
        Screen("account", "dora", "/admin/accounts/anna"),
        Screen("own-account", "anna", "/account"),
        Screen("error", "anna", "/nothing-is-here"),
    ]


def _find(accounts: Accounts, name: str) -> Account:
    account = accounts.find(name)
    if account is None:
        raise LookupError(f"nobody is called {name}")
    return account


def _draft_all(store: Store, desk: Desk) -> None:
    """Have a judge with opinions draft what the rules leave open."""
    collector = Collector(store)
    for place in desk.list_places():
        grading_id = place.item.review.grading_id
        drafted = collector.load_detail(store.load_summary(grading_id)).judgment
        assert drafted is not None
        asked = desk.asked_criteria(place.item.review.id)
        scores = tuple(
            score.model_copy(
                update={"level": 4 - asked.index(score.criterion) % 3, "source": "judge", **_OPINION}
            )
            if score.criterion in asked
            else score
            for score in drafted.scores
        )
        judgment = drafted.model_copy(update={"judge": "a judge", "scores": scores, "feedback": _FEEDBACK})
        stages = store.list_stages(grading_id)
        stages["judge"] = f"judge of {grading_id}"
        store.record_stage(
            StageRecord(stage="judge", key=stages["judge"], output=judgment.model_dump_json(), seconds=0)
        )
        store.link_stages(grading_id, stages)
    store.flush()


def _draw(desk: Desk, account: Account) -> Place:
    place = desk.draw(account, key=_key())
    if place is None:
        raise LookupError(f"nothing is left for {account.name}")
    return place


def _commit(desk: Desk, account: Account, place: Place, level: int, note: str = "") -> Place:
    review_id = place.item.review.id
    answers = {name: Answer(level=level) for name in desk.asked_criteria(review_id)}
    return desk.commit(
        account,
        review_id,
        place.slot,
        place.lease_id,
        Assessment(answers=answers, note=note),
        rubric=place.item.rubric,
        seconds=_BLIND,
        key=_key(),
    )


def _finish(desk: Desk, place: Place) -> None:
    said = place.submitted
    assert said is not None
    who = Account(name=said.account, role=PEOPLE[said.account])
    review_id, slot = place.item.review.id, place.slot
    desk.finish(who, review_id, slot, said.blind, revisions=(), seconds=_FINAL, key=_key())


def _write_half(desk: Desk, account: Account, place: Place) -> None:
    first, second, *_ = desk.asked_criteria(place.item.review.id)
    draft = SavedDraft(
        review_id=place.item.review.id,
        slot=place.slot,
        account=account.name,
        revision=1,
        assessment=Assessment(
            answers={first: Answer(level=3, reason="One buffer would do."), second: Answer(level=4)},
            comments=(LineComment(first_line=8, last_line=9, text="Why twice?"),),
            note="Clear code. Say which axis lies on the partitions.",
        ),
        stage="blind",
        active_seconds=_BLIND,
        saved_at=datetime.now(UTC),
    )
    desk.save_draft(account, place.lease_id, draft)


def _address(place: Place) -> str:
    return f"/review/{place.item.review.id}/{place.slot}"


def _slot(store: Store, review_id: str, account: Account) -> int:
    return next(
        event.slot
        for event in store.desk.list_events_of(review_id)
        if isinstance(event.action, Committed) and event.actor == account.name
    )


def _key() -> str:
    return uuid.uuid4().hex
