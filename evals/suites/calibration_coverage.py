"""Whether certificates, intervals and the drift alarm keep their word: Monte Carlo with known truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from evals.certificates import clustered, drift, prediction_powered, selective
from evals.certificates.trials import Mean, Outcome
from evals.suites.suite import Options, Suite
from evals.suites.table import Better, Row, Table, show_rate

__all__ = ["SUITE", "measure"]

#: Samples behind the mean coverages that are compared with: fewer differ from them by chance alone.
_ENOUGH: Final = 600
_PARTS: Final = {
    "selective": selective.measure,
    "by task": clustered.measure,
    "true mean": prediction_powered.measure,
    "drift alarm": drift.measure,
}


def measure(options: Options) -> Table:
    """Return how often each guarantee is broken, beside what it claims."""
    table = Table(suite=SUITE.name, asked=options.describe())
    for name, part in _PARTS.items():
        options.on_progress(name)
        for outcome in part(options.repeats) if options.repeats else part():
            table.rows.append(_convert(name, outcome))
    table.failures = [f"{row.name}: {row.what} {row.gate}" for row in table.rows if not row.as_wanted]
    return table


def _convert(part: str, outcome: Outcome | Mean) -> Row:
    name = f"{part}: {outcome.name}"
    if isinstance(outcome, Mean):
        gate = f"{outcome.expected:g} +- {outcome.tolerance:g}"
        if outcome.trials < _ENOUGH:
            remark = f"too few samples for the gate {gate}"
            return Row(name, "mean", outcome.value, outcome.trials, remark=remark)
        return Row(name, "mean", outcome.value, outcome.trials, gate=gate, as_wanted=outcome.holds)
    better: Better = None
    if outcome.claim != "none":
        better = "lower" if outcome.claim == "most" else "higher"
    # One setting may have two claims, at least this and at most that: they are told apart by these words.
    what = {"most": "how often, at most", "least": "how often, at least", "none": "how often"}[outcome.claim]
    shown = show_rate(name, what, outcome.hits, outcome.trials, remark=outcome.remark)
    gate = "" if outcome.claim == "none" else f"at {outcome.claim} {outcome.limit:g}"
    return replace(shown, better=better, gate=gate, as_wanted=outcome.holds)


SUITE: Final = Suite(
    name="calibration-coverage",
    summary="How often certificates, intervals and the drift alarm break their word, on known truth.",
    heeds=frozenset({"repeats"}),
    measure=measure,
)
