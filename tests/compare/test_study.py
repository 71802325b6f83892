"""Which run is studied: the one that says most about the arithmetic, and never a hidden one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.compare.study import Specimen, choose_specimen
from pipeline.execute.references import Draw
from pipeline.types import (
    Case,
    CaseKind,
    CaseResult,
    OutputError,
    Pattern,
    ProgramSummary,
    Tolerance,
    Verdict,
)

PROGRAM = ProgramSummary(
    axes={"M": 4},
    artifact="0" * 64,
    instructions=1,
    instructions_per_engine={},
    operations={},
    compute_dtypes=(),
    sbuf_peak_bytes=0,
    psum_peak_bytes=0,
)


def a_specimen(
    name: str, kind: str = "check", *, right: bool = True, pattern: str = "drawn", rel_l2: float = 1e-6
) -> Specimen:
    error = OutputError(
        output="out",
        rel_l2=rel_l2,
        worst_row_rel_l2=rel_l2,
        worst_elementwise=rel_l2,
        worst_index=(0,),
        got="1",
        expected="1",
        tolerance=Tolerance(rel_l2=1e-5, row_rel_l2=1e-5, elementwise=1e-5),
    )
    case = Case(name=name, kind=CaseKind(kind), axes={"M": 4}, pattern=Pattern(pattern))
    verdict = Verdict.CORRECT if right else Verdict.INCORRECT
    result = CaseResult(
        case=name, kind=case.kind, axes=case.axes, seed=0, verdict=verdict, message="m", errors=(error,)
    )
    return Specimen(PROGRAM, case, Draw((), ()), (np.zeros(1),), result)


def chosen(*specimens: Specimen) -> str | None:
    found = choose_specimen(specimens)
    return found.case.name if found is not None else None


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (a_specimen("wrong", right=False), a_specimen("right")),
        (a_specimen("wrong at a scored shape", "scored", right=False), a_specimen("right at a small one")),
        (a_specimen("small"), a_specimen("scored", "scored")),
        (a_specimen("drawn", "battery"), a_specimen("sorted", "battery", pattern="sorted")),
        (a_specimen("wrong pattern", right=False, pattern="offset"), a_specimen("right, as drawn")),
        (a_specimen("finite"), a_specimen("infinite", right=False, rel_l2=math.inf)),
    ],
)
def test_the_one_that_says_more_is_studied(better: Specimen, worse: Specimen) -> None:
    assert chosen(worse, better) == chosen(better, worse) == better.case.name


def test_a_hidden_case_is_never_studied() -> None:
    assert chosen(a_specimen("secret", "hidden", right=False), a_specimen("known")) == "known"
    assert chosen(a_specimen("secret", "hidden", right=False)) is None


def test_nothing_is_studied_where_no_output_is_finite() -> None:
    assert chosen(a_specimen("infinite", right=False, rel_l2=math.inf)) is None
    assert chosen() is None
