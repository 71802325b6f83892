"""A numerics study: how good the arithmetic of a kernel is, and where precision is lost."""

from __future__ import annotations

from pydantic import Field

from pipeline.types.model import Frozen

__all__ = ["ErrorPicture", "LineError", "Study"]


class LineError(Frozen):
    """What the rounding of one source line contributes to the final error."""

    line: int
    operation: str
    """The operation at the line that contributes most, e.g. ``tensor_reduce``."""
    rel_l2: float
    """Relative L2 error of the output when only this line rounds and all else is float64."""
    share: float = Field(ge=0, le=1)
    """Of the sum of the squares over all lines."""


class ErrorPicture(Frozen):
    """What a reviewer sees at a glance: how errors are distributed, and where."""

    ulp_edges: tuple[float, ...]
    """Edges of the histogram's bins, in units in the last place of the output's dtype."""
    ulp_counts: tuple[int, ...]
    """Elements per bin; one fewer than the edges."""
    map: tuple[tuple[float, ...], ...]
    """Largest error over its limit in each cell of a coarse grid over the output, rows first."""
    map_shape: tuple[int, int]
    """Rows and columns of the output that the grid covers."""


class Study(Frozen):
    """One execution, set beside others of the same task; errors are relative L2 against the reference."""

    case: str
    output: str
    """The output with the largest error over its tolerance."""
    rel_l2: float
    """The kernel's."""
    float32_rel_l2: float
    """Of the reference in ideal float32, rounded to the output's dtype."""
    bfloat16_rel_l2: float
    """Of the reference with bfloat16 operands and intermediates and float32 sums."""
    gpu_rel_l2: float
    """Of a GPU-like execution: TF32 operands, sums in float32 chunks, one rounding at the end."""
    exact_rel_l2: float | None = None
    """Of the kernel's own program in float64: what is left is the method, not rounding."""
    targets: dict[str, float] = Field(default_factory=dict)
    """By chip other than the one graded for: relative L2 distance of the outputs there from those here."""
    lines: tuple[LineError, ...] = ()
    """The lines that contribute most, at most three."""
    picture: ErrorPicture | None = None
