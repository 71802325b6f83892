"""Judges by name."""

import pytest

from pipeline.errors import GraderError
from pipeline.judge import JUDGES, judge_named


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_states_its_name_and_version(name: str) -> None:
    assert judge_named(name).id.startswith(f"{name} ")


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_an_announced_judge_is_refused_by_name(name: str) -> None:
    with pytest.raises(GraderError, match=rf"'{name}' comes with a later release.*choose one of: rules"):
        judge_named(name)


def test_an_unknown_judge_is_refused_with_the_known_ones() -> None:
    with pytest.raises(GraderError, match=r"there is no judge 'oracle'.*choose one of: rules"):
        judge_named("oracle")
