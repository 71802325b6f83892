"""The API does what the pages do: a whole review by program, blind until the commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient

from pipeline.store import Store
from pipeline.types import Judgment
from tests.web.api_caller import Caller, assess, caller, key

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]


def draw(who: Caller) -> dict[str, Any]:
    place: dict[str, Any] = who.ask("POST", "/queue/draw", {"key": key()})["place"]
    return place


def path_of(place: dict[str, Any]) -> str:
    return f"/places/{place['review_id']}/{place['slot']}"


def commit(who: Caller, place: dict[str, Any], level: int = 3) -> dict[str, Any]:
    item = who.ask("GET", f"{path_of(place)}/item")
    body = {
        "lease_id": place["lease_id"],
        "rubric": place["rubric"],
        "assessment": assess(item, level),
        "seconds": 90.5,
        "key": key(),
    }
    done: dict[str, Any] = who.ask("POST", f"{path_of(place)}/commit", body)
    return done


def finish(who: Caller, place: dict[str, Any]) -> dict[str, Any]:
    body = {"assessment": place["blind"], "revisions": [], "seconds": 12, "key": key()}
    done: dict[str, Any] = who.ask("POST", f"{path_of(place)}/finish", body)
    return done


def test_a_program_reviews_an_item_from_the_queue_to_the_final_assessment(caller: CallerFactory) -> None:
    anna = caller("anna")
    before = anna.ask("GET", "/queue")
    assert before["waiting"] == 4
    place = draw(anna)
    assert (place["state"], place["slot"], place["draft"], place["blind"]) == ("held", 0, None, None)
    item = anna.ask("GET", f"{path_of(place)}/item")
    assert item["rubric_hash"] == place["rubric"]
    assert "nki" in item["code"]
    draft = {"lease_id": place["lease_id"], "revision": 1, "stage": "blind", "assessment": assess(item, 2)}
    assert anna.ask("PUT", f"{path_of(place)}/draft", {**draft, "active_seconds": 30})["revision"] == 1
    assert anna.ask("POST", f"{path_of(place)}/open")["draft"]["assessment"]["answers"] == {
        name: {"level": 2, "reason": ""} for name in item["asked"]
    }
    committed = commit(anna, place, level=3)
    assert committed["state"] == "committed"
    finished = finish(anna, committed)
    assert finished["state"] == "finished"
    assert finished["final"]["answers"] == committed["blind"]["answers"]
    after = anna.ask("GET", "/queue")
    assert (after["done_today"], [one["review_id"] for one in after["recent"]]) == (1, [place["review_id"]])


def test_the_final_assessment_can_be_undone_while_there_is_time(caller: CallerFactory) -> None:
    anna, dora = caller("anna"), caller("dora")
    dora.ask("PUT", "/settings", {"undo_seconds": 3600})
    finished = finish(anna, commit(anna, draw(anna)))
    undone = anna.ask("POST", f"{path_of(finished)}/undo", {"key": key()})
    assert (undone["state"], undone["final"]) == ("committed", None)


def test_the_same_draw_sent_again_is_the_same_place(caller: CallerFactory) -> None:
    anna = caller("anna")
    sent = {"key": key()}
    first, again = (anna.ask("POST", "/queue/draw", sent)["place"] for _ in range(2))
    assert (first["review_id"], first["slot"]) == (again["review_id"], again["slot"])


def test_a_commit_sent_again_changes_nothing_and_another_one_is_refused(caller: CallerFactory) -> None:
    anna = caller("anna")
    place = draw(anna)
    item = anna.ask("GET", f"{path_of(place)}/item")
    body = {"lease_id": place["lease_id"], "rubric": place["rubric"], "seconds": 1, "key": key()}
    first, again = (
        anna.ask("POST", f"{path_of(place)}/commit", {**body, "assessment": assess(item, 3)})
        for _ in range(2)
    )
    assert first["blind"] == again["blind"]
    other = {**body, "assessment": assess(item, 1), "key": key()}
    assert anna.refused("POST", f"{path_of(place)}/commit", other) == (409, "already_committed")


def test_nothing_of_the_judge_is_given_before_the_commit(caller: CallerFactory, store: Store) -> None:
    anna = caller("anna")
    place = draw(anna)
    grading_id = store.load_review(place["review_id"]).review.grading_id
    record = store.find_stage("judge", store.list_stages(grading_id)["judge"])
    route = store.load_route(grading_id)
    assert record is not None
    assert route is not None
    judgment = Judgment.model_validate_json(record.output)
    secrets = {route.reason, store.load_review(place["review_id"]).review.reason}
    secrets |= {item.text for item in judgment.feedback}
    secrets |= {score.reason for score in judgment.scores if score.source == "judge"}
    assert secrets
    answers = [
        anna.ask("GET", "/queue"),
        anna.ask("POST", f"{path_of(place)}/open"),
        anna.ask("GET", f"{path_of(place)}/item"),
        anna.ask("GET", f"{path_of(place)}/evidence"),
    ]
    told = json.dumps([place, *answers], ensure_ascii=False)
    assert not [secret for secret in secrets if secret in told]
    for word in ("scores", "feedback", "probability", "confidence", "destination", "grading_id", "standing"):
        assert f'"{word}": ' not in told.replace('"feedback": null', "")
    assert anna.refused("GET", f"{path_of(place)}/judgment") == (409, "not_committed")
    commit(anna, place)
    shown = anna.ask("GET", f"{path_of(place)}/judgment")
    assert [score["criterion"] for score in shown["scores"]] == [score.criterion for score in judgment.scores]


def test_no_answer_to_a_reviewer_says_where_a_submission_came_from(caller: CallerFactory) -> None:
    anna = caller("anna")
    place = draw(anna)
    told = [anna.ask("GET", f"{path_of(place)}/{what}") for what in ("item", "evidence")]
    assert not [author for author in ("mira/", "tomas/", "ines/") if author in json.dumps([place, *told])]


def test_evidence_holds_the_verdict_the_cases_and_the_facts(caller: CallerFactory) -> None:
    anna = caller("anna")
    evidence = anna.ask("GET", f"{path_of(draw(anna))}/evidence")
    assert (evidence["verdict"], evidence["problem"]) == ("correct", None)
    assert {case["verdict"] for case in evidence["cases"]} == {"correct"}
    assert {"counted", "modelled"} <= {fact["provenance"] for fact in evidence["facts"]}


def test_what_one_person_holds_is_another_persons_to_leave_alone(caller: CallerFactory) -> None:
    anna, ben = caller("anna"), caller("ben")
    place = draw(anna)
    for what in ("item", "evidence", "judgment"):
        assert ben.send("GET", f"{path_of(place)}/{what}").status_code in (403, 409)
    draft = {"lease_id": place["lease_id"], "revision": 1, "stage": "blind", "assessment": {}}
    assert ben.send("PUT", f"{path_of(place)}/draft", draft).status_code in (403, 409)
    assert ben.send("POST", f"{path_of(place)}/open").status_code in (403, 409)
    assert anna.ask("POST", f"{path_of(place)}/open")["draft"] is None


def test_an_incomplete_commit_names_every_missing_criterion(caller: CallerFactory) -> None:
    anna = caller("anna")
    place = draw(anna)
    asked = anna.ask("GET", f"{path_of(place)}/item")["asked"]
    body = {
        "lease_id": place["lease_id"],
        "rubric": place["rubric"],
        "assessment": {},
        "seconds": 1,
        "key": key(),
    }
    answer = anna.send("POST", f"{path_of(place)}/commit", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "incomplete")
    assert asked
    assert len(asked) > 1


def test_a_commit_under_another_rubric_is_refused(caller: CallerFactory) -> None:
    anna = caller("anna")
    place = draw(anna)
    item = anna.ask("GET", f"{path_of(place)}/item")
    body = {"lease_id": place["lease_id"], "assessment": assess(item, 3), "seconds": 1, "key": key()}
    sent = {**body, "rubric": "0" * 64}
    assert anna.refused("POST", f"{path_of(place)}/commit", sent) == (409, "stale_rubric")


def test_a_final_level_that_differs_needs_a_revision(caller: CallerFactory) -> None:
    anna = caller("anna")
    committed = commit(anna, draw(anna), level=3)
    name = next(iter(committed["blind"]["answers"]))
    changed = {"answers": {**committed["blind"]["answers"], name: {"level": 2}}}
    body = {"assessment": changed, "seconds": 5, "key": key()}
    assert anna.refused("POST", f"{path_of(committed)}/finish", body) == (422, "incomplete")
    revision = {"criterion": name, "before": 3, "after": 2, "cause": "slip"}
    finished = anna.ask("POST", f"{path_of(committed)}/finish", {**body, "revisions": [revision]})
    assert finished["revisions"] == [{**revision, "remark": ""}]


def test_a_skipped_item_is_not_served_again(caller: CallerFactory) -> None:
    anna = caller("anna")
    served = []
    while (place := anna.ask("POST", "/queue/draw", {"key": key()})["place"]) is not None:
        served.append(place["review_id"])
        body = {"lease_id": place["lease_id"], "skip": True, "reason": "not tonight"}
        anna.ask("POST", f"{path_of(place)}/hand-back", body)
        assert len(served) <= 4
    assert len(set(served)) == 4


def test_a_flag_reaches_the_lead(caller: CallerFactory) -> None:
    anna, dora = caller("anna"), caller("dora")
    place = draw(anna)
    anna.ask("POST", f"{path_of(place)}/flag", {"reason": "the statement contradicts itself", "key": key()})
    flags = dora.ask("GET", "/reviews/flags")["items"]
    assert [(flag["review_id"], flag["by"], flag["reason"]) for flag in flags] == [
        (place["review_id"], "anna", "the statement contradicts itself")
    ]


def test_a_lead_takes_a_place_back_and_its_draft_stays(caller: CallerFactory, store: Store) -> None:
    anna, dora = caller("anna"), caller("dora")
    place = draw(anna)
    draft = {"lease_id": place["lease_id"], "revision": 1, "stage": "blind", "assessment": {"note": "half"}}
    anna.ask("PUT", f"{path_of(place)}/draft", draft)
    dora.ask("POST", f"{path_of(place)}/take-back", {"reason": "anna is ill", "key": key()})
    listed = {one["review_id"]: one for one in dora.ask("GET", "/places")["items"]}
    assert listed[place["review_id"]]["state"] == "waiting"
    kept = store.desk.find_draft(place["review_id"], place["slot"], "anna")
    assert kept is not None
    assert kept.assessment.note == "half"


def test_only_a_lead_is_told_the_author_and_the_reason_goes_on_record(
    caller: CallerFactory, store: Store
) -> None:
    review_id = store.list_reviews()[0].review.id
    sent = {"reason": "the author asked for a second look", "key": key()}
    assert caller("carla").refused("POST", f"/reviews/{review_id}/unblind", sent) == (403, "forbidden")
    origin = caller("dora").ask("POST", f"/reviews/{review_id}/unblind", sent)["origin"]
    assert any(author in origin for author in ("mira", "tomas", "ines"))
    recorded = [event.action for event in store.desk.list_events_of(review_id)]
    assert [action.reason for action in recorded if action.kind == "unblinded"] == [sent["reason"]]


def test_others_assessments_are_an_adjudicators_alone(caller: CallerFactory) -> None:
    anna = caller("anna")
    finished = finish(anna, commit(anna, draw(anna)))
    address = f"/reviews/{finished['review_id']}/others"
    assert anna.refused("GET", address) == (403, "forbidden")
    assert caller("carla").refused("GET", address) == (403, "forbidden")


def test_a_browsers_session_does_not_count_at_the_api(client: Callable[..., TestClient]) -> None:
    answer = client("anna").get("/api/v1/queue")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert set(answer.json()) == {"code", "message", "remedy"}


def test_no_token_and_a_wrong_token_are_told_how_to_do_better(caller: CallerFactory) -> None:
    nobody = caller()
    assert nobody.refused("GET", "/queue") == (401, "not_logged_in")
    nobody._client.headers["Authorization"] = "Bearer nkg_wrong"
    assert nobody.refused("GET", "/queue") == (401, "not_logged_in")
