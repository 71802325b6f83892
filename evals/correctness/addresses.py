"""Addresses gone wrong: tiles, rows and elements next to the right ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from evals.correctness.editing import Draft, InstructionMutation, Mutation, Scope
from pipeline.emulator.operations import ParameterKind
from pipeline.emulator.program import AccessPattern, Instruction

__all__ = ["ADDRESSES"]

_WRITTEN: Final = (ParameterKind.DESTINATION, ParameterKind.ACCUMULATOR, ParameterKind.UPDATED)
_READ: Final = (ParameterKind.SOURCE, ParameterKind.OPERAND)
#: Partitions per quadrant, where engines may start.
_QUADRANT: Final = 32


def _sources(draft: Draft, position: int) -> Sequence[int]:
    return draft.slots(position, *_READ)


def _hbm_sources(draft: Draft, position: int) -> Sequence[int]:
    return draft.slots(position, *_READ, memory="hbm")


def _tiles_read(draft: Draft, position: int) -> Sequence[int]:
    return draft.slots(position, *_READ, memory="chip")


def _targets(draft: Draft, position: int) -> Sequence[int]:
    return draft.slots(position, *_WRITTEN)


def _hbm_targets(draft: Draft, position: int) -> Sequence[int]:
    return draft.slots(position, *_WRITTEN, memory="hbm")


def _once(draft: Draft, position: int) -> Sequence[int]:
    return [0]


def _reduces(draft: Draft, position: int) -> Sequence[int]:
    """Apply where one column comes of many."""
    counts = [view.dims[-1][1] for view in _views(draft, position).values() if len(view.dims) > 1]
    return [0] if counts and min(counts) == 1 < max(counts) else []


def _views(draft: Draft, position: int) -> dict[int, AccessPattern]:
    return {slot: draft.view(position, slot) for slot in draft.slots(position, *_READ, *_WRITTEN)}


def _shift(axis: int) -> Callable[[Draft, int, int], list[Instruction] | None]:
    """Return the edit that starts a pattern one step of `axis` further, or earlier where it must."""

    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        view = draft.view(position, slot)
        if len(view.dims) < 2:
            return None
        stride = view.dims[axis][0] or 1
        moved = [msgspec.structs.replace(view, offset=view.offset + step) for step in (stride, -stride)]
        fitting = next((one for one in moved if draft.fits(one)), None)
        return draft.replace_views(position, {slot: fitting}) if fitting is not None else None

    return edit


def _shorten(
    axis: int, length: Callable[[int], int]
) -> Callable[[Draft, int, int], list[Instruction] | None]:
    """Return the edit that covers less of an axis, in every argument that has all of it."""

    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        views = {s: view for s, view in _views(draft, position).items() if len(view.dims) > 1}
        longest = max((view.dims[axis][1] for view in views.values()), default=1)
        if longest < 2:
            return None
        return draft.replace_views(
            position,
            {
                slot: _with_dim(view, axis, (view.dims[axis][0], length(longest)))
                for slot, view in views.items()
                if view.dims[axis][1] == longest
            },
        )

    return edit


def _with_dim(view: AccessPattern, axis: int, dim: tuple[int, int]) -> AccessPattern:
    dims = list(view.dims)
    dims[axis] = dim
    return msgspec.structs.replace(view, dims=tuple(dims))


def _repeat(axis: int) -> Callable[[Draft, int, int], list[Instruction] | None]:
    """Return the edit that reads the first row or column again and again."""

    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        view = draft.view(position, slot)
        if len(view.dims) < 2 or view.dims[axis][1] == 1 or view.dims[axis][0] == 0:
            return None
        return draft.replace_views(position, {slot: _with_dim(view, axis, (0, view.dims[axis][1]))})

    return edit


def _read_backwards(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    view = draft.view(position, slot)
    stride, count = view.dims[-1]
    if count < 2 or stride == 0:
        return None
    turned = _with_dim(view, -1, (-stride, count))
    end = view.offset + stride * (count - 1)
    return draft.replace_views(position, {slot: msgspec.structs.replace(turned, offset=end)})


def _transpose(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Write a tile as its transpose, over the same contiguous elements where it is not square."""
    view = draft.view(position, slot)
    if len(view.dims) != 2 or 1 in view.shape:
        return None
    (outer, rows), (inner, columns) = view.dims
    dims = ((inner, rows), (outer, columns)) if rows == columns else ((inner, rows), (inner * rows, columns))
    return draft.replace_views(position, {slot: msgspec.structs.replace(view, dims=dims)})


