"""Cases that do not end with `ok`, each with the verdict it ends with, and why."""

from __future__ import annotations

from typing import Final

__all__ = ["KNOWN"]

_BETA_2: Final = "written for beta 2: nisa.tensor_copy(dtype=)"
_BROKEN: Final = "core/mlp/mlp.py does not parse at this commit: line 203 is indented"
_LEGACY: Final = "written for the legacy dialect: imports neuronxcc.nki"

#: Name of a case, or a prefix that ends with ``*``, to (verdict, reason).
KNOWN: Final[dict[str, tuple[str, str]]] = {
    "sdk/exp_violation": ("refused", "the documentation's example of too many partitions"),
    "sdk/exp_loop": ("upstream defect", "imports torch_neuronx.nki_jit and stores through an undefined name"),
    "sdk/exp_dynamic_loop": ("upstream defect", "a parenthesis is never closed: the file does not parse"),
    "library/mlp_cte": ("upstream defect", _BROKEN),
    "library/mlp_tkg": ("upstream defect", _BROKEN),
    "library/gen_mask_tkg": ("upstream defect", "the test looks for its output under another name"),
    "library/moe_bwd": (
        "mismatch",
        "a race upstream: before the first barrier core 1 zeroes rows that core 0 writes "
        "(bwmm_bwd_dropless.py, lines 124 and 687; the emulator warns of it)",
    ),
    "library/rmsnorm_mx_quantize_tkg": (
        "mismatch",
        "the reference expects zeros in the 112 rows of out_scale that the kernel never writes",
    ),
    "library/moe_tkg/mx": (
        "refused",
        "asks an NKI tensor for .base_tensor, which only the library's TensorView has "
        "(gate_up_projection_mx.py, line 354)",
    ),
    "samples/matmul_basic": ("refused", _BETA_2),
    "samples/matmul_tiled": ("refused", _BETA_2),
    "samples/matmul_hoist_load": ("refused", _BETA_2),
    "samples/mx_*": ("refused", "written for beta 2: nki.jit(platform_target=)"),
    "samples/average_pool": ("refused", _LEGACY),
    "samples/transpose2d": ("refused", _LEGACY),
    "samples/tensor_add": ("refused", _LEGACY),
    "samples/spmd_tensor_add": ("refused", _LEGACY),
    "samples/mamba_*": ("refused", _LEGACY),
    "samples/attention_*": ("refused", _LEGACY),
}
