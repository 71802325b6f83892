"""Is the error one of rounding, and which lines round?"""

from __future__ import annotations

from typing import Final

from pipeline.checks.check import Evidence
from pipeline.checks.facts import measure_own_error
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.checks.study import LOST_AT, find_studied, name_line
from pipeline.types import CheckReport, Finding, OutputError, Severity, Study, Verdict

__all__ = ["PrecisionLoss"]

#: As `ErrorMargin` has it: half of what the tolerance leaves is room enough.
_COMFORTABLE: Final = 0.5
#: Share of the error below which a line is not worth an author's time.
_WORTH_TELLING: Final = 0.05


class PrecisionLoss:
    """Passed when rounding costs at most half of what the tolerance leaves for it.

    Rests on the study of one case: the program in float64 throughout says what the method alone costs, and
    the same with one line rounding at a time says where the rest arises. Whether a kernel is right is the
    question of `correct`; this one says why it is not, or where it would first go wrong.
    """

    id = "precision_loss"
    title = "Where precision is lost"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the study."""
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        study = evidence.run.study
        if study is None:
            return leave_open(self.id, "no numerics study was made")
        error = find_studied(evidence.run, study)
        if error is None or error.tolerance is None:
            return leave_open(self.id, "the case that was studied has no tolerance to measure against")
        studied = {case.verdict for case in evidence.run.cases if case.case == study.case}
        if evidence.run.verdict is not Verdict.CORRECT and studied == {Verdict.CORRECT}:
            return leave_open(
                self.id, "no case that is wrong could be studied: each is hidden or has no finite output"
            )
        if study.exact_rel_l2 is not None and not study.exact_rel_l2 <= error.tolerance.rel_l2:
            return self._blame_method(study)
        return self._blame_rounding(study, error)

    def _blame_method(self, study: Study) -> CheckReport:
        message = (
            "Wrong even in exact arithmetic: without any rounding the program is still off by"
            f" {study.exact_rel_l2:.4g}. The mistake is in the method, not in rounding: compare the formula"
            " with the statement, term by term."
        )
        finding = Finding(
            check=self.id, severity=Severity.ERROR, message=message, facts=("numerics.exact_rel_l2",)
        )
        return fail(self.id, "wrong even in exact arithmetic, so no rounding is to blame", [finding])

    def _blame_rounding(self, study: Study, error: OutputError) -> CheckReport:
        own = measure_own_error(error)
        wrong = error.beyond > 0 or own is None or not own <= 1
        if not wrong and own is not None and own <= _COMFORTABLE:
            findings = self._name_lines(study, Severity.INFO)
            return succeed(self.id, "rounding costs at most half of what the tolerance leaves", findings)
        findings = self._name_lines(study, Severity.ERROR if wrong else Severity.WARNING)
        much = "more than the tolerance leaves" if wrong else "more than half of what the tolerance leaves"
        if not findings:
            return leave_open(self.id, f"rounding costs {much}, at lines that were not found")
        return fail(self.id, f"rounding costs {much}, most of it at line {findings[0].lines[0]}", findings)

    def _name_lines(self, study: Study, severity: Severity) -> list[Finding]:
        """Return one finding that names the lines, the worst first; none where no line stands out."""
        told = [line for line in study.lines if line.share >= _WORTH_TELLING]
        if not told:
            return []
        message = f"The error that rounding makes arises at {'; '.join(map(name_line, told))}."
        if severity is not Severity.INFO:
            message += (
                " Keep what the first of them writes in float32, or bring it to a size at which rounding"
                " costs less: subtract a maximum or a mean before."
            )
        finding = Finding(
            check=self.id,
            severity=severity,
            message=message,
            lines=tuple(dict.fromkeys(line.line for line in told)),
            facts=tuple(LOST_AT.format(place) for place in range(1, len(told) + 1)),
        )
        return [finding]
