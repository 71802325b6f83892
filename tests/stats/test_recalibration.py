"""Curves from features to probabilities: two-valued features by hand, and labels that support none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.stats.recalibration import FittedCurve, Recalibration, apply_curve, fit_curve
from pipeline.stats.reliability import measure_reliability
from pipeline.types import Curve


def curve_of(fitted: Recalibration) -> FittedCurve:
    assert fitted.curve is not None, fitted.reason
    return fitted.curve


def two_valued(*counts: tuple[float, int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one feature and outcomes, from (value, right, wrong): first all that is wrong, then the rest."""
    columns = [([value] * wrong, [0] * wrong) for value, _, wrong in counts]
    columns += [([value] * right, [1] * right) for value, right, _ in counts]
    values = np.array([value for column, _ in columns for value in column])
    return values[:, None], np.array([hit for _, column in columns for hit in column], dtype=np.float64)


def simulate(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return three features, of which the last tells nothing, and outcomes that follow a curve of a cube."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n, 3))
    rank = features[:, 0] - 0.5 * features[:, 1]
    chance = 1 / (1 + np.exp(-(1 + rank**3 / 2)))
    return features, (generator.random(n) < chance).astype(np.float64)


def test_with_many_labels_a_value_is_as_likely_as_it_proved_right() -> None:
    # One more label that says right joins the lowest block, and one that says wrong the highest.
    curve = curve_of(fit_curve(*two_valued((0.0, 100, 100), (1.0, 180, 20))))
    assert curve.method == "isotonic"
    assert apply_curve(curve, [[0.0], [1.0]]) == pytest.approx([101 / 201, 180 / 201], abs=1e-6)


def test_with_few_labels_a_value_is_as_likely_as_platts_targets_are_on_average() -> None:
    # 70 right and 30 wrong: targets 71/72 and 1/32. A sigmoid goes through two means exactly, but for ranks
    # out of fold, which come from four fifths of the labels.
    curve = curve_of(fit_curve(*two_valued((0.0, 25, 25), (1.0, 45, 5))))
    assert curve.method == "platt"
    expected = [(25 * 71 / 72 + 25 / 32) / 50, (45 * 71 / 72 + 5 / 32) / 50]
    assert apply_curve(curve, [[0.0], [1.0]]) == pytest.approx(expected, abs=0.01)


def test_the_isotonic_curve_begins_at_two_hundred_labels() -> None:
    features, right = simulate(200, 1)
    assert curve_of(fit_curve(features[:199], right[:199])).method == "platt"
    assert curve_of(fit_curve(features, right)).method == "isotonic"


def test_ranks_are_those_of_scikit_learns_regression_on_standardised_features() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, right = simulate(150, 2)
    curve = curve_of(fit_curve(features, right))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(features, right)
    standard = (features - np.array(curve.centres)) / np.array(curve.scales)
    ranks = standard @ np.array(curve.weights) + curve.intercept
    assert ranks == pytest.approx(model.decision_function(features), abs=1e-3)


def test_the_curve_lies_beside_scikit_learns_isotonic_regression() -> None:
    from sklearn.isotonic import IsotonicRegression

    features, right = simulate(2000, 3)
    fitted = fit_curve(features, right)
    curve = curve_of(fitted)
    held_out = np.array(fitted.held_out)
    model = IsotonicRegression(out_of_bounds="clip").fit(held_out, right)
    ours = np.interp(held_out, curve.ranks, curve.probabilities)
    assert np.abs(ours - model.predict(held_out)).mean() < 0.03


def test_probabilities_hold_for_drafts_that_were_not_fitted_on() -> None:
    curve = curve_of(fit_curve(*simulate(5000, 4)))
    features, right = simulate(5000, 5)
    error = measure_reliability(apply_curve(curve, features), right).calibration_error.value
    # 500 per bin scatter by at most 0.022, on average by 0.018 at a share of a half; the fit adds as much.
    assert error is not None
    assert error < 0.035


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(20, 320),
    seed=st.integers(0, 10_000),
    strength=st.floats(-3, 3),
    base=st.floats(0.1, 0.9),
    decimals=st.integers(0, 3),
)
def test_every_curve_rises_and_stays_short_of_certainty(
    n: int, seed: int, strength: float, base: float, decimals: int
) -> None:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n, 2)).round(decimals)
    chance = 1 / (1 + np.exp(-strength * features[:, 0] - math.log(base / (1 - base))))
    fitted = fit_curve(features, generator.random(n) < chance, generator.integers(0, 12, n).tolist())
    if fitted.curve is None:
        assert fitted.reason
        return
    curve = fitted.curve
    assert len(curve.ranks) == len(curve.probabilities) <= 100
    assert len(fitted.held_out) == n
    assert (np.diff(curve.ranks) > 0).all()
    assert (np.diff(curve.probabilities) >= 0).all()
    assert 0 < curve.probabilities[0] <= curve.probabilities[-1] < 1
    assert np.isfinite(apply_curve(curve, [[1e9, -1e9], [0, 0]])).all()


