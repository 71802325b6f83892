"""The difference of two texts, line by line, in a time that no text can stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["Row", "compare_lines"]

#: Lines that may differ before what is left counts as one replaced block: the search takes their square.
_MOST_CHANGES: Final = 600


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a difference.

    Attributes:
        kind: Whether both texts have it, or only the first (``removed``) or the second (``added``).
        before: Its place in the first text, from 0; None where only the second has it.
        after: Its place in the second text; None where only the first has it.
    """

    kind: Literal["same", "removed", "added"]
    before: int | None
    after: int | None


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[Row]:
    """Return all lines of both texts in order; where they hardly agree, what lies between as replaced."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    first, second = before[start : len(before) - end], after[start : len(after) - end]
    middle = _search(first, second)
    if middle is None:
        middle = [Row("removed", place, None) for place in range(len(first))]
        middle += [Row("added", None, place) for place in range(len(second))]
    rows = [Row("same", place, place) for place in range(start)]
    rows += [_shift(row, start) for row in middle]
    ends = zip(range(len(before) - end, len(before)), range(len(after) - end, len(after)), strict=True)
    return rows + [Row("same", old, new) for old, new in ends]


def _shift(row: Row, by: int) -> Row:
    before = None if row.before is None else row.before + by
    return Row(row.kind, before, None if row.after is None else row.after + by)


def _search(before: Sequence[str], after: Sequence[str]) -> list[Row] | None:
    """Return the shortest difference (Myers 1986), or None where it has too many changes.

    ``reach[k]`` is how far into `before` a path on diagonal ``k`` (place before less place after) has come.
    """
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for changes in range(min(len(before) + len(after), _MOST_CHANGES) + 1):
        trail.append(dict(reach))
        for diagonal in range(-changes, changes + 1, 2):
            down = _comes_down(reach, diagonal, changes)
            old = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            new = old - diagonal
            while old < len(before) and new < len(after) and before[old] == after[new]:
                old, new = old + 1, new + 1
            reach[diagonal] = old
            if old >= len(before) and new >= len(after):
                return _walk_back(trail, len(before), len(after))
    return None


def _comes_down(reach: dict[int, int], diagonal: int, changes: int) -> bool:
    """Whether the best path to a diagonal adds a line; else it removes one."""
    if diagonal in (-changes, changes):
        return diagonal == -changes
    return reach[diagonal - 1] < reach[diagonal + 1]


def _walk_back(trail: list[dict[int, int]], old: int, new: int) -> list[Row]:
    rows: list[Row] = []
    for changes in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[changes], old - new
        down = _comes_down(reach, diagonal, changes)
        earlier = diagonal + 1 if down else diagonal - 1
        from_old = reach[earlier]
        from_new = from_old - earlier
        while old > max(from_old, 0) and new > max(from_new, 0):
            old, new = old - 1, new - 1
            rows.append(Row("same", old, new))
        if changes:
            rows.append(Row("added", None, from_new) if down else Row("removed", from_old, None))
        old, new = from_old, from_new
    rows.reverse()
    return rows
