"""`nki.language`: which logical NeuronCore a kernel runs on."""

from __future__ import annotations

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.session import active_session

__all__ = ["num_programs", "program_id", "program_ndim"]


def program_id(axis: int = 0) -> int:
    """Return the logical NeuronCore: 0, or 1 on the second of two."""
    _require_axis(axis, "program_id")
    recorder = active_session().recorder
    return 0 if recorder is None else recorder.core


def num_programs(axes: int = 0) -> int:
    """Return how many logical NeuronCores run the kernel."""
    _require_axis(axes, "num_programs")
    return active_session().cores


def program_ndim() -> int:
    """Return the dimensions of the launch grid: 0 without brackets or with ``[1]``."""
    return 1 if active_session().cores > 1 else 0


def _require_axis(axis: object, what: str) -> None:
    if axis not in (0, None):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"nl.{what}: the launch grid has one axis, 0; axis {axis} is none"
        )
