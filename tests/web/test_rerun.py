"""Run it again, at the desk: two buttons, a tab that asks how far it is, and the same over the API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipeline.graph.reruns import Rerunner
from pipeline.review.desk import Desk
from pipeline.review.places import Place
from pipeline.review.reruns import RerunCase, RerunOutcome
from pipeline.store import Store
from pipeline.types import CaseKind, CaseResult, Fault, Owner, Verdict
from pipeline.web.services import reruns_of
from tests.web.api_caller import Caller, caller, key
from tests.web.conftest import TASKS, ClientFactory
from tests.web.items import ANNA, SECRETS, address, enqueue, fields_of, hand
from tests.web.reviews import commit, finish

__all__ = ["caller"]

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# run me again\n"
PART = {"HX-Request": "true"}


@pytest.fixture
def place(store: Store, desk: Desk) -> Place:
    """Anna has an item that ran."""
    return hand(desk, ANNA, enqueue(store, desk, CODE))


def settle(app: FastAPI, came: RerunOutcome | Fault) -> None:
    """Have what waits come out as `came`."""
    taken = reruns_of(app).take(0)
    assert taken is not None
    reruns_of(app).settle(taken, came)


def outcome(*cases: RerunCase, **more: Any) -> RerunOutcome:
    verdicts = [case.result.verdict for case in cases]
    verdict = next((one for one in verdicts if one is not Verdict.CORRECT), Verdict.CORRECT)
    return RerunOutcome(verdict=verdict, cases=cases, seed_id="0123456789ab", **more)


def case(name: str, verdict: Verdict = Verdict.CORRECT, *differences: str, **more: Any) -> RerunCase:
    kind = more.pop("kind", CaseKind.CHECK)
    result = CaseResult(case=name, kind=kind, axes={"n": 8}, seed=0, verdict=verdict, message="", **more)
    return RerunCase(result, differences)


@pytest.mark.sandbox
def test_it_runs_and_the_tab_says_bit_for_bit_as_recorded(
    app: FastAPI, store: Store, anna: TestClient, place: Place
) -> None:
    page = anna.get(address(place)).text
    assert 'id="tab-rerun"' in page
    part = anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART).text
    assert part.lstrip().startswith('<div id="rerun"')
    assert "none before it" in part
    polled = re.search(r'hx-get="([^"]+)"', part)
    assert polled
    assert Rerunner(store, reruns_of(app)).step()
    ended = anna.get(polled[1]).text
    assert "Bit for bit as recorded: correct" in ended
    assert "hx-get" not in ended
    assert "= equal" in ended
    detail = store.load_summary(place.item.review.grading_id)
    run = store.find_stage("run", store.list_stages(detail.grading_id)["run"])
    assert run is not None
    seed = re.search('"battery_seed":"([0-9a-f]{32})"', run.output)
    assert seed
    assert seed[1] not in ended


def test_without_script_what_is_written_is_kept_and_a_reload_shows_how_far_it_is(
    app: FastAPI, desk: Desk, anna: TestClient, place: Place
) -> None:
    form = fields_of(anna.get(address(place)).text)
    answer = anna.post(f"{address(place)}/rerun", data=form | {"rerun": "fresh", "note": "half a thought"})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{address(place)}#tab-rerun"
    page = anna.get(address(place)).text
    assert "half a thought" in page
    assert "It waits to run again" in page
    assert "Save, and look again" in page
    settle(app, outcome(case("small"), case("big", Verdict.INCORRECT)))
    assert "On fresh inputs: incorrect, 1 of 2 case runs correct." in anna.get(address(place)).text


def test_nothing_of_the_item_leads_through_it(
    app: FastAPI, store: Store, anna: TestClient, place: Place
) -> None:
    shown = [anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART).text]
    settle(app, outcome(case("small")))
    shown.append(anna.get(f"{address(place)}/rerun").text)
    for secret in (*SECRETS, "tab-judge", "audit", "probability", "certificate"):
        assert not [text for text in shown if secret in text], secret


def test_what_differs_comes_first_and_in_words(app: FastAPI, anna: TestClient, place: Place) -> None:
    anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART)
    notes = ("numerics: the run was made with A, this is B; results may differ for that",)
    settle(app, outcome(case("equal one"), case("other one", Verdict.CORRECT, "outputs"), notes=notes))
    part = anna.get(f"{address(place)}/rerun").text
    assert "Not as recorded: 1 of 2 case runs differ." in part
    assert part.index("other one") < part.index("equal one")
    assert "≠ outputs" in part
    assert notes[0] in part


def test_hidden_cases_stay_hidden_and_hostile_words_are_inert(
    app: FastAPI, anna: TestClient, place: Place
) -> None:
    anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART)
    hidden = case("secret shape", kind=CaseKind.HIDDEN).result.model_copy(update={"message": "n is 77"})
    told = case("told").result.model_copy(update={"message": "<script>alert(1)</script>\x1b[31m\u202e"})
    settle(app, outcome(RerunCase(hidden, ()), RerunCase(told, ())))
    part = anna.get(f"{address(place)}/rerun").text
    assert "secret shape" not in part
    assert "n is 77" not in part
    assert "<script>" not in part
    assert not {"\x1b", "\u202e"} & set(part)


def test_a_fault_is_one_sentence_and_it_can_be_asked_for_again(
    app: FastAPI, anna: TestClient, place: Place
) -> None:
    anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART)
    message = "it ran on trainium 1, which this machine does not have"
    settle(app, Fault(owner=Owner.ENVIRONMENT, code="other_executor", message=message, remedy="go on"))
    part = anna.get(f"{address(place)}/rerun").text
    assert f"It could not be run again: {message} (go on)." in part
    assert "hx-get" not in part
    again = anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART).text
    assert "It waits to run again" in again
    assert message in again


def test_a_restart_is_said_plainly(anna: TestClient, place: Place) -> None:
    part = anna.get(f"{address(place)}/rerun", params={"known": "again-0123456789abcdef"}).text
    assert "The desk was restarted and has forgotten this run" in part
    assert "hx-get" not in part


def test_what_never_ran_offers_no_rerun(store: Store, desk: Desk, anna: TestClient, place: Place) -> None:
    review_id = enqueue(store, desk, CODE + "# without a run\n")
    grading_id = store.load_review(review_id).review.grading_id
    stages = store.list_stages(grading_id)
    store.link_stages(grading_id, stages | {"run": "of nothing"})
    desk.hand_back(ANNA, place.item.review.id, place.slot, place.lease_id, reason="", skip=True)
    page = anna.get(address(hand(desk, ANNA, review_id))).text
    assert "tab-findings" in page
    assert "tab-rerun" not in page


def test_after_finishing_the_button_has_a_form_of_its_own(
    app: FastAPI, desk: Desk, anna: TestClient, place: Place
) -> None:
    finish(desk, ANNA, commit(desk, ANNA, place, 3))
    page = anna.get(address(place)).text
    assert f'<form method="post" action="{address(place)}/rerun">' in page
    assert 'form="assessment"' not in page[page.index('id="rerun"') :]
    assert anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}).status_code == 303


@pytest.mark.parametrize("kind", ["", "both", "<script>"])
def test_another_way_is_refused_in_one_sentence(anna: TestClient, place: Place, kind: str) -> None:
    answer = anna.post(f"{address(place)}/rerun", data={"rerun": kind}, headers=PART)
    assert answer.status_code == 422
    assert "choose from: replay, fresh" in answer.text


def test_somebody_else_gets_and_starts_nothing(app: FastAPI, client: ClientFactory, place: Place) -> None:
    client("anna").post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART)
    settle(app, outcome(case("only for anna")))
    for name in ("ben", "dora"):
        other = client(name)
        assert other.post(f"{address(place)}/rerun", data={"rerun": "replay"}).status_code in (403, 409)
        answer = other.get(f"{address(place)}/rerun")
        assert answer.status_code in (403, 409)
        assert "only for anna" not in answer.text


def test_looking_how_far_it_is_does_not_keep_the_lease(desk: Desk, anna: TestClient, place: Place) -> None:
    anna.post(f"{address(place)}/rerun", data={"rerun": "replay"}, headers=PART)
    until = desk.place(place.item.review.id, place.slot).lease_until
    anna.get(f"{address(place)}/rerun")
    assert desk.place(place.item.review.id, place.slot).lease_until == until


# The API


@pytest.mark.sandbox
def test_a_program_asks_and_looks_until_it_has_ended(
    app: FastAPI, store: Store, caller: Any, place: Place
) -> None:
    who: Caller = caller("anna")
    path = f"/places/{place.item.review.id}/{place.slot}/reruns"
    assert who.ask("GET", path) == []
    sent = {"kind": "replay", "key": key()}
    answer = who.send("POST", path, sent)
    assert answer.status_code == 202
    asked = answer.json()
    assert (asked["state"], asked["before"], asked["verdict"], asked["cases"]) == ("waiting", 0, None, [])
    assert who.send("POST", path, sent).json()["id"] == asked["id"]
    assert Rerunner(store, reruns_of(app)).step()
    (ended,) = who.ask("GET", path)
    assert (ended["id"], ended["state"], ended["verdict"]) == (asked["id"], "ended", "correct")
    assert ended["as_recorded"] is True
    assert ended["cases"]
    assert all(one["differences"] == [] for one in ended["cases"])
    assert who.send("POST", path, sent).json()["state"] == "ended"


def test_a_program_is_told_which_limit_it_met(caller: Any, place: Place) -> None:
    who: Caller = caller("anna")
    path = f"/places/{place.item.review.id}/{place.slot}/reruns"
    assert who.send("POST", path, {"kind": "replay", "key": key()}).status_code == 202
    assert who.refused("POST", path, {"kind": "fresh", "key": key()}) == (429, "too_many")
    assert who.refused("POST", path, {"kind": "other", "key": key()}) == (422, "invalid")
    stranger: Caller = caller("ben")
    assert stranger.refused("GET", path)[1] in ("forbidden", "not_held")


def test_a_program_is_told_the_fault(app: FastAPI, caller: Any, place: Place) -> None:
    who: Caller = caller("anna")
    path = f"/places/{place.item.review.id}/{place.slot}/reruns"
    who.send("POST", path, {"kind": "fresh", "key": key()})
    settle(app, Fault(owner=Owner.ENVIRONMENT, code="no_sandbox", message="no sandbox works here"))
    (ended,) = who.ask("GET", path)
    assert ended["problem"]["code"] == "no_sandbox"
    assert (ended["state"], ended["verdict"], ended["as_recorded"]) == ("ended", None, None)
