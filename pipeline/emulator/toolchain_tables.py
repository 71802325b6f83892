"""What docs/emulator.md says of versions and of the language, as heads and rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.frontend.language import RULES
from pipeline.emulator.toolchain import CHANGES, ISA_FUNCTIONS, RELEASES, SURFACE, Kind, Name

__all__ = ["CHANGE_HEAD", "LANGUAGE_HEAD", "VERSION_HEAD", "changes", "language", "versions"]

VERSION_HEAD: Final = ("NKI", "Neuron SDK", "date", "`nki.isa` functions", "new names and keywords")
CHANGE_HEAD: Final = ("versions", "targets", "rule or limit", "source")
LANGUAGE_HEAD: Final = ("rule", "about", "versions", "severity", "source")


def versions() -> Iterator[tuple[str, ...]]:
    """Yield a row per release, with what came with it."""
    for place, release in enumerate(RELEASES):
        functions = sum(function.exists_in(release.version) for function in ISA_FUNCTIONS.values())
        new = ", ".join(f"`{name}`" for name in _new_in(release.version)) if place else ""
        yield release.version, release.sdk, release.date, str(functions), new


def changes() -> Iterator[tuple[str, ...]]:
    """Yield a row per rule or limit that not every version has."""
    for change in CHANGES.values():
        everywhere = len(change.targets) == 3
        targets = "all" if everywhere else ", ".join(sorted(change.targets))
        yield _span(change.since, change.until), targets, change.rule, change.source


def language() -> Iterator[tuple[str, ...]]:
    """Yield a row per rule of the language."""
    for rule in RULES.values():
        yield f"`{rule.id}`", rule.about, _span(rule.since, rule.until), rule.severity.value, rule.source


def _span(since: str, until: str | None) -> str:
    first = RELEASES[0].version
    if until is None:
        return "all" if since == first else f"since {since}"
    return f"before {until}" if since == first else f"{since} until {until}"


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
    short = {"nki.language": "nl", "nki.isa": "nisa", "nki.collectives": "nki.collectives"}
    return f"{short.get(name.owner, name.owner.rpartition('.')[2])}.{name.name}"
