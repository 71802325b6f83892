"""Every name of NKI over all known versions, by where a kernel finds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.toolchain import collectives, core, isa, language
from pipeline.emulator.toolchain.names import Kind, Name
from pipeline.emulator.toolchain.versions import NEWEST

__all__ = ["ISA_FUNCTIONS", "SURFACE", "available", "find", "names_in"]


def _by_owner() -> dict[str, dict[str, Name]]:
    surface: dict[str, dict[str, Name]] = {}
    for table in (core, language, isa, collectives):
        for name in table.NAMES:
            surface.setdefault(name.owner, {})[name.name] = name
    return surface


#: By owner (``nki.isa``, ``nki.language.NkiTensor``, ``nki.isa.engine``), then by name.
SURFACE: Final = _by_owner()

#: The functions of `nki.isa` that the newest version has.
ISA_FUNCTIONS: Final[dict[str, Name]] = {
    name.name: name
    for name in SURFACE["nki.isa"].values()
    if name.kind is Kind.FUNCTION and name.exists_in(NEWEST)
}


def find(owner: str, name: str) -> Name | None:
    """Return what is known of a name, None for one that no known version has or had."""
    return SURFACE.get(owner, {}).get(name)


def available(owner: str, name: str, version: str) -> bool:
    """Whether a kernel of `version` may use a name; what no page documents counts as there."""
    known = find(owner, name)
    return known is None or known.exists_in(version)


def names_in(owner: str, version: str = NEWEST) -> Iterator[Name]:
    """Yield the names that `owner` has in a version."""
    return (name for name in SURFACE.get(owner, {}).values() if name.exists_in(version))
