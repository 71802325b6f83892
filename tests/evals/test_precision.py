"""Planted losses of precision: the attribution names the planted line first."""

from __future__ import annotations

import numpy as np
import pytest

from evals.precision.cases import CASES, Planted
from pipeline.emulator import legality
from pipeline.emulator.machine.shadow import Shadow
from pipeline.emulator.program import validate


def test_there_are_at_least_twenty_and_all_differ():
    assert len(CASES) >= 20
    assert len({case.source for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_planted_line_comes_first(case: Planted):
    program = case.program()
    validate(program)
    assert not [v.message for v in legality.check(program) if v.severity is legality.Severity.ERROR]
    for seed in range(3):
        found = Shadow(program).attribute(case.inputs(seed))
        first = found.lines[0]
        assert first.line == case.line
        assert first.share > 0.9
        assert np.isfinite(first.rel_l2)
