"""The name of a declared author reaches nobody who assesses: neither a page, nor the API, nor a file."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from pipeline.review.desk import Desk
from pipeline.review.exchange import argilla, collect_items, label_studio
from pipeline.review.exports import export_labels
from pipeline.review.labels import read_labels
from pipeline.store import Store
from tests.web.api_caller import Caller, caller
from tests.web.conftest import TASKS, ClientFactory
from tests.web.items import ANNA, address, enqueue, hand
from tests.web.reviews import commit, finish, new_key

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# an attempt\n"
DECLARED = "secret-author declared"


@pytest.fixture
def review_id(store: Store, desk: Desk) -> str:
    """A review of an attempt whose author was declared."""
    return enqueue(store, desk, CODE)


def walk(client: ClientFactory, name: str, *starts: str) -> dict[str, str]:
    """Return the pages that links lead to from `starts`, as `name` sees them, by address."""
    browser, left = client(name), ["/", *starts]
    found: dict[str, str] = {}
    while left:
        link = html.unescape(left.pop()).partition("#")[0]
        if link.startswith("/") and link not in found and not link.startswith("/static"):
            answer = browser.get(link)
            found[link] = answer.text
            left += re.findall(r'href="([^"]+)"', answer.text)
            left += [answer.headers["location"]] if answer.is_redirect else []
    return found


def ask_everything(asked: Caller, operations: dict[str, dict[str, Any]], review_id: str) -> dict[str, str]:
    """Return what every operation that only reads answers about a review, by path."""
    paths = [path for path, methods in operations.items() if "get" in methods]
    filled = [
        path.removeprefix("/api/v1").format_map(_Filling(review_id=review_id, slot="0")) for path in paths
    ]
    return {path: asked.send("GET", path).text for path in filled}


class _Filling(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "none"


def test_no_page_answer_or_file_for_those_who_assess_bears_it(
    review_id: str, desk: Desk, store: Store, client: ClientFactory, caller: CallerFactory, app: FastAPI
) -> None:
    operations = app.openapi()["paths"]
    place = hand(desk, ANNA, review_id)
    for stage in ("handed", "committed", "finished"):
        if stage == "committed":
            place = commit(desk, ANNA, place, 4)
        elif stage == "finished":
            finish(desk, ANNA, place)
        told = walk(client, "anna", address(place), f"/history/{review_id}")
        told |= walk(client, "carla", f"/history/{review_id}")
        told |= ask_everything(caller("anna"), operations, review_id)
        assert len(told) > 40
        assert desk.pseudonym(review_id) in told[address(place)]
        assert [where for where, text in told.items() if "secret-author" in text] == [], stage
    items, _ = collect_items(store, rubric=None, decided_too=True)
    files = [label_studio.export_tasks(items), argilla.export_records(items)]
    files += [export_labels(read_labels(store), "jsonl").decode()]
    assert review_id in "".join(files) or place.item.submission_id in "".join(files)
    assert [text for text in files if "secret-author" in text] == []


def test_a_lead_is_told_it_where_the_origin_is_told_once_the_reason_is_on_record(
    review_id: str, client: ClientFactory, caller: CallerFactory
) -> None:
    dora = client("dora")
    assert DECLARED not in dora.get("/admin").text
    form = {"review_id": review_id, "key": new_key(), "reason": "an appeal"}
    assert f".py, by {DECLARED}" in dora.post("/admin/unblind", data=form).text
    sent = {"reason": "an appeal", "key": new_key()}
    assert caller("carla").refused("POST", f"/reviews/{review_id}/unblind", sent) == (403, "forbidden")
    told = caller("dora").ask("POST", f"/reviews/{review_id}/unblind", sent)
    assert json.dumps(told).endswith(f'.py, by {DECLARED}"}}')
