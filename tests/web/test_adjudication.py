"""Adjudication: two assessments without names, an honest pick per criterion, and nothing that is lost."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.places import Place
from pipeline.store import Store
from pipeline.types import Account, Answer, Assessment, Cause, Criterion, DeskSettings, Level, Purpose
from pipeline.web.picks import Choice, list_choices, read_picks
from tests.web.conftest import ClientFactory
from tests.web.reviews import draw, review_all


def _account(accounts: Accounts, name: str) -> Account:
    account = accounts.find(name)
    assert account is not None
    return account


@pytest.fixture
def differing(desk: Desk, accounts: Accounts) -> None:
    """Anna gives every criterion its best level and ben its worst, in every review."""
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    review_all(desk, _account(accounts, "anna"), 4, note="Anna holds it for sound.")
    review_all(desk, _account(accounts, "ben"), 0, note="Ben sees a race.")


@pytest.fixture
def adjudication(differing: None, desk: Desk, accounts: Accounts) -> Place:
    """What carla is served then."""
    place = draw(desk, _account(accounts, "carla"))
    assert place.purpose is Purpose.ADJUDICATION
    return place


def _draw_this(desk: Desk, account: Account, review_id: str) -> Place:
    """Draw until it is that review, skipping others."""
    place = draw(desk, account)
    while place.item.review.id != review_id:
        desk.hand_back(account, place.item.review.id, place.slot, place.lease_id, reason="", skip=True)
        place = draw(desk, account)
    return place


def _hidden(page: str) -> dict[str, str]:
    """Return the form's hidden fields."""
    form = page[page.index('id="adjudication"') :]
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form)
    }


def _picks(desk: Desk, review_id: str, source: str, **more: str) -> dict[str, str]:
    values = {}
    for name in desk.asked_criteria(review_id):
        values |= {f"source-{name}": source, f"cause-{name}": "rubric_unclear"}
    return {**values, **more}


def _show(client: TestClient, place: Place) -> str:
    answer = client.get(f"/adjudicate/{place.item.review.id}")
    assert answer.status_code == 200, answer.text
    return answer.text


def test_an_adjudicator_sees_both_assessments_and_neither_name(
    adjudication: Place, client: ClientFactory
) -> None:
    page = _show(client("carla"), adjudication)
    assert "Anna holds it for sound." in page
    assert "Ben sees a race." in page
    main = page[page.index("<main") :].replace("Anna holds", "").replace("Ben sees", "")
    for name in ("anna", "Anna", "ben<", "Ben<", "by ben"):
        assert name not in main
    assert "level 4" in main
    assert "level 0" in main


def test_nothing_of_the_judge_is_there_before_the_commit(
    adjudication: Place, client: ClientFactory, store: Store
) -> None:
    from pipeline.report.collect import Collector

    page = _show(client("carla"), adjudication)
    detail = Collector(store).load_detail(store.load_summary(adjudication.item.review.grading_id))
    assert detail.judgment is not None
    assert detail.route is not None
    drafted = {score.reason for score in detail.judgment.scores if score.source == "judge"}
    drafted |= {item.text for item in detail.judgment.feedback}
    for text in (*drafted, detail.route.reason, detail.judgment.judge):
        assert html.escape(text) not in page


def test_a_commit_keeps_each_pick_and_leads_to_the_reveal(
    adjudication: Place, client: ClientFactory, desk: Desk, store: Store
) -> None:
    carla = client("carla")
    review_id = adjudication.item.review.id
    fields = _hidden(_show(carla, adjudication))
    sent = _picks(desk, review_id, "A", rubric_change="Say what a race is.", note="B is right on one point.")
    answer = carla.post(f"/adjudicate/{review_id}", data={**fields, **sent, "action": "commit"})
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == f"/review/{review_id}/{adjudication.slot}"
    committed = [
        event.action
        for event in store.desk.list_events_of(review_id)
        if event.actor == "carla" and event.action.kind == "committed"
    ]
    assert len(committed) == 1
    assert {pick.source for pick in committed[0].picks.values()} == {"A"}
    assert {pick.cause for pick in committed[0].picks.values()} == {Cause.RUBRIC_UNCLEAR}
    assert set(committed[0].picks) == set(desk.asked_criteria(review_id))
    assert committed[0].rubric_change == "Say what a race is."
    assert "Say what a race is." in client("dora").get("/progress").text
    assert "Say what a race is." not in client("vera").get("/progress").text
    assert carla.get(f"/adjudicate/{review_id}").headers["location"] == answer.headers["location"]


