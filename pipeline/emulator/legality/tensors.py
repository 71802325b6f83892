"""Rules on tensor declarations."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import VERSIONS

__all__ = ["RULES"]

_ON_CHIP: Final = ("sbuf", "psum")


def _partition_limit(subject: Subject) -> Iterator[Breach]:
    limit = TARGETS[subject.program.target].partitions
    for index, tensor in enumerate(subject.program.tensors):
        if tensor.buffer in _ON_CHIP and tensor.shape[0] > limit:
            yield Breach(
                f"{subject.name(index)} {list(tensor.shape)} in {tensor.buffer.upper()} has a partition "
                f"dimension of {tensor.shape[0]}, limit {limit} (nl.tile_size.pmax): split it into tiles of "
                f"{limit} partitions",
                tensor.line,
            )


def _rank(subject: Subject) -> Iterator[Breach]:
    for index, tensor in enumerate(subject.program.tensors):
        if tensor.buffer in _ON_CHIP and len(tensor.shape) < 2:
            yield Breach(
                f"{subject.name(index)} {list(tensor.shape)} in {tensor.buffer.upper()} has one dimension, "
                f"needs a partition and a free dimension: use shape ({tensor.shape[0]}, 1)",
                tensor.line,
            )


def _tile_bytes(subject: Subject) -> Iterator[Breach]:
    target = TARGETS[subject.program.target]
    capacity = {"sbuf": target.sbuf_bytes_per_partition, "psum": target.psum_bytes_per_partition}
    for index, tensor in enumerate(subject.program.tensors):
        if tensor.buffer not in capacity:
            continue
        size = prod(tensor.shape[1:]) * DTYPES[tensor.dtype].itemsize
        if size > capacity[tensor.buffer]:
            yield Breach(
                f"{subject.name(index)} {list(tensor.shape)} {tensor.dtype} takes {size} bytes per "
                f"partition, {tensor.buffer.upper()} of {target.name} has {capacity[tensor.buffer]}: tile "
                "the free dimension",
                tensor.line,
            )


def _dtype(subject: Subject) -> Iterator[Breach]:
    target = subject.program.target
    for name, dtype, line in _dtypes_used(subject):
        targets = DTYPES[dtype].targets
        if target not in targets:
            yield Breach(f"{name} is {dtype}, which exists on {', '.join(sorted(targets))} only", line)


def _dtype_version(subject: Subject) -> Iterator[Breach]:
    have = VERSIONS.index(subject.program.version)
    for name, dtype, line in _dtypes_used(subject):
        since = DTYPES[dtype].since
        if VERSIONS.index(since) > have:
            yield Breach(f"{name} is {dtype}, which exists since NKI {since}", line)


def _dtypes_used(subject: Subject) -> Iterator[tuple[str, str, int]]:
    """Yield what has which dtype, and the line: every tensor, and every argument that views it as another."""
    for index, tensor in enumerate(subject.program.tensors):
        yield subject.name(index), tensor.dtype, tensor.line
    program = subject.program
    for geometry, uses in subject.geometries.items():
        for line, (position, slot) in uses.items():
            pattern = program.patterns[program.instructions[position].tensors[slot]]
            if program.tensors[pattern.tensor].dtype != geometry.dtype:
                yield subject.argument(position, slot), geometry.dtype, line


def _output_buffer(subject: Subject) -> Iterator[Breach]:
    inputs = set(subject.program.inputs)
    for index in subject.program.outputs:
        tensor = subject.program.tensors[index]
        if index not in inputs and tensor.buffer != "shared_hbm":
            yield Breach(
                f"returned tensor {subject.name(index)} lies in {tensor.buffer}, must lie in shared_hbm: "
                "allocate it with nl.ndarray(..., buffer=nl.shared_hbm) and copy the result there",
                tensor.line,
            )


RULES: Final = (
    Rule("partition-limit", _partition_limit, "NKI 0.6 verifier error; facts/nki.md section 1.6"),
    Rule("tile-rank", _rank, "NKI language guide: on-chip tensors have two dimensions or more (section 1.5)"),
    Rule("tile-bytes", _tile_bytes, "facts/nki.md section 2.1"),
    Rule("dtype-target", _dtype, "facts/nki.md section 2.8; neuronx-cc error EVRF051"),
    Rule("dtype-version", _dtype_version, "NKI release notes (facts/nki.md section 1.2)"),
    Rule("output-buffer", _output_buffer, "NKI 0.3.0 release notes (facts/nki.md section 1.3)"),
)
