"""Cases of nki-samples: its tutorials. Most were written for older dialects, and must be refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np

from evals.kernels.case import Case, KernelCase
from evals.kernels.sdk import (
    Inputs,
    average_pool,
    mamba,
    mamba_inputs,
    matmul_inputs,
    transposed_rows,
    uniform,
)

__all__ = ["CASES"]

_TUTORIALS: Final = "src/nki_samples/tutorials"
_MATMULS: Final = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
_MX: Final = "mxfp-matmul/mx_kernels.py"
_BF16: Final = ml_dtypes.bfloat16


def _kernel(
    name: str, path: str, entry: str, inputs: Inputs, reference: Callable[..., Any], **rest: Any
) -> Case:
    return KernelCase(
        name=f"samples/{name}",
        path=f"{_TUTORIALS}/{path}",
        entry=entry,
        inputs=inputs,
        reference=reference,
        **rest,
    )


def _matmul(left: Any, right: Any) -> Any:
    return left.astype(np.float64).T @ right.astype(np.float64)


def _attention(query: Any, key: Any, value: Any) -> Any:
    """Attend without scale or mask; all operands are [head, sequence]."""
    scores = query.astype(np.float64).T @ key
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ value.T


CASES: Final[tuple[Case, ...]] = (
    *(
        _kernel(f"matmul_{name}", _MATMULS, f"nki_matmul_{name}_", matmul_inputs(*sizes, _BF16), _matmul)
        for name, sizes in (
            ("basic", (128, 64, 512)),
            ("tiled", (256, 256, 1024)),
            ("hoist_load", (256, 256, 1024)),
            ("block_free_dimension", (256, 256, 1024)),
            ("fully_optimized", (1024, 2048, 1024)),
        )
    ),
    *(
        _kernel(
            f"mx_{name}",
            _MX,
            f"kernel_{name}_mx",
            uniform((512, 128), (512, 512), dtype=_BF16),
            _matmul,
            targets=("trn3",),
        )
        for name in ("offline_quantized", "on_device_quantize_matmul", "copy_strided_quantize_matmul")
    ),
    _kernel(
        "average_pool",
        "average_pool2d/average_pool2d_nki_kernels.py",
        "tensor_avgpool_kernel",
        uniform((128, 12, 8), rest=(2,)),
        average_pool,
    ),
    _kernel(
        "transpose2d",
        "transpose2d/transpose2d_nki_kernels.py",
        "tensor_transpose2D_kernel_",
        uniform((128, 24), rest=((4, 6),)),
        transposed_rows,
    ),
    _kernel(
        "tensor_add",
        "tensor_addition/tensor_addition_nki_kernels.py",
        "nki_tensor_add",
        uniform((256, 1024), (256, 1024)),
        np.add,
    ),
    _kernel(
        "spmd_tensor_add",
        "tensor_addition/spmd_tensor_addition_nki_kernels.py",
        "nki_tensor_add",
        uniform((256, 1024), (256, 1024)),
        np.add,
    ),
    *(
        _kernel(
            f"mamba_{version}",
            "fused_mamba/mamba_nki_kernels.py",
            f"mamba_{version}",
            mamba_inputs(1, 128, 4, 512),
            mamba,
        )
        for version in ("v1", "v2", "v3")
    ),
    _kernel(
        "attention_v1",
        "attention_fwd_performance/attention_kernels.py",
        "attn_fwd_v1",
        uniform((128, 128), (128, 128), (128, 128)),
        _attention,
    ),
)
