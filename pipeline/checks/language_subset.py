"""Does the kernel keep to the Python that the NKI compiler takes?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Severity

__all__ = ["LanguageSubset"]


class LanguageSubset:
    """Passed when nothing in the submission's text is refused, whatever tracing it gave.

    What the compiler merely advises against, or may refuse as some witnesses say, is told as a warning.
    """

    id = "language_subset"
    title = "Within the language"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from what the build read in the text."""
        build = evidence.build
        findings = [f for f in build.findings if f.check == self.id] if build is not None else []
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            return fail(self.id, errors[0].message, findings)
        if build is None or build.verdict is not None:
            reason = explain_missing_programs(evidence) or "the build did not get so far"
            return leave_open(self.id, reason, findings)
        return succeed(self.id, "no construct is one that the compiler refuses", findings)
