"""Gathers within SBUF, on gpsimd: `nc_n_gather` per partition, `local_gather` per group of 16 partitions.

What an index beyond its partition fetches is undefined. Here it fetches an element of which every bit is set
(NaN in every float type), and the instruction reports which indices it met.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import destination, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.limits import agree, describe
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind

__all__ = ["CORE_PARTITIONS", "OPERATIONS"]

#: Partitions that one of the eight gpsimd cores connects to.
CORE_PARTITIONS: Final = 16

_SBUF: Final = frozenset({"sbuf"})
_START: Final = 150  # GPSIMD_START: cycles before the first element
_CONTIGUOUS: Final = (1, 2, 4, 8, 16, 32)  # elements that one index of local_gather may fetch
_MAX_INDICES: Final = 4096  # of local_gather, per core


def _bind_per_partition(call: Call) -> Kernel:
    data, indices = call.tensor("data"), call.tensor("indices")
    rows, places = (data.partitions, data.free_elements), (data.partitions, indices.free_elements)
    fetch = _fetcher(call, rows[1])

    def gather(registers: Registers, dst: Array, data: Array, indices: Array) -> None:
        fetched = fetch(registers, data.reshape(rows), indices.reshape(places).astype(np.int64))
        dst[...] = fetched.reshape(dst.shape)

    return gather


def _bind_per_core(call: Call) -> Kernel:
    """All 16 partitions of a core fetch at the indices of the core, read down its partitions first."""
    data, index = call.tensor("src_buffer"), call.tensor("index")
    cores, valid = data.partitions // CORE_PARTITIONS, _valid_indices(call)
    rows = (cores, CORE_PARTITIONS, data.free_elements)
    places = (cores, CORE_PARTITIONS, index.free_elements)
    run = np.arange(_elements_per_index(call))
    fetch = _fetcher(call, rows[-1])

    def gather(registers: Registers, dst: Array, src_buffer: Array, index: Array) -> None:
        first = index.reshape(places).transpose(0, 2, 1).reshape(cores, -1)[:, :valid].astype(np.int64)
        columns = (first[:, :, None] + run).reshape(cores, 1, -1)
        dst[...] = fetch(registers, src_buffer.reshape(rows), columns).reshape(dst.shape)

    return gather


def _fetcher(call: Call, width: int) -> Any:
    """Return a function that fetches along the last axis and reports the indices outside [0, width)."""
    name, storage = call.operation.name, DTYPES[call.tensor("dst").dtype].storage
    everywhere = b"\x01" if storage == np.bool_ else b"\xff" * storage.itemsize
    undefined = np.frombuffer(everywhere, storage)[0]

    def fetch(registers: Registers, data: Array, columns: Array) -> Array:
        greatest = int(columns.max())
        fetched = np.take_along_axis(data, np.minimum(columns, width - 1), axis=-1)
        if greatest >= width:
            registers.observe(name, 0, width - 1, int(columns.min()), greatest)
            fetched[np.broadcast_to(columns >= width, fetched.shape)] = undefined
        return fetched

    return fetch


def _elements_per_index(call: Call) -> int:
    count = call.scalar("num_elem_per_idx")
    return count if isinstance(count, int) else 1


def _available_indices(call: Call) -> int:
    """Return the indices that one core reads."""
    return CORE_PARTITIONS * call.tensor("index").free_elements


def _valid_indices(call: Call) -> int:
    valid = call.scalar("num_valid_indices")
    return valid if isinstance(valid, int) else _available_indices(call)


def _same_type(data: str) -> Limit:
    def check(call: Call) -> Iterator[str]:
        dst, source_ = call.tensor("dst"), call.tensor(data)
        if dst.dtype != source_.dtype:
            yield (
                f"dst is {dst.dtype}, {data} is {source_.dtype}: a gather converts nothing; make dst "
                f"{source_.dtype} and convert with tensor_copy"
            )

    return Limit("gather-dtype", check, "nki.isa.local_gather and nc_n_gather docstrings")


def _per_partition_shapes(call: Call) -> Iterator[str]:
    data, indices = call.tensor("data"), call.tensor("indices")
    if data.partitions != indices.partitions:
        yield f"data is {describe(data)}, indices is {describe(indices)}: partitions must be equal"


def _per_core_shapes(call: Call) -> Iterator[str]:
    dst, data, index = call.tensor("dst"), call.tensor("src_buffer"), call.tensor("index")
    if data.partitions % CORE_PARTITIONS:
        yield f"src_buffer has {data.partitions} partitions, must be a multiple of {CORE_PARTITIONS}"
    for name, tile in (("index", index), ("dst", dst)):
        if tile.partitions != data.partitions:
            yield f"{name} has {tile.partitions} partitions, src_buffer {data.partitions}: must be equal"


def _per_core_counts(call: Call) -> Iterator[str]:
    count, valid = call.scalar("num_elem_per_idx"), call.scalar("num_valid_indices")
    available = _available_indices(call)
    if count not in _CONTIGUOUS:
        yield f"num_elem_per_idx is {count}, must be one of {', '.join(map(str, _CONTIGUOUS))}"
    if valid is not None and not (isinstance(valid, int) and 1 <= valid <= available):
        yield (
            f"num_valid_indices is {valid}, must be 1 to {available}: a core reads {CORE_PARTITIONS} "
            "partitions of index"
        )
    elif _valid_indices(call) > _MAX_INDICES:
        yield f"{_valid_indices(call)} indices per core, limit {_MAX_INDICES}: split the gather"


def _per_core_destination(call: Call) -> Iterator[str]:
    dst, valid, count = call.tensor("dst"), _valid_indices(call), _elements_per_index(call)
    if dst.free_elements != valid * count:
        yield (
            f"dst holds {dst.free_elements} elements per partition, must hold num_valid_indices x "
            f"num_elem_per_idx = {valid} x {count}: the device ignores num_elem_per_idx otherwise"
        )


def _per_core_cycles(call: Call) -> float:
    # At least one: counts are taken of illegal programs too.
    count, size = max(1, _elements_per_index(call)), DTYPES[call.tensor("dst").dtype].itemsize
    quad = 4 * count
    rate = ((28 + quad) / quad) / min(4 / size, count)
    return _START + _valid_indices(call) * count / rate


_LOCAL_GATHER: Final = "nki.isa.local_gather docstring"

OPERATIONS: Final = (
    Operation(
        "nc_n_gather",
        (
            destination(buffers=_SBUF),
            source("data", _SBUF),
            source("indices", _SBUF, frozenset({"uint32"})),
        ),
        engines=("gpsimd",),
        bind=_bind_per_partition,
        limits=(
            agree("dst", "indices"),
            _same_type("data"),
            Limit("gather-partitions", _per_partition_shapes, "nki.isa.nc_n_gather docstring, Layout"),
        ),
        source="nki.isa.nc_n_gather docstring, NKI 0.6",
        observes=True,
    ),
    Operation(
        "local_gather",
        (
            destination(buffers=_SBUF),
            source("src_buffer", _SBUF),
            source("index", _SBUF, frozenset({"uint16"})),
            Parameter("num_elem_per_idx", ParameterKind.NUMBER, 1),
            Parameter("num_valid_indices", ParameterKind.NUMBER, None),
        ),
        engines=("gpsimd",),
        bind=_bind_per_core,
        cycles=_per_core_cycles,
        limits=(
            _same_type("src_buffer"),
            Limit("gather-partitions", _per_core_shapes, f"{_LOCAL_GATHER}, tile size constraint 1"),
            Limit("local-gather-counts", _per_core_counts, f"{_LOCAL_GATHER}, tile size constraints 2 and 3"),
            Limit("local-gather-destination", _per_core_destination, "NKI 0.6.0 release notes, Known Issues"),
        ),
        source="nki.isa.local_gather docstring, NKI 0.6; facts/nki.md section 3.1",
        observes=True,
    ),
)
