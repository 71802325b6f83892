"""Which PSUM locations matrix multiplications have written: what ``accumulate=None`` means.

The first matrix multiplication that writes a location after its allocation overwrites it, later ones add to
it. Reads, copies and loop iterations change nothing: allocate the tensor inside the loop to start afresh.
Source: facts/emulator_findings.md section 3, findings 1 to 3 (the rule every public kernel satisfies).
"""

from __future__ import annotations

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.views import View

__all__ = ["WrittenRegions"]


class WrittenRegions:
    """The bytes of one PSUM tensor that matrix multiplications have written."""

    __slots__ = ("_by_view", "_regions")

    def __init__(self) -> None:
        self._by_view: set[tuple[View, int]] = set()
        self._regions: list[tuple[int, int, int]] = []

    def mark(self, view: View, width: int) -> None:
        """Record that `view`, of elements `width` bytes wide, was written."""
        if (view, width) not in self._by_view:
            self._by_view.add((view, width))
            self._regions.append(_region(view, width))

    def accumulates(self, view: View, width: int, shown: object) -> bool:
        """Return whether a write to `view` adds to what earlier writes left there.

        Args:
            view: Of the tensor.
            width: Bytes of its elements.
            shown: What a message calls it.

        Raises:
            KernelError: If only a part of it was written before, so that no one flag is right.
        """
        if (view, width) in self._by_view:
            return True
        first, last, mask = _region(view, width)
        missing = dict.fromkeys(range(first, last), mask)
        for start, stop, written in self._regions:
            for partition in range(max(first, start), min(last, stop)):
                missing[partition] &= ~written
        if not any(missing.values()):
            return True
        if all(left == mask for left in missing.values()):
            return False
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"nisa.nc_matmul with accumulate=None writes a part of {shown} that earlier matmuls wrote and a "
            "part they "
            "did not; pass accumulate=True or False, or allocate one PSUM tensor per accumulation group",
        )


def _region(view: View, width: int) -> tuple[int, int, int]:
    """Return first partition, partition after the last, and the bytes within each as a bit mask."""
    per_partition, partitions = view.dims[0]
    first, start = divmod(view.offset, per_partition)
    mask = (1 << width) - 1
    for stride, count in reversed(view.dims[1:]):
        if stride * width == mask.bit_length():
            mask = _repeat_adjacent(mask, count)
        else:
            row = mask
            for step in range(1, count):
                mask |= row << (step * stride * width)
    return first, first + partitions, mask << (start * width)


def _repeat_adjacent(mask: int, count: int) -> int:
    """Return `count` copies of `mask` side by side; full masks, the common case, need no loop."""
    width = mask.bit_length()
    if mask == (1 << width) - 1:
        return (1 << (width * count)) - 1
    repeated = mask
    for step in range(1, count):
        repeated |= mask << (step * width)
    return repeated
