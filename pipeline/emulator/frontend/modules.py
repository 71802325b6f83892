"""The modules a kernel imports, put in place of the real ones: `nki`, its `language`, `isa`, `typing`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from pipeline.emulator.frontend import control
from pipeline.emulator.frontend.annotations import mutable_tensor, tensor
from pipeline.emulator.frontend.collectives import COLLECTIVES
from pipeline.emulator.frontend.enums import ENUMS, Engine, NcVersion
from pipeline.emulator.frontend.errors import NkiValidationError
from pipeline.emulator.frontend.functions import checked
from pipeline.emulator.frontend.instructions import INSTRUCTIONS, NkiInstruction
from pipeline.emulator.frontend.inventory import missing_name
from pipeline.emulator.frontend.kernel import jit, simulate
from pipeline.emulator.frontend.namespace import FUNCTIONS, OPERATORS
from pipeline.emulator.frontend.objects import NKIObject
from pipeline.emulator.frontend.registers import VirtualRegister
from pipeline.emulator.frontend.session import Session, active_session, open_session
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import NL_DTYPES, DType, MemoryRegion, TileSize
from pipeline.emulator.toolchain import available, holds

__all__ = ["installed_modules"]

#: Packages of the legacy dialect, which must not be imported from where they are installed.
_LEGACY: Final = ("neuronxcc",)


class _EmulatedModule(ModuleType):
    """A module that says why a name is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        session = active_session()
        public = [known for known in vars(self) if not known.startswith("_")]
        error = session.missing = missing_name(self.__name__, name, public, session.version)
        raise error


class _TileSize:
    """``nl.tile_size``: limits of the target there is when they are asked for; a script may set it late."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, str], TileSize] = {}

    def __getattr__(self, name: str) -> Any:
        session = active_session()
        key = (session.target.name, session.version)
        sizes = self._sizes.get(key)
        if sizes is None:
            sizes = self._sizes[key] = TileSize(session.target, session.version)
        return getattr(sizes, name)


def _nc_version() -> NcVersion:
    return NcVersion[active_session().target.generation]


def _nc_sub_version() -> int:
    """Return 0, the first silicon revision."""
    return 0


def _language_names() -> dict[str, Any]:
    return {
        **FUNCTIONS,
        **OPERATORS,
        **NL_DTYPES,
        **{region.name: region for region in MemoryRegion},
        "hbm": MemoryRegion.private_hbm,
        "no_reorder": control.NoReorder,
        "tile_size": _TileSize(),
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
        "register_alloc": checked("register_alloc", control.register_alloc),
        "get_nc_version": _nc_version,
        "get_nc_sub_version": _nc_sub_version,
        "VirtualRegister": VirtualRegister,
        "NkiInstruction": NkiInstruction,
        "NkiTensor": NkiTensor,
        "NKIObject": NKIObject,
        "NkiValidationError": NkiValidationError,
    }


def _build(session: Session) -> dict[str, ModuleType]:
    """Return fresh modules by name: a submission that patches one patches its own."""
    typing = {"tensor": tensor, "mutable_tensor": mutable_tensor}
    contents: dict[str, Mapping[str, Any]] = {
        "nki": {"jit": jit, "simulate": simulate},
        # In no documentation; nki-library annotates with the module and takes types from it.
        "nki.dtype": NL_DTYPES,
        "nki.language": _language_names(),
        "nki.isa": _isa_names(),
        # Where public kernels of the 0.3 era import enums from; NKI 0.5 keeps the place (release notes).
        "nki.isa.constants": ENUMS,
        "nki.typing": typing,
        "nki.collectives": COLLECTIVES,
    }
    if not holds("legacy-namespace", session.version, session.target.name):
        # Kernels of the new dialect annotated with the old one's types while both were allowed.
        contents |= {"neuronxcc": {}, "neuronxcc.nki": {}, "neuronxcc.nki.typing": typing}
    modules: dict[str, ModuleType] = {}
    for name, names in contents.items():
        module = modules[name] = _EmulatedModule(name)
        vars(module).update({n: v for n, v in names.items() if available(name, n, session.version)})
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    # Packages without a place to look in, so that importing another submodule fails by name.
    for name in {child.rpartition(".")[0] for child in modules} & set(modules):
        vars(modules[name])["__path__"] = []
    return modules


@contextmanager
def installed_modules(session: Session) -> Iterator[None]:
    """Make `nki` importable as the emulator, and nothing else of Neuron; afterwards all is as before."""
    built: dict[str, Any] = {**dict.fromkeys(_LEGACY), **_build(session)}
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
