"""Where wrong elements cluster, and what that usually means to a reader of kernels.

A cluster explains and never decides: one element beyond its limit is one too many, wherever it stands.

What is called a cluster follows from one rule. To name which n of N elements are wrong takes ``ln C(N, n)``
nats. To name a region first, and then which of its elements and of the others are wrong, takes less where the
region is one that the wrong elements fill. The region that saves most is told, if it saves at least ln 1000:
of patterns drawn at random at most one in a thousand does, however many regions are tried, because no code
can be shorter by s nats than the best one more often than exp(-s) (Kraft's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

__all__ = ["describe_cluster"]

#: Nats that a region must save.
_TELLING: Final = math.log(1000)
#: Upper bound on the kinds of region that are tried; naming one of them costs its logarithm.
_KINDS: Final = 64
#: Nats by which a block must be better than what has a name.
_LAST_RESORT: Final = 5.0
#: How many times denser wrong elements must lie in a region than elsewhere.
_DENSER: Final = 4
#: Share from which on elements that fill no region are everything.
_EVERYTHING: Final = 0.9

_PARTITIONS: Final = 128
_QUADRANT: Final = 32
#: Tiles of the free axis: a moving operand's (512) and the elements of a PSUM partition (2048 in float32 take
#: 4 of its 8 banks), and tiles that were transposed (128). Source: facts/nki.md section 2.
_WIDTHS: Final = (512, 2048, 128)


@dataclass(frozen=True, slots=True)
class _Region:
    """A part of the output.

    Attributes:
        words: What a reader calls it.
        meaning: What it usually means that this part is wrong.
        size: Elements in it.
        inside: Wrong ones among them.
        choices: Natural logarithm of how many regions of its kind there are.
    """

    words: str
    meaning: str
    size: int
    inside: int
    choices: float = 0.0


@dataclass(frozen=True, slots=True)
class _Axis:
    """Wrong elements counted along one axis of the output's matrix.

    Attributes:
        name: ``rows`` or ``columns``.
        counts: Wrong elements at each place of the axis, over all leading axes and the other one.
        each: Elements at each place.
        tiles: Usual tile sizes.
    """

    name: str
    counts: np.ndarray
    each: int
    tiles: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.counts)

    def region(self, chosen: slice | np.ndarray, words: str, meaning: str, choices: int = 1) -> _Region:
        """Return the region of all elements at the chosen places."""
        part = self.counts[chosen]
        return _Region(words, meaning, len(part) * self.each, int(part.sum()), math.log(choices))


def describe_cluster(wrong: np.ndarray, *, slight: bool = False) -> str:
    """Return in one clause what region the True elements of `wrong` fill, and what that usually means.

    The last axis makes columns; the one before it rows, which engines see as partitions; of higher ranks the
    matrices lie behind each other.

    Args:
        wrong: Booleans of the output's shape.
        slight: Whether what is wrong is so by little; where that is everything, it means something else.

    Returns:
        E.g. ``all lie in rows 128:160, the last partial tile of 128 rows: ...``; empty where nothing is wrong
        or where the wrong elements fill no region.
    """
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return ""
    everything = _MEANINGS["slight" if slight else "everything"]
    if count == wrong.size:
        return f"every element is wrong: {everything}" if count > 1 else ""
    matrices = wrong.reshape(-1, *_matrix_shape(wrong))
    baseline = _choose(wrong.size, count)
    best, saved = None, _TELLING
    for region in _list_regions(matrices):
        if not _stands_out(region, count, wrong.size):
            continue
        cost = (
            math.log(_KINDS * (count + 1))
            + region.choices
            + _choose(region.size, region.inside)
            + _choose(wrong.size - region.size, count - region.inside)
        )
        if baseline - cost > saved:
            best, saved = region, baseline - cost
    if best is not None:
        return f"{_say_share(best, count)} {best.words}: {best.meaning}"
    if count == 1:
        return f"one element alone: {_MEANINGS['one element']}"
    if count >= _EVERYTHING * wrong.size:
        return f"nearly every element is wrong: {everything}"
    return ""


def _stands_out(region: _Region, count: int, total: int) -> bool:
    """Return whether a reader would see it: it is not nearly all, and far denser than the rest."""
    outside, others = total - region.size, count - region.inside
    part = region.size < _EVERYTHING * total
    return part and region.inside * outside >= _DENSER * others * region.size and region.inside > 0


_MEANINGS: Final = {
    "everything": "look at the formula, its constants and the layout before any tile",
    "slight": "by little, so look for a step that rounds more than it need, or for a constant that is a"
    " little wrong",
    "one element": "look for a bound that is off by one, or for a value that only this element meets",
    "tail": "give the last tile its own size, in its loads, its instructions and its store",
    "tails": "give the last tiles of both axes their own sizes, in loads, instructions and stores",
    "beyond": "the first tile alone is right, so look for an address that does not advance with the loop, or"
    " for what one iteration leaves to the next",
    "first": "the first iteration alone is wrong, so look for an accumulator or a carry without a start",
    "alternate": "one of two buffers is wrong, so look for one that is filled or read an iteration too late",
    "tile": "one iteration is wrong, so look for a special case or a bound in the loop over tiles",
    "partition": "one partition of every tile is wrong, so look for a partition range that is off by one, or"
    " for an operand that holds one value per partition",
    "quadrant": "engines address partitions in quadrants of 32, so look for a start partition, or for an"
    " instruction that works on 32 partitions",
    "rows": "what is computed once per row is wrong there: a maximum, a sum or a scale",
    "columns": "what is loaded once per column is wrong there: a weight, a bias, or its broadcast",
    "slices": "the index of a leading axis is wrong, so look at how a slice's address is formed",
    "diagonal": "rows and columns meet there, so look at a mask, or at a comparison of indices that is off by"
    " one",
    "triangle": "one side of the diagonal is wrong, so look for a causal mask that is missing or reversed",
    "stride": "every other element is wrong, so look for a step or an element size in an access pattern that"
    " is off by a factor of two",
    "half": "one half is wrong, so look at how the two halves are paired",
    "block": "one block is wrong, so look at the bounds of the loop or slice that writes it",
}


def _matrix_shape(values: np.ndarray) -> tuple[int, int]:
    return (values.shape[-2] if values.ndim > 1 else 1, values.shape[-1] if values.ndim else 1)


def _choose(total: int, count: int) -> float:
    """Return ``ln C(total, count)``."""
    return math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(total - count + 1)


def _say_share(region: _Region, count: int) -> str:
    if region.inside < count:
        return f"{math.floor(100 * region.inside / count)}% of them lie in"
    return "they are exactly" if region.size == count else "all of them lie in"


def _list_regions(matrices: np.ndarray) -> Iterator[_Region]:
    """Yield every region that a reader would know by name; where two are the same, the more telling first."""
    slices, height, width = matrices.shape
    by_matrix = np.count_nonzero(matrices, axis=(1, 2))
    by_place = np.count_nonzero(matrices, axis=0)
    rows = _Axis("rows", by_place.sum(axis=1), slices * width, (_PARTITIONS,))
    columns = _Axis("columns", by_place.sum(axis=0), slices * height, _WIDTHS)
    yield from _list_tails(rows)
    yield from _list_tails(columns)
    yield from _list_both_tails(by_place, slices)
    yield from _list_partitions(rows)
    for axis in (rows, columns):
        yield from _list_tiles(axis)
        yield from _list_halves(axis)
        yield from _list_lines(axis)
    yield from _list_diagonals(by_place, slices)
    if slices > 1:
        outer = _Axis("slices", by_matrix, height * width, ())
        yield from _list_lines(outer)
    yield from _list_blocks(matrices, by_place)


def _list_tails(axis: _Axis) -> Iterator[_Region]:
    for tile in axis.tiles:
        start = axis.length // tile * tile
        if 0 < start < axis.length:
            words = f"{axis.name} {start}:{axis.length}, the last partial tile of {tile} {axis.name}"
            yield axis.region(slice(start, None), words, _MEANINGS["tail"])


def _list_both_tails(by_place: np.ndarray, slices: int) -> Iterator[_Region]:
    height, width = by_place.shape
    row = height // _PARTITIONS * _PARTITIONS
    for tile in _WIDTHS:
        column = width // tile * tile
        if 0 < row < height and 0 < column < width:
            whole, right = slices * height * width, int(by_place[:row, :column].sum())
            words = f"rows {row}:{height} and columns {column}:{width}, the last partial tiles of both axes"
            size = whole - slices * row * column
            yield _Region(words, _MEANINGS["tails"], size, int(by_place.sum()) - right)


def _list_partitions(rows: _Axis) -> Iterator[_Region]:
    """Yield one partition of every tile, and one quadrant of partitions."""
    partition = np.arange(rows.length) % _PARTITIONS
    folded = np.bincount(partition, weights=rows.counts)
    worst = int(np.argmax(folded))
    chosen = partition == worst
    if np.count_nonzero(rows.counts[chosen]) > 1:
        words = f"partition {worst} of every tile of {_PARTITIONS} rows"
        yield rows.region(chosen, words, _MEANINGS["partition"], _PARTITIONS)
    if rows.length > _QUADRANT:
        quadrant = partition // _QUADRANT
        worst = int(np.argmax(np.bincount(quadrant, weights=rows.counts)))
        words = f"partitions {worst * _QUADRANT}:{(worst + 1) * _QUADRANT}, one quadrant"
        yield rows.region(quadrant == worst, words, _MEANINGS["quadrant"], _PARTITIONS // _QUADRANT)


def _list_tiles(axis: _Axis) -> Iterator[_Region]:
    for tile in axis.tiles:
        if axis.length <= tile:
            continue
        beyond = f"{axis.name} {tile}:{axis.length}, everything beyond the first tile of {tile} {axis.name}"
        yield axis.region(slice(tile, None), beyond, _MEANINGS["beyond"])
        first = f"{axis.name} 0:{tile}, the first tile of {tile} {axis.name}"
        yield axis.region(slice(tile), first, _MEANINGS["first"])
        if axis.length <= 2 * tile:
            continue
        place = np.arange(axis.length) // tile
        odd = int(axis.counts[place % 2 == 1].sum() > axis.counts[place % 2 == 0].sum())
        words = f"every other tile of {tile} {axis.name}, from {axis.name} {odd * tile} on"
        yield axis.region(place % 2 == odd, words, _MEANINGS["alternate"], 2)
        worst = int(np.argmax(np.bincount(place, weights=axis.counts)))
        stop = min((worst + 1) * tile, axis.length)
        words = f"{axis.name} {worst * tile}:{stop}, one tile of {tile} {axis.name}"
        yield axis.region(place == worst, words, _MEANINGS["tile"], int(place[-1]) + 1)


def _list_halves(axis: _Axis) -> Iterator[_Region]:
    """Yield every other place of an axis, and one half of it."""
    if axis.length < 4:
        return
    odd = int(axis.counts[1::2].sum() > axis.counts[::2].sum())
    words = f"every other one of the {axis.name}, from {odd} on"
    yield axis.region(slice(odd, None, 2), words, _MEANINGS["stride"], 2)
    if axis.length % 2 == 0:
        middle = axis.length // 2
        upper = axis.counts[middle:].sum() > axis.counts[:middle].sum()
        half = slice(middle, None) if upper else slice(middle)
        words = f"{axis.name} {middle if upper else 0}:{axis.length if upper else middle}, one half"
        yield axis.region(half, words, _MEANINGS["half"], 2)


def _list_lines(axis: _Axis) -> Iterator[_Region]:
    """Yield the rows, columns or slices that are wrong in good part, where they are not all."""
    chosen = 4 * axis.counts > axis.each
    lines = int(np.count_nonzero(chosen))
    if not 0 < lines < axis.length:
        return
    first = int(np.argmax(chosen))
    line = f"{axis.name[:-1]} {first}"
    named = line if lines == 1 else f"{lines} {axis.name}, the first being {first}"
    region = axis.region(chosen, named, _MEANINGS[axis.name])
    # How many lines there are costs 2 ln k and a little: the sum of 1 / k**2 is less than 2.
    choices = math.log(2 * lines**2) + _choose(axis.length, lines)
    yield _Region(region.words, region.meaning, region.size, region.inside, choices)


def _list_diagonals(by_place: np.ndarray, slices: int) -> Iterator[_Region]:
    """Yield the narrowest band along the diagonal that holds all that is wrong, and the sides of it."""
    height, width = by_place.shape
    if min(height, width) < 8:
        return
    row, column = np.nonzero(by_place)
    offsets = column - row
    counts = by_place[row, column]
    low, high = int(offsets.min()), int(offsets.max())
    lengths = _diagonal_lengths(height, width)
    middle = height - 1
    size = slices * int(lengths[low + middle : high + middle + 1].sum())
    span = (
        "the diagonal"
        if low == high == 0
        else f"a band along the diagonal, columns - rows from {low} to {high}"
    )
    choices = math.log(len(lengths) * (len(lengths) + 1) / 2)
    yield _Region(span, _MEANINGS["diagonal"], size, int(counts.sum()), choices)
    sides = (
        ("the elements above the diagonal", offsets > 0, lengths[middle + 1 :]),
        ("the elements below the diagonal", offsets < 0, lengths[:middle]),
        ("the diagonal and what lies above", offsets >= 0, lengths[middle:]),
        ("the diagonal and what lies below", offsets <= 0, lengths[: middle + 1]),
    )
    for words, chosen, inside in sides:
        yield _Region(words, _MEANINGS["triangle"], slices * int(inside.sum()), int(counts[chosen].sum()))


def _diagonal_lengths(height: int, width: int) -> np.ndarray:
    """Return the lengths of all diagonals, from the lower left corner to the upper right."""
    offsets = np.arange(1 - height, width)
    lengths: np.ndarray = np.minimum(height, width - offsets) - np.maximum(0, -offsets)
    return lengths


def _list_blocks(matrices: np.ndarray, by_place: np.ndarray) -> Iterator[_Region]:
    """Yield the smallest block that holds all that is wrong."""
    bounds = []
    for name, axis in (("rows", 1), ("columns", 0)):
        places = np.flatnonzero(by_place.any(axis=axis))
        bounds.append((name, int(places[0]), int(places[-1]) + 1, by_place.shape[1 - axis]))
    size, choices, words = len(matrices), _LAST_RESORT, []
    for name, start, stop, length in bounds:
        size *= stop - start
        if stop - start < length:
            words.append(f"{name} {start}:{stop}")
            choices += math.log(length * (length + 1) / 2)
    if words:
        block = f"{', '.join(words)}, one block"
        yield _Region(block, _MEANINGS["block"], size, int(by_place.sum()), choices)
