"""Versions of NKI: what came with each, and what changed besides names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pipeline.emulator.reference.markdown import code, places, span, table
from pipeline.emulator.toolchain import CHANGES, ISA_FUNCTIONS, RELEASES, SURFACE, Kind, Name

__all__ = ["SHORT", "TABLES"]

#: What kernels call the modules.
SHORT: Final = {"nki.language": "nl", "nki.isa": "nisa"}


def _versions() -> str:
    rows = []
    for place, release in enumerate(RELEASES):
        functions = sum(function.exists_in(release.version) for function in ISA_FUNCTIONS.values())
        new = code(_new_in(release.version)) if place else ""
        rows.append((release.version, release.sdk, release.date, str(functions), new))
    return table(("NKI", "Neuron SDK", "date", "`nki.isa` functions", "new names and keywords"), rows)


def _changes() -> str:
    return table(
        ("versions", "targets", "rule or limit", "source"),
        (
            (span(change.since, change.until), places(change.targets), change.rule, change.source)
            for change in CHANGES.values()
        ),
    )


def _new_in(version: str) -> Iterator[str]:
    """Yield the names of a version, and the keywords of older functions, that are new in it."""
    for names in SURFACE.values():
        for name in names.values():
            if name.since == version and name.until is None:
                yield _shown(name)
            elif name.kind is Kind.FUNCTION and name.exists_in(version):
                first = {keyword.name: keyword.since for keyword in reversed(name.keywords)}
                yield from (f"{_shown(name)}({key}=)" for key, since in first.items() if since == version)


def _shown(name: Name) -> str:
    short = {**SHORT, "nki.collectives": "nki.collectives"}
    return f"{short.get(name.owner, name.owner.rpartition('.')[2])}.{name.name}"


TABLES: Final[dict[str, Callable[[], str]]] = {"versions": _versions, "changes": _changes}
