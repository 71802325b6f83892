"""PSUM accumulation: what a matmul may add to.

Source: facts/nki.md section 2.5, facts/emulator_findings.md section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from pipeline.emulator.legality.coverage import writes_of
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.legality.shadow import Shadow
from pipeline.emulator.operations import OPERATIONS, Severity

__all__ = ["RULES"]


class _Content(Enum):
    """What an accumulating matmul finds in its destination."""

    UNWRITTEN = 1
    FOREIGN = 2


def _accumulations(subject: Subject) -> Iterator[tuple[_Content, str, int]]:
    """Yield each accumulation onto something that no overwriting matmul put there: content, name, line."""
    program = subject.program
    if not any(tensor.buffer == "psum" for tensor in program.tensors):
        return
    written, by_matmul = Shadow(program), Shadow(program)
    operations = [OPERATIONS[name] for name in program.operations]
    for instruction in program.instructions:
        operation = operations[instruction.operation]
        for pattern in writes_of(operation, instruction):
            tensor = program.patterns[pattern].tensor
            if program.tensors[tensor].buffer != "psum":
                continue
            if "accumulate" in operation.scalar_slots:
                accumulates = instruction.scalars[operation.scalar_slots["accumulate"]]
                if accumulates and not by_matmul.is_marked(pattern):
                    content = _Content.FOREIGN if written.is_marked(pattern) else _Content.UNWRITTEN
                    yield content, subject.name(tensor), instruction.line
                by_matmul.mark(pattern)
            else:
                by_matmul.clear(pattern)
            written.mark(pattern)


def _unwritten(subject: Subject) -> Iterator[Breach]:
    for content, name, line in _accumulations(subject):
        if content is _Content.UNWRITTEN:
            yield Breach(
                f"nc_matmul: accumulate=True adds to {name}, parts of which nothing has written: the first "
                "matmul into a PSUM location must overwrite (accumulate=False, or leave accumulate out)",
                line,
            )


def _foreign(subject: Subject) -> Iterator[Breach]:
    for content, name, line in _accumulations(subject):
        if content is _Content.FOREIGN:
            yield Breach(
                f"nc_matmul: accumulate=True adds to {name}, which another instruction than a matmul "
                "initialised: undefined on NeuronCore-v2 and v3; let the first matmul overwrite "
                "(accumulate=(i > 0))",
                line,
            )


RULES: Final = (
    Rule("accumulate-unwritten", _unwritten, "nki.isa.nc_matmul docstring, Accumulation mode"),
    Rule(
        "accumulate-foreign",
        _foreign,
        "nki.isa.nc_matmul docstring, note; public libraries rely on it, so it is a warning",
        frozenset({"trn1", "trn2"}),
        Severity.WARNING,
    ),
)
