"""Names of NKI: what a reviewer may recommend although the code does not use it."""

from __future__ import annotations

import builtins
import keyword
from functools import lru_cache
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.toolchain import ISA_FUNCTIONS, NEWEST, find, names_in

__all__ = ["is_name_of_nki", "is_parameter_of_nki"]

#: Modules by what prose calls them.
_MODULES: Final = {
    "nki": "nki",
    "nl": "nki.language",
    "nki.language": "nki.language",
    "nisa": "nki.isa",
    "nki.isa": "nki.isa",
}


@lru_cache(maxsize=1)
def _list_parameters() -> frozenset[str]:
    functions = names_in("nki.isa")
    return frozenset(k.name for function in functions for k in function.keywords_in(NEWEST)) - {"name"}


def is_name_of_nki(name: str) -> bool:
    """Whether `name` belongs to NKI's public surface or to Python itself.

    Names of a module count with its name (``nisa.tensor_copy``, ``nl.float32``), and so do members
    (``nl.tile_size.pmax``); functions of `nki.isa` and data types also without, as prose names them.
    """
    for shown, module in _MODULES.items():
        if name.startswith(f"{shown}."):
            owner, _, last = f"{module}{name[len(shown) :]}".rpartition(".")
            known = find(owner, last)
            if known is not None and known.exists_in(NEWEST):
                return True
    bare = name in ISA_FUNCTIONS or name in DTYPES or name in _MODULES
    return bare or keyword.iskeyword(name) or hasattr(builtins, name)


def is_parameter_of_nki(name: str) -> bool:
    """Whether some function of `nki.isa` has a parameter called `name`."""
    return name in _list_parameters()
