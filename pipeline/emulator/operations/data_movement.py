"""Copies, fills and transposes through DMA: `dma_copy`, `tensor_copy`, `memset`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import ENGINE, OOB_MODE, choice, destination, source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, bit_pattern, integer_range, loader, writer
from pipeline.emulator.operations.limits import agree
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind, Severity

__all__ = ["OPERATIONS"]

_DMA_MEMORIES: Final = frozenset({"hbm", "sbuf"})


def _bind_copy(call: Call) -> Kernel:
    """Copy bit for bit between equal types, else (and always on the scalar engine) through float32."""
    destination_, source_ = call.tensor("dst"), call.tensor("src")
    kind = DTYPES[destination_.dtype]
    through_float = call.engine == "scalar" and not kind.is_float
    if kind.storage == DTYPES[source_.dtype].storage and not through_float:
        if destination_.shape == source_.shape:
            return _copy
        return _copy_reshaped
    load, write = loader(source_, destination_.shape), writer(destination_.dtype)

    def convert(registers: object, dst: Array, src: Array) -> None:
        write(dst, load(src))

    return convert


def _copy(registers: object, dst: Array, src: Array) -> None:
    dst[...] = src


def _copy_reshaped(registers: object, dst: Array, src: Array) -> None:
    dst[...] = src.reshape(dst.shape)


def _bind_memset(call: Call) -> Kernel:
    kind = DTYPES[call.tensor("dst").dtype]
    value = call.scalar("value")
    number = value if isinstance(value, int | float) else 0
    fill: Any
    if kind.is_float or kind.storage == np.bool_:
        fill = np.array(number).astype(kind.storage)
    else:
        fill = bit_pattern(int(number), kind.storage)

    def memset(registers: object, dst: Array) -> None:
        dst[...] = fill

    return memset


def _dma_count(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if dst.elements != src.elements:
        yield (
            f"dst has {dst.elements} elements {list(dst.shape)}, src has {src.elements} {list(src.shape)}: a "
            "DMA moves equally many; clamp both slices to the same size"
        )


def _dma_cast(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if call.scalar("dge_mode") == "hwdge" and dst.dtype != src.dtype:
        yield f"dge_mode=hwdge cannot convert {src.dtype} to {dst.dtype}: cast with tensor_copy"


def _dma_hardware_queue(call: Call) -> Iterator[str]:
    if call.scalar("dge_mode") == "hwdge":
        yield "dge_mode=hwdge exists from NeuronCore-v3 on: use dge_mode=none or swdge"


def _dma_engine(call: Call) -> Iterator[str]:
    if call.scalar("engine") != "unknown" and call.scalar("dge_mode") != "hwdge":
        yield (
            f"engine={call.scalar('engine')} chooses who generates hardware descriptors, dge_mode is "
            f"{call.scalar('dge_mode')}: pass dge_mode=hwdge too, or leave engine out"
        )


def _dma_priority(call: Call) -> Iterator[str]:
    if call.scalar("priority") is not None:
        yield "priority exists from NeuronCore-v4 on: leave it out"


def _scalar_copy(call: Call) -> Iterator[str]:
    if call.engine == "scalar":
        yield "tensor_copy does not run on NeuronCore-v2's scalar engine: use nisa.activation(op=nl.copy)"


def _memset_value(call: Call) -> Iterator[str]:
    dst, value = call.tensor("dst"), call.scalar("value")
    kind = DTYPES[dst.dtype]
    if kind.is_float:
        return
    if isinstance(value, float):
        yield f"float value {value!r} into a {dst.dtype} tile: pass an int"
    elif isinstance(value, int) and kind.storage != np.bool_:
        low, high = integer_range(dst.dtype)
        if not low <= value <= high:
            yield f"value {value} does not fit {dst.dtype} [{low}, {high}]"


_SMALL: Final = 64  # MIN_II, the shortest instruction in cycles


def _copy_cycles(call: Call) -> float:
    return max(_SMALL, call.tensor("dst").free_elements)


def _memset_cycles(call: Call) -> float:
    dst = call.tensor("dst")
    halved = call.scalar("value") == 0 and dst.dtype in ("bfloat16", "float16")
    return max(_SMALL, dst.free_elements / 2 if halved else dst.free_elements)


OPERATIONS: Final = (
    Operation(
        "dma_copy",
        (
            destination(buffers=_DMA_MEMORIES),
            source("src", _DMA_MEMORIES),
            Parameter("priority", ParameterKind.NUMBER, None),
            OOB_MODE,
            choice("dge_mode", "unknown", "swdge", "hwdge", "none"),
            # Chooses the queue that generates descriptors, not the engine that moves the data.
            choice("engine", "unknown", "sync", "scalar"),
        ),
        engines=("dma",),
        bind=_bind_copy,
        limits=(
            Limit("dma-count", _dma_count, "nki.isa.dma_copy docstring, Tile size"),
            Limit("dma-cast", _dma_cast, "NKI 0.3.0 release notes (facts/nki.md section 1.3)"),
            Limit(
                "dma-hardware-queue", _dma_hardware_queue, "nki.isa.dma_copy docstring", frozenset({"trn1"})
            ),
            Limit("dma-engine", _dma_engine, "nki.isa.dma_copy docstring", severity=Severity.WARNING),
            Limit("dma-priority", _dma_priority, "nki.isa.dma_copy docstring", frozenset({"trn1", "trn2"})),
        ),
        source="nki.isa.dma_copy, NKI 0.6; facts/nki.md sections 2.9 and 4.1",
    ),
    Operation(
        "tensor_copy",
        (destination(), source("src"), ENGINE),
        engines=("vector", "scalar", "gpsimd"),
        bind=_bind_copy,
        cycles=_copy_cycles,
        limits=(
            agree("dst", "src"),
            Limit(
                "scalar-copy",
                _scalar_copy,
                "nki.isa.tensor_copy docstring, NeuronCore v2",
                frozenset({"trn1"}),
            ),
        ),
        source="nki.isa.tensor_copy, NKI 0.6; facts/nki.md sections 3.1 and 4.1",
    ),
    Operation(
        "memset",
        (destination(), Parameter("value", ParameterKind.NUMBER), ENGINE),
        engines=("vector", "gpsimd"),
        bind=_bind_memset,
        cycles=_memset_cycles,
        limits=(Limit("memset-value", _memset_value, "NKI 0.3.0 release notes (facts/nki.md section 1.3)"),),
        source="nki.isa.memset, NKI 0.6; facts/nki.md sections 3.1 and 4.1",
    ),
)
