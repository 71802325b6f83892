"""The reveal: both opinions, what changes and why, the feedback, and the way back."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from pipeline.review.desk import Desk
from pipeline.review.places import Place, PlaceState
from pipeline.store import Store
from pipeline.types import Cause, FeedbackItem
from tests.web.conftest import TASKS, ClientFactory
from tests.web.items import ANNA, address, enqueue, fields_of, form_of, hand

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# to be revealed\n"
#: The judge gives 4 to each.
BLIND = {
    "level.accumulation": "4",
    "level.rounding_points": "1",
    "level.low_precision": "3",
    "level.equivalence_claim": "none",
    "reason.equivalence_claim": "it claims nothing",
}
DRAFTED = [
    ("works", "DRAFTED-FEEDBACK one"),
    ("change", "DRAFTED-FEEDBACK two"),
]


@pytest.fixture
def place(store: Store, desk: Desk, anna: TestClient) -> Place:
    """Anna has committed `BLIND`."""
    place = hand(desk, ANNA, enqueue(store, desk, CODE))
    here = address(place)
    committed = anna.post(f"{here}/commit", data=form_of(anna, here) | BLIND | {"note": "blind note"})
    assert committed.status_code == 303, committed.text
    return desk.open(ANNA, place.item.review.id, place.slot)


def final_form(anna: TestClient, place: Place, **changes: object) -> dict[str, object]:
    """Return the form as it is shown, with `changes`; dots stand as two underscores."""
    form: dict[str, object] = {**form_of(anna, address(place)), **BLIND, "feedback.shown": "yes"}
    form["note"] = "blind note"
    form["feedback.part"] = [part for part, _ in DRAFTED]
    form["feedback.text"] = [text for _, text in DRAFTED]
    form["feedback.citations"] = ["[]", "[]"]
    return form | {name.replace("__", "."): value for name, value in changes.items()}


def test_both_opinions_stand_side_by_side_with_disagreements_first(anna: TestClient, place: Place) -> None:
    page = anna.get(address(place)).text
    order = re.findall(r'id="criterion-([a-z_]+)"', page)
    assert order[:4] == ["equivalence_claim", "rounding_points", "low_precision", "accumulation"]
    assert page.count("You differ.") == 3
    assert page.count("You agree.") == 1
    assert "JUDGE-REASON for rounding_points" in page
    assert 'id="tab-judge"' in page
    assert "ROUTE-REASON" in page
    assert "secret-author" not in page


def test_the_feedback_editor_is_seeded_with_the_draft(anna: TestClient, place: Place) -> None:
    page = anna.get(address(place)).text
    assert re.findall(r'name="feedback.text"[^>]*>([^<]*)<', page) == [text for _, text in DRAFTED]


def test_finishing_untouched_keeps_all_levels_and_the_drafted_feedback(
    anna: TestClient, desk: Desk, place: Place
) -> None:
    answer = anna.post(f"{address(place)}/final", data=final_form(anna, place))
    assert answer.status_code == 303
    after = desk.place(place.item.review.id, place.slot)
    assert after.state is PlaceState.FINISHED
    assert after.submitted is not None
    assert after.submitted.final is not None
    assert after.submitted.final.answers == after.submitted.blind.answers
    assert after.submitted.final.feedback is None
    assert after.submitted.revisions == ()


def test_a_changed_level_needs_a_cause(anna: TestClient, desk: Desk, place: Place) -> None:
    here = address(place)
    form = final_form(anna, place, level__rounding_points="4", note="kept note")
    page = anna.post(f"{here}/final", data=form)
    assert page.status_code == 422
    assert "say why its level changed" in page.text
    assert ">kept note</textarea>" in page.text
    cause = {"cause.rounding_points": "missed_evidence", "remark.rounding_points": "line 30"}
    assert anna.post(f"{here}/final", data=form | fields_of(page.text) | cause).status_code == 303
    after = desk.place(place.item.review.id, place.slot)
    assert after.submitted is not None
    (revision,) = after.submitted.revisions
    assert (revision.criterion, revision.before, revision.after) == ("rounding_points", 1, 4)
    assert (revision.cause, revision.remark) == (Cause.MISSED_EVIDENCE, "line 30")
    assert after.submitted.blind.answers["rounding_points"].level == 1


def test_a_cause_without_a_change_is_no_revision(anna: TestClient, desk: Desk, place: Place) -> None:
    form = final_form(anna, place, cause__accumulation="slip")
    assert anna.post(f"{address(place)}/final", data=form).status_code == 303
    after = desk.place(place.item.review.id, place.slot)
    assert after.submitted is not None
    assert after.submitted.revisions == ()


def test_feedback_is_edited_moved_added_and_removed(anna: TestClient, desk: Desk, place: Place) -> None:
    here = address(place)
    page = anna.post(f"{here}/save", data=final_form(anna, place, edit="down:0")).text
    texts = re.findall(r'name="feedback.text"[^>]*>([^<]*)<', page)
    assert texts == ["DRAFTED-FEEDBACK two", "DRAFTED-FEEDBACK one"]
    new = {"new.part": "next", "new.feedback": "Read about PSUM.", "edit": "add-feedback"}
    page = anna.post(f"{here}/save", data=final_form(anna, place) | new).text
    assert "Read about PSUM." in re.findall(r'name="feedback.text"[^>]*>([^<]*)<', page)
    page = anna.post(f"{here}/save", data=final_form(anna, place, edit="remove-feedback:1")).text
    assert re.findall(r'name="feedback.text"[^>]*>([^<]*)<', page) == ["DRAFTED-FEEDBACK one"]
    form = final_form(anna, place, feedback__text=["mine", "DRAFTED-FEEDBACK two"])
    assert anna.post(f"{here}/final", data=form).status_code == 303
    after = desk.place(place.item.review.id, place.slot)
    assert after.submitted is not None
    assert after.submitted.final is not None
    assert after.submitted.final.feedback == (
        FeedbackItem(part="works", text="mine"),
        FeedbackItem(part="change", text="DRAFTED-FEEDBACK two"),
    )


def test_pass_or_fail_is_overruled_with_a_reason_only(anna: TestClient, place: Place) -> None:
    here = address(place)
    page = anna.post(f"{here}/final", data=final_form(anna, place, passed="no", note=""))
    assert page.status_code == 422
    assert "needs a note that says why" in page.text
    assert (
        anna.post(f"{here}/final", data=final_form(anna, place, passed="no", note="unsafe")).status_code
        == 303
    )


def test_a_preview_shows_what_the_author_would_get(anna: TestClient, place: Place) -> None:
    form = final_form(anna, place, note="For the <author>", feedback__text=["Well done.", "Mind line 3."])
    page = anna.post(f"{address(place)}/preview", data=form)
    assert page.status_code == 200
    shown = page.text[page.text.index('class="text preview"') :]
    for text in ("For the &lt;author&gt;", "Well done.", "Mind line 3."):
        assert text in shown
    assert "anna" not in shown[: shown.index("</pre>")].lower()


def test_what_is_written_after_the_commit_survives_with_its_causes(
    anna: TestClient, client: ClientFactory, place: Place
) -> None:
    here = address(place)
    form = final_form(anna, place, level__rounding_points="2", cause__rounding_points="slip", note="later")
    assert anna.post(f"{here}/draft", data=form).status_code == 200
    page = client("anna").get(here).text
    assert ">later</textarea>" in page
    assert '<option value="slip" selected>' in page


def test_finishing_goes_on_and_can_be_undone_for_a_while(
    anna: TestClient, store: Store, desk: Desk, place: Place
) -> None:
    here = address(place)
    enqueue(store, desk, CODE + "# the next one\n")
    following = anna.post(f"{here}/final", data=final_form(anna, place)).headers["location"]
    assert following != here
    page = anna.get(following).text
    assert f'action="{here}/undo"' in page
    undone = anna.post(f"{here}/undo", data={"key": "undo-this"})
    assert undone.headers["location"] == f"{here}?said=undone"
    assert desk.place(place.item.review.id, place.slot).state is PlaceState.COMMITTED
    assert "It is open again." in anna.get(undone.headers["location"]).text


def test_a_finished_item_is_shown_and_not_changed(anna: TestClient, desk: Desk, place: Place) -> None:
    here, form = address(place), final_form(anna, place)
    assert anna.post(f"{here}/final", data=form).status_code == 303
    assert anna.post(f"{here}/final", data=form).status_code == 303
    page = anna.get(here).text
    assert 'id="assessment"' not in page
    assert "Your final assessment stands" in page
    assert anna.post(f"{here}/final", data=form | {"key": "another-key"}).status_code == 409
    assert anna.post(f"{here}/draft", data=form | {"revision": "7"}).status_code == 409


def test_a_judge_that_writes_markup_is_text(anna: TestClient, place: Place) -> None:
    form = final_form(anna, place, feedback__text=["</textarea><script>alert(1)</script>", "\u202etwo"])
    page = anna.post(f"{address(place)}/preview", data=form).text
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_feedback_keeps_what_it_cites(anna: TestClient, desk: Desk, place: Place) -> None:
    cited = '[{"kind": "lines", "first_line": 1, "last_line": 2, "quote": "import nki"}]'
    form = final_form(anna, place, feedback__citations=[cited, "[]"])
    assert anna.post(f"{address(place)}/final", data=form).status_code == 303
    after = desk.place(place.item.review.id, place.slot)
    assert after.submitted is not None
    assert after.submitted.final is not None
    assert after.submitted.final.feedback is not None
    assert after.submitted.final.feedback[0].citations[0].last_line == 2
