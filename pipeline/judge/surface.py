"""Names of NKI: what a reviewer may recommend although the code does not use it."""

from __future__ import annotations

import builtins
import keyword
from functools import lru_cache
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.enums import ENUMS
from pipeline.emulator.frontend.inventory import DOCUMENTED
from pipeline.emulator.frontend.namespace import FUNCTIONS, OPERATORS
from pipeline.emulator.frontend.values import NL_DTYPES, MemoryRegion, TileSize
from pipeline.emulator.operations import ISA_FUNCTIONS, OPERATIONS
from pipeline.emulator.targets import TARGETS

__all__ = ["is_name_of_nki", "is_parameter_of_nki"]

#: Values of `nki.language` that no registry holds.
_PLAIN: Final = ("hbm", "no_reorder", "tile_size")
_ENGINES: Final = ("tensor_engine", "vector_engine", "scalar_engine", "gpsimd_engine")
_MODULES: Final = {"nl": "nl", "nki.language": "nl", "nisa": "nisa", "nki.isa": "nisa", "nki": "nki"}


@lru_cache(maxsize=1)
def _list_names() -> dict[str, frozenset[str]]:
    language = {
        *_PLAIN,
        *FUNCTIONS,
        *OPERATORS,
        *NL_DTYPES,
        *(region.name for region in MemoryRegion),
        *DOCUMENTED["nki.language"],
        *(f"tile_size.{name}" for target in TARGETS.values() for name in vars(TileSize(target))),
    }
    members = {
        f"{name}.{member}" for name, kind in ENUMS.items() for member in getattr(kind, "__members__", ())
    }
    isa = {*ISA_FUNCTIONS, *OPERATIONS, *ENUMS, *members, *_ENGINES}
    return {
        "nl": frozenset(language),
        "nisa": frozenset(isa),
        "nki": frozenset({"jit", "simulate", "language", "isa", *DOCUMENTED["nki"]}),
    }


@lru_cache(maxsize=1)
def _list_parameters() -> frozenset[str]:
    return frozenset(p.name for operation in OPERATIONS.values() for p in operation.parameters)


def is_name_of_nki(name: str) -> bool:
    """Whether `name` belongs to NKI's public surface or to Python itself.

    Names of a module count with its name (``nisa.tensor_copy``, ``nl.float32``); functions of `nki.isa` and
    data types also without, as prose names them.
    """
    names = _list_names()
    for module, short in _MODULES.items():
        if name.startswith(f"{module}.") and name[len(module) + 1 :] in names[short]:
            return True
    bare = name in ISA_FUNCTIONS or name in DTYPES or name in _MODULES
    return bare or keyword.iskeyword(name) or hasattr(builtins, name)


def is_parameter_of_nki(name: str) -> bool:
    """Whether some function of `nki.isa` has a parameter called `name`."""
    return name in _list_parameters()
