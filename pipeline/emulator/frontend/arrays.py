"""Arrays of host frameworks as kernel arguments and results: NumPy in, NumPy out; torch in, torch out.

No framework is imported here. Whoever passes a tensor of one has imported it; it is asked, not loaded.
Source: `nki.jit` and `nki.simulate` docstrings, NKI 0.6.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import ml_dtypes
import numpy as np

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind

__all__ = ["as_array", "like"]

Array = np.ndarray[Any, Any]

#: Types of torch that NumPy has no name for: the integers whose bits they are, and the types they become.
_BY_BITS: Final[dict[str, tuple[str, np.dtype[Any]]]] = {
    "bfloat16": ("int16", np.dtype(ml_dtypes.bfloat16)),
    "float8_e4m3fn": ("uint8", np.dtype(ml_dtypes.float8_e4m3fn)),
    "float8_e5m2": ("uint8", np.dtype(ml_dtypes.float8_e5m2)),
    "float8_e8m0fnu": ("uint8", np.dtype(ml_dtypes.float8_e8m0fnu)),
}


def as_array(value: object) -> Array | None:
    """Return an array argument as NumPy's, or None for what is no array.

    The memory is shared wherever the host can see it, so that what a kernel writes reaches its caller.

    Args:
        value: An array of NumPy, a tensor of torch, or anything else that speaks DLPack.

    Raises:
        KernelError: If it is an array that cannot be read, such as a sparse tensor.
    """
    if isinstance(value, np.ndarray):
        return value
    if _is_torch(value):
        return _from_torch(value)
    if not hasattr(type(value), "__dlpack__"):
        return None
    try:
        # What also speaks NumPy's own protocol knows more types through it.
        return np.asarray(value) if hasattr(type(value), "__array__") else np.from_dlpack(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise _unreadable(value, error) from None


def like(result: Array, value: object) -> Any:
    """Return a result as the kind of array that `value`, an argument of the same call, is.

    Types that torch does not have come back as float32, which holds all their values.

    Args:
        result: What the kernel returned.
        value: An argument that `as_array` takes.
    """
    if _is_torch(value):
        return _to_torch(result, value)
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.asarray(result)
    return result


def _is_torch(value: object) -> bool:
    return any((base.__module__, base.__name__) == ("torch", "Tensor") for base in type(value).__mro__)


def _from_torch(tensor: Any) -> Array:
    try:
        held = tensor.detach().cpu()
        bits = _BY_BITS.get(str(held.dtype).removeprefix("torch."))
        if bits is None:
            array: Array = held.numpy()
            return array
        integer, dtype = bits
        raw: Array = held.view(getattr(sys.modules["torch"], integer)).numpy()
        return raw.view(dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _unreadable(tensor, error) from None


def _to_torch(result: Array, model: Any) -> Any:
    torch = sys.modules["torch"]
    # torch takes neither read-only memory nor strides of its own.
    result = np.array(result, order="C")
    name = result.dtype.name
    if name in _BY_BITS:
        integer = np.dtype(_BY_BITS[name][0])
        tensor = torch.from_numpy(result.view(integer)).view(getattr(torch, name))
    else:
        known = result.dtype.kind in "biuf" and hasattr(torch, name)
        tensor = torch.from_numpy(result if known else result.astype(np.float32))
    return tensor.to(model.device)


def _unreadable(value: object, error: Exception) -> KernelError:
    reason = " ".join(str(error).split())[:160]
    return KernelError(
        KernelErrorKind.COMPILE_ERROR,
        f"an argument of type {type(value).__name__} cannot be read as a dense array on the host: {reason}",
    )
