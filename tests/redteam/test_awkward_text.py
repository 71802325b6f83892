"""Odd numbers and odd text in an honest kernel get a verdict of the author's, never a fault of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.types import BuildResult, Owner, Verdict
from tests.redteam.test_hidden_shapes import inside

TILE = "nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)"

#: A statement, and the verdict it leads to.
STATEMENTS = {
    "half a surrogate pair in an exception": ("assert False, '\\ud800'", "runtime_error"),
    "a NUL in an exception": ("assert False, 'a\\0b'", "runtime_error"),
    "an exception of many lines": ("assert False, 'a\\nb\\r\\u2028c' * 100000", "runtime_error"),
    "a tile with 20 dimensions": (
        "nl.ndarray((8,) + (1,) * 18 + (8,), dtype=nl.float32, buffer=nl.sbuf)", "too_large",
    ),
    "a view with 20 dimensions": (
        f"nisa.memset(dst={TILE}.reshape((8,) + (1,) * 18 + (8,)), value=1.0)", "too_large",
    ),
    "a pattern of 100 dimensions": (
        "nisa.iota(dst=nl.ndarray((8, 8), dtype=nl.int32, buffer=nl.sbuf), pattern=[[1, 1]] * 100)",
        "illegal_on_target",
    ),
    "a step that no machine word holds": (
        "nisa.iota(dst=nl.ndarray((8, 8), dtype=nl.int32, buffer=nl.sbuf), pattern=[[2**70, 8]])",
        "compile_error",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STATEMENTS)
def test_an_awkward_statement(what: str, build: Callable[[str], BuildResult]) -> None:
    statement, verdict = STATEMENTS[what]
    built = build(inside(statement))
    assert built.verdict == Verdict(verdict)
    assert built.fault is not None
    assert built.fault.owner is Owner.SUBMISSION
    assert built.fault.message.splitlines() == [built.fault.message]
    assert len(built.fault.message) <= 2000


def test_a_tensor_name_with_half_a_surrogate_pair_is_no_fault(build: Callable[[str], BuildResult]) -> None:
    name = "nisa.memset(dst=nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf, name='\\ud800'), value=1.0)"
    assert build(inside(name)).verdict is None
