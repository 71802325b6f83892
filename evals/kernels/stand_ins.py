"""Modules that upstream code imports and only machines with Neuron have, as far as our cases need them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import ml_dtypes
import numpy as np

__all__ = ["PACKED", "installed", "static_cast"]

Array = np.ndarray[Any, Any]

#: Packages that upstream tests import for reporting, uploading and remote hosts; nothing of them runs here.
_UNUSED: Final = ("aws_embedded_metrics", "boto3", "fabric2", "plotext")

#: Four MX elements in one: as host arrays they are words under the name of the type.
PACKED: Final = {
    "float8_e4m3fn_x4": (np.dtype([("float8_e4m3fn_x4", np.uint32)]), ml_dtypes.float8_e4m3fn),
    "float8_e5m2_x4": (np.dtype([("float8_e5m2_x4", np.uint32)]), ml_dtypes.float8_e5m2),
    "float4_e2m1fn_x4": (np.dtype([("float4_e2m1fn_x4", np.uint16)]), ml_dtypes.float4_e2m1fn),
}


class _Unused(ModuleType):
    """A module all of whose names are classes that do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


class _Finder(MetaPathFinder, Loader):
    """Finds the packages of `_UNUSED` and whatever they are thought to contain."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in _UNUSED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Unused(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty."""


@contextmanager
def installed(*, torch: bool = False) -> Iterator[None]:
    """Put the stand-ins in place of what is missing; `torch` says whether to stand in for `torch_xla` too."""
    finder = _Finder()
    sys.meta_path.append(finder)
    modules = {"neuron_dtypes": _neuron_dtypes()}
    np.sctypeDict.update({name: words for name, (words, _) in PACKED.items()})
    if torch:
        modules["torch_xla"] = _torch_xla()
    added = {name: module for name, module in modules.items() if importlib.util.find_spec(name) is None}
    sys.modules.update(added)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in added:
            del sys.modules[name]


def static_cast(array: Any, dtype: Any) -> Array:
    """Convert an array to a NumPy type, an NKI type by name or a packed MX type; unpack packed ones first."""
    values = _unpacked(np.asarray(array))
    packed = next((entry for entry in PACKED.values() if entry[0] == dtype), None) or PACKED.get(str(dtype))
    if packed is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.dtype(str(dtype)) if isinstance(dtype, str) else dtype)
    words, element = packed
    codes = values.astype(element).view(np.uint8)
    if words.itemsize == 2:
        nibbles = codes.reshape(*codes.shape[:-1], -1, 4).astype(np.uint16)
        return np.ascontiguousarray((nibbles << np.array([0, 4, 8, 12], np.uint16)).sum(-1, np.uint16)).view(
            words
        )
    return codes.view(np.uint32).view(words)


def _unpacked(array: Array) -> Array:
    """Return the float32 values of a packed MX array, four times as many; other arrays as they are."""
    for words, element in PACKED.values():
        if array.dtype == words:
            if words.itemsize == 2:
                raw = array.view(np.uint16)[..., None] >> np.array([0, 4, 8, 12], np.uint16) & 15
                codes = raw.astype(np.uint8).reshape(*array.shape[:-1], -1)
            else:
                codes = np.ascontiguousarray(array).view(np.uint8)
            return codes.view(element).astype(np.float32)
    return array


def _neuron_dtypes() -> ModuleType:
    """Stand in for AWS's package of NumPy data types."""

    def is_float_type(dtype: Any) -> bool:
        return np.dtype(dtype).kind == "f" or np.dtype(dtype).name.startswith(("bfloat", "float"))

    module = ModuleType("neuron_dtypes")
    vars(module).update(
        static_cast=static_cast,
        is_float_type=is_float_type,
        sizeinbytes=lambda dtype: np.dtype(str(dtype) if isinstance(dtype, str) else dtype).itemsize,
        finfo=lambda dtype: ml_dtypes.finfo(np.dtype(str(dtype) if isinstance(dtype, str) else dtype)),
        bfloat16=ml_dtypes.bfloat16,
        float8_e4m3=ml_dtypes.float8_e4m3,
        float8_e4m3fn=ml_dtypes.float8_e4m3fn,
        float8_e5m2=ml_dtypes.float8_e5m2,
        **{name: words for name, (words, _) in PACKED.items()},
    )
    return module


def _torch_xla() -> ModuleType:
    """Stand in for PyTorch/XLA with the CPU as its device."""
    import torch

    module = ModuleType("torch_xla")
    model = ModuleType("torch_xla.core.xla_model")
    vars(model).update(xla_device=lambda: torch.device("cpu"), mark_step=lambda: None)
    vars(module).update(
        device=lambda: torch.device("cpu"), sync=lambda: None, core=SimpleNamespace(xla_model=model)
    )
    return module
