"""What is known of one name of NKI: its owner, the versions and chips that have it, its keywords."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain.versions import OLDEST, holds_in

__all__ = ["EVERYWHERE", "V3", "V4", "Keyword", "Kind", "Name", "function", "names", "removed"]

EVERYWHERE: Final = frozenset(TARGETS)
#: NeuronCore-v3 and later.
V3: Final = frozenset({"trn2", "trn3"})
#: NeuronCore-v4 and later.
V4: Final = frozenset({"trn3"})

_STUBS: Final = "type stubs of aws-neuron-sdk at v2.29.1, v2.30.0, v2.31.1 and v2.32.0"


class Kind(StrEnum):
    """What a name stands for."""

    MODULE = "module"
    FUNCTION = "function"
    CLASS = "class"
    ENUM = "enum"
    MEMBER = "member"
    DTYPE = "dtype"
    MEMORY = "memory"
    OPERATOR = "operator"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Keyword:
    """One parameter of a function, for as long as it has that default.

    Attributes:
        name: As documented.
        default: As documented, enum members without their enum; None for a parameter that must be given.
        since: First version that has it so.
        until: First version that has it no longer so, or None.
    """

    name: str
    default: str | None
    since: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """One name.

    Attributes:
        owner: Where a kernel finds it: a module, or a class or an enum in one.
        name: Without its owner.
        kind: What it stands for.
        keywords: Parameters of a function over all versions, in order.
        since: First version that has it.
        until: First version that no longer has it, or None.
        deprecated: First version that calls it deprecated, or None.
        instead: What to write where it is removed or deprecated.
        targets: Chips that have it.
        source: Where that is documented.
    """

    owner: str
    name: str
    kind: Kind
    keywords: tuple[Keyword, ...] = ()
    since: str = OLDEST
    until: str | None = None
    deprecated: str | None = None
    instead: str = ""
    targets: frozenset[str] = EVERYWHERE
    source: str = _STUBS

    def exists_in(self, version: str) -> bool:
        """Whether `version` has it."""
        return holds_in(version, self.since, self.until)

    def deprecated_in(self, version: str) -> bool:
        """Whether `version` has it and advises against it."""
        return (
            self.exists_in(version)
            and self.deprecated is not None
            and holds_in(version, self.deprecated, None)
        )

    def keywords_in(self, version: str) -> tuple[Keyword, ...]:
        """Return the parameters that `version` has, in order."""
        return tuple(k for k in self.keywords if holds_in(version, k.since, k.until))


def function(
    owner: str,
    name: str,
    signature: str,
    *,
    since: str = OLDEST,
    until: str | None = None,
    deprecated: str | None = None,
    instead: str = "",
    targets: frozenset[str] = EVERYWHERE,
    source: str = _STUBS,
) -> Name:
    """Return a function with the parameters that `signature` spells.

    Args:
        owner: See `Name`.
        name: See `Name`.
        signature: Parameters with commas between, each ``name`` or ``name=default``; where not every version
            has it ``@0.4`` (since) or ``@<0.6`` (until), as in ``reduce_res@<0.6, reduce_res=None@0.6``.
        since: See `Name`.
        until: See `Name`.
        deprecated: See `Name`.
        instead: See `Name`.
        targets: See `Name`.
        source: See `Name`.
    """
    keywords = tuple(_keyword(part, since) for part in signature.split(", ") if part)
    return Name(owner, name, Kind.FUNCTION, keywords, since, until, deprecated, instead, targets, source)


def _keyword(text: str, since: str) -> Keyword:
    declared, _, span = text.partition("@")
    name, equals, default = declared.partition("=")
    if span.startswith("<"):
        return Keyword(name, default if equals else None, since, span[1:])
    return Keyword(name, default if equals else None, span or since)


def names(
    owner: str,
    kind: Kind,
    listed: Iterable[str],
    *,
    since: str = OLDEST,
    deprecated: str | None = None,
    instead: str = "",
    targets: frozenset[str] = EVERYWHERE,
) -> tuple[Name, ...]:
    """Return several names of one kind that came together.

    Args:
        owner: See `Name`.
        kind: See `Name`.
        listed: The names.
        since: See `Name`.
        deprecated: See `Name`.
        instead: See `Name`.
        targets: See `Name`.
    """
    return tuple(
        Name(owner, name, kind, since=since, deprecated=deprecated, instead=instead, targets=targets)
        for name in listed
    )


def removed(owner: str, name: str, instead: str, until: str = OLDEST) -> Name:
    """Return a name that is no more.

    Args:
        owner: See `Name`.
        name: See `Name`.
        instead: See `Name`.
        until: See `Name`; the oldest version for what only earlier dialects had.
    """
    source = "NKI migration guides (nki/migration/index.rst) and release notes"
    return Name(owner, name, Kind.FUNCTION, until=until, instead=instead, source=source)