def test_sending_the_form_twice_commits_once(
    adjudication: Place, client: ClientFactory, desk: Desk, store: Store
) -> None:
    carla = client("carla")
    review_id = adjudication.item.review.id
    sent = {**_hidden(_show(carla, adjudication)), **_picks(desk, review_id, "B"), "action": "commit"}
    assert carla.post(f"/adjudicate/{review_id}", data=sent).status_code == 303
    assert carla.post(f"/adjudicate/{review_id}", data=sent).status_code == 303
    events = store.desk.list_events_of(review_id)
    assert sum(event.actor == "carla" and event.action.kind == "committed" for event in events) == 1


def test_a_second_window_that_comes_after_the_commit_gets_its_text_back(
    adjudication: Place, client: ClientFactory, desk: Desk
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    form = {**_hidden(_show(carla, adjudication)), **_picks(desk, review_id, "A"), "action": "commit"}
    assert carla.post(f"/adjudicate/{review_id}", data=form).status_code == 303
    late = {"key": "another-key", "note": "From the <second> window", "rubric_change": "Say what a race is."}
    refused = carla.post(f"/adjudicate/{review_id}", data=form | late)
    assert refused.status_code == 409
    assert "note: From the &lt;second&gt; window" in refused.text
    assert "rubric change: Say what a race is." in refused.text


def test_an_incomplete_form_says_what_is_missing_and_keeps_what_was_written(
    adjudication: Place, client: ClientFactory, desk: Desk, store: Store
) -> None:
    carla = client("carla")
    review_id = adjudication.item.review.id
    criteria = {criterion.id: criterion.title for criterion in desk.rubric_of(review_id).criteria}
    first, *rest = desk.asked_criteria(review_id)
    sent = {f"source-{first}": "other", f"level-{first}": "7", "note": "Half a thought", "action": "commit"}
    answer = carla.post(f"/adjudicate/{review_id}", data={**_hidden(_show(carla, adjudication)), **sent})
    assert answer.status_code == 422
    assert f"{html.escape(criteria[first])}: choose the other level from 0, 1, 2, 3, 4" in answer.text
    for name in rest:
        assert f"{html.escape(criteria[name])}: pick A, B or another level." in answer.text
    assert "Half a thought" in answer.text
    assert "Half a thought" in _show(carla, adjudication)


def test_what_is_written_is_there_again_after_the_browser_died(
    adjudication: Place, client: ClientFactory, desk: Desk
) -> None:
    review_id = adjudication.item.review.id
    carla = client("carla")
    fields = _hidden(_show(carla, adjudication))
    answer = carla.post(
        f"/adjudicate/{review_id}/draft",
        data={**fields, "note": "Kept?", f"source-{desk.asked_criteria(review_id)[0]}": "B"},
    )
    assert answer.status_code == 200, answer.text
    assert re.fullmatch(r"\d\d:\d\d:\d\d", answer.json()["saved_at"])
    page = _show(client("carla"), adjudication)
    assert "Kept?" in page
    assert 'value="B" checked' in page


def test_a_draft_that_comes_when_another_has_it_is_kept_and_says_so(
    adjudication: Place, client: ClientFactory, desk: Desk, accounts: Accounts
) -> None:
    review_id = adjudication.item.review.id
    carla, dora = client("carla"), _account(accounts, "dora")
    fields = _hidden(_show(carla, adjudication))
    desk.take_back(dora, review_id, adjudication.slot, "for the test", key="t1")
    taken = _draw_this(desk, dora, review_id)
    answer = carla.post(
        f"/adjudicate/{review_id}/draft",
        data={**fields, "note": "Written too late"},
        headers={"Accept": "application/json"},
    )
    assert answer.status_code == 409
    assert answer.json()["code"] == "lease_lost"
    assert "dora" not in answer.text
    assert carla.post(f"/adjudicate/{review_id}", data={**fields, "note": "Later still"}).status_code == 409
    desk.hand_back(dora, review_id, taken.slot, taken.lease_id, reason="", skip=True)
    _draw_this(desk, _account(accounts, "carla"), review_id)
    assert "Later still" in _show(carla, adjudication)


def test_a_form_that_another_window_overtook_is_shown_again_and_counts_when_sent_again(
    adjudication: Place, client: ClientFactory
) -> None:
    carla = client("carla")
    path = f"/adjudicate/{adjudication.item.review.id}"
    old = _hidden(_show(carla, adjudication))
    first = carla.post(f"{path}/draft", data={**old, "note": "From the first window"})
    assert first.json()["revision"] == int(old["revision"]) + 1
    overtaken = carla.post(path, data={**old, "note": "From the second window"})
    assert overtaken.status_code == 409
    assert "Another window saved this form" in overtaken.text
    assert "From the second window" in overtaken.text
    assert "From the first window" in _show(carla, adjudication)
    again = carla.post(path, data={**_hidden(overtaken.text), "note": "From the second window"})
    assert again.status_code == 200
    assert "From the second window" in _show(carla, adjudication)


def test_the_time_at_work_goes_on_after_a_reload(
    adjudication: Place, client: ClientFactory, store: Store
) -> None:
    carla = client("carla")
    fields = _hidden(_show(carla, adjudication))
    review_id = adjudication.item.review.id
    carla.post(f"/adjudicate/{review_id}/draft", data={**fields, "seconds": "12.5"})
    draft = store.desk.find_draft(review_id, adjudication.slot, "carla")
    assert draft is not None
    assert 0 < draft.active_seconds <= 12.5
    assert f'data-seconds="{draft.active_seconds:.1f}"' in _show(carla, adjudication)


def test_another_way_to_look_at_the_code_keeps_the_form(
    adjudication: Place, client: ClientFactory, store: Store
) -> None:
    carla = client("carla")
    review_id = adjudication.item.review.id
    fields = _hidden(_show(carla, adjudication))
    sent = {**fields, "note": "Half a thought", "mode": "starter"}
    page = carla.post(f"/adjudicate/{review_id}", data=sent)
    assert page.status_code == 200
    assert 'value="starter" aria-pressed="true"' in page.text
    assert "Half a thought" in page.text
    kinds = [event.action.kind for event in store.desk.list_events_of(review_id) if event.actor == "carla"]
    assert "committed" not in kinds
    unknown = carla.post(f"/adjudicate/{review_id}", data={**sent, "mode": "<b>none</b>"})
    assert unknown.status_code == 404
    assert "<b>none" not in unknown.text


def test_enter_in_a_field_commits_nothing(
    adjudication: Place, client: ClientFactory, desk: Desk, store: Store
) -> None:
    carla = client("carla")
    review_id = adjudication.item.review.id
    complete = {**_hidden(_show(carla, adjudication)), **_picks(desk, review_id, "A")}
    assert carla.post(f"/adjudicate/{review_id}", data=complete).status_code == 200
    kinds = [event.action.kind for event in store.desk.list_events_of(review_id) if event.actor == "carla"]
    assert "committed" not in kinds


def test_one_that_is_skipped_keeps_what_was_written_and_is_anothers(
    adjudication: Place, client: ClientFactory, desk: Desk, accounts: Accounts, store: Store
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    sent = {
        **_hidden(_show(carla, adjudication)),
        "note": "Half a thought",
        "skip_reason": "I wrote the task.",
    }
    answer = carla.post(f"/adjudicate/{review_id}/skip", data=sent)
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] not in (f"/adjudicate/{review_id}", "/queue?nothing=true")
    (released,) = [
        event.action
        for event in store.desk.list_events_of(review_id)
        if event.actor == "carla" and event.action.kind == "released"
    ]
    assert (released.why, released.reason) == ("skipped", "I wrote the task.")  # type: ignore[union-attr]
    draft = store.desk.find_draft(review_id, adjudication.slot, "carla")
    assert draft is not None
    assert draft.assessment.note == "Half a thought"
    place = desk.draw(_account(accounts, "carla"), key="next")
    while place is not None:
        assert place.item.review.id != review_id
        desk.hand_back(
            _account(accounts, "carla"),
            place.item.review.id,
            place.slot,
            place.lease_id,
            reason="",
            skip=True,
        )
        place = desk.draw(_account(accounts, "carla"), key=f"after {place.item.review.id}")
    assert _draw_this(desk, _account(accounts, "dora"), review_id).slot == adjudication.slot


def test_a_flag_reaches_the_lead_and_the_form_is_there_as_it_was(
    adjudication: Place, client: ClientFactory, desk: Desk
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    hostile = "<b>both</b> are wrong\u202e"
    sent = {**_hidden(_show(carla, adjudication)), "note": "Half a thought", "flag_reason": hostile}
    answer = carla.post(f"/adjudicate/{review_id}/flag", data=sent)
    assert answer.status_code == 303, answer.text
    page = carla.get(answer.headers["location"]).text
    assert "A lead will look at this item." in page
    assert "Half a thought" in page
    # What was sent does not wait to be sent again.
    assert "are wrong" not in page
    (flag,) = desk.list_flags()
    assert (flag.review_id, flag.actor, flag.action.reason) == (review_id, "carla", hostile)  # type: ignore[union-attr]
    admin = client("dora").get("/admin").text
    assert "&lt;b&gt;both&lt;/b&gt; are wrong" in admin
    assert "\u202e" not in admin


@pytest.mark.parametrize(
    "reason", ["", "   ", "x" * 2001], ids=["without a reason", "of blanks alone", "too long"]
)
def test_a_flag_that_says_nothing_or_too_much_comes_back_with_the_form(
    adjudication: Place, client: ClientFactory, desk: Desk, reason: str
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    sent = {**_hidden(_show(carla, adjudication)), "note": "Half a thought", "flag_reason": reason}
    answer = carla.post(f"/adjudicate/{review_id}/flag", data=sent)
    assert answer.status_code == 422
    assert "a flag needs a reason of at most 2000 characters" in answer.text
    assert "Half a thought" in answer.text
    assert reason in answer.text
    assert desk.list_flags() == []


@pytest.mark.parametrize("action", ["skip", "flag"])
def test_from_a_window_that_another_overtook_nothing_is_done_yet(
    adjudication: Place, client: ClientFactory, desk: Desk, action: str
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    old = _hidden(_show(carla, adjudication))
    carla.post(f"/adjudicate/{review_id}/draft", data={**old, "note": "From the first window"})
    sent = {**old, "note": "From the second window", "flag_reason": "look", "skip_reason": "no"}
    answer = carla.post(f"/adjudicate/{review_id}/{action}", data=sent)
    assert answer.status_code == 409
    assert "Another window saved this form" in answer.text
    assert "From the second window" in answer.text
    assert desk.list_flags() == []
    assert desk.place(review_id, adjudication.slot).holder == "carla"


@pytest.mark.parametrize("note", ["", "And one more thing"], ids=["the same form", "a form that went on"])
@pytest.mark.parametrize("action", ["skip", "flag"])
def test_after_the_commit_skipping_leads_on_or_gives_back_the_text_and_a_flag_still_counts(
    adjudication: Place, client: ClientFactory, desk: Desk, action: str, note: str
) -> None:
    carla, review_id = client("carla"), adjudication.item.review.id
    sent = {**_hidden(_show(carla, adjudication)), **_picks(desk, review_id, "A"), "flag_reason": "look"}
    carla.post(f"/adjudicate/{review_id}", data={**sent, "action": "commit"})
    answer = carla.post(f"/adjudicate/{review_id}/{action}", data={**sent, "note": note})
    if action == "skip" and note:
        assert answer.status_code == 409
        assert f"note: {note}" in answer.text
        return
    while answer.status_code == 303:
        last = answer.headers["location"]
        answer = carla.get(last)
    assert last.partition("?")[0] == f"/review/{review_id}/{adjudication.slot}"
    assert ("A lead will look at this item." in answer.text) == (action == "flag")
    assert [event.action.kind for event in desk.list_flags()] == ["flagged"] * (action == "flag")
    assert desk.place(review_id, adjudication.slot).holder == "carla"


@pytest.mark.parametrize("name", ["anna", "vera"])
def test_only_adjudicators_may_see_it(adjudication: Place, client: ClientFactory, name: str) -> None:
    assert client(name).get(f"/adjudicate/{adjudication.item.review.id}").status_code == 403


def test_a_review_without_adjudication_is_not_found(desk: Desk, client: ClientFactory) -> None:
    review_id = desk.list_places()[0].item.review.id
    carla = client("carla")
    assert carla.get(f"/adjudicate/{review_id}").status_code == 404
    assert carla.get("/adjudicate/r-nothing").status_code == 404
    assert carla.post("/adjudicate/r-nothing/draft", data={}).status_code == 404


def test_hostile_words_of_a_reviewer_are_inert(desk: Desk, accounts: Accounts, client: ClientFactory) -> None:
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    hostile = '<script>alert("x")</script>\u202e\x1b[2J'
    review_all(desk, _account(accounts, "anna"), 4, note=hostile)
    review_all(desk, _account(accounts, "ben"), 0)
    page = _show(client("carla"), draw(desk, _account(accounts, "carla")))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "\u202e" not in page
    assert "\x1b" not in page


# Reading the form, without the desk

_LEVELS = tuple(Level(level=level, anchor=f"anchor {level}") for level in range(5))


def _criterion(name: str) -> Criterion:
    return Criterion(
        id=name,
        title=name.upper(),
        question="?",
        weight=1.0,
        source="judge",
        evidence=("code",),
        levels=_LEVELS,
    )


def _said(**levels: int | None) -> Assessment:
    return Assessment(answers={name: Answer(level=level, reason="so") for name, level in levels.items()})


def test_what_differs_most_comes_first_and_what_nobody_judged_last() -> None:
    others = [("A", _said(p=3, q=1, r=None, s=2)), ("B", _said(p=2, q=4, r=None, s=None))]
    choices = list_choices([_criterion(name) for name in "pqrs"], others)
    assert [(choice.criterion.id, choice.differs) for choice in choices] == [
        ("s", True),  # one could judge it and the other could not
        ("q", True),  # 3 levels apart
        ("p", True),  # 1 level apart
        ("r", False),
    ]


def _read(choice: Choice, **values: str) -> Any:
    return read_picks({f"{name}-p": value for name, value in values.items()}, (choice,))


def test_where_both_agree_a_pick_needs_no_cause_but_another_level_does() -> None:
    (choice,) = list_choices([_criterion("p")], [("A", _said(p=3)), ("B", _said(p=3))])
    agreed = _read(choice, source="A")
    assert agreed.problems == ()
    assert agreed.assessment.answers["p"] == Answer(level=3, reason="so")
    assert agreed.picks["p"].cause is Cause.OTHER
    assert _read(choice, source="other", level="1").problems == ("P: choose why neither stands.",)
    changed = _read(choice, source="other", level="1", cause="edge_case")
    assert changed.problems == ()
    assert changed.assessment.answers["p"].level == 1


def test_what_cannot_be_judged_needs_a_reason() -> None:
    (choice,) = list_choices([_criterion("p")], [("A", _said(p=3)), ("B", _said(p=0))])
    assert _read(choice, source="other", level="none", cause="slip").problems == (
        "P: say why it cannot be judged.",
    )
    unjudged = _read(choice, source="other", level="none", cause="slip", reason="no evidence")
    assert unjudged.assessment.answers["p"] == Answer(level=None, reason="no evidence")


@given(st.dictionaries(st.sampled_from(["source-p", "level-p", "cause-p", "reason-p", "note"]), st.text()))
def test_no_form_breaks_the_reading_and_only_offered_levels_come_of_it(values: dict[str, str]) -> None:
    choices = list_choices([_criterion("p")], [("A", _said(p=3)), ("B", Assessment())])
    reading = read_picks(values, choices)
    if not reading.problems:
        assert reading.assessment.answers["p"].level in (None, 0, 1, 2, 3, 4)
        assert set(reading.picks) == {"p"}
