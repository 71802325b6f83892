"""Apply every rule of the language to a submission."""

from __future__ import annotations

import ast
from typing import Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.language import definitions, deprecations, expressions, purity, statements
from pipeline.emulator.frontend.language.code import KernelCode
from pipeline.emulator.frontend.language.rule import Finding, LanguageRule
from pipeline.emulator.frontend.language.source import parse
from pipeline.emulator.operations.table import Severity
from pipeline.emulator.toolchain import NEWEST, holds_in

__all__ = ["RULES", "check_kernel", "check_source"]

#: Every rule by id.
RULES: Final[dict[str, LanguageRule]] = {
    rule.id: rule
    for module in (statements, expressions, definitions, purity, deprecations)
    for rule in module.RULES
}

#: More than this says nothing new.
_MAX_FINDINGS: Final = 200


def check_source(source: str, entry: str, version: str = NEWEST, *, defines: bool = False) -> list[Finding]:
    """Say what the NKI compiler refuses or advises against in a submission's kernel.

    Nothing is executed or imported: what the text alone does not show, such as functions of other modules, is
    not judged.

    Args:
        source: Text of the submission.
        entry: Name of the kernel.
        version: NKI version to compile for.
        defines: Whether a text that does not bind the kernel's name at its top level is refused.

    Returns:
        Findings by line, one per rule and line, 200 in all; the compiler takes the text if none is an error.
    """
    try:
        tree = parse(source, "submission.py")
    except KernelError as error:
        return [Finding("syntax", Severity.ERROR, error.message, error.line)]
    if defines and not KernelCode(tree, entry, version).is_defined:
        message = f"the text defines no {entry}: the compiler reads the text, not what running it makes"
        return [Finding("entry-undefined", Severity.ERROR, message, 1)]
    return _check(tree, entry, version)


def check_kernel(tree: ast.Module, entry: str, version: str = NEWEST) -> None:
    """Refuse what the NKI compiler refuses in the kernel called `entry`.

    Raises:
        KernelError: For the first such construct, with its line.
    """
    for finding in _check(tree, entry, version):
        if finding.severity is Severity.ERROR:
            raise KernelError(KernelErrorKind.COMPILE_ERROR, finding.message, finding.line)


def _check(tree: ast.Module, entry: str, version: str) -> list[Finding]:
    code = KernelCode(tree, entry, version)
    found: dict[tuple[str, int], Finding] = {}
    # Errors first, so that no number of warnings crowds one out.
    for rule in sorted(RULES.values(), key=lambda rule: rule.severity is not Severity.ERROR):
        if not holds_in(version, rule.since, rule.until) or len(found) >= _MAX_FINDINGS:
            continue
        for breach in rule.find(code):
            message = breach.message
            if breach.function is not code.kernel:
                message += f" [in {breach.function.name}(), which the kernel reaches]"
            found.setdefault((rule.id, breach.line), Finding(rule.id, rule.severity, message, breach.line))
            if len(found) >= _MAX_FINDINGS:
                break
    return sorted(found.values(), key=lambda finding: (finding.line, finding.rule))
