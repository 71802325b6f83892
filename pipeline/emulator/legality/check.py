"""Run every rule over a program."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.legality import (
    accumulation,
    calls,
    cores,
    coverage,
    memory,
    patterns,
    races,
    tensors,
    toolchain,
)
from pipeline.emulator.legality.rules import Rule, Subject, Violation
from pipeline.emulator.operations import Severity
from pipeline.emulator.program.instructions import Program

__all__ = ["RULES", "check"]

#: Every rule by id.
RULES: Final[dict[str, Rule]] = {
    rule.id: rule
    for module in (tensors, patterns, calls, accumulation, coverage, memory, cores, races, toolchain)
    for rule in module.RULES
}

#: More than this says nothing new, and a hostile program could ask for millions.
_MAX_VIOLATIONS: Final = 200
_MAX_PER_LINE: Final = 2


def check(program: Program) -> list[Violation]:
    """Say what the program's target, or its compiler, would refuse or warn of.

    Args:
        program: A validated program.

    Returns:
        Violations, errors first, each group by line; at most two per rule and line, 200 in all. The program
        is legal if none has severity ``error``.
    """
    subject = Subject(program)
    found: list[Violation] = []
    for rule in RULES.values():
        if program.target in rule.targets:
            found += _apply(rule, subject)
    ordered = sorted(found, key=lambda v: (v.severity is not Severity.ERROR, v.line, v.rule))
    return ordered[:_MAX_VIOLATIONS]


def _apply(rule: Rule, subject: Subject) -> list[Violation]:
    found: list[Violation] = []
    told: dict[int, list[str]] = {}
    for breach in rule.find(subject):
        messages = told.setdefault(breach.line, [])
        if breach.message not in messages and len(messages) < _MAX_PER_LINE:
            messages.append(breach.message)
            found.append(Violation(rule.id, breach.message, rule.severity, breach.line))
        if len(found) >= _MAX_VIOLATIONS:
            break
    return found
