"""The coverage of NKI: what the emulator makes of every name, by where a kernel finds it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final

from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.reference.markdown import places, prose, span, table
from pipeline.emulator.reference.operations import fidelity_of
from pipeline.emulator.reference.sampling import sample
from pipeline.emulator.reference.versions import SHORT
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import NEWEST, OLDEST, SURFACE, Kind, Name

__all__ = ["OWNERS", "TABLES"]

#: Per table, the places whose names it lists.
OWNERS: Final[dict[str, tuple[str, ...]]] = {
    "names_of_nki": ("nki", "nki.typing"),
    "names_of_language": ("nki.language",),
    "names_of_tensors": ("nki.language.NkiTensor", "nki.language.tile_size", "nki.language.MemoryRegion"),
    "names_of_isa": ("nki.isa",),
    "names_of_enums": tuple(
        f"nki.isa.{name.name}" for name in SURFACE["nki.isa"].values() if name.kind is Kind.ENUM
    ),
    "names_of_collectives": ("nki.collectives",),
}
#: What is not plain from the name.
_NOTES: Final[dict[tuple[str, str], str]] = {
    ("nki", "dtype"): "in no documentation; nki-library annotates with it",
    ("nki.isa", "constants"): "holds the enums; kernels of the 0.3 era import them from there",
    ("nki.isa", "get_nc_sub_version"): "0",
    ("nki.language", "affine_range"): "unrolled",
    ("nki.language", "sequential_range"): "unrolled",
    ("nki.language", "static_range"): "unrolled",
    ("nki.language", "device_print"): "prints nothing",
    ("nki.language", "no_reorder"): "the order is always the source's",
    ("nki.language", "gather_flattened"): "`axis=0` only, which alone is documented with a meaning",
    ("nki.language", "random_seed"): "the numbers are reproducible, not the device's",
    ("nki.language", "rand"): "the numbers are reproducible, not the device's",
}


def _names(key: str) -> str:
    return table(
        ("name", "kind", "status", "fidelity", "targets", "versions", "note"),
        (_row(name) for owner in OWNERS[key] for name in SURFACE[owner].values()),
    )


def _row(name: Name) -> tuple[str, ...]:
    status = _status(name)
    refused = status in ("removed", "unsupported", "refused")
    return (
        f"`{_shown(name)}`",
        "" if status == "removed" else name.kind.value,
        status,
        "" if refused else _fidelity(name),
        "" if refused else places(name.targets),
        "; ".join(_versions(name)),
        _note(name, status),
    )


def _status(name: Name) -> str:
    if not name.exists_in(NEWEST):
        return "removed"
    if (name.owner, name.name) not in _found():
        return "unsupported"
    if name.kind is Kind.OPERATOR:
        return "operator"
    if _is_composed(name) and not sample(name).targets:
        return "refused"
    return "emulated"


@cache
def _found() -> frozenset[tuple[str, str]]:
    """Return the names that a kernel finds, each with its owner."""
    found: set[tuple[str, str]] = set()
    with installed_modules(Session(TARGETS["trn3"], NEWEST, instruction_limit=1)):
        for owner, names in SURFACE.items():
            parts = owner.split(".")
            holder: Any = importlib.import_module(".".join(parts[:2]))
            for part in parts[2:]:
                holder = getattr(holder, part)
            found |= {(owner, name) for name in names if hasattr(holder, name)}
    return frozenset(found)


def _fidelity(name: Name) -> str:
    if name.owner in ("nki.isa", "nki.collectives") and name.name in OPERATIONS:
        return fidelity_of(OPERATIONS[name.name])
    if _is_composed(name):
        shown = sample(name).fidelity
        return "" if shown is None else shown.value
    return ""


def _is_composed(name: Name) -> bool:
    return name.owner == "nki.language" and name.kind is Kind.FUNCTION


def _versions(name: Name) -> Iterator[str]:
    yield span(name.since, name.until)
    if name.deprecated is not None:
        yield f"deprecated {'in all' if name.deprecated == OLDEST else f'since {name.deprecated}'}"


def _note(name: Name, status: str) -> str:
    if status == "refused":
        return OPERATORS[name.name].remedy
    return prose(name.instead) or _NOTES.get((name.owner, name.name), "")


def _shown(name: Name) -> str:
    """Return a name as kernels write it."""
    if name.owner.startswith("nki.language."):
        owner = name.owner.rpartition(".")[2]
        return f"{owner}.{name.name}" if owner == "NkiTensor" else f"nl.{owner}.{name.name}"
    for module, short in SHORT.items():
        if name.owner == module or name.owner.startswith(f"{module}."):
            return f"{short}{name.owner.removeprefix(module)}.{name.name}"
    return f"{name.owner}.{name.name}"


TABLES: Final[dict[str, Callable[[], str]]] = {key: partial(_names, key) for key in OWNERS}
