"""The vector engine, searching a row for eight values: `max8`, `nc_find_index8`, `nc_match_replace8`.

Values are compared as float32. What the documentation leaves open: a NaN counts as the greatest value and
equals nothing; `nc_match_replace8` searches the row as it came, so a value it has put in is never found, and
leaves the same mark for a missing value as `nc_find_index8`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.arguments import destination, source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, integer_range, loader, writer
from pipeline.emulator.operations.limits import agree, per_partition
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_WIDTH: Final = 8
_LEAST: Final = 8
_MOST: Final = 16384
_MAX_RANK: Final = 3
_INDICES: Final = frozenset({"uint16", "uint32"})
_DOCSTRINGS: Final = "nki.isa.max8, nc_find_index8 and nc_match_replace8 docstrings"


def _bind_max8(call: Call) -> Kernel:
    data = call.tensor("src")
    load, write = loader(data, (data.partitions, data.free_elements)), writer(call.tensor("dst").dtype)

    def largest(registers: object, dst: Array, src: Array) -> None:
        values = load(src)
        top = np.partition(values, values.shape[1] - _WIDTH, axis=1)[:, -_WIDTH:]
        write(dst, np.sort(top, axis=1)[:, ::-1])

    return largest


def _match(rows: Array, wanted: Array, order: Iterable[int]) -> tuple[Array, Array]:
    """Give each wanted value, in turn, the first element equal to it that no other has taken.

    Args:
        rows: float32 (P, F).
        wanted: float32 (P, 8).
        order: Columns of ``wanted``, the first to choose first.

    Returns:
        The index found for each, int64 (P, 8), -1 for none; and which elements are left, Boolean (P, F).
    """
    left = np.ones(rows.shape, np.bool_)
    found = np.full(wanted.shape, -1, np.int64)
    lanes = np.arange(len(rows))
    for column in order:
        equal = rows == wanted[:, column, None]
        equal &= left
        first = equal.argmax(axis=1)
        hit = equal[lanes, first]
        found[hit, column] = first[hit]
        left[lanes[hit], first[hit]] = False
    return found, left


def _index_writer(dtype: str) -> Callable[[Array, Array], None]:
    """Return a function that writes indices, with all ones where there is none."""
    write, (_, ones) = writer(dtype), integer_range(dtype)
    return lambda destination, found: write(destination, np.where(found < 0, ones, found))


def _bind_find_index8(call: Call) -> Kernel:
    """Equal values take the occurrences in ascending order."""
    data, vals = call.tensor("data"), call.tensor("vals")
    load = loader(data, (data.partitions, data.free_elements))
    load_vals = loader(vals, (vals.partitions, _WIDTH))
    write = _index_writer(call.tensor("dst").dtype)

    def find(registers: object, dst: Array, data: Array, vals: Array) -> None:
        write(dst, _match(load(data), load_vals(vals), range(_WIDTH))[0])

    return find


def _bind_match_replace8(call: Call) -> Kernel:
    """Equal values take the occurrences in descending order: the last column chooses first."""
    dst, data, vals = call.tensor("dst"), call.tensor("data"), call.tensor("vals")
    load = loader(data, (data.partitions, data.free_elements))
    load_vals = loader(vals, (vals.partitions, _WIDTH))
    write = writer(dst.dtype)
    number = call.scalar("imm")
    substitute = call.precision.type(number if isinstance(number, int | float) else 0.0)
    indices = call.operand("dst_idx")
    write_indices = _index_writer(indices.dtype) if indices is not None else None

    def replace(registers: object, dst: Array, data: Array, vals: Array, dst_idx: Array | None) -> None:
        rows = load(data)
        found, left = _match(rows, load_vals(vals), reversed(range(_WIDTH)))
        write(dst, np.where(left, rows, substitute))
        if write_indices is not None and dst_idx is not None:
            write_indices(dst_idx, found)

    return replace


def _size(name: str, least: int) -> Limit:
    def check(call: Call) -> Iterator[str]:
        elements = call.tensor(name).free_elements
        if not least <= elements <= _MOST:
            yield (
                f"{name} holds {elements} elements per partition, must hold {least} to {_MOST}: search it in "
                "pieces, or pad it"
            )

    return Limit("search-size", check, _DOCSTRINGS)


def _rank(*names: str) -> Limit:
    def check(call: Call) -> Iterator[str]:
        for name in names:
            shape = call.tensor(name).shape
            if len(shape) > _MAX_RANK:
                yield (
                    f"{name} has {len(shape)} dimensions {list(shape)}, limit {_MAX_RANK}: flatten its free "
                    "dimensions"
                )

    return Limit("search-rank", check, _DOCSTRINGS)


def _row_cycles(name: str) -> Callable[[Call], float]:
    return lambda call: float(call.tensor(name).free_elements)


OPERATIONS: Final = (
    Operation(
        "max8",
        (destination(), source("src")),
        engines=("vector",),
        bind=_bind_max8,
        cycles=_row_cycles("src"),
        limits=(_size("src", _LEAST), _rank("src"), per_partition("dst", of="src", elements=_WIDTH)),
        source="nki.isa.max8, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "nc_find_index8",
        (
            Parameter("dst", ParameterKind.DESTINATION, dtypes=_INDICES),
            source("data"),
            source("vals"),
        ),
        engines=("vector",),
        bind=_bind_find_index8,
        cycles=_row_cycles("data"),
        limits=(
            _size("data", _LEAST),
            _rank("data", "vals"),
            per_partition("dst", of="data", elements=_WIDTH),
            per_partition("vals", of="data", elements=_WIDTH),
        ),
        source="nki.isa.nc_find_index8, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "nc_match_replace8",
        (
            destination(),
            source("data"),
            source("vals"),
            Parameter("imm", ParameterKind.NUMBER),
            Parameter("dst_idx", ParameterKind.DESTINATION, None, dtypes=_INDICES),
        ),
        engines=("vector",),
        bind=_bind_match_replace8,
        cycles=lambda call: max(64, call.tensor("data").free_elements),
        limits=(
            agree("dst", "data"),
            _size("data", 1),
            _rank("vals"),
            per_partition("vals", of="data", elements=_WIDTH),
            per_partition("dst_idx", of="data", elements=_WIDTH),
        ),
        source="nki.isa.nc_match_replace8, NKI 0.6, sizes as of NKI 2.26; facts/nki.md section 3.1",
    ),
)
