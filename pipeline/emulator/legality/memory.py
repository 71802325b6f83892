"""How much SBUF and PSUM a program keeps alive, and where placed tensors lie.

Live bytes are a lower bound of what the compiler's allocator needs. Where live data exceed a memory the
compiler inserts spills to the next one (memory-hierarchy-overview.rst), so that is a warning; a single tile
that does not fit is an error of its own (``tile-bytes``), and so is one placed outside (``address-range``).
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
from pipeline.emulator.targets import TARGETS, Target

__all__ = ["RULES", "MemoryPeaks", "memory_peaks"]

_MEMORIES: Final = ("sbuf", "psum")
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class MemoryPeaks:
    """Most bytes per partition alive at one time on one core, from a tensor's first use to its last.

    Placed tensors count from the first byte of their memory to the end of the farthest one, throughout.

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


@dataclass(frozen=True, slots=True)
class _Peak:
    """The fullest moment of one memory.

    Attributes:
        size: Bytes per partition.
        line: Line of the instruction.
        tensors: The tensors alive, as (bytes per partition, index).
    """

    size: int = 0
    line: int = 0
    tensors: tuple[tuple[int, int], ...] = ()


def memory_peaks(program: Program) -> MemoryPeaks:
    """Return how full SBUF and PSUM get.

    Args:
        program: A validated program.
    """
    peaks = _peaks(program, Lifetimes.of(program))
    return MemoryPeaks(peaks["sbuf"].size, peaks["psum"].size, peaks["sbuf"].line, peaks["psum"].line)


def _peaks(program: Program, lifetimes: Lifetimes) -> dict[str, _Peak]:
    """Return the fullest moment of each memory, of the core on which it is fuller."""
    target = TARGETS[program.target]
    placed = _placed_bytes(program)
    live: dict[tuple[int, str], dict[int, int]] = {
        (core, memory): {} for core in range(program.cores) for memory in _MEMORIES
    }
    totals = {key: placed.get(key, 0) for key in live}
    peaks = {
        memory: _Peak(max(totals[core, memory] for core in range(program.cores))) for memory in _MEMORIES
    }
    for position in sorted(lifetimes.opened.keys() | lifetimes.closed.keys()):
        for tensor in lifetimes.opened.get(position, ()):
            declared = program.tensors[tensor]
            key = (declared.core, declared.buffer)
            if key in live:
                live[key][tensor] = _footprint(program, tensor, target)
                totals[key] += live[key][tensor]
        for (core, memory), total in totals.items():
            if total > peaks[memory].size:
                alive = sorted(((size, tensor) for tensor, size in live[core, memory].items()), reverse=True)
                peaks[memory] = _Peak(total, program.instructions[position].line, tuple(alive[:_SHOWN]))
        for tensor in lifetimes.closed.get(position, ()):
            declared = program.tensors[tensor]
            key = (declared.core, declared.buffer)
            if key in live:
                totals[key] -= live[key].pop(tensor, 0)
    return peaks


def _placed_bytes(program: Program) -> dict[tuple[int, str], int]:
    """Return the bytes per partition that placed tensors reach to, by core and memory."""
    ends: dict[tuple[int, str], int] = {}
    for index, tensor in enumerate(program.tensors):
        if tensor.address is not None:
            key = (tensor.core, tensor.buffer)
            ends[key] = max(ends.get(key, 0), tensor.address[1] + _partition_bytes(program, index))
    return ends


def _partition_bytes(program: Program, index: int) -> int:
    tensor = program.tensors[index]
    return prod(tensor.shape[1:]) * DTYPES[tensor.dtype].itemsize


