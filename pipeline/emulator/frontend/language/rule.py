"""What a rule of the language is, and what it finds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from pipeline.emulator.frontend.language.code import Function, KernelCode
from pipeline.emulator.operations.table import Severity
from pipeline.emulator.toolchain import OLDEST

__all__ = ["DEVICE", "FRONT_END", "GUIDE", "NOTES_0_3", "Breach", "Finding", "LanguageRule", "about_nodes"]

#: The statements and expressions that the guide lists are those the compiler evaluates.
GUIDE: Final = "NKI language guide"
NOTES_0_3: Final = "NKI 0.3.0 release notes, Breaking Changes, and its update guide"
#: The parser of NKI 0.2 and 0.3 as its authors published it (interop/klr/gather.c, KLR/NKI/Simplify.lean).
FRONT_END: Final = "published source of the front end (leanprover/KLR, 2026-03-25)"
#: Comments and notes in public repositories whose kernels were compiled for a device under NKI 0.6.
DEVICE: Final = "refusals under 0.6 that public repositories quote"


class Breach(NamedTuple):
    """Where and how a rule is broken.

    Attributes:
        function: In whose body.
        line: 1-based.
        message: What, and what to write instead; one line.
    """

    function: Function
    line: int
    message: str


class Finding(NamedTuple):
    """What a rule says about a submission.

    Attributes:
        rule: Id of the rule.
        severity: Whether the compiler refuses it.
        message: What, and what to write instead; one line.
        line: Line of the submission, 1-based; 0 where none applies.
    """

    rule: str
    severity: Severity
    message: str
    line: int


@dataclass(frozen=True, slots=True)
class LanguageRule:
    """One rule of the language.

    Attributes:
        id: Stable name.
        about: What it is about, in one line; a breach's message adds the remedy.
        find: Yields the breaches in what the compiler reads.
        source: Where it is documented, or who saw it.
        severity: Whether the compiler refuses a breach.
        since: First NKI version it holds in.
        until: First NKI version it no longer holds in, or None.
    """

    id: str
    about: str
    find: Callable[[KernelCode], Iterator[Breach]]
    source: str
    severity: Severity = Severity.ERROR
    since: str = OLDEST
    until: str | None = None


def about_nodes(
    id: str,
    about: str,
    message: str,
    *kinds: type[ast.expr | ast.stmt],
    where: Callable[[ast.AST], bool] = lambda node: True,
    source: str = f"{GUIDE}; {FRONT_END}",
    severity: Severity = Severity.ERROR,
) -> LanguageRule:
    """Return the rule that refuses every node of some kinds.

    Args:
        id: See `LanguageRule`.
        about: See `LanguageRule`.
        message: Of each breach.
        *kinds: Node types.
        where: Which nodes of these types; all by default.
        source: See `LanguageRule`.
        severity: See `LanguageRule`.
    """

    def find(code: KernelCode) -> Iterator[Breach]:
        for function, node in code.sites(*kinds):
            if where(node):
                yield Breach(function, node.lineno, message)

    return LanguageRule(id, about, find, source, severity)
