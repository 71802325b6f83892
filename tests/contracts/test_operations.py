"""An operation is complete: callable, run by a test of the machine, its rules described."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pipeline.emulator.frontend import collectives
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.legality import RULES
from pipeline.emulator.legality.refusals import REFUSES
from pipeline.emulator.operations import ACTIVATIONS, OPERATIONS, Control
from pipeline.emulator.reference import VALID_RANGES

TESTS = Path(__file__).parents[1] / "emulator"
#: Words of the strings in the tests that execute programs: names of operations, and kernels as text.
NAMED = {
    word
    for folder in ("machine", "operations", "frontend")
    for path in (TESTS / folder).glob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
    for word in re.findall(r"\w+", node.value)
}


#: Marks that `nl.fori_loop` and its like record.
LOOPS = {control.value for control in Control}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_can_be_called_and_some_test_of_the_machine_runs_it(name: str) -> None:
    operation = OPERATIONS[name]
    callable_as = {"nki.isa": INSTRUCTIONS, "nki.collectives": collectives.COLLECTIVES, "": LOOPS}
    assert name in callable_as[operation.module]
    assert name in NAMED


def test_every_rule_of_legality_says_in_one_line_what_it_refuses() -> None:
    assert set(REFUSES) == set(RULES)
    assert all(line and "\n" not in line for line in REFUSES.values())


def test_valid_ranges_are_those_of_activation_functions() -> None:
    assert set(VALID_RANGES) <= set(ACTIVATIONS)
