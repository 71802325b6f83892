"""Saved comments: one's own and everybody's, most wanted first."""

from __future__ import annotations

import threading

import pytest

from pipeline.review import saved_comments
from pipeline.review.errors import DeskError
from pipeline.review.saved_comments import SavedComments
from pipeline.store import Store
from pipeline.types import Account, Role
from tests.review.desk_examples import ANNA, BEN, DORA, VERA


@pytest.fixture
def comments(store: Store) -> SavedComments:
    return SavedComments(store)


def texts(comments: SavedComments, account: Account) -> list[str]:
    return [comment.text for comment in comments.list(account)]


def test_people_see_their_own_and_everybodys(comments: SavedComments) -> None:
    comments.save(ANNA, "Mask the tail tile.")
    comments.save(BEN, "Hoist the load.")
    comments.save(BEN, "Use fp32 here.", shared=True)
    assert texts(comments, ANNA) == ["Mask the tail tile.", "Use fp32 here."]
    assert texts(comments, BEN) == ["Hoist the load.", "Use fp32 here."]
    assert texts(comments, DORA) == ["Use fp32 here."]


def test_the_most_used_of_a_task_comes_first(comments: SavedComments) -> None:
    saved = {
        name: comments.save(ANNA, name, task_id=task)
        for name, task in [("softmax", "softmax"), ("any", ""), ("seldom", "rope"), ("often", "rope")]
    }
    for name, uses in [("softmax", 9), ("any", 5), ("often", 2), ("seldom", 1)]:
        for _ in range(uses):
            comments.use(ANNA, saved[name].id)
    assert [c.text for c in comments.suggest(ANNA, "rope")] == ["often", "seldom", "any", "softmax"]
    assert [c.text for c in comments.suggest(ANNA, "softmax")] == ["softmax", "any", "often", "seldom"]
    assert [c.text for c in comments.suggest(ANNA, "rope", limit=1)] == ["often"]
    assert texts(comments, ANNA) == ["softmax", "any", "often", "seldom"]


def test_the_same_words_for_the_same_task_are_one_comment(comments: SavedComments) -> None:
    first = comments.save(ANNA, " Mask it. ", task_id="rope")
    assert comments.save(ANNA, "Mask it.", task_id="rope") == first
    comments.save(ANNA, "Mask it.")
    comments.save(ANNA, "Mask it.", task_id="rope", shared=True)
    assert len(comments.list(ANNA)) == 3


def test_a_comment_is_changed_shared_and_keeps_its_uses(comments: SavedComments) -> None:
    saved = comments.save(ANNA, "Mask it.")
    comments.use(ANNA, saved.id)
    changed = comments.save(ANNA, "Mask the tail.", task_id="rope", shared=True, comment_id=saved.id)
    assert (changed.id, changed.owner, changed.uses) == (saved.id, "", 1)
    assert texts(comments, BEN) == ["Mask the tail."]


def test_a_comment_changed_into_another_becomes_that_one(comments: SavedComments) -> None:
    kept, other = comments.save(ANNA, "Mask it."), comments.save(ANNA, "Mask that.")
    assert comments.save(ANNA, "Mask it.", comment_id=other.id) == kept
    assert texts(comments, ANNA) == ["Mask it."]
    assert comments.save(ANNA, "Mask it.", comment_id=kept.id) == kept
    assert texts(comments, ANNA) == ["Mask it."]


def test_what_is_deleted_is_offered_no_longer_but_kept(store: Store, comments: SavedComments) -> None:
    saved = comments.save(ANNA, "Mask it.")
    comments.delete(ANNA, saved.id)
    comments.delete(ANNA, saved.id)
    assert texts(comments, ANNA) == []
    with pytest.raises(DeskError):
        comments.use(ANNA, saved.id)
    # What is deleted is only the newest record; SQL over the older ones still finds it.
    assert store.desk.list_records("saved_comment", type(saved))[0].text == ""
    comments.save(ANNA, "Mask it.")
    assert texts(comments, ANNA) == ["Mask it."]


def test_anothers_comment_is_as_if_it_were_not_there(comments: SavedComments) -> None:
    saved = comments.save(ANNA, "Mask it.")
    for attempt in (
        lambda: comments.save(BEN, "Stolen.", comment_id=saved.id),
        lambda: comments.delete(BEN, saved.id),
        lambda: comments.delete(DORA, saved.id),
        lambda: comments.use(BEN, saved.id),
        lambda: comments.use(BEN, "c-none"),
    ):
        with pytest.raises(DeskError) as refused:
            attempt()
        assert refused.value.code == "unknown"
    assert texts(comments, ANNA) == ["Mask it."]


def test_everybodys_comments_are_a_leads_to_change(comments: SavedComments) -> None:
    saved = comments.save(ANNA, "Mask it.", shared=True)
    for attempt in (
        lambda: comments.save(ANNA, "Mask all.", shared=True, comment_id=saved.id),
        lambda: comments.delete(BEN, saved.id),
    ):
        with pytest.raises(DeskError) as refused:
            attempt()
        assert refused.value.code == "forbidden"
    comments.delete(DORA, saved.id)
    assert texts(comments, ANNA) == []


def test_viewers_save_nothing(comments: SavedComments) -> None:
    with pytest.raises(DeskError) as refused:
        comments.save(VERA, "Nice.")
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
    "text", ["", " \n ", "x" * 4001, "\ud800"], ids=["empty", "blank", "long", "no text"]
)
def test_words_that_will_not_do_are_refused(comments: SavedComments, text: str) -> None:
    with pytest.raises(DeskError) as refused:
        comments.save(ANNA, text)
    assert refused.value.code == "invalid"


def test_there_is_an_end_to_what_one_person_saves(
    comments: SavedComments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_comments, "MOST", 2)
    first = comments.save(ANNA, "one")
    comments.save(ANNA, "two")
    with pytest.raises(DeskError, match="2 comments are saved already"):
        comments.save(ANNA, "three")
    comments.save(ANNA, "four", comment_id=first.id)
    comments.save(BEN, "three")
    comments.delete(ANNA, first.id)
    comments.save(ANNA, "three")


def test_no_use_is_lost_between_threads(comments: SavedComments) -> None:
    saved = comments.save(ANNA, "Mask it.", shared=True)
    people = [Account(name=f"p{number}", role=Role.REVIEWER) for number in range(8)]
    threads = [threading.Thread(target=comments.use, args=(person, saved.id)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert comments.list(ANNA)[0].uses == 8
