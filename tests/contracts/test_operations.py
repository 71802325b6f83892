"""An operation is complete: callable, run by a test of the machine, its rules described."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.legality import RULES
from pipeline.emulator.operations import ACTIVATIONS, OPERATIONS
from pipeline.emulator.reference import REFUSES, VALID_RANGES

MACHINE_TESTS = Path(__file__).parents[1] / "emulator" / "machine"
NAMED = {
    node.value
    for path in MACHINE_TESTS.glob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_can_be_called_and_some_test_of_the_machine_runs_it(name: str) -> None:
    assert name in INSTRUCTIONS
    assert name in NAMED


def test_every_rule_of_legality_says_in_one_line_what_it_refuses() -> None:
    assert set(REFUSES) == set(RULES)
    assert all(line and "\n" not in line for line in REFUSES.values())


def test_valid_ranges_are_those_of_activation_functions() -> None:
    assert set(VALID_RANGES) <= set(ACTIVATIONS)
