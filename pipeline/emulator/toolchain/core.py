"""`nki` and `nki.typing`, and modules of AWS's that are known by name only."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.toolchain.names import Kind, Name, function, names, removed

__all__ = ["MODULES", "NAMES"]

#: Modules a kernel imports. The first five are documented; nki-library of April 2026 (NKI 0.3) imports its
#: enums from the last, which the release notes of 0.5 keep as a shim.
MODULES: Final = (
    "nki",
    "nki.language",
    "nki.isa",
    "nki.typing",
    "nki.collectives",
    "nki.isa.constants",
)

NAMES: Final[tuple[Name, ...]] = (
    function("nki", "jit", "func=None@<0.4, mode='auto'@<0.4, fn=None@0.4"),
    function("nki", "simulate", "kernel"),
    *names("nki", Kind.MODULE, ("language", "isa", "typing", "collectives")),
    # Named in the migration guide, the FAQ and the how-to guides; nothing in a kernel needs them.
    *names("nki", Kind.MODULE, ("compiler", "framework", "meta", "experimental")),
    # What nki-library annotates parameters with; no page documents it.
    *names("nki", Kind.CLASS, ("dtype",)),
    *names("nki.typing", Kind.CLASS, ("tensor", "mutable_tensor")),
    *names("nki.isa", Kind.MODULE, ("constants",)),
    removed("nki", "benchmark", "call the @nki.jit kernel and measure outside it"),
    removed("nki", "profile", "profile with neuron-explorer"),
    removed("nki", "baremetal", "use @nki.jit and call the kernel with NumPy arrays"),
    removed("nki", "simulate_kernel", "use nki.simulate(kernel)(*arrays)"),
    removed("nki", "trace", "use @nki.jit"),
    removed("nki", "tensor", "annotate with nki.typing.tensor"),
)
