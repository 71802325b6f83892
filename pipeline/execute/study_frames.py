"""What crosses the boundary for a numerics study of one program."""

from __future__ import annotations

import msgspec

from pipeline.execute.frames import Array

__all__ = ["LineLoss", "StudyReply", "StudyRequest"]


class StudyRequest(msgspec.Struct, frozen=True):
    """Say where a program loses precision.

    Attributes:
        program: Encoded.
        inputs: Of one draw, in the order of the program's inputs.
        expected: The float64 answers, in the order of its outputs.
    """

    program: bytes
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]


class LineLoss(msgspec.Struct, frozen=True, array_like=True):
    """What the rounding of one source line contributes; see `types.LineError`."""

    line: int
    operation: str
    rel_l2: float
    share: float


class StudyReply(msgspec.Struct, frozen=True):
    """Where a program loses precision.

    Attributes:
        lines: Lines whose rounding reaches an output, largest contribution first.
        exact_rel_l2: Per output, the relative L2 error of the program in float64; empty where it cannot run.
        narrow: Lines that round in that execution too, because they work on bits.
        untried: Lines that round and were left out, for they lose least of their own results.
        absent: Why there are no lines; empty where there could be.
        targets: By chip, the relative L2 distance of the outputs there from those on the program's own, of
            the output that differs most. Chips that refuse the program are left out.
    """

    lines: tuple[LineLoss, ...] = ()
    exact_rel_l2: tuple[float, ...] = ()
    narrow: tuple[int, ...] = ()
    untried: tuple[int, ...] = ()
    absent: str = ""
    targets: dict[str, float] = {}
