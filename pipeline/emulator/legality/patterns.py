"""Rules on access patterns: what an engine can address in one instruction (facts/nki.md section 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality.coverage import reads_of
from pipeline.emulator.legality.rules import Breach, Geometry, Rule, Subject
from pipeline.emulator.operations import Severity
from pipeline.emulator.program.geometry import may_overlap, start_partitions
from pipeline.emulator.program.instructions import AccessPattern
from pipeline.emulator.program.lifetimes import patterns_used

__all__ = ["RULES"]

_MAX_FREE_DIMENSIONS: Final = 4
_SOURCE: Final = "NKI architecture guides, access patterns (facts/nki.md section 2.4)"


def _partition_step(geometry: Geometry) -> str | None:
    stride, count = geometry.dims[0]
    if count == 1 or stride == geometry.width:
        return None
    if stride == 0:
        return (
            f"repeats one partition {count} times: the partition dimension cannot be broadcast by a view; "
            "copy "
            "with nisa.dma_copy from HBM or multiply by ones on the tensor engine"
        )
    return (
        f"steps {stride} elements from one partition to the next, a partition holds {geometry.width}: "
        "partitions are physical and contiguous; reshape does not move data across them"
    )


def _partition_crossing(geometry: Geometry) -> str | None:
    if geometry.moves:  # the machine looks when it knows where to
        return None
    low = high = geometry.column
    for stride, count in geometry.dims[1:]:
        reach = stride * (count - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    if low >= 0 and high < geometry.width:
        return None
    return (
        f"reaches elements {low} to {high} of a partition that holds {geometry.width}: one instruction's "
        "free "
        "dimensions stay within a partition"
    )


def _view_width(geometry: Geometry) -> str | None:
    if geometry.partition_bytes % DTYPES[geometry.dtype].itemsize == 0:
        return None
    return f"views {geometry.partition_bytes} bytes per partition as {geometry.dtype}: no whole elements"


def _partition_start(geometry: Geometry) -> str | None:
    if geometry.anywhere or geometry.moves:
        return None
    count, start = geometry.dims[0][1], geometry.start
    allowed = start_partitions(count)
    if start in allowed:
        return None
    return (
        f"covers partitions {start} to {start + count - 1}: {count} partitions start at "
        f"{' or '.join(map(str, allowed))}; place the tile on such a boundary, move it by DMA, or let one "
        "instruction work on all partitions"
    )


def _free_dimensions(geometry: Geometry) -> str | None:
    merged = _merge(geometry.dims[1:])
    if len(merged) <= _MAX_FREE_DIMENSIONS:
        return None
    return (
        f"needs {len(merged)} free dimensions {[count for _, count in merged]}, limit "
        f"{_MAX_FREE_DIMENSIONS}: "
        "split the instruction"
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


def _known_dims(pattern: AccessPattern) -> tuple[tuple[int, int], ...]:
    """Return the dimensions whose strides say where elements lie: an index tensor replaces one of them."""
    kinds = {offset.kind for offset in pattern.offsets}
    dims = pattern.dims[1:] if "vector" in kinds else pattern.dims
    return dims[:-1] if "indirect" in kinds else dims


def _overlaps(subject: Subject) -> Iterator[tuple[tuple[tuple[int, int], ...], int, int, bool]]:
    """Yield each write that touches an element twice: how, where, and whether nobody reads the tensor after.

    A stride of 0 to a tensor that nobody reads is a sink: how a kernel throws away what it has no use for
    (nki-library's core/qkv does).
    """
    program, calls = subject.program, subject.resolution.calls
    overlapping = {
        index for index, pattern in enumerate(program.patterns) if may_overlap(_known_dims(pattern))
    }
    if not overlapping:
        return
    last_read: dict[int, int] = {}
    writes: list[tuple[int, int]] = []
    for position, (instruction, index) in enumerate(
        zip(program.instructions, subject.resolution.indices, strict=True)
    ):
        operation = calls[index].operation
        read = [pattern for _, pattern in reads_of(operation, instruction)]
        read += [
            index for index in patterns_used(program, instruction.tensors) if index not in instruction.tensors
        ]
        for pattern in read:
            last_read[program.patterns[pattern].tensor] = position
        if not overlapping.isdisjoint(instruction.tensors):
            writes += [
                (position, slot)
                for slot, parameter in enumerate(operation.tensor_parameters)
                if parameter.kind.written and instruction.tensors[slot] in overlapping
            ]
    outputs = set(program.outputs)
    for position, slot in writes:
        written = program.patterns[program.instructions[position].tensors[slot]]
        moving = [dim for dim in _known_dims(written) if dim[0] != 0]
        unread = last_read.get(written.tensor, -1) <= position and written.tensor not in outputs
        yield written.dims, position, slot, unread and not may_overlap(moving)


def _destination_overlap(subject: Subject) -> Iterator[Breach]:
    for dims, position, slot, is_sink in _overlaps(subject):
        if not is_sink:
            strides, shape = zip(*dims, strict=True)
            yield Breach(
                f"{subject.argument(position, slot)} {list(shape)} with strides {list(strides)} writes an "
                "element more than once: write each element once (a broadcast view is for reading)",
                subject.program.instructions[position].line,
            )


def _destination_sink(subject: Subject) -> Iterator[Breach]:
    for _, position, slot, is_sink in _overlaps(subject):
        if is_sink:
            yield Breach(
                f"{subject.argument(position, slot)} writes its elements over one another and nobody reads "
                "them: which value stays is not documented",
                subject.program.instructions[position].line,
            )


def _rule(rule: str, judge: Callable[[Geometry], str | None], source: str) -> Rule:
    """Return the rule that judges every distinct geometry once and names each line that uses a bad one."""

    def find(subject: Subject) -> Iterator[Breach]:
        for geometry, uses in subject.geometries.items():
            if geometry.memory == "hbm":
                continue
            fault = judge(geometry)
            if fault is not None:
                for line, (position, slot) in uses.items():
                    yield Breach(f"{subject.argument(position, slot)} {fault}", line)

    return Rule(rule, find, source)


RULES: Final = (
    _rule("partition-step", _partition_step, f"{_SOURCE}; nki-aps.rst; nki_bug_reports.md 39"),
    _rule("partition-crossing", _partition_crossing, _SOURCE),
    _rule("view-width", _view_width, "NkiTensor.view: element sizes must divide"),
    _rule("partition-start", _partition_start, _SOURCE),
    _rule("free-dimensions", _free_dimensions, _SOURCE),
    Rule("destination-overlap", _destination_overlap, "an overlapping write has no defined order"),
    Rule(
        "destination-sink",
        _destination_sink,
        "nki-library core/qkv writes unwanted values through a stride of 0",
        severity=Severity.WARNING,
    ),
)
