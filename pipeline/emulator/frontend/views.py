"""The algebra of views: what slicing, reshaping and permuting do to an access pattern.

A view is an offset and one ``(stride, count)`` pair per dimension, in elements of the view's data type; no
data exists while a kernel is recorded. On chip, dimension 0 is the partition: it stays outermost, is never
dropped and never strided. Source: the view methods of `NkiTensor` in the NKI 0.6 documentation, and the
language guide's section on tensor indexing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from operator import index as as_index
from typing import Any, Final

import msgspec

from pipeline.emulator.frontend.values import DynamicSlice

__all__ = ["View", "ViewError", "complete_key", "contiguous"]

_FULL = slice(None)
_MAX_SIZE: Final = 1 << 28  # elements of a view that the emulator takes; `ProgramLimits`
Dims = tuple[tuple[int, int], ...]


class ViewError(ValueError):
    """A view that does not exist; the message lacks the tensor's name, which the caller adds."""


@lru_cache(maxsize=1024)
def contiguous(shape: tuple[int, ...]) -> View:
    """Return the row-major view of a fresh tensor of `shape`."""
    dims: list[tuple[int, int]] = []
    stride = 1
    for count in map(int, reversed(shape)):
        dims.append((stride, count))
        stride *= count
    dims.reverse()
    return View(0, tuple(dims))


