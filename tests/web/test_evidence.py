"""Evidence in tabs: what stages established, and nothing that a judge said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.report.collect import Detail
from pipeline.store import Store, open_store
from pipeline.types import Fact, Finding, Inspection, Provenance, Severity
from pipeline.web.evidence import collect_evidence, fact_anchor
from tests.report.examples import fill, load


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("evidence") / "grades.duckdb"
    with open_store(path) as opened:
        fill(opened)
        yield opened


@pytest.fixture
def detail(examples: Store) -> Detail:
    return load(examples, "correct")


def with_fact(detail: Detail, fact_id: str) -> Detail:
    fact = Fact(id=fact_id, value=1, provenance=Provenance.MODELLED)
    inspection = detail.inspection
    assert inspection is not None
    return replace(detail, inspection=inspection.model_copy(update={"facts": (*inspection.facts, fact)}))


def test_a_tab_appears_when_its_facts_do(detail: Detail) -> None:
    assert "performance" not in [tab.id for tab in collect_evidence(detail).tabs]
    tabs = collect_evidence(with_fact(detail, "profile.hbm_read_bytes")).tabs
    assert [fact.id for tab in tabs if tab.id == "performance" for fact in tab.facts] == [
        "profile.hbm_read_bytes"
    ]


def test_facts_of_a_stage_yet_to_come_are_shown_too(detail: Detail) -> None:
    tabs = collect_evidence(with_fact(detail, "migration.kernels")).tabs
    assert [fact.id for fact in tabs[-1].facts] == ["migration.kernels"]
    assert tabs[-1].title == "More facts"


def test_every_fact_is_in_one_tab(detail: Detail) -> None:
    shown = [fact.id for tab in collect_evidence(detail).tabs for fact in tab.facts]
    assert sorted(shown) == sorted(fact.id for fact in detail.facts)


def test_nothing_that_ran_leaves_no_tabs_but_what_stopped_it(examples: Store) -> None:
    evidence = collect_evidence(load(examples, "binary"))
    assert [tab.id for tab in evidence.tabs][:1] == ["compile"]
    assert evidence.faults[0].code == "binary"


def test_findings_are_listed_once_and_errors_first(detail: Detail) -> None:
    inspection = detail.inspection
    assert isinstance(inspection, Inspection)
    findings = tuple(
        Finding(check="legal", severity=severity, message=severity.value)
        for severity in (Severity.INFO, Severity.ERROR, Severity.WARNING, Severity.ERROR)
    )
    report = inspection.reports[0].model_copy(update={"findings": findings})
    changed = replace(detail, inspection=inspection.model_copy(update={"reports": (report,)}))
    assert [one.severity.value for one in collect_evidence(changed).findings[:3]] == [
        "error",
        "warning",
        "info",
    ]


def test_cases_that_failed_come_first_and_hidden_ones_stay_hidden(detail: Detail) -> None:
    rows = collect_evidence(detail).cases
    verdicts = [row.result.verdict.value == "correct" for row in rows]
    assert verdicts == sorted(verdicts)
    assert all(row.hidden == (row.result.kind.value == "hidden") for row in rows)


def test_a_fact_has_one_place_in_the_page() -> None:
    assert fact_anchor("run.worst_rel_l2") == "fact-run.worst_rel_l2"
