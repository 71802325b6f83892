from __future__ import annotations

from pathlib import Path

import click
import pytest

from pipeline.cli.grade import command
from pipeline.cli.main import command_line
from pipeline.cli.options import read_rubric_versions
from pipeline.cli.session import read_settings
from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.execute.sandbox import Level

UNSET = {
    "tasks_root": None,
    "rubrics_root": None,
    "rubric_versions": {},
    "judge": "rules",
    "target": None,
    "toolchain": None,
    "sandbox": None,
    "allow_unsandboxed": False,
    "workers": None,
}


def test_the_sandbox_levels_offered_are_those_there_are() -> None:
    (option,) = [parameter for parameter in command.params if parameter.name == "sandbox"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == [level.value for level in Level]


def test_options_left_out_give_the_default_settings() -> None:
    assert read_settings(UNSET) == Settings()


def test_options_reach_the_settings_they_name() -> None:
    given = {
        "tasks_root": Path("t"),
        "target": "trn2",
        "toolchain": "0.5",
        "sandbox": "limits",
        "allow_unsandboxed": True,
        "workers": 3,
        "battery_seed": "5eed" * 8,
        "rubric_versions": {"performance_quality": "v1"},
        "policy": "strict@v1",
    }
    assert read_settings(UNSET | given) == Settings(
        tasks=Path("t"),
        target="trn2",
        toolchain="0.5",
        sandbox="limits",
        allow_unsandboxed=True,
        workers=3,
        battery_seed="5eed" * 8,
        rubric_versions={"performance_quality": "v1"},
        policy="strict@v1",
    )


def list_options(command: click.Command) -> list[click.Parameter]:
    found = list(command.params)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += list_options(inner)
    return found


def test_no_option_takes_what_is_no_finite_number() -> None:
    numbers = [
        option for option in list_options(command_line) if isinstance(option.type, click.types.FloatParamType)
    ]
    assert {option.name for option in numbers} >= {"margin", "max_cost", "max_cost_per_day"}
    for option in numbers:
        for value in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter):
                option.type.convert(value, option, None)


def test_rubric_versions_are_pairs() -> None:
    assert read_rubric_versions(("a=v1", "b=v2")) == {"a": "v1", "b": "v2"}


@pytest.mark.parametrize("values", [("a",), ("=v1",), ("a=",), ("a=v1", "a=v2")])
def test_what_is_no_pair_or_given_twice_is_refused(values: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter):
        read_rubric_versions(values)


@pytest.mark.parametrize(
    "given",
    [
        {"judge": "nobody"},
        {"rubric_versions": {"nothing": "v1"}},
        {"rubric_versions": {"performance_quality": "v99"}},
        {"policy": "lax"},
        {"policy": "standard@v99"},
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_opened(given: dict[str, object]) -> None:
    with pytest.raises(GraderError):
        read_settings(UNSET | given)
