"""The vector engine, between partitions: `nc_stream_shuffle`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel, Operand
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

__all__ = ["OPERATIONS"]

_DOCSTRING: Final = "nki.isa.nc_stream_shuffle docstring"
_QUADRANT: Final = 32
_KEEP: Final = 255


def _mask(call: Call) -> tuple[int, ...]:
    """Return which partition of its quadrant each partition copies, or 255, as far as that is given."""
    mask = call.scalar("shuffle_mask")
    return tuple(entry for entry in mask if isinstance(entry, int)) if isinstance(mask, tuple) else ()


def _moves(call: Call) -> Iterator[tuple[int, int]]:
    """Yield the (destination, source) partitions, counted from the start of each tile."""
    mask = _mask(call)
    for partition in range(call.tensor("dst").partitions):
        quadrant, place = divmod(partition, _QUADRANT)
        if mask[place] != _KEEP:
            yield partition, quadrant * _QUADRANT + mask[place]


def _beyond(call: Call) -> list[tuple[int, int]]:
    """Return the moves from partitions that ``src`` does not cover."""
    if next(_mask_entries(call), None) is not None:
        return []
    return [move for move in _moves(call) if move[1] >= call.tensor("src").partitions]


def _bind_shuffle(call: Call) -> Kernel:
    """Copy rows bit for bit; one from beyond ``src``, which the view does not reach, comes as zeros."""
    dst, src = call.tensor("dst"), call.tensor("src")
    moves = np.array(list(_moves(call)), np.intp).reshape(-1, 2)
    reached = moves[:, 1] < src.partitions
    targets, origins = moves[reached].T
    missed = moves[~reached, 0]
    complete = len(targets) == dst.partitions

    def shuffle(registers: object, dst: Array, src: Array) -> None:
        rows = src.reshape(len(src), *dst.shape[1:])[origins]
        if complete:
            dst[...] = rows
        else:
            dst[targets] = rows
            dst[missed] = 0

    return shuffle


def _mask_entries(call: Call) -> Iterator[str]:
    mask = _mask(call)
    wrong = [entry for entry in mask if not (0 <= entry < _QUADRANT or entry == _KEEP)]
    if len(mask) != _QUADRANT or wrong:
        shown = f"the entries {wrong}" if wrong else f"{len(mask)} entries"
        yield (
            f"shuffle_mask has {shown}, must be {_QUADRANT} integers: the partition 0 to 31 of its quadrant "
            "that each partition copies, or 255 to leave it as it is"
        )


def _same_type(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if dst.dtype != src.dtype:
        yield f"dst is {dst.dtype}, src is {src.dtype}: must be equal, as nothing is converted"


def _same_width(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    if dst.free_elements != src.free_elements:
        yield (
            f"dst holds {dst.free_elements} elements per partition, src {src.free_elements}: must be equal"
        )


def _start(call: Call) -> Iterator[str]:
    """The wider of the two tiles decides where both may start."""
    tiles: dict[str, Operand] = {name: call.tensor(name) for name in ("dst", "src")}
    active = -(-max(tile.partitions for tile in tiles.values()) // _QUADRANT) * _QUADRANT
    allowed = (0,) if active > 64 else (0, 64) if active == 64 else (0, 32, 64, 96)
    for name, tile in tiles.items():
        if tile.start not in allowed:
            yield (
                f"{name} starts at partition {tile.start}; as {active} partitions are active it must start "
                f"at {' or '.join(map(str, allowed))}: shuffle one quadrant at a time"
            )


def _outside(call: Call) -> Iterator[str]:
    beyond = _beyond(call)
    if beyond:
        partition, origin = beyond[0]
        yield (
            f"partition {partition} of dst copies partition {origin} of src, which covers "
            f"{call.tensor('src').partitions}: it reads outside its operand; pass the whole quadrant as src"
        )


def _fidelity(call: Call) -> Fidelity:
    return Fidelity.UNMODELLED if _beyond(call) else Fidelity.EXACT


OPERATIONS: Final = (
    Operation(
        "nc_stream_shuffle",
        (
            Parameter("dst", ParameterKind.UPDATED),
            source("src"),
            Parameter("shuffle_mask", ParameterKind.INTEGERS),
        ),
        engines=("vector",),
        bind=_bind_shuffle,
        leaves=lambda scalars: isinstance(scalars[0], tuple) and _KEEP in scalars[0],
        cycles=lambda call: max(64, call.tensor("src").free_elements),
        limits=(
            Limit("shuffle-mask", _mask_entries, _DOCSTRING),
            Limit("shuffle-dtype", _same_type, f"{_DOCSTRING}, constraint 1"),
            Limit("shape-agreement", _same_width, f"{_DOCSTRING}, constraint 2"),
            Limit("shuffle-start", _start, f"{_DOCSTRING}, constraint 3"),
            Limit(
                "shuffle-source",
                _outside,
                f"{_DOCSTRING}; facts/emulator_findings.md 26",
                severity=Severity.WARNING,
            ),
        ),
        fidelity=_fidelity,
        source="nki.isa.nc_stream_shuffle, NKI 0.6; facts/nki.md section 3.1",
    ),
)