def _start_late(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Read a tile from the next quadrant on, or from the next partition of a small one."""
    view = draft.view(position, slot)
    rows = view.dims[0][1]
    step = _QUADRANT if rows > _QUADRANT else 1
    if rows <= step or len(view.dims) < 2:
        return None
    shortened = {
        other: _with_dim(one, 0, (one.dims[0][0], rows - step))
        for other, one in _views(draft, position).items()
        if one.dims[0][1] == rows
    }
    late = shortened[slot]
    shortened[slot] = msgspec.structs.replace(late, offset=late.offset + step * late.dims[0][0])
    return draft.replace_views(position, shortened)


def _repeat_previous(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Use what the same line used the time before."""
    before = draft.previous(position)
    if before is None or draft.program.instructions[before].tensors[slot] < 0:
        return None
    view, earlier = draft.view(position, slot), draft.view(before, slot)
    if view == earlier or (view.shape, view.dtype) != (earlier.shape, earlier.dtype):
        return None
    return draft.replace_views(position, {slot: earlier})


def _read_another(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Read the latest other tile of the same shape, data type and memory."""
    view = draft.view(position, slot)
    memory = draft.memory(draft.program.instructions[position].tensors[slot])
    for earlier in range(position - 1, max(-1, position - 200), -1):
        for other in draft.slots(earlier, *_WRITTEN):
            found = draft.view(earlier, other)
            alike = (found.shape, found.dtype) == (view.shape, view.dtype)
            index = draft.program.instructions[earlier].tensors[other]
            if alike and found.tensor != view.tensor and draft.memory(index) == memory:
                return draft.replace_views(position, {slot: found})
    return None


ADDRESSES: Final[tuple[Mutation, ...]] = (
    InstructionMutation("source one element off", _sources, _shift(-1)),
    InstructionMutation("last source one element off", _sources, _shift(-1), Scope.LAST),
    InstructionMutation("source one row off", _sources, _shift(0)),
    InstructionMutation("target one element off", _targets, _shift(-1)),
    InstructionMutation("target one row off", _targets, _shift(0)),
    InstructionMutation("last column dropped", _once, _shorten(-1, lambda count: count - 1)),
    InstructionMutation("last row dropped", _once, _shorten(0, lambda count: count - 1)),
    InstructionMutation("last row of the last tile dropped", _once, _shorten(0, lambda n: n - 1), Scope.LAST),
    InstructionMutation("half of the row reduced", _reduces, _shorten(-1, lambda count: (count + 1) // 2)),
    InstructionMutation("first row for all rows", _hbm_sources, _repeat(0)),
    InstructionMutation("first column for all columns", _sources, _repeat(-1)),
    InstructionMutation("row read backwards", _hbm_sources, _read_backwards),
    InstructionMutation("tile stored transposed", _hbm_targets, _transpose),
    InstructionMutation("wrong first partition", _tiles_read, _start_late),
    InstructionMutation("previous tile loaded", _hbm_sources, _repeat_previous),
    InstructionMutation("last load of the tile before", _hbm_sources, _repeat_previous, Scope.LAST),
    InstructionMutation("stale tile read", _tiles_read, _repeat_previous),
    InstructionMutation("stored over the previous tile", _hbm_targets, _repeat_previous),
    InstructionMutation("another tile read", _tiles_read, _read_another),
)
