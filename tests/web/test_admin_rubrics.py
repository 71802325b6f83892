"""The screen on which leads sign that other words of a rubric mean the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.library.lock import Change
from pipeline.library.roots import rubrics_root
from pipeline.library.rubric_revisions import load_revision, lock_rubrics
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.rubric_succession import find_signature
from pipeline.store import Store
from pipeline.web.context import Options
from tests.web.conftest import ClientFactory
from tests.web.reviews import commit, draw, finish

FORM = {"rubric": "performance_quality", "version": "v2"}


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """The shipped rubrics, and a second version of one of them with another title for its first criterion."""
    folder = tmp_path / "rubrics"
    shutil.copytree(rubrics_root(), folder)
    first = load_first(folder)
    (folder / "performance_quality" / "v2.toml").write_text(
        first.replace('version = "v1"', 'version = "v2"').replace(
            "\ntitle = ", '\ntitle = "<b>New</b>: " # ', 1
        )
    )
    lock_rubrics(folder, {("performance_quality", "v2"): Change("", "editorial")})
    return Options(rubrics=folder)


def load_first(folder: Path) -> str:
    return (folder / "performance_quality" / "v1.toml").read_text()


def test_a_lead_sees_what_changed_signs_it_and_waiting_reviews_take_the_new_words(
    client: ClientFactory, options: Options, desk: Desk, store: Store, accounts: Accounts
) -> None:
    dora = client("dora")
    page = dora.get("/admin/rubrics").text
    assert 'Waits for a signature <span class="muted">(1)</span>' in page
    assert "&lt;b&gt;New&lt;/b&gt;: " in page
    assert "<b>New" not in page
    assert "another meaning; nothing carries over" in page
    before = {place.item.review.id: desk.rubric_of(place.item.review.id) for place in desk.list_places()}
    answer = dora.post("/admin/rubrics/sign", data={**FORM, "reason": "a <i>clearer</i> title"})
    assert answer.headers["Location"] == "/admin/rubrics?done=signed"
    signed = find_signature(store, load_revision("performance_quality", "v2", root=options.rubrics))
    assert signed is not None
    assert (signed.lead, signed.reason) == ("dora", "a <i>clearer</i> title")
    page = dora.get(answer.headers["Location"]).text
    assert "No change of words waits for a signature" in page
    assert "a &lt;i&gt;clearer&lt;/i&gt; title" in page
    versions = {
        (rubric.id, rubric.version, desk.rubric_of(review_id).version) for review_id, rubric in before.items()
    }
    assert ("performance_quality", "v1", "v2") in versions
    assert all(after == version for name, version, after in versions if name != "performance_quality")
    anna = accounts.find("anna")
    assert anna is not None
    history = ""
    for _ in before:
        place = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3))
        history += dora.get(f"/history/{place.item.review.id}").text
    assert "rubric performance_quality v2" in history
    assert "rubric performance_quality v1" not in history
    again = dora.post("/admin/rubrics/sign", data=FORM)
    assert again.status_code == 422
    assert "was signed already, by dora" in again.text


@pytest.mark.parametrize(
    ("rubric", "version", "said"),
    [
        ("numerical_correctness", "v2", "is semantic: it carries nothing over"),
        ("performance_quality", "v1", "is the first version"),
        ("performance_quality", "v9", "has no published version"),
        ("../performance_quality", "v2", "holds no"),
        ("<script>", "v2", "holds no"),
    ],
)
def test_what_cannot_be_signed_is_refused_in_one_sentence(
    client: ClientFactory, rubric: str, version: str, said: str
) -> None:
    answer = client("dora").post("/admin/rubrics/sign", data={"rubric": rubric, "version": version})
    assert answer.status_code == 422
    assert said in answer.text
    assert "<script>" not in answer.text.partition("<main")[2]


def test_a_form_without_the_token_of_the_session_signs_nothing(
    client: ClientFactory, options: Options, store: Store
) -> None:
    dora = client("dora")
    del dora.headers["X-CSRF-Token"]
    assert dora.post("/admin/rubrics/sign", data=FORM).status_code == 403
    assert find_signature(store, load_revision("performance_quality", "v2", root=options.rubrics)) is None
