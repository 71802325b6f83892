"""attention: the reference weights values by a softmax; the limits know one rounding from another."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("attention")
OWN = [case.name for case in TASK.cases if case.kind is not CaseKind.BATTERY]
LARGE = ["large logits", "large logits, wide head"]


def narrow(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def scaled_logits(inputs: dict[str, np.ndarray]) -> np.ndarray:
    q_t, k_t = inputs["qT"].astype(np.float32), inputs["kT"].astype(np.float32)
    return np.asarray((q_t.T @ k_t) * np.float32(1 / math.sqrt(len(q_t))))


def test_each_row_is_a_mean_of_values_weighted_by_exponentials() -> None:
    rng = np.random.default_rng(0)
    q_t, k_t, v = (rng.standard_normal(shape) for shape in ((16, 3), (16, 7), (7, 16)))
    out = answer(TASK, {"qT": q_t, "kT": k_t, "v": v}, {"S": 3, "T": 7, "D": 16})
    for s in range(3):
        weights = [math.exp(math.fsum(q_t[d, s] * k_t[d, t] for d in range(16)) / 4.0) for t in range(7)]
        for d in range(16):
            mean = math.fsum(w * v[t, d] for t, w in enumerate(weights)) / math.fsum(weights)
            assert out[s, d] == pytest.approx(mean, rel=1e-12, abs=1e-13)


def test_equal_keys_give_the_mean_of_the_values() -> None:
    v = np.repeat(np.array([[1.0], [2.0], [3.0], [6.0]]), 16, axis=1)
    inputs = {"qT": np.ones((16, 1)), "kT": np.ones((16, 4)), "v": v}
    assert answer(TASK, inputs, {"S": 1, "T": 4, "D": 16}) == pytest.approx(np.full((1, 16), 3.0))


def test_two_keys_are_weighted_by_the_logistic_function_of_their_distance() -> None:
    query, keys = np.zeros((16, 1)), np.zeros((16, 2))
    query[0] = 4.0
    keys[0, 1] = math.log(3.0)  # times 4, over sqrt(16): a logit of log(3) beside one of 0
    inputs = {"qT": query, "kT": keys, "v": np.stack([np.zeros(16), np.ones(16)])}
    assert answer(TASK, inputs, {"S": 1, "T": 2, "D": 16}) == pytest.approx(np.full((1, 16), 0.75))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", LARGE)
def test_large_logits_overflow_an_exponential_that_is_not_shifted(name: str, shared_oracle: Oracle) -> None:
    logits = scaled_logits(draw(shared_oracle, TASK, case_named(TASK, name))[1])
    assert logits.max() > 88.8  # where exp() leaves float32
    assert np.abs(logits).max() < 1e5


@pytest.mark.sandbox
def test_rising_keys_raise_the_maximum_from_block_to_block(shared_oracle: Oracle) -> None:
    logits = scaled_logits(draw(shared_oracle, TASK, case_named(TASK, "long context"))[1])
    assert (logits[:, 512:].max(axis=1) > logits[:, :512].max(axis=1)).mean() > 0.9


@pytest.mark.sandbox
def test_a_dominant_value_exceeds_all_others_together(shared_oracle: Oracle) -> None:
    _, inputs = draw(shared_oracle, TASK, case_named(TASK, "one value above all"))
    sizes = np.abs(inputs["v"].astype(float)).sum(axis=1)
    assert sizes.max() > sizes.sum() / 2


def attend(logits: np.ndarray, v: np.ndarray, *, normalise_first: bool) -> np.ndarray:
    """Softmax in float32, probabilities rounded to bfloat16 for the product with `v`."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    total = weights.sum(axis=1, keepdims=True)
    values = v.astype(np.float32)
    return narrow(weights / total) @ values if normalise_first else (narrow(weights) @ values) / total


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("normalise_first", [True, False])
def test_probabilities_rounded_once_are_inside(
    name: str, normalise_first: bool, shared_oracle: Oracle
) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    out = attend(scaled_logits(inputs), inputs["v"], normalise_first=normalise_first)
    assert passes(TASK, case, drawn, out)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", LARGE)
def test_logits_in_bfloat16_are_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    out = attend(narrow(scaled_logits(inputs)), inputs["v"], normalise_first=False)
    assert not passes(TASK, case, drawn, out)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", LARGE)
def test_a_query_that_is_scaled_and_rounded_again_is_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    depth = case.axes["D"]
    query = narrow(inputs["qT"].astype(np.float32) * np.float32(1 / math.sqrt(depth)))
    logits = query.T @ inputs["kT"].astype(np.float32)
    assert not passes(TASK, case, drawn, attend(logits, inputs["v"], normalise_first=False))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", [name for name in OWN if name != "one query and one key"])
def test_one_key_less_is_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    logits = scaled_logits(inputs)
    # The one that matters most to some query: a key that no query looks at changes nothing.
    logits[:, logits.argmax(axis=1)[0]] = -np.inf
    assert not passes(TASK, case, drawn, attend(logits, inputs["v"], normalise_first=False))
