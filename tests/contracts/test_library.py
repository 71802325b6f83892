"""Every published version of a rubric, prompt or policy, not only the newest, is one that grading can use."""

from __future__ import annotations

import dataclasses

import pytest

from pipeline.checks import CHECKS, collect_facts, inspect_all
from pipeline.checks.threshold import Threshold
from pipeline.emulator.targets import ENGINES
from pipeline.execute import counts
from pipeline.judge.prompt import render_prompt
from pipeline.library.lock import read_lock, verify_lock
from pipeline.library.policies import load_policy
from pipeline.library.prompts import load_prompt
from pipeline.library.roots import policies_root, prompts_root, rubrics_root
from pipeline.library.rubrics import load_rubric
from tests.checks.evidence import CASES, a_profile, a_program, a_task, an_honest_answer
from tests.judge.test_rules_judge import a_request

RUBRICS = [(name, version) for name, versions in read_lock(rubrics_root()).items() for version in versions]
PROMPTS = [(name, version) for name, versions in read_lock(prompts_root()).items() for version in versions]
POLICIES = [(name, version) for name, versions in read_lock(policies_root()).items() for version in versions]
every_rubric = pytest.mark.parametrize(("name", "version"), RUBRICS)

#: What is no fact: the texts that a reader is given.
TEXTS = {"code", "source", "statement"}


def known_facts() -> set[str]:
    """Ids of every fact that the emulator's profile, the checks and the collector can establish."""
    program = a_program(
        counts={quantity.name: 1.0 for quantity in counts._COUNTED},
        instructions_per_engine=dict.fromkeys(ENGINES, 1),
    )
    profiled = counts.profile_facts(a_task(), CASES[2], program, "trn2")
    hard = an_honest_answer(profile=a_profile(fp32_matmul_share=0.5))
    inspected = (*collect_facts(hard), *(fact for report in inspect_all(hard) for fact in report.facts))
    # A threshold may wait for a fact that only a device, or a later release, establishes.
    awaited = {check.fact for check in CHECKS.values() if isinstance(check, Threshold)}
    return {fact.id for fact in (*profiled, *inspected)} | awaited


@every_rubric
def test_a_rubric_has_five_to_eight_criteria_with_an_anchor_per_level(name: str, version: str) -> None:
    rubric = load_rubric(name, version)
    assert 5 <= len(rubric.criteria) <= 8
    for criterion in rubric.criteria:
        assert [level.level for level in criterion.levels] == [0, 1, 2, 3, 4]
        assert all(level.anchor for level in criterion.levels)


@every_rubric
def test_a_rubric_names_checks_and_gates_that_exist(name: str, version: str) -> None:
    rubric = load_rubric(name, version)
    named = {criterion.check for criterion in rubric.criteria if criterion.check is not None}
    assert named | set(rubric.overall.gates) <= set(CHECKS)
    assert rubric.overall.gates


@every_rubric
def test_a_rubric_asks_for_evidence_that_something_can_establish(name: str, version: str) -> None:
    asked = {item for criterion in load_rubric(name, version).criteria for item in criterion.evidence}
    assert asked - TEXTS <= known_facts()


@pytest.mark.parametrize(("name", "version"), PROMPTS)
def test_a_prompt_has_placeholders_that_are_all_filled(name: str, version: str) -> None:
    prompt = load_prompt(name, version)
    request = a_request(an_honest_answer(), "performance_quality")
    rendered = render_prompt(dataclasses.replace(request, prompt=prompt))
    text = "\n".join((*rendered.system, rendered.user))
    for placeholder in prompt.placeholders:
        assert f"{{{{{placeholder}}}}}" not in text


@pytest.mark.parametrize(("name", "version"), POLICIES)
def test_a_policy_demands_measured_only_what_some_rubric_asks(name: str, version: str) -> None:
    policy = load_policy(f"{name}@{version}")
    asked = {criterion.id for rubric in RUBRICS for criterion in load_rubric(*rubric).criteria}
    assert set(policy.demand_measured) <= asked


def test_every_policy_is_published_and_unchanged() -> None:
    verify_lock(policies_root(), ".toml")
    on_disk = {(path.parent.name, path.stem) for path in policies_root().glob("*/*.toml")}
    assert on_disk == set(POLICIES)
