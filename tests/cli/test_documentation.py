"""docs/cli.md names every command, option and exit code, and names none that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pipeline.cli.errors import EXIT_CODES
from pipeline.cli.main import command_line

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from walk(child, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(walk(command_line))


def section_of(name: str) -> str:
    match = re.search(
        rf"^## `nki-grader {name}[ `].*?(?=^## )", DOCS.read_text() + "\n## ", re.MULTILINE | re.DOTALL
    )
    assert match, f"docs/cli.md has no section for {name}"
    return match[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_section_of_a_command_names_each_of_its_options(name: str) -> None:
    section = section_of(name) + shared_options(section_of(name))
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            for spelling in (*parameter.opts, *parameter.secondary_opts):
                assert f"`{spelling}" in section, f"{spelling} of {name} is not documented"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_names_no_option_that_the_command_lacks(name: str) -> None:
    spellings = {
        spelling
        for parameter in COMMANDS[name].params
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }
    named = set(re.findall(r"^\| `(-[-\w]+)", section_of(name), re.MULTILINE))
    assert named <= spellings


def test_every_section_belongs_to_a_command() -> None:
    titles = re.findall(r"^## `nki-grader ([a-z]+(?: [a-z]+)?)", DOCS.read_text(), re.MULTILINE)
    assert set(titles) == set(COMMANDS)


def test_every_exit_code_is_documented_with_its_meaning() -> None:
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"^\| {code} \| {re.escape(meaning)}", DOCS.read_text(), re.MULTILINE)


def shared_options(section: str) -> str:
    """Return the table of grading options where `section` refers to it."""
    if "[grading options](#grading-options)" not in section:
        return ""
    text = DOCS.read_text()
    start = text.index("## Grading options")
    return text[start : text.index("\n## ", start + 1)]