def _footprint(program: Program, index: int, target: Target) -> int:
    """Return the bytes per partition that a tensor takes; whole banks in PSUM."""
    size, bank = _partition_bytes(program, index), target.psum_bank_bytes
    return -(-size // bank) * bank if program.tensors[index].buffer == "psum" else size


def _sbuf(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    peak = _peaks(subject.program, subject.lifetimes)["sbuf"]
    if peak.size > target.sbuf_bytes_per_partition:
        yield Breach(
            f"{peak.size} bytes of SBUF per partition are alive at once, {target.name} has "
            f"{target.sbuf_bytes_per_partition}{_listed(subject, peak)}: the compiler will spill to HBM; use "
            "smaller blocks or shorter lifetimes",
            peak.line,
        )


def _psum(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    peak = _peaks(subject.program, subject.lifetimes)["psum"]
    if peak.size > target.psum_bytes_per_partition:
        yield Breach(
            f"{peak.size // target.psum_bank_bytes} PSUM banks are alive at once, {target.name} has "
            f"{target.psum_bytes_per_partition // target.psum_bank_bytes}{_listed(subject, peak)}: the "
            "compiler will spill; copy results out to SBUF earlier",
            peak.line,
        )


def _listed(subject: Subject, peak: _Peak) -> str:
    """Return the largest tensors alive, as a message shows them."""
    named = [f"{subject.name(tensor)} {size}" for size, tensor in peak.tensors]
    return f" ({', '.join(named)}{', ...' if len(named) == _SHOWN else ''})" if named else ""


def _address_range(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    capacity = {"sbuf": target.sbuf_bytes_per_partition, "psum": target.psum_bytes_per_partition}
    for index, tensor in enumerate(subject.program.tensors):
        if tensor.address is None:
            continue
        partition, byte = tensor.address
        end = byte + _partition_bytes(subject.program, index)
        if partition + tensor.shape[0] > target.partitions:
            yield Breach(
                f"{subject.name(index)} is placed on partitions {partition} to "
                f"{partition + tensor.shape[0] - 1}, there are {target.partitions}",
                tensor.line,
            )
        if end > capacity[tensor.buffer]:
            yield Breach(
                f"{subject.name(index)} is placed on bytes {byte} to {end - 1} of its partitions, "
                f"{tensor.buffer.upper()} of {target.name} has {capacity[tensor.buffer]}",
                tensor.line,
            )


def _address_bank(subject: Subject) -> Iterator[Breach]:
    bank = TARGETS[subject.program.target].psum_bank_bytes
    for index, tensor in enumerate(subject.program.tensors):
        if tensor.address is not None and tensor.buffer == "psum" and tensor.address[1] % bank:
            yield Breach(
                f"{subject.name(index)} is placed at byte {tensor.address[1]} of PSUM, which must be the "
                f"start of a bank: a multiple of {bank}",
                tensor.line,
            )


def _address_overlap(subject: Subject) -> Iterator[Breach]:
    """Warn of placed tensors that overlap while the contents of both are still wanted."""
    program, spans = subject.program, subject.spans
    placed = [index for index in spans if program.tensors[index].address is not None]
    placed.sort(key=lambda index: spans[index][0])
    alive: list[int] = []
    for index in placed:
        alive = [other for other in alive if spans[other][1] > spans[index][0]]
        for other in alive:
            if _overlap(program, other, index):
                yield Breach(
                    f"{subject.name(index)} is placed over {subject.name(other)} (line "
                    f"{program.tensors[other].line}), which is still used afterwards: what is written to one "
                    "changes the other",
                    program.tensors[index].line,
                )
                break
        alive.append(index)


def _overlap(program: Program, a: int, b: int) -> bool:
    first, second = program.tensors[a], program.tensors[b]
    if (first.core, first.buffer) != (second.core, second.buffer):
        return False
    assert first.address is not None
    assert second.address is not None
    return all(
        low < other + extent and other < low + size
        for low, size, other, extent in (
            (first.address[0], first.shape[0], second.address[0], second.shape[0]),
            (
                first.address[1],
                _partition_bytes(program, a),
                second.address[1],
                _partition_bytes(program, b),
            ),
        )
    )


_SOURCE: Final = "NKI memory hierarchy overview; facts/nki.md section 2.1"
_PLACEMENT: Final = "nki.language.ndarray docstring, address (facts/nki.md section 1.4)"

RULES: Final = (
    Rule("sbuf-spill", _sbuf, _SOURCE, severity=Severity.WARNING),
    Rule("psum-spill", _psum, _SOURCE, severity=Severity.WARNING),
    Rule("address-range", _address_range, _PLACEMENT),
    Rule("address-bank", _address_bank, _PLACEMENT),
    Rule("address-overlap", _address_overlap, _PLACEMENT, severity=Severity.WARNING),
)
