"""Names that the version has and advises against."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pipeline.emulator.frontend.language.code import KernelCode
from pipeline.emulator.frontend.language.rule import Breach, LanguageRule
from pipeline.emulator.operations.table import Severity
from pipeline.emulator.toolchain import find

__all__ = ["RULES"]

_SHORT: Final = {"nki.language": "nl", "nki.isa": "nisa", "nki.language.tile_size": "nl.tile_size"}


def _deprecated(code: KernelCode) -> Iterator[Breach]:
    told: set[str] = set()
    for function, node in code.sites(ast.Name, ast.Attribute):
        dotted = code.dotted(node, function)
        owner, _, name = dotted.rpartition(".")
        known = find(owner, name) if owner else None
        if known is None or not known.deprecated_in(code.version) or dotted in told:
            continue
        told.add(dotted)
        yield Breach(
            function,
            node.lineno,
            f"{_SHORT.get(owner, owner)}.{name} is deprecated since NKI {known.deprecated}: {known.instead}",
        )


RULES: Final = (
    LanguageRule(
        "deprecated-name",
        "a name that the version advises against",
        _deprecated,
        "type stubs and release notes of NKI",
        Severity.WARNING,
    ),
)
