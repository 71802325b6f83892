"""Submissions that try to be accepted without being right: none is, each for the expected reason.

The attacks were written before any defence was tried on them; evals/redteam holds them. Here the tasks have
fewer and smaller cases than in a grading; `python -m evals.redteam.run` tries everything on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evals.redteam.cases import BEYOND_A_SUBMISSION, Arena, Work, load_attacks, load_honest, open_arena
from evals.redteam.run import Trial
from pipeline.types import Verdict
from tests.compare.limits import compare

ATTACKS = load_attacks()
#: Of the catalogue of known cheats and false verdicts.
ROWS = range(1, 61)
#: What inputs are drawn from here: any secret is as good.
SEED = "5eed" * 8


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with open_arena(workers=1, seed=SEED) as opened:
        yield opened


def test_the_suite_covers_what_a_submission_can_try() -> None:
    assert len(ATTACKS) >= 60
    assert len({attack.code for attack in ATTACKS}) == len(ATTACKS)
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    tried = {row for work in (*ATTACKS, *load_honest()) for row in work.rows}
    assert sorted([*tried, *BEYOND_A_SUBMISSION]) == list(ROWS)


def test_whatever_is_to_be_suspect_has_a_witness() -> None:
    assert [a.name for a in ATTACKS if a.verdict is Verdict.SUSPECT and a.witness is None] == []


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_attack_is_accepted_and_each_fails_for_its_reason(arena: Arena, attack: Work) -> None:
    trial = Trial(attack, arena.try_out(attack, sketched=True))
    assert not trial.accepted
    assert trial.verdict is attack.verdict, trial.reason
    assert trial.has_witness(), trial.reason


def agree(*arguments: Any, **keywords: Any) -> bool:
    return True


class AgreesInFunctions(np.ndarray):
    """An array for which `np.allclose` is always true: NumPy asks it instead of computing."""

    __array_function__ = agree


class AgreesInArithmetic(np.ndarray):
    """An array that answers each operation with True."""

    __array_ufunc__ = agree
    __eq__ = agree  # type: ignore[assignment]
    __sub__ = agree  # type: ignore[assignment]


class ClaimsOtherwise(np.ndarray):
    """An array that lies about its shape, dtype and size."""

    shape = property(lambda self: (1, 512))  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype(np.float32))  # type: ignore[assignment]
    size = property(lambda self: 512)  # type: ignore[assignment]
    astype = view = reshape = agree  # type: ignore[assignment]


@pytest.mark.parametrize("liar", [AgreesInFunctions, AgreesInArithmetic, ClaimsOtherwise])
def test_an_array_does_not_answer_for_itself(liar: type[np.ndarray]) -> None:
    wrong = np.zeros((1, 512), np.float32).view(np.ndarray)
    if liar is not ClaimsOtherwise:
        assert liar is AgreesInArithmetic or np.allclose(wrong.view(liar), np.ones((1, 512)))
    assert not compare(wrong.view(liar), np.ones((1, 512))).passed
    assert compare(np.ones((1, 512), np.float32).view(liar), np.ones((1, 512))).passed


def test_a_lie_about_the_shape_is_seen_through() -> None:
    empty = np.zeros((0, 512), np.float32).view(ClaimsOtherwise)
    assert compare(empty, np.ones((1, 512))).message == "output 'out' has shape [0, 512], expected [1, 512]"


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (np.zeros((0, 512), np.float32), np.ones((1, 512))),
        (np.zeros((), np.float32), np.zeros((4, 4))),
        (np.zeros((1, 1), np.float32), np.zeros((4, 4))),
        (np.zeros((4,), np.float32), np.zeros((4, 4))),
    ],
    ids=["no rows", "a scalar", "one element", "one row"],
)
def test_what_numpy_would_broadcast_is_no_answer(got: np.ndarray, expected: np.ndarray) -> None:
    assert np.allclose(got, expected)  # the trap
    assert not compare(got, expected).passed


@pytest.mark.parametrize(
    ("got", "expected"), [(np.nan, 1.0), (np.inf, 1.0), (np.nan, np.inf), (-np.inf, np.inf)]
)
def test_nan_and_infinity_stand_for_nothing_else(got: float, expected: float) -> None:
    everywhere = np.full((2, 3), got, np.float32)
    assert not compare(everywhere, np.full((2, 3), expected)).passed
    in_one_place = np.ones((2, 3), np.float32)
    in_one_place[1, 2] = got
    reference = np.ones((2, 3))
    reference[1, 2] = expected
    assert not compare(in_one_place, reference).passed


def test_a_reference_of_nan_lets_nothing_else_pass() -> None:
    reference = np.full((2, 3), np.nan)
    assert not compare(np.zeros((2, 3), np.float32), reference).passed


class Equal:
    """An object that is equal to everything and within every tolerance."""

    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = agree  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __sub__(self, other: object) -> float:
        return 0.0

    __rsub__ = __abs__ = __float__ = lambda self, *others: 0.0


@pytest.mark.parametrize(
    "dtype", [object, np.complex64, np.float64, np.float16, np.int32, np.bool_, "U4", "V4"]
)
def test_another_element_type_is_no_answer(dtype: Any) -> None:
    got = np.full((2, 3), Equal(), object) if dtype is object else np.zeros((2, 3), dtype)
    assert compare(got, np.zeros((2, 3))).message.startswith("output 'out' has dtype ")


def test_a_masked_array_hides_no_wrong_element() -> None:
    wrong = np.ma.masked_array(np.zeros((2, 3), np.float32), mask=True)
    assert not compare(wrong, np.ones((2, 3))).passed


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0])
def test_zeros_are_no_answer_however_small_the_truth(scale: float) -> None:
    truth = scale * np.array([[1.0, -1.0, 0.5], [2.0, 0.25, -0.5]])
    zeros = np.zeros((2, 3), np.float32)
    assert np.allclose(zeros, truth, atol=1e-5) is (scale < 1e-5)  # the trap
    assert not compare(zeros, truth).passed
