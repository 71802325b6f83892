"""Confined child processes for code that is not ours.

A `Sandbox` is one confined process (the zygote) that has imported what its jobs need and forks one child
per job. A job is a function ``def job(payload: bytes) -> bytes`` named ``package.module:function``. The child
gets its payload and gives its reply through inherited descriptors, and an `Outcome` says how it ended.

Names load on first use: the zygote imports this package too and should carry none of what only its parent
needs, since every job pays for the zygote's memory when it forks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.execute.sandbox.errors import SandboxError
    from pipeline.execute.sandbox.outcome import Level, Limits, Outcome, Status
    from pipeline.execute.sandbox.pool import SandboxPool
    from pipeline.execute.sandbox.probe import LevelProbe, choose_level, probe_levels
    from pipeline.execute.sandbox.sandbox import Sandbox

__all__ = [
    "Level",
    "LevelProbe",
    "Limits",
    "Outcome",
    "Sandbox",
    "SandboxError",
    "SandboxPool",
    "Status",
    "choose_level",
    "probe_levels",
]

_MODULES: Final = {
    "Level": "outcome",
    "LevelProbe": "probe",
    "Limits": "outcome",
    "Outcome": "outcome",
    "Sandbox": "sandbox",
    "SandboxError": "errors",
    "SandboxPool": "pool",
    "Status": "outcome",
    "choose_level": "probe",
    "probe_levels": "probe",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
