"""How much SBUF and PSUM a program keeps alive.

Live bytes are a lower bound of what the compiler's allocator needs. Where live data exceed a memory the
compiler inserts spills to the next one (memory-hierarchy-overview.rst), so that is a warning; a single tile
that does not fit is an error of its own (``tile-bytes``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.operations import Severity
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.lifetimes import Lifetimes
from pipeline.emulator.targets import TARGETS

__all__ = ["RULES", "MemoryPeaks", "memory_peaks"]


@dataclass(frozen=True, slots=True)
class MemoryPeaks:
    """Most bytes per partition alive at one time, from a tensor's first use to its last.

    Attributes:
        sbuf_bytes: In SBUF.
        psum_bytes: In PSUM, each tile rounded up to whole banks.
        sbuf_line: Line of the instruction at SBUF's peak, 0 without one.
        psum_line: The same for PSUM.
    """

    sbuf_bytes: int
    psum_bytes: int
    sbuf_line: int
    psum_line: int


def memory_peaks(program: Program) -> MemoryPeaks:
    """Return how full SBUF and PSUM get.

    Args:
        program: A validated program.
    """
    return _peaks(program, Lifetimes.of(program))


def _peaks(program: Program, lifetimes: Lifetimes) -> MemoryPeaks:
    bank = TARGETS[program.target].psum_bank_bytes
    footprints: dict[int, tuple[str, int]] = {}
    peaks = {"sbuf": (0, 0), "psum": (0, 0)}
    live = {"sbuf": 0, "psum": 0}
    for position in sorted(lifetimes.opened.keys() | lifetimes.closed.keys()):
        for tensor in lifetimes.opened.get(position, ()):
            footprints[tensor] = memory, size = _footprint(program, tensor, bank)
            live[memory] = live.get(memory, 0) + size
        for memory, (peak, _) in peaks.items():
            if live[memory] > peak:
                peaks[memory] = (live[memory], program.instructions[position].line)
        for tensor in lifetimes.closed.get(position, ()):
            memory, size = footprints.get(tensor, ("hbm", 0))  # an input was never opened
            live[memory] = live.get(memory, 0) - size
    return MemoryPeaks(peaks["sbuf"][0], peaks["psum"][0], peaks["sbuf"][1], peaks["psum"][1])


def _footprint(program: Program, index: int, bank: int) -> tuple[str, int]:
    """Return the memory a tensor lies in and its bytes per partition there."""
    tensor = program.tensors[index]
    size = prod(tensor.shape[1:]) * DTYPES[tensor.dtype].itemsize
    return tensor.buffer, -(-size // bank) * bank if tensor.buffer == "psum" else size


def _sbuf(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    peaks = _peaks(subject.program, subject.lifetimes)
    if peaks.sbuf_bytes > target.sbuf_bytes_per_partition:
        yield Breach(
            f"{peaks.sbuf_bytes} bytes of SBUF per partition are alive at once, {target.name} has "
            f"{target.sbuf_bytes_per_partition}: the compiler will spill to HBM; use smaller blocks or "
            "shorter lifetimes",
            peaks.sbuf_line,
        )


def _psum(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    peaks = _peaks(subject.program, subject.lifetimes)
    if peaks.psum_bytes > target.psum_bytes_per_partition:
        yield Breach(
            f"{peaks.psum_bytes // target.psum_bank_bytes} PSUM banks are alive at once, {target.name} has "
            f"{target.psum_bytes_per_partition // target.psum_bank_bytes}: the compiler will spill; copy "
            "results out to SBUF earlier",
            peaks.psum_line,
        )


_SOURCE: Final = "NKI memory hierarchy overview; facts/nki.md section 2.1"

RULES: Final = (
    Rule("sbuf-spill", _sbuf, _SOURCE, severity=Severity.WARNING),
    Rule("psum-spill", _psum, _SOURCE, severity=Severity.WARNING),
)
