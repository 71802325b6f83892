"""Differences of texts: what they show is exact, and no text makes them slow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.web.diffs import Row, compare_lines

LINES = st.lists(st.sampled_from("abc"), max_size=12)


@given(LINES, LINES)
def test_both_texts_can_be_read_off_a_difference(before: list[str], after: list[str]) -> None:
    rows = compare_lines(before, after)
    assert [row.before for row in rows if row.before is not None] == list(range(len(before)))
    assert [row.after for row in rows if row.after is not None] == list(range(len(after)))


@given(LINES, LINES)
def test_lines_that_are_called_the_same_are_the_same(before: list[str], after: list[str]) -> None:
    for row in compare_lines(before, after):
        if row.kind == "same":
            assert row.before is not None
            assert row.after is not None
            assert before[row.before] == after[row.after]
        else:
            assert (row.before is None) == (row.kind == "added")
            assert (row.after is None) == (row.kind == "removed")


@given(LINES)
def test_a_text_does_not_differ_from_itself(lines: list[str]) -> None:
    assert {row.kind for row in compare_lines(lines, lines)} <= {"same"}


def test_one_changed_line_is_one_removed_and_one_added() -> None:
    assert compare_lines(["a", "b", "c"], ["a", "x", "c"]) == [
        Row("same", 0, 0),
        Row("removed", 1, None),
        Row("added", None, 1),
        Row("same", 2, 2),
    ]


def test_an_inserted_line_leaves_all_others_the_same() -> None:
    assert [row.kind for row in compare_lines(["a", "c"], ["a", "b", "c"])] == ["same", "added", "same"]


def test_texts_that_hardly_agree_are_shown_as_replaced_between_what_they_share() -> None:
    before = ["head", *(f"old {number}" for number in range(20_000)), "foot"]
    after = ["head", *(f"new {number}" for number in range(20_000)), "foot"]
    rows = compare_lines(before, after)
    assert [row.kind for row in (rows[0], rows[-1])] == ["same", "same"]
    assert [row.kind for row in rows[1:-1]] == ["removed"] * 20_000 + ["added"] * 20_000
