"""How a wrong output is related to the right one: planted mistakes are named, others are not."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.compare.relations import describe_relation

RNG = np.random.default_rng(3)
SQUARE = RNG.standard_normal((64, 64))
TALL = RNG.standard_normal((300, 40))
FLOAT32 = 2.0**-24


def say(got: np.ndarray, expected: np.ndarray) -> str:
    """Describe `got` as a float32 kernel would give it."""
    return describe_relation(got.astype(np.float32).astype(np.float64), expected, FLOAT32)


PLANTED = {
    "zeros": (np.zeros_like(TALL), TALL, "every element is zero"),
    "one constant": (np.full_like(TALL, 2.5), TALL, "every element is 2.5"),
    "transposed": (SQUARE.T, SQUARE, "the reference transposed: "),
    "transposed in another shape": (TALL.T.reshape(TALL.shape), TALL, "transposed, laid out"),
    "transposed in each slice": (
        np.swapaxes(np.stack([SQUARE, SQUARE + 1]), 1, 2),
        np.stack([SQUARE, SQUARE + 1]),
        "the reference transposed",
    ),
    "sum for mean": (TALL / 512, TALL, "every element is 1/512 times"),
    "scaled twice": (TALL * 0.125**0.5, TALL, "every element is 0.353553 times"),
    "sign": (-TALL, TALL, "with the sign reversed"),
    "constant added": (TALL + 3, TALL, "every element is off by 3"),
    "row scale": (TALL * RNG.uniform(1, 2, (300, 1)), TALL, "each row is a multiple"),
    "column scale": (TALL * RNG.uniform(1, 2, 40), TALL, "each column is a multiple"),
    "row offset": (TALL + RNG.uniform(1, 2, (300, 1)), TALL, "each row is off by a constant"),
    "missing bias": (TALL - RNG.uniform(1, 2, 40), TALL, "each column is off by a constant"),
    "one row late": (np.roll(TALL, 1, axis=0), TALL, "the reference 1 row late"),
    "one tile early": (np.roll(TALL, -128, axis=0), TALL, "the reference 128 rows early"),
    "one column early": (np.roll(TALL, -1, axis=1), TALL, "the reference 1 column early"),
    "first tile repeated": (TALL[np.arange(300) % 128], TALL, "every tile of 128 rows repeats the first"),
    "first row everywhere": (np.tile(TALL[:1], (300, 1)), TALL, "every row is the same"),
    "columns swapped": (TALL[:, np.arange(40) ^ 1], TALL, "in another order"),
}


@pytest.mark.parametrize(("got", "expected", "said"), PLANTED.values(), ids=PLANTED)
def test_a_planted_mistake_is_named(got: np.ndarray, expected: np.ndarray, said: str) -> None:
    told = say(got, expected)
    assert said in told


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (RNG.standard_normal((300, 40)), TALL),
        (TALL + 0.1 * RNG.standard_normal((300, 40)), TALL),
        (np.abs(TALL), TALL),
        # A relation between a handful of numbers is chance.
        (np.array([[2.0, 4.0]]), np.array([[1.0, 2.0]])),
        (np.array([[2.0]]), np.array([[1.0]])),
        # Nothing is a multiple of nothing.
        (TALL, np.zeros_like(TALL)),
    ],
)
def test_nothing_is_said_where_there_is_no_relation(got: np.ndarray, expected: np.ndarray) -> None:
    assert say(got, expected) == ""


def test_a_relation_of_one_corner_is_not_told_of_the_whole() -> None:
    got = TALL * 2
    got[290:] = 7 * RNG.standard_normal((10, 40))
    assert say(got, TALL) == ""


def test_rounding_of_the_output_does_not_hide_a_relation() -> None:
    import ml_dtypes

    got = (TALL / 3).astype(ml_dtypes.float8_e4m3).astype(np.float64)
    assert "every element is 0.33" in describe_relation(got, TALL, 2.0**-4) or "1/3" in describe_relation(
        got, TALL, 2.0**-4
    )


def test_largest_values_are_no_trouble() -> None:
    huge = TALL * 1e300
    assert describe_relation(huge, TALL * 1e-300, FLOAT32) == ""
