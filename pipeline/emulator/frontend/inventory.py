"""Names and keywords a kernel asks for in vain: what became of them, and what to write instead.

The answers come from the toolchain matrix; what it does not know may be newer than it, so a name that nothing
is known of is a gap of the emulator's, not the kernel's mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from pipeline.emulator.frontend.errors import KernelErrorKind, MissingName
from pipeline.emulator.toolchain import CHANGES, NEWEST, OLDEST, Name, find, holds_in, names_in

__all__ = ["DOCUMENTED", "LEGACY", "legacy_dialect", "missing_name", "unexpected_keyword"]

#: Package of the legacy dialect.
LEGACY: Final = "neuronxcc"

#: Per module: the names that the newest version has.
DOCUMENTED: Final[dict[str, frozenset[str]]] = {
    module: frozenset(name.name for name in names_in(module))
    for module in ("nki", "nki.language", "nki.isa", "nki.typing", "nki.collectives")
}

#: Keywords of earlier dialects, and what replaced them.
_REMOVED_KEYWORDS: Final = {
    "mask": "masks were removed; clamp the slice bounds with min() and slice both operands",
    "dtype": "the result has the data type of dst; allocate dst with the one you want",
    "psumAccumulateFlag": "use accumulate=True or False",
    "is_moving_zero": "use is_moving_onezero",
    "dst_rmw_op": "use nisa.dma_compute",
    "use_gpsimd_dma": "use dma_engine=nisa.dma_engine.gpsimd_dma",
    "imm": "renamed to src",
    "expr": "use pattern=[[step, count], ...], offset= and channel_multiplier=",
    "pred": "use pattern=, offset=, channel_multiplier= and cmp_op=",
    "num_channels": "pass channel_ids to collective_permute_implicit",
}

_SHORT: Final = {"nki.language": "nl", "nki.isa": "nisa"}


def missing_name(module: str, name: str, known: Iterable[str], version: str = NEWEST) -> MissingName:
    """Return the error for a name that `module` does not have.

    Args:
        module: ``nki`` or a submodule.
        name: What was asked for.
        known: Names the module has.
        version: NKI version of the kernel.
    """
    if module.partition(".")[0] == LEGACY:
        return legacy_dialect(version)
    shown = f"{_SHORT.get(module, module)}.{name}"
    found = find(module, name)
    if found is not None and not found.exists_in(version):
        return MissingName(KernelErrorKind.COMPILE_ERROR, f"{shown} {_absence(found, version)}")
    if found is not None:
        return MissingName(KernelErrorKind.UNSUPPORTED, f"{shown} is not emulated yet")
    close = get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return MissingName(
        KernelErrorKind.UNSUPPORTED,
        f"{shown} is in no version of NKI up to {NEWEST}, the newest that this emulator knows{hint}",
    )


def legacy_dialect(version: str) -> MissingName:
    """Return the error for a kernel of the dialect before `nki`.

    Args:
        version: NKI version of the kernel.
    """
    since = CHANGES["legacy-namespace"].since
    imports, advice = (
        "imports neuronxcc.nki, the legacy dialect, which",
        "import nki, nki.language and nki.isa",
    )
    if holds_in(version, since, None):
        reason = f"{imports} NKI {version} refuses (an error since {since}.0); {advice}"
        return MissingName(KernelErrorKind.COMPILE_ERROR, reason)
    reason = f"{imports} NKI {version} still takes and this emulator does not speak; {advice}"
    return MissingName(KernelErrorKind.UNSUPPORTED, reason)


def _absence(name: Name, version: str) -> str:
    """Return why a version does not have a name that others have or had."""
    if name.until is None or not holds_in(version, name.until, None):
        return f"exists since NKI {name.since}; this kernel is compiled for {version}"
    if name.until == OLDEST:
        return f"was removed from NKI (it belongs to neuronxcc.nki); {name.instead}"
    return f"was removed in NKI {name.until}; {name.instead}"


def unexpected_keyword(keyword: str, known: Iterable[str]) -> str:
    """Return what is wrong with a keyword that a function does not have.

    Args:
        keyword: As passed.
        known: Keywords the function has.
    """
    if keyword in _REMOVED_KEYWORDS:
        return f"has no keyword {keyword!r}: {_REMOVED_KEYWORDS[keyword]}"
    close = get_close_matches(keyword, list(known), n=2)
    hint = f", did you mean {' or '.join(close)}?" if close else ""
    return f"got an unexpected keyword argument {keyword!r}{hint}"
