"""Conformal risk control, and the Hoeffding-Bentkus p-value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.stats.conformal import control_joint_risk, hoeffding_bentkus
from pipeline.stats.selective import grid_of


def test_threshold_is_the_lowest_with_its_inflated_joint_risk_within_alpha() -> None:
    # Of 99, errors at the 10th, 20th, ... from the top: k errors give (k + 1) / 100.
    confidence = np.arange(99, 0, -1)
    error = np.zeros(99)
    error[9::10] = 1
    found = control_joint_risk(confidence, error, tuple(range(99, 0, -1)), alpha=0.05)
    # Four errors are within .05, and the fifth is the 50th item: 49 are accepted.
    assert (found.accepted, found.errors, found.threshold) == (49, 4, 51)
    assert found.risk == pytest.approx(0.05)


def test_too_few_labels_accept_nothing() -> None:
    # 1 / (n + 1) <= .05 from 19 on.
    assert control_joint_risk([0.5] * 18, [0] * 18, (0.5,), alpha=0.05).threshold is None
    assert control_joint_risk([0.5] * 19, [0] * 19, (0.5,), alpha=0.05).threshold == 0.5
    nothing = control_joint_risk([], [], (0.5,), alpha=0.05)
    assert (nothing.threshold, nothing.accepted, nothing.risk) == (None, 0, 1.0)


def test_all_wrong_accepts_nothing_and_no_grid_does_neither() -> None:
    assert control_joint_risk([0.5] * 100, [1] * 100, (0.5,), alpha=0.05).threshold is None
    assert control_joint_risk([0.5] * 100, [0] * 100, (), alpha=0.05).threshold is None


def test_joint_risk_is_within_alpha_on_average() -> None:
    """Confidence is the chance of being right: accepting the share c carries a joint risk of c^2 / 2."""
    generator = np.random.default_rng(2)
    grid, risks = grid_of(np.linspace(0, 1, 1001), 50), []
    for _ in range(400):
        confidence = generator.random(60)
        error = generator.random(60) > confidence
        threshold = control_joint_risk(confidence, error, grid, alpha=0.1).threshold
        risks.append(0.0 if threshold is None else (1 - threshold) ** 2 / 2)
    # The standard error of the mean is under .0025.
    assert np.mean(risks) <= 0.1 + 3 * np.std(risks) / math.sqrt(400)
    assert np.mean(risks) > 0.05


def test_hoeffding_bentkus_by_hand() -> None:
    # No loss: exp(n ln(1 - alpha)) = (1 - alpha)^n, and e times as much by Bentkus.
    assert hoeffding_bentkus([0.0] * 30, 0.1) == pytest.approx(0.9**30)
    # Mean .1 beside .5: h = .1 ln .2 + .9 ln 1.8, n = 10; Bentkus e (1 + 10) / 2^10 is larger.
    hoeffding = math.exp(-10 * (0.1 * math.log(0.2) + 0.9 * math.log(1.8)))
    assert hoeffding_bentkus([0.1] * 10, 0.5) == pytest.approx(min(hoeffding, math.e * 11 / 1024))


def test_hoeffding_bentkus_knows_nothing_without_losses_or_above_alpha() -> None:
    assert hoeffding_bentkus([], 0.1) == 1.0
    assert hoeffding_bentkus([1.0] * 20, 0.1) == 1.0
    assert hoeffding_bentkus([0.3] * 20, 0.1) == 1.0


def test_losses_outside_zero_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        hoeffding_bentkus([1.5], 0.1)
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        hoeffding_bentkus([float("nan")], 0.1)
