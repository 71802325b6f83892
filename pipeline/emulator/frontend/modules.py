"""The modules a kernel imports, put in place of the real ones: `nki`, its `language`, `isa`, `typing`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from pipeline.emulator.frontend import creation, matrices, movement, reductions
from pipeline.emulator.frontend.elementwise import FUNCTIONS
from pipeline.emulator.frontend.enums import ENUMS, Engine, NcVersion
from pipeline.emulator.frontend.errors import NkiValidationError
from pipeline.emulator.frontend.functions import checked
from pipeline.emulator.frontend.instructions import INSTRUCTIONS, NkiInstruction
from pipeline.emulator.frontend.inventory import missing_name
from pipeline.emulator.frontend.kernel import jit, simulate
from pipeline.emulator.frontend.recorder import Session, active_session, open_session
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import (
    NL_DTYPES,
    DType,
    DynamicSlice,
    MemoryRegion,
    NKIObject,
    TileSize,
)

__all__ = ["installed_modules"]

#: Packages of the legacy dialect, which must fail to import even where they are installed.
_LEGACY: Final = ("neuronxcc",)
_ON_CHIP: Final = (MemoryRegion.sbuf, MemoryRegion.psum)


class _NoReorder:
    """``with nl.no_reorder():``; the emulator never reorders."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _TensorAnnotation:
    """``nki.typing.tensor[shape]``: an annotation, which is not checked."""

    def __class_getitem__(cls, shape: Any) -> type[_TensorAnnotation]:
        return cls


class _EmulatedModule(ModuleType):
    """A module that says why a name is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        error = missing_name(
            self.__name__, name, [known for known in vars(self) if not known.startswith("_")]
        )
        active_session().missing = error
        raise error


def _range(start: int, stop: int | None = None, step: int = 1) -> range:
    """Return the range that all of NKI's unrolled loops are."""
    return range(start) if stop is None else range(start, stop, step)


def _ds(start: int, size: int) -> DynamicSlice:
    return DynamicSlice(start, size)


def _program_id(axis: int = 0) -> int:
    """Return 0: one logical NeuronCore runs the kernel."""
    return 0


def _num_programs(axes: object = 0) -> int:
    return 1


def _program_ndim() -> int:
    return 0


def _device_print(print_prefix: str, tensor: NkiTensor) -> None:
    """Accept a debug print; values do not exist while recording, and printing changes none."""


def _is_hbm(buffer: object) -> bool:
    return isinstance(buffer, MemoryRegion) and buffer not in _ON_CHIP


def _is_on_chip(buffer: object) -> bool:
    return buffer in _ON_CHIP


def _is_sbuf(buffer: object) -> bool:
    return buffer is MemoryRegion.sbuf


def _is_psum(buffer: object) -> bool:
    return buffer is MemoryRegion.psum


def _nc_version() -> NcVersion:
    return NcVersion[active_session().target.generation]


def _nc_sub_version() -> int:
    """Return 0, the first silicon revision."""
    return 0


def _language_names(session: Session) -> dict[str, Any]:
    functions: dict[str, Callable[..., Any]] = {
        **{name: getattr(creation, name) for name in creation.__all__ if name != "new_tile"},
        **{name: getattr(movement, name) for name in movement.__all__},
        **{name: getattr(matrices, name) for name in matrices.__all__},
        "softmax": reductions.softmax,
        "rms_norm": reductions.rms_norm,
        "affine_range": _range,
        "sequential_range": _range,
        "static_range": _range,
        "ds": _ds,
        "program_id": _program_id,
        "num_programs": _num_programs,
        "program_ndim": _program_ndim,
        "device_print": _device_print,
        "is_hbm": _is_hbm,
        "is_on_chip": _is_on_chip,
        "is_sbuf": _is_sbuf,
        "is_psum": _is_psum,
    }
    return {
        **{name: checked(name, function) for name, function in functions.items()},
        **NL_DTYPES,
        **{region.name: region for region in MemoryRegion},
        "hbm": MemoryRegion.private_hbm,
        **FUNCTIONS,
        **reductions.REDUCTIONS,
        "no_reorder": _NoReorder,
        "tile_size": TileSize(session.target),
        "MemoryRegion": MemoryRegion,
        "NKIObject": NKIObject,
        "NkiTensor": NkiTensor,
        "DType": DType,
    }


def _isa_names() -> dict[str, Any]:
    return {
        **INSTRUCTIONS,
        **ENUMS,
        **{f"{name}_engine": Engine[name] for name in ("tensor", "vector", "scalar", "gpsimd", "unknown")},
        "get_nc_version": _nc_version,
        "get_nc_sub_version": _nc_sub_version,
        "NkiInstruction": NkiInstruction,
        "NkiTensor": NkiTensor,
        "NKIObject": NKIObject,
        "NkiValidationError": NkiValidationError,
    }


def _build(session: Session) -> dict[str, ModuleType]:
    """Return fresh modules by name: a submission that patches one patches its own."""
    contents: Mapping[str, Mapping[str, Any]] = {
        "nki": {"jit": jit, "simulate": simulate, "dtype": DType},
        "nki.language": _language_names(session),
        "nki.isa": _isa_names(),
        "nki.typing": {"tensor": _TensorAnnotation, "mutable_tensor": _TensorAnnotation},
    }
    modules: dict[str, ModuleType] = {}
    for name, names in contents.items():
        module = modules[name] = _EmulatedModule(name)
        vars(module).update(names)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    # A package without a place to look in, so that importing another submodule fails by name.
    vars(modules["nki"])["__path__"] = []
    return modules


@contextmanager
def installed_modules(session: Session) -> Iterator[None]:
    """Make `nki` importable as the emulator, and nothing else of Neuron; afterwards all is as before."""
    built: dict[str, Any] = {**_build(session), **dict.fromkeys(_LEGACY)}
    hidden = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("nki", *_LEGACY)
    }
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(built)
    try:
        with open_session(session):
            yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("nki", *_LEGACY)]:
            del sys.modules[name]
        sys.modules.update(hidden)