@pytest.mark.parametrize("n", [0, 1, 19])
def test_below_twenty_labels_there_is_no_curve(n: int) -> None:
    fitted = fit_curve(np.zeros((n, 2)), [1] * n)
    assert fitted == Recalibration(None, n, reason=f"too few: {n} of at least 20 labels")


@pytest.mark.parametrize(("outcome", "word"), [(1, "right"), (0, "wrong")])
def test_labels_that_all_say_the_same_support_no_curve(outcome: int, word: str) -> None:
    fitted = fit_curve(np.random.default_rng(1).normal(size=(300, 2)), [outcome] * 300)
    assert fitted.curve is None
    assert f"every label says {word}" in fitted.reason


def test_drafts_that_all_look_the_same_support_no_curve() -> None:
    fitted = fit_curve(np.full((40, 3), 0.1), [0, 1] * 20)
    assert fitted.curve is None
    assert "no feature differs" in fitted.reason


def test_errors_that_all_lie_in_one_cluster_support_no_curve() -> None:
    features, _ = simulate(60, 6)
    right = [0] * 10 + [1] * 50
    fitted = fit_curve(features, right, [place // 10 for place in range(60)])
    assert fitted.curve is None
    assert "one cluster" in fitted.reason
    assert fit_curve(features, right, ["task"] * 60).curve is None
    assert fit_curve(features, right).curve is not None


def test_a_constant_feature_has_no_weight_and_moves_nothing() -> None:
    features, right = simulate(120, 7)
    wider = np.column_stack([features, np.full(120, 0.3)])
    curve = curve_of(fit_curve(wider, right))
    assert (curve.weights[3], curve.scales[3]) == (0.0, 1.0)
    wider[:, 3] = 99.0
    alone = apply_curve(curve_of(fit_curve(features, right)), features)
    assert apply_curve(curve, wider) == pytest.approx(alone)


@pytest.mark.parametrize("n", [120, 400])
def test_units_of_features_make_no_difference(n: int) -> None:
    features, right = simulate(n, 8)
    other = features * np.array([1000.0, 0.01, 1.0]) + np.array([5.0, -3.0, 0.0])
    here = apply_curve(curve_of(fit_curve(features, right)), features)
    there = apply_curve(curve_of(fit_curve(other, right)), other)
    assert there == pytest.approx(here, abs=1e-4)


def test_a_cluster_never_vouches_for_itself() -> None:
    # A column per task, and every task all right or all wrong: nothing about a task that was not seen.
    tasks = np.repeat(np.arange(20), 10)
    features, right = np.eye(20)[tasks], (tasks % 2).astype(np.float64)
    blind = fit_curve(features, right, tasks.tolist()).held_out
    leaking = fit_curve(features, right).held_out
    assert min(np.array(leaking)[right == 1]) > max(np.array(leaking)[right == 0])
    chance = 1 / (1 + np.exp(-np.array(blind)))
    area = measure_reliability(chance, right, tasks.tolist()).auroc.value
    assert area is not None
    assert area < 0.65


def test_features_that_tell_nothing_make_everything_equally_likely_or_nearly() -> None:
    generator = np.random.default_rng(9)
    features, right = generator.normal(size=(150, 4)), np.tile([1.0, 1.0, 0.0], 50)
    found = apply_curve(curve_of(fit_curve(features, right)), features)
    assert found.mean() == pytest.approx(2 / 3, abs=0.05)


def test_a_stored_curve_gives_the_same_probabilities() -> None:
    features, right = simulate(250, 10)
    curve = curve_of(fit_curve(features, right))
    stored = Curve(
        criterion="grade",
        method=curve.method,
        features=("a", "b", "c"),
        centres=curve.centres,
        scales=curve.scales,
        weights=curve.weights,
        intercept=curve.intercept,
        ranks=curve.ranks,
        probabilities=curve.probabilities,
        n=curve.n,
    )
    again = Curve.model_validate_json(stored.model_dump_json())
    assert (apply_curve(again, features) == apply_curve(curve, features)).all()


def test_a_draft_alone_gets_the_very_probability_that_it_gets_among_others() -> None:
    generator = np.random.default_rng(11)
    features = generator.normal(size=(300, 18))
    right = (features @ generator.normal(size=18) + generator.normal(size=300) > 0).astype(np.float64)
    curve = curve_of(fit_curve(features, right))
    together = apply_curve(curve, features)
    alone = [apply_curve(curve, features[place : place + 1])[0] for place in range(300)]
    assert np.array_equal(together, alone), "a threshold is one of these numbers, and is reached or missed"


def test_the_same_labels_give_the_same_curve() -> None:
    features, right = simulate(220, 11)
    assert fit_curve(features, right) == fit_curve(features, right)


def test_what_does_not_fit_together_is_refused() -> None:
    features, right = simulate(30, 12)
    with pytest.raises(ValueError, match="one row of features"):
        fit_curve(features, right[:20])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        fit_curve(features, right + 1)
    with pytest.raises(ValueError, match="not finite"):
        fit_curve(np.where(features > 1, math.nan, features), right)
    with pytest.raises(ValueError, match="of 3 numbers"):
        apply_curve(curve_of(fit_curve(features, right)), [[1.0, 2.0]])
