"""The DMA engines: `dma_copy`, `dma_transpose`, `dma_compute`.

A DMA moves elements in their order whatever the shapes, converts through float32, and reaches HBM and SBUF
only. What run-time addresses add to these rules is in `dynamic_access`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import OOB_MODE, choice, flag, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Operand
from pipeline.emulator.operations.conversion import Array, loader, writer
from pipeline.emulator.operations.data_movement import bind_copy
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS"]

_MEMORIES: Final = frozenset({"hbm", "sbuf"})
_PRIORITIES: Final = 4
#: The permutations there are, by rank.
_AXES: Final = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_BLOCK: Final = 16  # rows that the transposing hardware takes at a time
_HARDWARE_ROWS: Final = (1, 2, 4, 8, 16)
_MAX_COLUMNS: Final = 128
_MAX_SOURCES: Final = 16


def _bind_transpose(call: Call) -> Kernel:
    axes = _AXES[len(call.tensor("src").shape)]

    def transpose(registers: object, dst: Array, src: Array) -> None:
        dst[...] = src.transpose(axes).reshape(dst.shape)

    return transpose


def _bind_compute(call: Call) -> Kernel:
    """Add the sources in their order, in float32."""
    dst = call.tensor("dst")
    loads = [loader(source_, dst.shape) for source_ in _sources(call)]
    write = writer(dst.dtype)

    def compute(registers: object, dst: Array, *srcs: Array) -> None:
        # Absent sources follow the given ones.
        total = loads[0](srcs[0])
        for load, array in zip(loads[1:], srcs[1:], strict=False):
            total = total + load(array)
        write(dst, total)

    return compute


def _sources(call: Call) -> list[Operand]:
    """Return the sources of `dma_compute` that are given."""
    operands = (call.operand(f"srcs[{slot}]") for slot in range(_MAX_SOURCES))
    return [operand for operand in operands if operand is not None]


def _sum_fidelity(call: Call) -> Fidelity:
    """In which order the engine adds more than two sources is not documented."""
    return Fidelity.APPROXIMATE if len(_sources(call)) > 2 else Fidelity.EXACT


def _count(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and operand.elements != dst.elements:
            yield (
                f"dst has {dst.elements} elements {list(dst.shape)}, {parameter.name} has {operand.elements} "
                f"{list(operand.shape)}: a DMA moves equally many; clamp both slices to the same size"
            )


def _cast(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if call.scalar("dge_mode") == "hwdge" and dst.dtype != src.dtype:
        yield f"dge_mode=hwdge cannot convert {src.dtype} to {dst.dtype}: cast with tensor_copy"


def _hardware_queue(call: Call) -> Iterator[str]:
    if call.scalar("dge_mode") == "hwdge":
        yield "dge_mode=hwdge exists from NeuronCore-v3 on: use dge_mode=none or swdge"


def _queue_engine(call: Call) -> Iterator[str]:
    if call.scalar("engine") != "unknown" and call.scalar("dge_mode") != "hwdge":
        yield (
            f"engine={call.scalar('engine')} chooses who generates hardware descriptors, dge_mode is "
            f"{call.scalar('dge_mode')}: pass dge_mode=hwdge too, or leave engine out"
        )


def _priority(call: Call) -> Iterator[str]:
    priority = call.scalar("priority")
    if priority is None:
        return
    if call.target.name != "trn3":
        yield "priority exists from NeuronCore-v4 on: leave it out"
    elif not (isinstance(priority, int) and 0 <= priority < _PRIORITIES):
        yield f"priority is {priority!r}, must be 0 (first) to {_PRIORITIES - 1}"


def _transpose_shape(call: Call) -> Iterator[str]:
    dst, src, axes = call.tensor("dst"), call.tensor("src"), call.scalar("axes")
    expected = _AXES.get(len(src.shape))
    if expected is None:
        yield f"src has {len(src.shape)} dimensions {list(src.shape)}, must have 2, 3 or 4: reshape it"
    elif axes is not None and axes != expected:
        yield f"axes={axes} of a {len(src.shape)}-dimensional src: the only permutation is {expected}"
    elif dst.elements != src.elements:
        yield f"dst {list(dst.shape)} holds {dst.elements} elements, src {list(src.shape)} {src.elements}"


def _transpose_exact(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    shape = tuple(src.shape[axis] for axis in _AXES.get(len(src.shape), ()))
    if shape and dst.shape != shape:
        yield (
            f"dst is {list(dst.shape)}, src {list(src.shape)} transposed is {list(shape)}: both must have "
            "the same rank and sizes"
        )


def _transpose_dtype(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if dst.dtype != src.dtype:
        yield f"dst is {dst.dtype}, src is {src.dtype}: a transpose converts nothing; make dst {src.dtype}"


def _transpose_direct(call: Call) -> Iterator[str]:
    if _is_gather(call):
        return
    if call.scalar("dge_mode") == "swdge":
        yield "dge_mode=swdge is for a src with a vector offset: use dge_mode=unknown"
    if call.scalar("dge_mode") == "hwdge":
        yield from _hardware_transpose(call.tensor("src"))


def _hardware_transpose(src: Operand) -> Iterator[str]:
    rows, rank = src.shape[0], len(src.shape)
    if rank == 2 and rows != _BLOCK:
        yield f"dge_mode=hwdge transposes {_BLOCK} rows of a matrix, src has {rows}: use dge_mode=unknown"
    if rank > 2 and (rows not in _HARDWARE_ROWS or rows * src.shape[-2] % _BLOCK):
        yield (
            f"dge_mode=hwdge cannot transpose src {list(src.shape)}: its first size must be one of "
            f"{', '.join(map(str, _HARDWARE_ROWS))}, and times the last but one a multiple of {_BLOCK}"
        )
    yield from _columns(src, "dge_mode=hwdge")


def _columns(src: Operand, what: str) -> Iterator[str]:
    if src.shape[-1] > _MAX_COLUMNS:
        yield f"{what}: the last size of src {list(src.shape)} is above {_MAX_COLUMNS}; split it"
    if DTYPES[src.dtype].itemsize != 2:
        yield f"{what}: src is {src.dtype}, must have 2 bytes per element"


def _transpose_older(call: Call) -> Iterator[str]:
    src = call.tensor("src")
    whole = (src.shape[0], src.shape[-1]) == (_BLOCK, _MAX_COLUMNS)
    if call.scalar("dge_mode") == "hwdge" and not _is_gather(call) and not whole:
        yield (
            f"dge_mode=hwdge transposes {_BLOCK} rows of {_MAX_COLUMNS} before NKI 0.6, src is "
            f"{list(src.shape)}: use dge_mode=unknown"
        )


def _gather_older(call: Call) -> Iterator[str]:
    src = call.tensor("src")
    if _is_gather(call) and src.shape[-1] != _MAX_COLUMNS:
        yield (
            f"a gathering transpose takes {_MAX_COLUMNS} elements per row before NKI 0.4, src is "
            f"{list(src.shape)}"
        )


def _is_gather(call: Call) -> bool:
    return "vector" in call.tensor("src").dynamic


def _transpose_gather(call: Call) -> Iterator[str]:
    src = call.tensor("src")
    if not _is_gather(call):
        return
    if call.target.name == "trn1":
        yield "a gathering transpose exists from NeuronCore-v3 on: gather with nisa.dma_copy first"
    yield from _columns(src, "a gathering transpose")
    rows, indices = src.shape[0], src.indices[src.dynamic.index("vector")]
    if rows % _BLOCK:
        yield f"a gathering transpose takes a multiple of {_BLOCK} rows, src {list(src.shape)} has {rows}"
    if len(src.shape) == 4 and 1 not in src.shape[1:3]:
        yield f"a gathering transpose of src {list(src.shape)}: its second or third size must be 1"
    if indices is None:
        return
    height, width = indices.partitions, indices.free_elements
    if indices.dtype != "uint32" or len(indices.shape) != 2:
        yield f"the indices are {indices.dtype}{list(indices.shape)}, must be two-dimensional and uint32"
    if height % _BLOCK or (width > 1 and height != 128):
        yield (
            f"the indices are {list(indices.shape)}: they take a multiple of {_BLOCK} partitions, and all "
            "128 if there are several columns"
        )
    if indices.elements < rows:
        yield f"{indices.elements} indices {list(indices.shape)} for {rows} rows of src {list(src.shape)}"


def _skips(scalars: Sequence[Scalar]) -> bool:
    """Return whether rows whose addresses lie outside leave a part of `dst` as it was."""
    return "skip" in scalars


def _skip_needs_index(call: Call) -> Iterator[str]:
    if call.scalar("oob_mode") != "skip":
        return
    if not any(operand.dynamic for operand in call.operands if operand is not None):
        yield "oob_mode=skip is for run-time addresses, these are static: leave it out"


def _compute_sources(call: Call) -> Iterator[str]:
    given = [call.operand(f"srcs[{slot}]") is not None for slot in range(_MAX_SOURCES)]
    if given != sorted(given, reverse=True):
        yield "srcs has gaps"


def _compute_scales(call: Call) -> Iterator[str]:
    scales = [call.scalar(f"scales[{slot}]") for slot in range(_MAX_SOURCES)]
    given, sources = [scale for scale in scales if scale is not None], len(_sources(call))
    if any(scale != 1 for scale in given):
        yield f"scales={given}: the hardware scales by 1.0 only; scale with nisa.tensor_scalar"
    if given and (len(given) != sources or None in scales[:sources]):
        yield f"{len(given)} scales for {sources} srcs: give one each, or leave scales out"


def _compute_addresses(call: Call) -> Iterator[str]:
    """Check what makes a read-modify-write of one gathered or scattered operand."""
    dst, sources = call.tensor("dst"), _sources(call)
    kinds = {kind for operand in (dst, *sources) for kind in operand.dynamic}
    if kinds - {"vector"}:
        yield (
            f"a {'register' if 'register' in kinds else 'scalar'} offset: dma_compute takes static addresses "
            "and vector offsets; copy with nisa.dma_copy first"
        )
    if "vector" not in kinds:
        return
    if call.scalar("unique_indices") is not True:
        yield "unique_indices=False is not supported with a vector offset: make the indices unique"
    gathered = [operand for operand in sources if "vector" in operand.dynamic]
    others = [operand for operand in sources if "vector" not in operand.dynamic]
    if len(gathered) != 1 or len(others) != 1:
        yield (
            f"{len(sources)} srcs, {len(gathered)} of them with a vector offset: a read-modify-write takes "
            "two, of which one has it"
        )
        return
    # Scatter: dst is the gathered source itself. Gather: dst is the other one.
    same = gathered[0] if "vector" in dst.dynamic else others[0]
    if (dst.memory, dst.dtype, dst.elements) != (same.memory, same.dtype, same.elements):
        yield (
            f"dst is {dst.dtype} {describe(dst)}, no source is the same: a read-modify-write adds to what it "
            "reads; pass dst as a source too"
        )
    elif others[0].memory != "sbuf":
        yield f"the source without vector offset lies in {others[0].memory.upper()}, must lie in SBUF"


_DGE_MODE: Final = choice("dge_mode", "unknown", "swdge", "hwdge", "none")
_PRIORITY: Final = Parameter("priority", ParameterKind.NUMBER, None, since="0.4")
_COPY: Final = "nki.isa.dma_copy docstring"
_TRANSPOSE: Final = "nki.isa.dma_transpose docstring"
_COMPUTE: Final = "nki.isa.dma_compute docstring"
_COUNT: Final = Limit("dma-count", _count, f"{_COPY}, Tile size; {_COMPUTE}, Tile size")
_HARDWARE_QUEUE: Final = Limit("dma-hardware-queue", _hardware_queue, _COPY, frozenset({"trn1"}))
_PRIORITY_RANGE: Final = Limit("dma-priority", _priority, _COPY)
_SKIP: Final = Limit("dma-skip", _skip_needs_index, f"{_TRANSPOSE}; NKI 0.4.0 release notes, dma_compute")

OPERATIONS: Final = (
    Operation(
        "dma_copy",
        (
            Parameter("dst", ParameterKind.UPDATED, buffers=_MEMORIES),
            source("src", _MEMORIES),
            _PRIORITY,
            OOB_MODE,
            _DGE_MODE,
            # Chooses the queue that generates descriptors, not the engine that moves the data.
            choice("engine", "unknown", "sync", "scalar"),
        ),
        engines=("dma",),
        bind=bind_copy,
        limits=(
            _COUNT,
            Limit("dma-cast", _cast, "NKI 0.3.0 release notes (facts/nki.md section 1.3)"),
            _HARDWARE_QUEUE,
            Limit("dma-engine", _queue_engine, _COPY, severity=Severity.WARNING),
            _PRIORITY_RANGE,
        ),
        leaves=_skips,
        source="nki.isa.dma_copy, NKI 0.6; facts/nki.md sections 2.9 and 4.1",
    ),
    Operation(
        "dma_transpose",
        (
            Parameter("dst", ParameterKind.UPDATED, buffers=frozenset({"sbuf"})),
            source("src", _MEMORIES),
            Parameter("axes", ParameterKind.INTEGERS, None),
            _PRIORITY,
            _DGE_MODE,
            OOB_MODE,
        ),
        engines=("dma",),
        bind=_bind_transpose,
        limits=(
            Limit("dma-transpose-shape", _transpose_shape, f"{_TRANSPOSE}; NKI 0.4.0 release notes"),
            Limit("dma-transpose-shape", _transpose_exact, "NKI 0.4.0 release notes", since="0.4"),
            Limit("dma-transpose-dtype", _transpose_dtype, _TRANSPOSE),
            # The docstring allows unknown and hwdge for a direct transpose, nki-dge.rst none as well.
            Limit("dma-transpose-queue", _transpose_direct, f"{_TRANSPOSE}, Direct Transpose; nki-dge.rst"),
            Limit("dma-transpose-queue", _transpose_older, "NKI 0.6.0 release notes", until="0.6"),
            Limit("dma-transpose-gather", _transpose_gather, f"{_TRANSPOSE}, Indirect Transpose"),
            Limit("dma-transpose-gather", _gather_older, "NKI 0.4.0 release notes", until="0.4"),
            _HARDWARE_QUEUE,
            _PRIORITY_RANGE,
            _SKIP,
        ),
        leaves=_skips,
        source="nki.isa.dma_transpose, NKI 0.6; facts/nki.md sections 2.7 and 4.1",
    ),
    Operation(
        "dma_compute",
        (
            Parameter("dst", ParameterKind.UPDATED, buffers=_MEMORIES),
            Parameter("srcs", ParameterKind.SOURCE, buffers=_MEMORIES, count=_MAX_SOURCES),
            operator("reduce_op", frozenset({"add"})),
            Parameter("scales", ParameterKind.NUMBER, None, count=_MAX_SOURCES),
            flag("unique_indices", True),
            Parameter(
                "oob_mode",
                ParameterKind.CHOICE,
                "error",
                choices=OOB_MODE.choices,
                since="0.4",
            ),
        ),
        engines=("dma",),
        bind=_bind_compute,
        limits=(
            _COUNT,
            Limit("dma-compute-sources", _compute_sources, _COMPUTE),
            Limit("dma-compute-scales", _compute_scales, _COMPUTE),
            Limit(
                "dma-compute-addresses", _compute_addresses, f"{_COMPUTE}, Read-Modify-Write, Memory types"
            ),
            _SKIP,
        ),
        fidelity=_sum_fidelity,
        leaves=_skips,
        source="nki.isa.dma_compute, NKI 0.6; facts/nki.md sections 2.9 and 4.1",
    ),
)
