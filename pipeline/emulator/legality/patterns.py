"""Rules on access patterns: what an engine can address in one instruction (facts/nki.md section 2.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.legality.shadow import may_overlap
from pipeline.emulator.operations import Operand, Parameter
from pipeline.emulator.program.resolution import partition_elements

__all__ = ["RULES"]

_MAX_FREE_DIMENSIONS: Final = 4
_SOURCE: Final = "NKI architecture guides, access patterns (facts/nki.md section 2.4)"


@dataclass(frozen=True, slots=True)
class _Use:
    """A pattern where it is first used in a given role."""

    pattern: int
    operand: Operand
    parameter: Parameter
    engine: str
    label: str
    line: int


def _uses(subject: Subject) -> Iterator[_Use]:
    """Yield each pattern once per (written or not, DMA or engine) role."""
    program, resolution = subject.program, subject.resolution
    seen: set[tuple[int, bool, bool]] = set()
    for position, instruction in enumerate(program.instructions):
        call = resolution.calls[resolution.indices[position]]
        for parameter, pattern in zip(call.operation.tensor_parameters, instruction.tensors, strict=True):
            if pattern < 0:
                continue
            role = (pattern, parameter.kind.written, call.engine == "dma")
            if role in seen:
                continue
            seen.add(role)
            name = subject.name(program.patterns[pattern].tensor)
            yield _Use(
                pattern,
                resolution.operands[pattern],
                parameter,
                call.engine,
                f"{call.operation.name}: {parameter.name} ({name})",
                instruction.line,
            )


def _on_chip(subject: Subject) -> Iterator[_Use]:
    return (use for use in _uses(subject) if use.operand.memory != "hbm")


def _partition_step(subject: Subject) -> Iterator[Breach]:
    for use in _on_chip(subject):
        width = partition_elements(subject.program, use.pattern)
        stride = use.operand.strides[0]
        if use.operand.partitions == 1 or stride == width:
            continue
        if stride == 0:
            yield Breach(
                f"{use.label} repeats one partition {use.operand.partitions} times: the partition dimension "
                "cannot be broadcast by a view; copy with nisa.dma_copy from HBM or multiply by ones on the "
                "tensor engine",
                use.line,
            )
        else:
            yield Breach(
                f"{use.label} steps {stride} elements from one partition to the next, a partition holds "
                f"{width}: partitions are physical and contiguous; reshape does not move data across them",
                use.line,
            )


def _partition_crossing(subject: Subject) -> Iterator[Breach]:
    for use in _on_chip(subject):
        pattern = subject.program.patterns[use.pattern]
        width = partition_elements(subject.program, use.pattern)
        low = high = pattern.offset % width
        for stride, count in pattern.dims[1:]:
            reach = stride * (count - 1)
            low, high = low + min(0, reach), high + max(0, reach)
        if low < 0 or high >= width:
            yield Breach(
                f"{use.label} reaches elements {low} to {high} of a partition that holds {width}: one "
                "instruction's free dimensions stay within a partition",
                use.line,
            )


def _view_width(subject: Subject) -> Iterator[Breach]:
    for use in _on_chip(subject):
        pattern = subject.program.patterns[use.pattern]
        tensor = subject.program.tensors[pattern.tensor]
        size = DTYPES[tensor.dtype].itemsize
        for extent in tensor.shape[1:]:
            size *= extent
        if size % DTYPES[pattern.dtype].itemsize:
            yield Breach(
                f"{use.label} views {size} bytes per partition as {pattern.dtype}, which does not divide "
                "them",
                use.line,
            )


def _partition_start(subject: Subject) -> Iterator[Breach]:
    for use in _on_chip(subject):
        if use.engine == "dma":
            continue
        count, start = use.operand.partitions, use.operand.start
        allowed = (0,) if count > 64 else (0, 64) if count > 32 else (0, 32, 64, 96)
        if start not in allowed:
            yield Breach(
                f"{use.label} covers partitions {start} to {start + count - 1}: {count} partitions start at "
                f"{' or '.join(map(str, allowed))}; place the tile on such a boundary or move it by DMA",
                use.line,
            )


def _free_dimensions(subject: Subject) -> Iterator[Breach]:
    for use in _on_chip(subject):
        merged = _merge(subject.program.patterns[use.pattern].dims[1:])
        if len(merged) > _MAX_FREE_DIMENSIONS:
            yield Breach(
                f"{use.label} needs {len(merged)} free dimensions {[count for _, count in merged]}, limit "
                f"{_MAX_FREE_DIMENSIONS}: split the instruction",
                use.line,
            )


def _merge(dims: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return the fewest (stride, count) pairs that walk the same elements in the same order."""
    merged: list[tuple[int, int]] = []
    for stride, count in dims:
        if count == 1:
            continue
        if merged and merged[-1][0] == stride * count:
            merged[-1] = (stride, merged[-1][1] * count)
        else:
            merged.append((stride, count))
    return merged


def _destination_overlap(subject: Subject) -> Iterator[Breach]:
    for use in _uses(subject):
        if use.parameter.kind.written and may_overlap(subject.program.patterns[use.pattern].dims):
            yield Breach(
                f"{use.label} {list(use.operand.shape)} with strides {list(use.operand.strides)} writes an "
                "element more than once: write each element once (a broadcast view is for reading)",
                use.line,
            )


RULES: Final = (
    Rule("partition-step", _partition_step, f"{_SOURCE}; nki-aps.rst; nki_bug_reports.md 39"),
    Rule("partition-crossing", _partition_crossing, _SOURCE),
    Rule("view-width", _view_width, "NkiTensor.view: element sizes must divide"),
    Rule("partition-start", _partition_start, _SOURCE),
    Rule("free-dimensions", _free_dimensions, _SOURCE),
    Rule("destination-overlap", _destination_overlap, "an overlapping write has no defined order"),
)
