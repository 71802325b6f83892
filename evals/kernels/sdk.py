"""Cases of aws-neuron-sdk: the kernels and scripts under nki/examples and nki/deep-dives/src."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from evals.kernels.case import Case, KernelCase, ScriptCase

__all__ = ["CASES", "average_pool", "mamba", "mamba_inputs", "matmul_inputs", "transposed_rows", "uniform"]

Array = np.ndarray[Any, Any]
Inputs = Callable[[np.random.Generator], Sequence[Any]]

_EXAMPLES: Final = "nki/examples"
_MX: Final = "nki/deep-dives/src/mxfp-matmul"


def uniform(
    *shapes: tuple[int, ...], dtype: Any = np.float32, low: float = -1.0, rest: tuple[Any, ...] = ()
) -> Inputs:
    """Return a maker of arrays with values from `low` to 1, followed by `rest`."""

    def make(generator: np.random.Generator) -> Sequence[Any]:
        return (*(generator.uniform(low, 1.0, shape).astype(dtype) for shape in shapes), *rest)

    return make


def matmul_inputs(k: int, m: int, n: int, dtype: Any) -> Inputs:
    """Return a maker of a transposed left and a right operand."""
    return uniform((k, m), (k, n), dtype=dtype)


def _matmul(left: Array, right: Array) -> Array:
    return left.astype(np.float64).T @ right.astype(np.float64)


def average_pool(array: Array, size: int) -> Array:
    """Average windows of `size` by `size`."""
    channels, height, width = array.shape
    windows = array.astype(np.float64).reshape(channels, height // size, size, width // size, size)
    return windows.mean(axis=(2, 4))


def _max_pool(array: Array, size: int) -> Array:
    channels, height, width = array.shape
    return array.reshape(channels, height // size, size, width // size, size).max(axis=(2, 4))


def transposed_rows(array: Array, shape: tuple[int, int]) -> Array:
    """Transpose the matrix that each row holds."""
    return array.reshape(len(array), *shape).transpose(0, 2, 1).reshape(array.shape)


def mamba_inputs(batch: int, channels: int, states: int, length: int) -> Inputs:
    """Return a maker of delta, u, A, B and C; A is negative, so that the state decays."""

    def make(generator: np.random.Generator) -> Sequence[Any]:
        def draw(*shape: int) -> Array:
            return generator.uniform(0.1, 1.0, shape).astype(np.float32)

        sequence = draw(batch, channels, length), draw(batch, channels, length)
        return (*sequence, -draw(channels, states), draw(batch, states, length), draw(batch, states, length))

    return make


def mamba(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    """Run the selective state-space recurrence step by step."""
    state = np.zeros((len(delta), *a.shape))
    result = np.zeros(delta.shape)
    for step in range(delta.shape[-1]):
        rate, drive = delta[:, :, None, step].astype(np.float64), u[:, :, None, step].astype(np.float64)
        state = np.exp(rate * a) * state + rate * drive * b[:, None, :, step]
        result[:, :, step] = (state * c[:, None, :, step]).sum(axis=2)
    return result


def _kernel(
    name: str, path: str, entry: str, inputs: Inputs, reference: Callable[..., Any], **rest: Any
) -> Case:
    return KernelCase(
        name=f"sdk/{name}",
        path=f"{_EXAMPLES}/{path}",
        entry=entry,
        inputs=inputs,
        reference=reference,
        **rest,
    )


def _script(name: str, path: str, says: str = "", times: int = 1, **rest: Any) -> Case:
    return ScriptCase(name=f"sdk/{name}", path=path, says=says, times=times, **rest)


_MATMULS: Final = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
_MAMBAS: Final = "fused_mamba/mamba_nki_kernels.py"
_BF16: Final = ml_dtypes.bfloat16

CASES: Final[tuple[Case, ...]] = (
    _kernel(
        "getting_started",
        "getting_started_baremetal.py",
        "nki_tensor_add_kernel",
        uniform((4, 3), (4, 3), dtype=np.float16),
        np.add,
    ),
    _kernel(
        "tensor_split",
        "index-case-1.py",
        "tensor_split_kernel_",
        uniform((4, 5), dtype=_BF16),
        lambda x: (x[:, ::2], x[:, 1::2]),
        tolerance=0.0,
    ),
    _kernel(
        "max_pool",
        "index-case-3.py",
        "tensor_maxpool_kernel_",
        uniform((2, 6, 6), rest=(2,)),
        _max_pool,
        tolerance=0.0,
    ),
    _kernel("exp", "layout-pass.py", "tensor_exp_kernel_", uniform((128, 512)), np.exp),
    _kernel("exp_violation", "layout-violation.py", "tensor_exp_kernel_", uniform((256, 512)), np.exp),
    _kernel("exp_loop", "layout-loop.py", "tensor_exp_kernel_", uniform((256, 512)), np.exp),
    _kernel("exp_dynamic_loop", "layout-dynamic-loop.py", "tensor_exp_kernel_", uniform((200, 512)), np.exp),
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
        tolerance=0.0,
    ),
    _kernel(
        "tensor_add",
        "tensor_addition/tensor_addition_nki_kernels.py",
        "nki_tensor_add",
        uniform((256, 1024), (256, 1024), dtype=_BF16),
        np.add,
        targets=("trn1", "trn2", "trn3"),
    ),
    *(
        _kernel(f"mamba_{version}", _MAMBAS, f"mamba_{version}", mamba_inputs(1, 256, 4, 1024), mamba)
        for version in ("v1", "v2", "v3")
    ),
    _kernel("matmul_basic", _MATMULS, "nki_matmul_basic_", matmul_inputs(128, 64, 512, _BF16), _matmul),
    _kernel("matmul_tiled", _MATMULS, "nki_matmul_tiled_", matmul_inputs(256, 256, 1024, _BF16), _matmul),
    _kernel(
        "matmul_hoist_load", _MATMULS, "nki_matmul_hoist_load_", matmul_inputs(256, 256, 1024, _BF16), _matmul
    ),
    _kernel(
        "matmul_block_free",
        _MATMULS,
        "nki_matmul_block_free_dimension_",
        matmul_inputs(256, 256, 1024, _BF16),
        _matmul,
    ),
    _kernel(
        "matmul_fully_optimized",
        _MATMULS,
        "nki_matmul_fully_optimized_",
        matmul_inputs(2048, 512, 2048, np.float32),
        _matmul,
        keywords={"TILES_IN_BLOCK_M": 2},
        targets=("trn2", "trn3"),
    ),
    _kernel(
        "simulate", "simulate/nki_simulate_example.py", "add_kernel", uniform((128, 512), (128, 512)), np.add
    ),
    _script("script/getting_started", f"{_EXAMPLES}/getting_started_baremetal.py", "[2. 2. 2.]", 4),
    _script(
        "script/average_pool",
        f"{_EXAMPLES}/average_pool2d/average_pool2d_nki_kernels.py",
        "NKI and NumPy match",
    ),
    _script(
        "script/transpose2d", f"{_EXAMPLES}/transpose2d/transpose2d_nki_kernels.py", "NKI and NumPy match"
    ),
    _script("script/simulate", f"{_EXAMPLES}/simulate/nki_simulate_example.py"),
    _script(
        "script/getting_started_torch", f"{_EXAMPLES}/getting_started_torch.py", "2., 2., 2.", 4, torch=True
    ),
    _script("script/index_case_1", f"{_EXAMPLES}/index-case-1.py", torch=True),
    _script("script/index_case_3", f"{_EXAMPLES}/index-case-3.py", torch=True),
    _script("script/layout_pass", f"{_EXAMPLES}/layout-pass.py", torch=True),
    _script(
        "script/average_pool_torch",
        f"{_EXAMPLES}/average_pool2d/average_pool2d_torch.py",
        "NKI and Torch match",
        torch=True,
    ),
    _script(
        "script/transpose2d_torch",
        f"{_EXAMPLES}/transpose2d/transpose2d_torch.py",
        "NKI and PyTorch match",
        torch=True,
    ),
    _script(
        "script/mamba_torch", f"{_EXAMPLES}/fused_mamba/mamba_torch.py", "NKI and Torch match", torch=True
    ),
    # matrix_multiplication_torch.py is left out: its bfloat16 products take PyTorch three minutes on a CPU.
    _script(
        "script/mamba",
        f"{_EXAMPLES}/fused_mamba/mamba_nki_kernels.py",
        "matches? True",
        2,
        arguments=("--channels", "128", "--state_size", "4"),
    ),
    _script(
        "script/mx_matmul",
        f"{_MX}/mx_toplevel.py",
        "np.allclose pass? True",
        8,
        torch=True,
        targets=("trn3",),
    ),
)
