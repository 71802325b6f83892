"""docs/correctness.md names every pattern, hazard and fact, and shows limits in the grader's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from evals.correctness.mutants import MUTATIONS
from evals.precision.cases import CASES
from evals.redteam.cases import load_attacks, load_honest
from pipeline.checks.study import read_study
from pipeline.compare.cases import derive_limits
from pipeline.compare.oracle import Oracle
from pipeline.emulator.precision import HAZARDS
from pipeline.execute.references import Draw
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task
from pipeline.types import LineError, Numerics, Pattern, RunResult, Study, Verdict
from pipeline.types.task import Battery
from tests.docs.test_docs import DOCS, names_under, rows_under

PAGE = DOCS / "correctness.md"
TEXT = PAGE.read_text()


def test_every_pattern_is_documented_in_the_order_of_the_battery() -> None:
    documented = [row[0].strip("`") for row in rows_under("correctness.md", "## Batteries")]
    assert documented == ["pattern", *(pattern.value for pattern in Pattern)]


def test_every_hazard_is_documented() -> None:
    assert names_under("correctness.md", "### Hazards") == set(HAZARDS)


def test_every_fact_of_a_study_is_documented() -> None:
    study = Study(
        case="one tile",
        output="out",
        rel_l2=2e-7,
        float32_rel_l2=1e-7,
        bfloat16_rel_l2=1e-3,
        gpu_rel_l2=1e-4,
        exact_rel_l2=1e-16,
        targets={"trn3": 0.0},
        lines=(LineError(line=4, operation="activation", rel_l2=1e-7, share=1.0),),
    )
    run = RunResult(verdict=Verdict.CORRECT, executor="emulator", sandbox="limits", study=study)
    known = {re.sub(r"\.trn3$", ".CHIP", fact.id) for fact in read_study(run)}
    known = {re.sub(r"\.1$", ".N", name) for name in known}
    documented = {row[0].strip("`") for row in rows_under("correctness.md", "## The numerics study")}
    assert documented - {"fact"} == known


@pytest.mark.parametrize(("heading", "model"), [("### Numerics", Numerics), ("### Battery", Battery)])
def test_every_key_stands_in_the_table_of_its_section(
    heading: str, model: type[Numerics] | type[Battery]
) -> None:
    keys = {name for row in rows_under("tasks.md", heading) for name in re.findall(r"`(\w+)`", row[0])}
    assert keys == set(model.model_fields)


def test_every_finding_of_the_audit_is_documented() -> None:
    source = (DOCS.parent / "pipeline" / "compare" / "audit.py").read_text()
    raised = set(re.findall(r'^ +"([a-z]+(?:_[a-z]+)+)",$', source, re.MULTILINE))
    assert names_under("tasks.md", "## The audit") == raised


def test_the_suites_have_the_sizes_that_are_told() -> None:
    assert f"holds {len(load_attacks())} such submissions" in TEXT
    assert f"and {len(load_honest())} honest ones" in TEXT
    assert f"Of {len(CASES)} kernels with one planted loss" in TEXT
    assert f"{len(MUTATIONS)} kinds of mutations" in TEXT


@pytest.fixture(scope="module")
def derivation() -> Iterator[tuple[str, ...]]:
    """That of the case whose derivation the page shows, on inputs of any seed."""
    task = load_task(tasks_root() / "softmax_rows")
    case = next(case for case in task.cases if case.name == "one tile")
    level = choose_level(allow_unsandboxed=True)
    with SandboxPool(1, level, ("pipeline.execute.jobs.reference",)) as workers:
        draw = Oracle(workers).draw(task, case, 0)
        assert isinstance(draw, Draw)
        yield derive_limits(task, draw)[0].derivation


def test_the_derivation_that_is_shown_is_in_the_words_of_the_grader(derivation: tuple[str, ...]) -> None:
    block = re.search(r"^limits of .*?(?=^```)", TEXT, re.MULTILINE | re.DOTALL)
    assert block
    text = re.sub(r"^limits of .*$", "", block[0], flags=re.MULTILINE)
    shown = [" ".join(step.split()) for step in text.split("•")[1:]]

    def without_measurements(steps: tuple[str, ...] | list[str]) -> list[str]:
        return sorted(
            re.sub(r"off by \d\S*( to \S+)?,|(scaled by|costs) [\d.e-]+", "N", step) for step in steps
        )

    assert without_measurements(shown) == without_measurements(derivation)
