"""CSV that no spreadsheet runs."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.spreadsheets import to_csv


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1"], ids=ascii
)
def test_text_that_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    (_, (cell,)) = csv.reader(io.StringIO(to_csv(["a"], [[text]]), newline=""))
    assert cell == "'" + text


def test_numbers_stay_numbers_and_nothing_is_empty() -> None:
    assert to_csv(["a", "b", "c"], [[-1, 0.5, None]]) == "a,b,c\r\n-1,0.5,\r\n"


def test_commas_quotes_and_lines_stay_in_their_cell() -> None:
    assert to_csv(["a", "b"], [['x,"y"', "one\ntwo"]]) == 'a,b\r\n"x,""y""","one\ntwo"\r\n'


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=2))
def test_every_cell_is_read_back_or_has_an_apostrophe(cells: list[str]) -> None:
    (_, row) = csv.reader(io.StringIO(to_csv(["c"] * len(cells), [cells]), newline=""))
    assert all(read in (cell, "'" + cell) for read, cell in zip(row, cells, strict=True))
    assert not any(read.lstrip(" ").startswith(tuple("=+-@\t\r\n")) for read in row)
