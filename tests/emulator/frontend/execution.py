"""Executes kernel bodies on the emulated machine, through the modules that a kernel imports."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.targets import TARGETS
from tests.emulator.frontend.kernels import IMPORTS

Array = np.ndarray[Any, Any]


def load(source: str, *, target: str = "trn2", version: str = "0.6") -> dict[str, Any]:
    """Execute the text of a module outside any kernel and return its names."""
    names: dict[str, Any] = {}
    with installed_modules(Session(TARGETS[target], version, 10_000)):
        exec(compile(IMPORTS + source, "module.py", "exec"), names)
    return names


def run(body: str, *, target: str = "trn2", version: str = "0.6", **arrays: Array) -> Array:
    """Execute a kernel whose body assigns `result`, a tensor, and return its values."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = f"""{IMPORTS}
@nki.jit
def kernel({", ".join(arrays)}):
{lines}
    if nl.is_psum(result.buffer):
        tile = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=result)
        result = tile
    out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
"""
    names: dict[str, Any] = {}
    with installed_modules(Session(TARGETS[target], version, 10_000)):
        exec(compile(source, "kernel.py", "exec"), names)
        return np.asarray(names["kernel"](**arrays))
