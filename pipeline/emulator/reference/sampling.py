"""What functions of `nki.language` amount to: each is called once in a kernel, and the record says.

A function of `nki.language` is a composition of instructions, so that its fidelity and its chips are theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.signature import InputSpec
from pipeline.emulator.frontend.trace import trace
from pipeline.emulator.legality import Severity, check, fidelity
from pipeline.emulator.operations import Fidelity
from pipeline.emulator.program import Program
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import NEWEST, Name

__all__ = ["Sample", "sample"]

#: What is passed for each parameter that must be given.
_ARGUMENTS: Final = {
    "axis": "1",
    "body_fun": "again",
    "buffer": "nl.sbuf",
    "condition": "tile",
    "constant": "numpy.ones((32, 32), numpy.float32)",
    "data": "tile",
    "dst": "out",
    "dtype": "nl.float32",
    "fill_value": "1",
    "indices": "indices",
    "init": "nisa.register_alloc(0)",
    "lower": "0",
    "n": "32",
    "print_prefix": "'tile'",
    "rate": "0.5",
    "seed": "nl.full((1, 1), 1, dtype=nl.int32)",
    "shape": "(32, 32)",
    "size": "1",
    "src": "given",
    "start": "2",
    "tensor": "tile",
    "upper": "2",
    "value": "tile",
    "w": "tile",
    "x": "tile",
    "y": "tile",
}
#: What one function alone takes, and a default that it refuses.
_SPECIAL: Final = {
    "broadcast_to": {"x": "tile[0:1]"},
    "fori_loop": {"body_fun": "nothing"},
    "matmul": {"transpose_x": "True"},
}
_ORDER: Final = list(Fidelity)

_KERNEL: Final = """
import numpy
import nki
import nki.isa as nisa
import nki.language as nl

def again(register):
    return register

def nothing(index):
    pass

@nki.jit
def kernel(given):
    tile = nl.ndarray((32, 32), dtype=given.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=given)
    indices = nl.ndarray((32, 32), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.memset(dst=indices, value=0)
    out = nl.ndarray((32, 32), dtype=given.dtype, buffer=nl.shared_hbm)
    {call}
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one call of a function showed.

    Attributes:
        fidelity: The worst among its instructions; None where it records none.
        targets: Chips on which it is legal.
    """

    fidelity: Fidelity | None
    targets: frozenset[str]


@cache
def sample(name: Name) -> Sample:
    """Call a function of `nki.language` on every chip, on floats where it takes them, else on integers.

    Raises:
        KernelError: If it is neither recorded nor refused by a chip.
    """
    plain = _plain_length()
    call = f"nl.{name.name}({_arguments(name)})"
    programs = {target: _legal(call, target) for target in TARGETS}
    worst = [
        max(fidelity(program).values(), key=_ORDER.index)
        for program in programs.values()
        if program is not None and len(program.instructions) > plain
    ]
    return Sample(
        max(worst, key=_ORDER.index, default=None),
        frozenset(target for target, program in programs.items() if program is not None),
    )


@cache
def _plain_length() -> int:
    """Return the instructions of the kernel without a call."""
    return len(_recorded("pass", "float32", "trn3").instructions)


def _arguments(name: Name) -> str:
    arguments = {**_ARGUMENTS, **_SPECIAL.get(name.name, {})}
    return ", ".join(
        f"{keyword.name}={arguments[keyword.name]}"
        for keyword in name.keywords_in(NEWEST)
        if keyword.default is None or keyword.name in _SPECIAL.get(name.name, ())
    )


def _legal(call: str, target: str) -> Program | None:
    """Return the record of a call; None where the chip refuses it."""
    refusal: KernelError | None = None
    for dtype in ("float32", "int32"):
        try:
            program = _recorded(call, dtype, target)
        except KernelError as error:
            refusal = error
            continue
        if not any(found.severity is Severity.ERROR for found in check(program)):
            return program
    if refusal is not None and refusal.kind is not KernelErrorKind.ILLEGAL_ON_TARGET:
        raise refusal
    return None


def _recorded(call: str, dtype: str, target: str) -> Program:
    given = InputSpec("given", (32, 32), dtype)
    return trace(_KERNEL.format(call=call), "sample.py", "kernel", [given], target=target)
