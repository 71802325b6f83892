"""Environment variables mean what AWS's own simulator documents."""

from __future__ import annotations

import pytest

from pipeline.emulator.frontend.environment import keeps_float32, target_of


@pytest.mark.parametrize(
    ("value", "target"),
    [
        *((name, "trn1") for name in ("trn1", "inf2", "gen2")),
        *((name, "trn2") for name in ("trn2", "gen3", " Trn2 ")),
        *((name, "trn3") for name in ("trn3", "gen4")),
        ("", None),
    ],
)
def test_a_chip_has_several_names(value: str, target: str | None) -> None:
    assert target_of({"NEURON_PLATFORM_TARGET_OVERRIDE": value}) == target


def test_without_the_variable_no_chip_is_asked_for() -> None:
    assert target_of({}) is None


def test_an_unknown_chip_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"NEURON_PLATFORM_TARGET_OVERRIDE=trn4 .* trn1, inf2, gen2, trn2"):
        target_of({"NEURON_PLATFORM_TARGET_OVERRIDE": "trn4"})


@pytest.mark.parametrize(("value", "kept"), [("1", False), ("", False), ("0", True), (" 0 ", True)])
def test_narrow_floats_are_rounded_unless_the_environment_says_otherwise(value: str, kept: bool) -> None:
    assert keeps_float32({"NKI_PRECISE_FP": value}) is kept


def test_without_the_variable_they_are_rounded() -> None:
    assert not keeps_float32({})


def test_a_precision_that_is_neither_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"NKI_PRECISE_FP=yes; use 1 .* or 0"):
        keeps_float32({"NKI_PRECISE_FP": "yes"})
