"""What a person hears of values outside the range for which the device's result is documented."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pipeline.checks import CHECKS
from pipeline.checks.inspection import inspect_submission
from pipeline.types import CaseResult, CheckReport, CheckStatus, Observation, Severity, Verdict
from tests.checks.evidence import a_case, a_run, an_honest_answer

LOG = {"function": "log", "low": 2.0**-64, "high": 2.0**64, "least": 0.0, "greatest": 3.5}


def seen(**changes: Any) -> Observation:
    return Observation(**{"line": 6, **LOG, **changes})


def report_on(*cases: CaseResult, **run: Any) -> CheckReport:
    return CHECKS["activation_range"].inspect(an_honest_answer(run=a_run(*cases, **run)))


def finding_on(observation: Observation) -> str:
    (finding,) = report_on(a_case("small", observations=(observation,))).findings
    return finding.message


def test_it_names_line_function_both_ranges_and_a_remedy() -> None:
    report = report_on(a_case("small", observations=(seen(),)))
    (finding,) = report.findings
    assert report.status is CheckStatus.FAILED
    assert finding.severity is Severity.ERROR
    assert finding.lines == (6,)
    assert finding.message == (
        "log gets values down to 0 in case small, and the device's result is documented for 2^-64 to 2^64"
        " only. Clamp from below first, for example with a maximum of 2^-64."
    )


def test_it_passes_where_nothing_was_observed_and_is_open_where_nothing_ran() -> None:
    assert report_on().status is CheckStatus.PASSED
    missing = CHECKS["activation_range"].inspect(an_honest_answer(run=None))
    assert missing.status is CheckStatus.UNKNOWN
    assert report_on(executor="trainium 1").status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"function": "sin", "low": -math.pi, "high": math.pi, "least": -4.0, "greatest": 9.0},
            "values from -4 to 9 in case small, and the device's result is documented for -3.14159 to 3.14",
        ),
        ({"least": 1.0, "greatest": math.inf}, "values up to inf"),
        (
            {"function": "reciprocal", "low": 2.0**-42, "high": 2.0**42, "least": 0.0, "greatest": 1.0},
            "magnitudes down to 0",
        ),
        (
            {"function": "local_gather", "low": 0, "high": 511, "least": 3, "greatest": 512},
            "indices up to 512 in case small, and the device's result is documented for 0 to 511",
        ),
        (
            {
                "function": "quantize_mx",
                "low": -65504.0,
                "high": 65504.0,
                "least": math.nan,
                "greatest": math.nan,
            },
            "inputs that are no numbers",
        ),
        ({"function": "new_function"}, "Bring the values into that range first."),
    ],
)
def test_it_says_which_end_was_left_and_how_far(changes: dict[str, Any], words: str) -> None:
    assert words in finding_on(seen(**changes))


def test_a_line_is_told_once_by_the_case_that_left_the_range_farthest() -> None:
    near, far = seen(least=1.0, greatest=2.0**65), seen(least=1.0, greatest=2.0**70)
    report = report_on(
        a_case("small", observations=(near,)),
        a_case("hard", observations=(far, seen(line=7))),
        a_case("big", observations=(near,)),
    )
    first, second = report.findings
    assert "up to 2^70 in case hard" in first.message
    assert second.lines == (7,)


def test_many_lines_are_counted_instead_of_listed() -> None:
    report = report_on(a_case("small", observations=tuple(seen(line=line) for line in range(1, 12))))
    assert len(report.findings) == 9
    assert report.findings[-1].message == "3 more lines do the same."


def test_what_only_hidden_inputs_show_is_told_without_a_number() -> None:
    gather = seen(function="nc_n_gather", low=0, high=776, least=0, greatest=777)
    report = report_on(a_case("small"), a_case("secret", observations=(gather,)))
    (finding,) = report.findings
    assert finding.lines == (6,)
    assert "hidden" in finding.message
    assert not set("7") & set(f"{report.reason}{finding.message}")
    both = report_on(a_case("small", observations=(seen(),)), a_case("secret", observations=(seen(),)))
    assert len(both.findings) == 1


@pytest.mark.parametrize("verdict", [Verdict.CORRECT, Verdict.INCORRECT])
def test_the_verdict_is_that_of_the_values(verdict: Verdict) -> None:
    run = a_run(a_case("small", verdict, observations=(seen(),)))
    assert inspect_submission(an_honest_answer(run=run)).verdict is verdict


def test_values_that_are_no_numbers_survive_the_store() -> None:
    case = a_case("small", observations=(seen(least=math.nan, greatest=math.inf),))
    (again,) = CaseResult.model_validate_json(case.model_dump_json()).observations
    assert math.isnan(again.least)
    assert again.greatest == math.inf
