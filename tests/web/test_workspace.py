"""The workspace before the commit: nothing leads, nothing is lost, nothing breaks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.places import Place, PlaceState
from pipeline.store import Store
from pipeline.types import Answer, Assessment, SavedDraft
from pipeline.web.app import create_app
from pipeline.web.context import Context
from tests.web.conftest import TASKS, ClientFactory, log_in
from tests.web.items import ANNA, BEN, SECRETS, address, enqueue, fields_of, form_of, hand

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# an attempt\n"
ASKED = ("accumulation", "rounding_points", "low_precision", "equivalence_claim")
COMPLETE = {f"level.{name}": "3" for name in ASKED}

HOSTILE = (
    "import nki\n# </div></textarea><script>alert('owned')</script>\nx = '\x1b[31m \u202e live'\n",
    "'''\n" * 3 + "<!-- {{ 7 * 7 }} {% raw %}",
    "y = '" + "z" * 1_000_000 + "'\n",
    "y = 1\n" * 20_000,
    "\r\r\n\x00\x0b\x0c\u2028\n",
)


@pytest.fixture
def place(store: Store, desk: Desk) -> Place:
    """Anna has an item whose draft, route and origin are all known by `SECRETS`."""
    return hand(desk, ANNA, enqueue(store, desk, CODE))


def test_the_page_has_code_rubric_and_evidence(anna: TestClient, place: Place) -> None:
    page = anna.get(address(place))
    assert page.status_code == 200
    assert "# an attempt" in page.text
    for name in ASKED:
        assert f'name="level.{name}" value="4"' in page.text
    for tab in ("compile", "correctness", "numerics", "performance", "findings"):
        assert f'id="tab-{tab}"' in page.text
    assert page.text.count('<svg class="figure errors"') == 1


def test_nothing_of_judge_route_or_author_is_shown_before_the_commit(anna: TestClient, place: Place) -> None:
    here = address(place)
    shown = [anna.get(here).text]
    form = fields_of(shown[0])
    for mode in ("submission", "reference:good_fused.py", "starter", "previous"):
        shown.append(anna.get(f"{here}/code", params={"mode": mode}).text)
        shown.append(anna.get(here, params={"mode": mode}).text)
    shown.append(anna.post(f"{here}/draft", data=form | {"note": "so far"}).text)
    form["revision"] = "1"
    shown.append(anna.post(f"{here}/save", data=form | {"edit": "add-comment"}).text)
    shown.append(anna.post(f"{here}/commit", data=form).text)
    shown.append(anna.post(f"{here}/draft", data=form | {"revision": "0"}).text)
    shown.append(anna.post(f"{here}/preview", data=form | {"revision": "5", "stage": "final"}).text)
    shown.append(anna.post(f"{here}/final", data=form).text)
    for secret in (*SECRETS, "tab-judge", "audit", "probability", "certificate"):
        assert not [text for text in shown if secret in text], secret


def test_settled_criteria_are_shown_with_their_finding_and_cannot_be_levelled(
    anna: TestClient, place: Place
) -> None:
    page = anna.get(address(place)).text
    assert 'name="level.error_margin"' not in page
    assert "settled by a check" in page
    assert 'name="objection.error_margin"' in page


@pytest.mark.parametrize("code", HOSTILE, ids=["markup", "template", "long line", "long file", "controls"])
def test_hostile_code_is_inert(store: Store, desk: Desk, anna: TestClient, code: str) -> None:
    here = address(hand(desk, ANNA, enqueue(store, desk, code)))
    for answer in (
        anna.get(here),
        anna.get(here, params={"mode": "reference:good_fused.py"}),
        anna.get(f"{here}/code", params={"mode": "starter"}),
    ):
        assert answer.status_code == 200
        assert "<script>" not in answer.text
        assert not {"\x1b", "\u202e", "\x00", "\x0b"} & set(answer.text)
        if "7 * 7" in code and "starter" not in str(answer.url):
            assert "7</span>" in answer.text or "7 * 7" in answer.text


def test_an_unknown_mode_is_one_sentence(anna: TestClient, place: Place) -> None:
    answer = anna.get(f"{address(place)}/code", params={"mode": "<script>../../etc/passwd"})
    assert answer.status_code == 404
    assert "<script>../" not in answer.text


def test_the_previous_attempt_of_the_same_author_can_be_compared(
    store: Store, desk: Desk, anna: TestClient
) -> None:
    enqueue(store, desk, CODE + "# first try\n")
    here = address(hand(desk, ANNA, enqueue(store, desk, CODE + "# second try\n")))
    shown = anna.get(f"{here}/code", params={"mode": "previous"}).text
    assert "# first try" in shown
    assert shown.count('class="line removed"') == 1


def test_a_page_that_has_the_code_already_is_not_sent_it_again(anna: TestClient, place: Place) -> None:
    here = address(place)
    again = anna.get(here, headers={"X-Have-Code": f"{here} submission"})
    assert "# an attempt" not in again.text
    other = anna.get(here, headers={"X-Have-Code": f"{here} starter"})
    assert "# an attempt" in other.text


def test_a_draft_is_kept_and_acknowledged_with_its_revision(
    anna: TestClient, store: Store, place: Place
) -> None:
    here, form = address(place), form_of(anna, address(place))
    told = anna.post(
        f"{here}/draft",
        data=form
        | {
            "level.accumulation": "2",
            "level.low_precision": "none",
            "reason.low_precision": "no table",
            "note": "first\r\nsecond",
            "objection.error_margin": "the tolerance is wrong",
            "seconds": "12.5",
        },
    ).json()
    assert told["revision"] == 1
    assert datetime.fromisoformat(told["lease_until"]) > datetime.now(UTC)
    draft = store.desk.find_draft(place.item.review.id, place.slot, "anna")
    assert draft is not None
    assert 0 < draft.active_seconds <= 12.5
    assert draft.assessment.answers == {
        "accumulation": Answer(level=2),
        "low_precision": Answer(level=None, reason="no table"),
    }
    assert draft.assessment.note == "first\nsecond"
    assert [one.check for one in draft.assessment.objections] == ["error_margin"]


def test_a_draft_is_there_after_the_browser_and_the_server_were_killed(
    store: Store, place: Place, anna: TestClient
) -> None:
    here = address(place)
    anna.post(f"{here}/draft", data=form_of(anna, here) | COMPLETE | {"note": "half a thou"})
    restarted = TestClient(
        create_app(Context(store, Desk(store), Accounts(store))),
        base_url="http://desk.test",
        follow_redirects=False,
    )
    log_in(restarted, "anna")
    page = restarted.get(here).text
    assert "half a thou" in page
    assert page.count('value="3" data-key="4" checked') == len(ASKED)


def test_two_windows_are_told_and_neither_loses_its_text(
    anna: TestClient, store: Store, place: Place
) -> None:
    here, form = address(place), form_of(anna, address(place))
    assert anna.post(f"{here}/draft", data=form | {"note": "window one"}).status_code == 200
    refused = anna.post(f"{here}/draft", data=form | {"note": "window two"})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_revision")
    assert refused.json()["revision"] == 1
    page = anna.post(f"{here}/save", data=form | {"note": "window two"})
    assert page.status_code == 409
    assert "window two" in page.text
    assert "another window saved" in page.text
    kept = anna.post(f"{here}/draft", data=fields_of(page.text) | {"note": "window two"})
    assert kept.json()["revision"] == 2


def test_a_commit_from_an_older_window_is_not_taken_unseen(anna: TestClient, place: Place) -> None:
    here, form = address(place), form_of(anna, address(place)) | COMPLETE
    anna.post(f"{here}/draft", data=form | {"note": "newer"})
    page = anna.post(f"{here}/commit", data=form | {"note": "older"})
    assert page.status_code == 409
    assert ">older</textarea>" in page.text
    again = anna.post(f"{here}/commit", data=fields_of(page.text) | COMPLETE | {"note": "older"})
    assert again.status_code == 303


def test_an_incomplete_form_comes_back_with_everything_that_is_missing(
    anna: TestClient, desk: Desk, place: Place
) -> None:
    here, form = address(place), form_of(anna, address(place))
    some = {
        "level.accumulation": "3",
        "level.low_precision": "none",
        "level.rounding_points": "9",
        "note": "keep me",
    }
    page = anna.post(f"{here}/commit", data=form | some)
    assert page.status_code == 422
    for problem in ("say why it cannot be judged", "level 9 is not offered", "no answer yet"):
        assert problem in page.text
    assert ">keep me</textarea>" in page.text
    assert desk.open(ANNA, place.item.review.id, place.slot).state is PlaceState.HELD
    assert anna.post(f"{here}/commit", data=fields_of(page.text) | COMPLETE).status_code == 303


def test_a_commit_is_for_good_and_sending_it_twice_is_sending_it_once(
    anna: TestClient, desk: Desk, place: Place
) -> None:
    here, form = address(place), form_of(anna, address(place)) | COMPLETE
    first, second = (anna.post(f"{here}/commit", data=form) for _ in range(2))
    assert (first.status_code, first.headers["location"]) == (303, here)
    assert (second.status_code, second.headers["location"]) == (303, here)
    changed = anna.post(f"{here}/commit", data=form | {"key": "another", "level.accumulation": "0"})
    assert changed.status_code == 409
    standing = desk.open(ANNA, place.item.review.id, place.slot).submitted
    assert standing is not None
    assert {answer.level for answer in standing.blind.answers.values()} == {3}


def test_a_form_of_another_rubric_is_refused_and_kept(anna: TestClient, place: Place) -> None:
    here, form = address(place), form_of(anna, address(place)) | COMPLETE
    page = anna.post(f"{here}/commit", data=form | {"rubric": "0" * 64, "note": "mine"})
    assert page.status_code == 409
    assert "another version of the rubric" in page.text
    assert ">mine</textarea>" in page.text


def test_text_is_kept_when_the_lease_is_lost_and_nobody_is_named(
    client: ClientFactory, desk: Desk, store: Store, place: Place
) -> None:
    anna, here = client("anna"), address(place)
    form = form_of(anna, here)
    review = place.item.review.id
    desk.hand_back(ANNA, review, place.slot, place.lease_id, reason="as a time-out would", skip=False)
    hand(desk, BEN, review)
    refused = anna.post(f"{here}/draft", data=form | {"note": "mid-sentence"})
    assert refused.status_code == 409
    assert refused.json()["code"] == "lease_lost"
    assert "ben" not in refused.text.lower()
    draft = store.desk.find_draft(review, place.slot, "anna")
    assert draft is not None
    assert draft.assessment.note == "mid-sentence"
    committed = anna.post(f"{here}/commit", data=form | COMPLETE | {"revision": "1", "note": "whole"})
    assert committed.status_code == 409
    kept = store.desk.find_draft(review, place.slot, "anna")
    assert kept is not None
    assert kept.assessment.note == "whole"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/code"),
        ("POST", "/draft"),
        ("POST", "/save"),
        ("POST", "/commit"),
        ("POST", "/skip"),
        ("POST", "/flag"),
        ("POST", "/preview"),
        ("POST", "/final"),
        ("POST", "/undo"),
    ],
)
def test_nobody_reaches_what_another_has(client: ClientFactory, place: Place, method: str, path: str) -> None:
    form = form_of(client("anna"), address(place)) | COMPLETE | {"note": "forged", "flag.reason": "x"}
    del form["csrf"]
    data = form if method == "POST" else None
    answer = client("ben").request(method, address(place) + path, data=data)
    assert answer.status_code in (403, 409)
    assert "# an attempt" not in answer.text


@pytest.mark.parametrize(
    "path", ["/review/r-none/0", "/review/r-none/0/code", "/review/%00/0", "/review/x/-1"]
)
def test_what_is_not_there_is_not_found(anna: TestClient, path: str) -> None:
    assert anna.get(path).status_code == 404


def test_comments_on_lines_are_added_and_removed_by_buttons(anna: TestClient, place: Place) -> None:
    here, form = address(place), form_of(anna, address(place))
    new = {"new.first": "7", "new.last": "3", "new.text": "Why <here>?"}
    page = anna.post(f"{here}/save", data=form | new | {"edit": "add-comment"}).text
    assert "Lines 3 to 7" in page
    assert "Why &lt;here&gt;?" in page
    kept = {"comment.first": "3", "comment.last": "7", "comment.text": "Why?"}
    page = anna.post(f"{here}/save", data=fields_of(page) | kept | {"edit": "remove-comment:0"}).text
    assert "Lines 3 to 7" not in page


@pytest.mark.parametrize(
    "new", [{"new.text": "no line"}, {"new.first": "0", "new.text": "x"}, {"new.first": "2"}]
)
def test_a_comment_that_cannot_be_added_stays_in_its_fields(
    anna: TestClient, place: Place, new: dict[str, str]
) -> None:
    here = address(place)
    page = anna.post(f"{here}/save", data=form_of(anna, here) | new | {"edit": "add-comment"})
    assert page.status_code == 422
    for value in new.values():
        assert value in page.text


def test_too_long_a_text_is_one_sentence_with_the_limit(anna: TestClient, place: Place) -> None:
    here = address(place)
    told = anna.post(f"{here}/draft", data=form_of(anna, here) | {"note": "n" * 20_001})
    assert told.status_code == 422
    assert "20000 characters" in told.json()["message"]


@pytest.mark.parametrize(
    "odd",
    [
        {"level.accumulation": "-1"},
        {"level.accumulation": "<b>"},
        {"level.unknown": "3"},
        {"revision": "x", "seconds": "nan"},
        {"seconds": "-5"},
        {"seconds": "1e999"},
        {"comment.first": "x", "comment.last": "1", "comment.text": "y"},
        {"objection.": "reason"},
        {"feedback.shown": "1", "feedback.part": "works", "feedback.text": "t", "feedback.citations": "[{"},
        {"feedback.shown": "1", "feedback.part": "none", "feedback.text": "t", "feedback.citations": "[]"},
        {"edit": "remove-comment:99999999999999999999"},
        {"edit": "up:-1"},
        {"mode": "\x00"},
        {"note": "\ud83d"},
        {"stage": "final"},
    ],
    ids=str,
)
def test_forged_fields_break_nothing(anna: TestClient, place: Place, odd: dict[str, str]) -> None:
    here = address(place)
    form = form_of(anna, here)
    body = {name: value.encode("utf-8", "surrogatepass") for name, value in odd.items()}
    for action in ("draft", "save", "commit", "flag"):
        answer = anna.post(f"{here}/{action}", data=form | body)
        assert answer.status_code < 500, action


def test_skipping_keeps_the_draft_and_goes_on(
    anna: TestClient, store: Store, desk: Desk, place: Place
) -> None:
    here = address(place)
    answer = anna.post(f"{here}/skip", data=form_of(anna, here) | {"note": "begun", "skip.reason": "tired"})
    assert answer.status_code == 303
    assert not answer.headers["location"].startswith(here)
    assert desk.place(place.item.review.id, place.slot).state is PlaceState.WAITING
    draft = store.desk.find_draft(place.item.review.id, place.slot, "anna")
    assert draft is not None
    assert draft.assessment.note == "begun"


def test_a_flag_reaches_a_lead_and_the_item_stays(anna: TestClient, desk: Desk, place: Place) -> None:
    here = address(place)
    empty = anna.post(f"{here}/flag", data=form_of(anna, here))
    assert empty.status_code == 422
    sent = anna.post(f"{here}/flag", data=form_of(anna, here) | {"flag.reason": "two kernels in one"})
    assert sent.status_code == 303
    assert "A lead will look" in anna.get(sent.headers["location"]).text
    assert [event.action.kind for event in desk.list_flags()] == ["flagged"]


def test_the_page_has_no_inline_script_or_style(anna: TestClient, place: Place) -> None:
    page = anna.get(address(place)).text
    assert " style=" not in page
    assert "<style" not in page
    assert " on" + "click=" not in page
    assert page.count("<script") == page.count('<script src="') + page.count('<script type="module" src="')


def test_a_lease_that_ran_out_comes_back_with_the_draft(store: Store, client: ClientFactory) -> None:
    now = datetime.now(UTC)
    late = Desk(store, clock=lambda: now)
    review = enqueue(store, late, CODE)
    place = hand(late, ANNA, review)
    late.save_draft(
        ANNA,
        place.lease_id,
        SavedDraft(
            review_id=review,
            slot=place.slot,
            account="anna",
            revision=1,
            assessment=Assessment(note="before lunch"),
            stage="blind",
            saved_at=now,
        ),
    )
    now += timedelta(hours=3)
    assert late.open(ANNA, review, place.slot).draft is not None
