"""Names a kernel asks for in vain: removed ones with their replacement, documented ones not emulated yet.

Sources: migration guide and release notes of NKI 0.3 to 0.6 (facts/nki.md sections 1.3, 1.4 and 4.6) for what
was removed; the type stubs of NKI 0.6 (section 4.4) for what is documented.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from pipeline.emulator.frontend.errors import KernelErrorKind, MissingName
from pipeline.emulator.operations import ISA_FUNCTIONS

__all__ = ["DOCUMENTED", "missing_name", "unexpected_keyword"]

_SLICE: Final = (
    "index with integer slices t[a:b, c:d], nl.ds(start, size), or t.ap(pattern=[[stride, count], ...])"
)

#: Per module: names of earlier dialects, and what to write now.
_REMOVED: Final[dict[str, dict[str, str]]] = {
    "nki": {
        "benchmark": "call the @nki.jit kernel and measure outside it",
        "profile": "profile with neuron-explorer",
        "baremetal": "use @nki.jit and call the kernel with NumPy arrays",
        "simulate_kernel": "use nki.simulate(kernel)(*arrays)",
        "trace": "use @nki.jit",
    },
    "nki.language": {
        "arange": _SLICE,
        "mgrid": _SLICE,
        "par_dim": "the first dimension of an on-chip tensor is the partition: write a plain integer",
        "spmd_dim": "launch with kernel[lnc](...)",
        "nc": "launch with kernel[lnc](...)",
        "loop_reduce": "accumulate with nisa.tensor_tensor, or in PSUM",
        "atomic_rmw": "use nisa.dma_compute",
        "all_reduce": "use nki.collectives.all_reduce",
        "static_cast": "copy into a tile of the other dtype with nisa.tensor_copy",
        "finfo": "write the constant",
        "fp32": "use nl.float32",
    },
    "nki.isa": {
        "tensor_copy_dynamic_src": "use nisa.tensor_copy with src.ap(..., scalar_offset=)",
        "tensor_copy_dynamic_dst": "use nisa.tensor_copy with dst.ap(..., scalar_offset=)",
        "builtin_custom_op": "there is no replacement",
    },
}

#: Per module: documented names that this emulator does not implement.
DOCUMENTED: Final[dict[str, frozenset[str]]] = {
    "nki": frozenset({"collectives", "compiler", "experimental"}),
    "nki.language": frozenset(
        [
            "float8_e8m0fnu",
            "float8_e4m3fn_x4",
            "float8_e5m2_x4",
            "float4_e2m1fn_x4",
            "rand",
            "random_seed",
            "shared_constant",
            "load_transpose2d",
            "gather_flattened",
            "where",
            "cos",
            "tan",
            "ceil",
            "floor",
            "trunc",
            "all",
            "dropout",
            "dynamic_range",
            "fori_loop",
            "while_loop",
        ]
    ),
    "nki.isa": frozenset({*ISA_FUNCTIONS, "VirtualRegister"}),
}

#: Keywords of earlier dialects, and what replaced them.
_REMOVED_KEYWORDS: Final = {
    "mask": "masks were removed; clamp the slice bounds with min() and slice both operands",
    "dtype": "the result has the data type of dst; allocate dst with the one you want",
    "psumAccumulateFlag": "use accumulate=True or False",
    "is_moving_zero": "use is_moving_onezero",
    "dst_rmw_op": "use nisa.dma_compute",
    "use_gpsimd_dma": "use dma_engine=nisa.dma_engine.gpsimd_dma",
    "imm": "renamed to src",
    "expr": "use pattern=[[step, count], ...], offset= and channel_multiplier=",
    "pred": "use pattern=, offset=, channel_multiplier= and cmp_op=",
}

_SHORT: Final = {"nki": "nki", "nki.language": "nl", "nki.isa": "nisa"}


def missing_name(module: str, name: str, known: Iterable[str]) -> MissingName:
    """Return the error for a name that `module` does not have.

    Args:
        module: ``nki``, ``nki.language``, ``nki.isa`` or a submodule.
        name: What was asked for.
        known: Names the module has.
    """
    shown = f"{_SHORT.get(module, module)}.{name}"
    replacement = _REMOVED.get(module, {}).get(name)
    if replacement is not None:
        return MissingName(
            KernelErrorKind.COMPILE_ERROR,
            f"{shown} was removed from NKI (it belongs to neuronxcc.nki); {replacement}",
        )
    if name in DOCUMENTED.get(module, frozenset()):
        return MissingName(KernelErrorKind.UNSUPPORTED, f"{shown} is not emulated yet")
    close = get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return MissingName(KernelErrorKind.COMPILE_ERROR, f"{module} has no {name!r}{hint}")


def unexpected_keyword(keyword: str, known: Iterable[str]) -> str:
    """Return what is wrong with a keyword that a function does not have.

    Args:
        keyword: As passed.
        known: Keywords the function has.
    """
    if keyword in _REMOVED_KEYWORDS:
        return f"has no keyword {keyword!r}: {_REMOVED_KEYWORDS[keyword]}"
    close = get_close_matches(keyword, list(known), n=2)
    hint = f", did you mean {' or '.join(close)}?" if close else ""
    return f"got an unexpected keyword argument {keyword!r}{hint}"
