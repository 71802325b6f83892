"""Cases of rules that public bug reports gave rise to (tests/emulator/test_public_reports.py)."""

from __future__ import annotations

from pipeline.emulator.program import Program
from tests.emulator.legality.cases.construction import COLUMN, Case, activation, binary, sbuf, scalar
from tests.emulator.program_builder import ProgramBuilder


def loops(*marks: str, version: str = "0.5") -> Program:
    """Run-time loops that begin and end in this order, around an instruction wherever one ends."""
    builder = ProgramBuilder(version=version)
    builder.registers = 2
    tile, begun = builder.tensor((4, 4)), 0
    for mark in marks:
        if mark == "for_begin":
            builder.add(mark, induction=(begun % 2,), lower=0, upper=2, step=1)
            begun += 1
        else:
            builder.add("memset", dst=tile, value=0.0)
            builder.add(mark)
    return builder.program()


def summed(command: str) -> Program:
    return activation(reduce_op="add", reduce_res=COLUMN, reduce_cmd=command)


NESTED = ("for_begin", "for_begin", "for_end", "for_end")

CASES = [
    Case(
        "nested-loops",
        loops(*NESTED),
        loops(*NESTED, version="0.6"),
        ("inside that of line 10", "NCC_ICFG018", "0.5", "unroll"),
    ),
    Case("nested-loops", loops(*NESTED, version="0.3"), loops("for_begin", "for_end"), ("0.3",)),
    Case(
        "nested-loops",
        loops(*NESTED),
        loops("for_begin", "for_end", "for_begin", "for_end"),
        ("run-time loop",),
    ),
    Case(
        "activation-carried-sum", summed("reduce"), summed("reset_reduce"), ("device-unsafe", "reset_reduce")
    ),
    Case(
        "shape-agreement",
        binary("multiply", b=sbuf(128, 1)),
        scalar(operand0=COLUMN),
        ("data2", "nisa.tensor_scalar as operand0"),
    ),
]
