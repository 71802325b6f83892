"""Cases of sums that are read out and added to again, as a PSUM tile allocated outside of a loop is."""

from __future__ import annotations

from pipeline.emulator.program import Program
from tests.emulator.legality.cases.construction import Case, built
from tests.emulator.program_builder import ProgramBuilder

WHOLE, LEFT, RIGHT = slice(None), slice(0, 128), slice(128, 256)


def two_sums(*steps: str | slice, again: bool, target: str = "trn2") -> Program:
    """A product into PSUM, some steps, and a second product that adds to it if `again`.

    A slice reads those columns of the sum, ``"memset"`` clears all of it.
    """

    def build(builder: ProgramBuilder) -> None:
        stationary, moving = builder.tensor((128, 64), "bfloat16"), builder.tensor((128, 256), "bfloat16")
        total, result = builder.tensor((64, 256), "float32", "psum"), builder.tensor((64, 256))
        builder.add("nc_matmul", dst=total, stationary=stationary, moving=moving, accumulate=False)
        for step in steps:
            if isinstance(step, slice):
                taken = builder.block(total, WHOLE, step)
                builder.add("tensor_copy", dst=builder.block(result, WHOLE, step), src=taken)
            else:
                builder.add("memset", dst=total, value=0.0)
        builder.add("nc_matmul", dst=total, stationary=stationary, moving=moving, accumulate=again)

    return built(build, target)


CASES: tuple[Case, ...] = (
    Case(
        "accumulate-reused",
        two_sums(WHOLE, again=True),
        two_sums(WHOLE, again=False),
        ("t2", "tensor_copy in line 11", "inside the loop", "accumulate=(i > 0)"),
    ),
    Case("accumulate-reused", two_sums(LEFT, RIGHT, again=True), two_sums(LEFT, again=True), ("line 12",)),
    Case(
        "accumulate-reused",
        two_sums("memset", WHOLE, again=True, target="trn3"),
        two_sums(WHOLE, "memset", again=True, target="trn3"),
        ("nc_matmul",),
    ),
)