class View(msgspec.Struct, frozen=True, gc=False):
    """A strided view; a struct because one is made for every slice, in a third of a named tuple's time.

    Attributes:
        offset: First element.
        dims: ``(stride, count)`` per dimension, outermost first.
    """

    offset: int
    dims: Dims

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per dimension."""
        return tuple([count for _, count in self.dims])

    def select(self, key: Any, on_chip: bool) -> View:
        """Return the view that ``tensor[key]`` selects.

        Args:
            key: An integer, a slice, a `DynamicSlice`, an ellipsis, or a tuple of those.
            on_chip: Whether dimension 0 is the partition.

        Raises:
            ViewError: If a bound lies outside, nothing is selected, or the key is of another kind.
        """
        dims = self.dims
        keys = key if type(key) is tuple else (key,)
        if len(keys) != len(dims):
            keys = complete_key(keys, len(dims))
        offset = self.offset
        selected: list[tuple[int, int]] = []
        dropped: tuple[int, int] | None = None
        for axis, part in enumerate(keys):
            stride, count = dim = dims[axis]
            if type(part) is slice:
                start, stop, step = part.start, part.stop, part.step
                if step is None:
                    # By far the most frequent keys; recording spends a third of its time here.
                    if start is None and stop is None:
                        selected.append(dim)
                        continue
                    if type(start) is int and type(stop) is int and 0 <= start < stop <= count:
                        offset += start * stride
                        selected.append((stride, stop - start))
                        continue
                start, stop, step = _bounds(part, axis, count)
            elif type(part) is DynamicSlice:
                start, stop, step = *_dynamic_bounds(part, axis), 1
                _require_inside(f"nl.ds({start}, {stop - start})", start, stop, axis, count)
            elif part is Ellipsis:
                return self.select(complete_key(keys, len(dims)), on_chip)
            else:
                start, stop, step = _position(part, axis, count), 0, 0
            offset += start * stride
            if step:
                if step != 1 and on_chip and not axis:
                    raise ViewError(
                        "a step on the partition dimension: partitions are contiguous, use step 1"
                    )
                selected.append((stride * step, -((start - stop) // step)))
            elif on_chip and not axis:
                selected.append((stride, 1))
            else:
                dropped = (stride, 1)
        if dropped is not None and len(selected) < (2 if on_chip else 1):
            selected.append(dropped)
        return View(offset, tuple(selected))

    def permute(self, order: Sequence[int], on_chip: bool) -> View:
        """Return the view with its dimensions in the given order."""
        order = tuple([self.axis_of(axis, "permute") for axis in order])
        if sorted(order) != list(range(len(self.dims))):
            raise ViewError(f"permute{order} is no permutation of the {len(self.dims)} dimensions")
        if on_chip and order[0] != 0:
            raise ViewError(
                "permute moves the partition dimension: keep 0 first, or transpose with nisa.nc_transpose"
            )
        return View(self.offset, tuple([self.dims[axis] for axis in order]))

    def broadcast(self, axis: int, size: int, on_chip: bool) -> View:
        """Return the view with a dimension of size 1 repeated `size` times."""
        axis = self._free_axis(axis, on_chip, "broadcast")
        if self.dims[axis][1] != 1:
            raise ViewError(f"broadcast of dimension {axis}, which has size {self.dims[axis][1]}, not 1")
        if not 1 <= size <= _MAX_SIZE:
            raise ViewError(f"broadcast to size {size}")
        return self._replace_dim(axis, ((0, size),))

    def expand(self, axis: int, on_chip: bool) -> View:
        """Return the view with a new dimension of size 1 before `axis`."""
        rank = len(self.dims)
        if (axis != rank and self.axis_of(axis, "expand_dim") != axis) or (on_chip and axis == 0):
            raise ViewError(f"expand_dim({axis}) of {rank} dimensions: use {1 if on_chip else 0} to {rank}")
        stride = self.dims[axis][0] * self.dims[axis][1] if axis < rank else 1
        return View(self.offset, (*self.dims[:axis], (stride, 1), *self.dims[axis:]))

    def squeeze(self, axis: int, on_chip: bool) -> View:
        """Return the view without a dimension of size 1."""
        axis = self._free_axis(axis, on_chip, "squeeze_dim")
        if self.dims[axis][1] != 1:
            raise ViewError(f"squeeze_dim({axis}): the dimension has size {self.dims[axis][1]}, not 1")
        return self._replace_dim(axis, ())

    def split(self, axis: int, sizes: Sequence[int], on_chip: bool) -> View:
        """Return the view with one dimension split into several; one size may be -1."""
        axis = self.axis_of(axis, "reshape_dim")
        stride, count = self.dims[axis]
        sizes = _inferred(sizes, count, "reshape_dim")
        if on_chip and axis == 0 and len(sizes) != 1:
            raise ViewError("reshape_dim splits the partition dimension, which a view cannot do")
        inner = [(s * stride, n) for s, n in contiguous(tuple(sizes)).dims]
        return self._replace_dim(axis, tuple(inner))

    def flatten(self, first: int, last: int, on_chip: bool) -> View:
        """Return the view with the dimensions `first` to `last`, inclusive, merged."""
        first = self._free_axis(first, on_chip, "flatten_dims")
        last = self.axis_of(last, "flatten_dims")
        if first > last:
            raise ViewError(f"flatten_dims({first}, {last}): the first dimension comes after the last")
        merged = self.dims[first : last + 1]
        size = prod(count for _, count in merged)
        flat = _restride(merged, (size,))
        if flat is None:
            raise ViewError(
                f"flatten_dims({first}, {last}): these dimensions do not lie contiguously in memory"
            )
        return View(self.offset, (*self.dims[:first], *flat, *self.dims[last + 1 :]))

    def reshape(self, shape: Sequence[int], on_chip: bool) -> View:
        """Return the view with the same elements, in the same order, in another shape."""
        shape = _inferred(shape, prod(self.shape), "reshape")
        if on_chip and (not shape or shape[0] != self.dims[0][1]):
            raise ViewError(
                f"reshape{shape} of {self.shape} changes the partition dimension, which a view cannot do; "
                f"keep {self.dims[0][1]} first"
            )
        fixed = 1 if on_chip else 0
        inner = _restride(self.dims[fixed:], shape[fixed:])
        if inner is None:
            raise ViewError(
                f"reshape{shape} of {self.shape}: the elements do not lie contiguously; copy them first"
            )
        return View(self.offset, self.dims[:fixed] + inner)

    def reinterpret(self, width: int, new_width: int) -> View:
        """Return the view of the same bytes as elements of another width, in bytes."""
        if width == new_width:
            return self
        stride, count = self.dims[-1]
        if stride != 1 and count != 1:
            raise ViewError(f"view(dtype) needs a contiguous last dimension, its stride is {stride}")
        numbers = [self.offset, count, *(stride for stride, _ in self.dims[:-1])]
        if any(number * width % new_width for number in numbers):
            raise ViewError(
                f"view(dtype) from {width} to {new_width} bytes: last dimension of {count} elements, offset "
                "or "
                "strides are not divisible"
            )
        outer = tuple([(s * width // new_width, n) for s, n in self.dims[:-1]])
        return View(self.offset * width // new_width, (*outer, (1, count * width // new_width)))

    def is_contiguous(self, on_chip: bool) -> bool:
        """Return whether the elements lie densely in row-major order; on chip, within each partition."""
        expected = 1
        for stride, count in reversed(self.dims[1:] if on_chip else self.dims):
            if count != 1 and stride != expected:
                return False
            expected *= count
        return True

    def axis_of(self, axis: Any, method: str) -> int:
        """Return a dimension counted from the first.

        Raises:
            ViewError: If there is no such dimension.
        """
        rank = len(self.dims)
        try:
            axis = as_index(axis)
        except TypeError:
            raise ViewError(f"{method}: a dimension is an integer, not {type(axis).__name__}") from None
        if not -rank <= axis < rank:
            raise ViewError(f"{method}: dimension {axis} of a tensor with {rank} dimensions")
        return int(axis) % rank

    def _free_axis(self, axis: int, on_chip: bool, method: str) -> int:
        axis = self.axis_of(axis, method)
        if on_chip and axis == 0:
            raise ViewError(f"{method} on dimension 0, the partition dimension, which a view cannot change")
        return axis

    def _replace_dim(self, axis: int, dims: Dims) -> View:
        return View(self.offset, self.dims[:axis] + dims + self.dims[axis + 1 :])


def complete_key(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """Return one key per dimension: the ellipsis expanded, missing trailing dimensions taken whole."""
    ellipses = sum(1 for part in keys if part is Ellipsis)
    given = len(keys) - ellipses
    if ellipses > 1:
        raise ViewError("an index may hold one ellipsis only")
    if given > rank:
        raise ViewError(f"{given} indices for {rank} dimensions")
    missing = (_FULL,) * (rank - given)
    if not ellipses:
        return keys + missing
    at = next(axis for axis, part in enumerate(keys) if part is Ellipsis)
    return keys[:at] + missing + keys[at + 1 :]


def _position(part: Any, axis: int, count: int) -> int:
    if part is None or isinstance(part, bool):
        raise ViewError(
            f"dimension {axis}: {part} is no index; NKI takes integers, slices, nl.ds and an ellipsis"
        )
    try:
        position = as_index(part)
    except TypeError:
        raise ViewError(
            f"dimension {axis}: cannot index with {type(part).__name__}; NKI takes integers, slices, nl.ds "
            "and an ellipsis"
        ) from None
    if not -count <= position < count:
        raise ViewError(f"index {position} is out of bounds for dimension {axis} of size {count}")
    return position % count


def _bounds(part: slice, axis: int, count: int) -> tuple[int, int, int]:
    try:
        start = 0 if part.start is None else as_index(part.start)
        stop = count if part.stop is None else as_index(part.stop)
        step = 1 if part.step is None else as_index(part.step)
    except TypeError:
        raise ViewError(f"dimension {axis}: slice bounds must be compile-time integers") from None
    if step < 1:
        raise ViewError(f"dimension {axis}: slice step {step}; it must be at least 1")
    step = min(step, count)  # a longer one selects the first element too
    shown = f"slice {start}:{stop}"
    start = start + count if start < 0 else start
    stop = stop + count if stop < 0 else stop
    _require_inside(shown, start, stop, axis, count)
    return start, stop, step


def _dynamic_bounds(part: DynamicSlice, axis: int) -> tuple[int, int]:
    try:
        start = as_index(part.start)
        return start, start + as_index(part.size)
    except TypeError:
        raise ViewError(f"dimension {axis}: nl.ds takes compile-time integers") from None


def _require_inside(shown: str, start: int, stop: int, axis: int, count: int) -> None:
    if not 0 <= start < stop <= count:
        problem = "is empty" if start >= stop else "is out of bounds"
        raise ViewError(
            f"{shown} {problem} for dimension {axis} of size {count}; clamp it, for example with min(stop, "
            f"{count})"
        )


def _inferred(sizes: Sequence[int], total: int, method: str) -> tuple[int, ...]:
    """Return `sizes` as integers with a -1 resolved."""
    try:
        shape = [as_index(size) for size in sizes]
    except TypeError:
        raise ViewError(f"{method}: the shape must be a tuple of integers") from None
    known = prod(size for size in shape if size != -1)
    if shape.count(-1) == 1 and known > 0 and total % known == 0:
        shape[shape.index(-1)] = total // known
    if any(size < 1 for size in shape) or prod(shape) != total:
        raise ViewError(f"{method}{tuple(sizes)} does not have the {total} elements there are")
    return tuple(shape)


def _restride(dims: Dims, shape: tuple[int, ...]) -> Dims | None:
    """Return strides for `shape` over the same elements in the same order, or None if no strides do it.

    Both shapes fall into minimal groups of dimensions with equal products; within a group the old dimensions
    must lie contiguously, and the new ones then share that run.
    """
    old = [(stride, count) for stride, count in dims if count != 1]
    result: list[tuple[int, int]] = []
    taken = 0
    pending: list[int] = []
    for count in shape:
        pending.append(count)
        size = prod(pending)
        if size == 1:
            continue
        group = [old[taken]]
        while prod(n for _, n in group) < size:
            group.append(old[taken + len(group)])
        if prod(n for _, n in group) != size:
            continue
        if any(outer[0] != inner[0] * inner[1] for outer, inner in pairwise(group)):
            return None
        result += [(s * group[-1][0], n) for s, n in contiguous(tuple(pending)).dims]
        taken += len(group)
        pending = []
    result += [(1, 1) for _ in pending]
    return tuple(result)
