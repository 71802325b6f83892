"""Names that stay with an author and say nothing about them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review import pseudonyms
from pipeline.review.pseudonyms import author_of, author_to_cover, pseudonym_of
from pipeline.store import Store
from pipeline.store.records import DeskItem
from pipeline.types import Destination, Purpose, Review, Role, Verdict
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import ANNA, DORA, NOON, add_waiting


def item(origin: str, author: str = "") -> DeskItem:
    return DeskItem(
        review=Review(id="r-1", grading_id="g-1", reason="", opened_at=NOON),
        submission_id="s-1",
        task_id="t",
        origin=origin,
        author=author,
        destination=None,
        verdict=None,
        rubric="",
        decided=False,
    )


@pytest.mark.parametrize(
    ("origin", "author"),
    [
        ("team/zoe/kernel.py", "team/zoe"),
        ("answers.jsonl:12", "answers.jsonl"),
        ("night/answers.jsonl:3", "night/answers.jsonl"),
        ("kernel.py", "kernel.py"),
        ("/kernel.py", "kernel.py"),
        ("a/x.py, b/x.py", "a"),
        ("", "s-1"),
    ],
)
def test_rows_of_a_file_and_files_of_a_folder_are_one_authors(origin: str, author: str) -> None:
    assert author_of(item(origin)) == author
    assert author_of(item(origin, "model 7")) == "model 7"


@pytest.mark.parametrize(
    ("origin", "author"),
    [
        ("night/answers.jsonl:3", "night"),
        ("answers.jsonl:12", "."),
        ("/answers.jsonl:12", "/"),
        ("a/x.jsonl:1, b/x.jsonl:9", "a"),
        ("team/zoe/kernel.py", "team/zoe"),
        ("kernel.py", "kernel.py"),
        ("", "s-1"),
    ],
)
def test_a_certificate_covers_the_folder_of_a_file_of_rows_which_may_be_a_nights(
    origin: str, author: str
) -> None:
    assert author_to_cover("", origin, "s-1") == author
    assert author_to_cover("model 7", origin, "s-1") == "model 7"


def test_a_declared_author_is_one_author_wherever_the_work_lay(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", minute=1, origin="zoe/a.py", author="model 7")
    add_waiting(store, "two", minute=2, origin="max/a.py", author="model 7")
    add_waiting(store, "three", minute=3, origin="zoe/b.py")
    desk = open_desk()
    names = [desk.pseudonym(f"r-{name}") for name in ("one", "two", "three")]
    assert names[0] == names[1] != names[2]
    # Conflicts of interest go by the same name.
    place = desk.draw(ANNA.model_copy(update={"conflicts": (names[0],)}), key="1")
    assert place is not None
    assert place.item.review.id == "r-three"
    assert "model 7" not in f"{place.item!r} {place.item.model_dump_json()}"
    assert desk.unblind(DORA, "r-two", "an appeal", key="2") == "max/a.py, by model 7"


def test_the_same_author_has_the_same_name_after_a_restart_and_others_have_another(
    store: Store, open_desk: OpenDesk
) -> None:
    for name, origin in (("one", "zoe/a.py"), ("two", "zoe/b.py"), ("three", "max/a.py")):
        add_waiting(store, name, origin=origin)
    desk = open_desk()
    names = [desk.pseudonym(f"r-{name}") for name in ("one", "two", "three")]
    assert names[0] == names[1] != names[2]
    assert [open_desk().pseudonym(f"r-{name}") for name in ("one", "two", "three")] == names


@given(st.text(), st.text(alphabet=st.characters(), max_size=50))
def test_a_name_is_two_words_and_a_number_whatever_the_author_is_called(secret: str, author: str) -> None:
    name = pseudonym_of(secret, author)
    assert re.fullmatch(r"[a-z]+-[a-z]+-\d\d", name)
    assert name == pseudonym_of(secret, author)


def test_another_secret_gives_other_names() -> None:
    assert pseudonym_of("one", "zoe") != pseudonym_of("two", "zoe")


#: What pages say of a place, a person or a grade; "on" and "no" say nothing.
SIGNALS = {
    word
    for kind in (Destination, Purpose, Role, Verdict)
    for member in kind
    for word in member.split("_")
    if len(word) > 2
} | {
    "accept", "admin", "agree", "audit", "blind", "board", "confidence", "decided", "differ", "draft",
    "fault", "final", "grade", "judge", "level", "random", "route", "sample", "score", "second", "secret",
    "waiting",
    # And who is at the desks of tests.
    "anna", "ben", "carla", "dora", "ines", "mira", "tomas", "vera",
}  # fmt: skip


@pytest.mark.parametrize("signal", sorted(SIGNALS))
def test_no_word_of_a_pseudonym_says_what_a_page_says(signal: str) -> None:
    words = (*pseudonyms._ADJECTIVES, *pseudonyms._NOUNS)
    assert [word for word in words if signal in word] == []
