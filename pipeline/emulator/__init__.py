"""NKI on a CPU: a frontend that records, legality that refuses, a machine that executes.

Stands alone: it imports nothing of the rest of the project. `run` executes a kernel on arrays, `run_ranks`
one with collectives, `emulated` makes ``import nki`` give the emulator, `KernelError` is what a refused
kernel raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.emulator.frontend.errors import KernelError
    from pipeline.emulator.running import emulated, run, run_ranks

__all__ = ["KernelError", "emulated", "run", "run_ranks"]


def __getattr__(name: str) -> Any:
    # A sandboxed child imports the frontend alone, and every command imports this package.
    if name in ("emulated", "run", "run_ranks"):
        from pipeline.emulator import running

        return getattr(running, name)
    if name == "KernelError":
        from pipeline.emulator.frontend.errors import KernelError

        return KernelError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
