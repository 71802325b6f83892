"""The documentation names everything that exists, and nothing that does not.

`tests/cli/test_documentation.py` does the same for commands, options and exit codes.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import duckdb
import pytest

from pipeline.checks import CHECKS
from pipeline.cli.main import command_line
from pipeline.config import Settings
from pipeline.execute.sandbox import Level
from pipeline.library.lock import read_lock
from pipeline.library.roots import rubrics_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.task_schema import TaskFile
from pipeline.store import open_store
from pipeline.types import Destination, Provenance, Verdict
from tests.contracts.test_layers import LAYERS
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS, environment, run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def rows_under(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the tables between `heading` and the next heading of any depth."""
    text = (DOCS / page).read_text()
    start = re.search(rf"^{re.escape(heading)}\n", text, re.MULTILINE)
    assert start, f"{page} has no line {heading!r}"
    part = re.split(r"^#", text[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in part.splitlines() if line.startswith("|") and not re.match(r"\| ?-", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names_under(page: str, heading: str, column: int = 0) -> set[str]:
    """Return the names in backticks in a column of those tables."""
    return {name for row in rows_under(page, heading) for name in re.findall(r"`([^`]+)`", row[column])}


# What exists is documented, and what is documented exists.


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {row[0].strip("`"): row[2] for row in rows_under("python.md", "## Settings")}
    del documented["setting"]
    assert set(documented) == {field.name for field in dataclasses.fields(Settings)}
    assert documented["judge"] == f"`{Settings().judge}`"
    assert documented["allow_unsandboxed"] == f"`{Settings().allow_unsandboxed}`"


def test_every_check_is_documented() -> None:
    assert names_under("grading.md", "## Checks and facts") == set(CHECKS)


def test_every_provenance_is_documented() -> None:
    wanted = {provenance.value for provenance in Provenance}
    assert names_under("trainium.md", "# Trainium") == wanted


def test_every_verdict_is_documented() -> None:
    assert names_under("tasks.md", "## Verdicts") == {verdict.value for verdict in Verdict}


def test_every_key_of_a_task_is_documented() -> None:
    text = (DOCS / "tasks.md").read_text()
    for key, field in TaskFile.model_fields.items():
        assert re.search(rf"`(\[{{0,2}}){key}(\]{{0,2}})`", text), key
        for kind in re.findall(r"[A-Z]\w+", str(field.annotation)):
            model = getattr(importlib.import_module("pipeline.types"), kind, None)
            for name in getattr(model, "model_fields", {}):
                assert f"`{name}`" in text, f"{key}.{name}"


def test_every_destination_is_documented() -> None:
    text = (DOCS / "grading.md").read_text()
    for destination in Destination:
        assert f"`{destination.value}`" in text


RUBRICS = [(name, version) for name, versions in read_lock(rubrics_root()).items() for version in versions]


@pytest.mark.parametrize(("name", "version"), RUBRICS)
def test_every_criterion_is_documented_with_its_weight_and_who_scores_it(name: str, version: str) -> None:
    rubric = load_rubric(name, version)
    text = (DOCS / "grading.md").read_text()
    # Versions that differ in their anchors and steps alone share a table.
    versions = rf"(?:v\d+ and )*{version}(?: and v\d+)*"
    table = re.search(rf"^`{name}` {versions}: (.*?)\n\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert table, f"docs/grading.md has no table of {name} {version}"
    assert f"passes from {rubric.overall.pass_mark:g}," in table[1]
    assert f"at least {rubric.overall.minimum_scored_weight:g} of the weight" in table[1]
    documented = re.findall(r"^\| `(\w+)` \| (\S+) \| (.*) \|$", table[2], re.MULTILINE)
    expected = []
    for criterion in rubric.criteria:
        source = "judge" if criterion.check is None else f"`{criterion.source}`"
        by = f", by `{criterion.scale.fact}`" if criterion.scale is not None else ""
        expected.append((criterion.id, f"{criterion.weight:g}", source + by))
    assert documented == expected


@pytest.mark.parametrize(("name", "version"), RUBRICS)
def test_the_gates_of_every_rubric_are_documented(name: str, version: str) -> None:
    part = (DOCS / "grading.md").read_text().partition("### The rubrics")[2].partition("\n\n`")[0]
    assert set(load_rubric(name, version).overall.gates) <= set(re.findall(r"`(\w+)`", part))


def test_every_isolation_level_is_documented_strongest_first() -> None:
    documented = [row[0].strip("`") for row in rows_under("sandbox.md", "## Levels")]
    assert documented == ["level", *(level.value for level in Level)]


def test_the_layers_are_those_that_the_contract_enforces() -> None:
    documented = [tuple(re.findall(r"`(\w+)`", row[0])) for row in rows_under("architecture.md", "## Layers")]
    assert documented[1:] == list(LAYERS)


def test_every_table_and_view_is_documented(tmp_path: Path) -> None:
    path = tmp_path / "g.duckdb"
    with open_store(path):
        pass
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert names_under("store.md", "## Tables") == {name for (name,) in (*tables, *views)}


# What the documentation tells people to do works.


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of a database with one right and one wrong submission, and one input that is none."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "nothing.py").write_text("x = 1\n")
    files = [TINY_SOLUTIONS / "good_add.py", TINY_SOLUTIONS / "bad_multiplies.py", folder / "nothing.py"]
    database = folder / "g.duckdb"
    completed = run("grade", *files, "--tasks", TINY_TASKS, "--db", database)
    assert completed.returncode == 0, completed.stderr
    return database.with_name("g.duckdb.snapshot")


QUERIES = re.findall(r"```sql\n(.*?)```", (DOCS / "store.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.splitlines()[0].removeprefix("-- "))
def test_a_query_for_analysts_runs_on_a_snapshot(graded: Path, query: str) -> None:
    with duckdb.connect(str(graded), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    assert rows or re.search("decisions|desk_events", query)


def test_the_first_query_counts_each_verdict_once(graded: Path) -> None:
    with duckdb.connect(str(graded), read_only=True) as connection:
        rows = connection.execute(QUERIES[0]).fetchall()
    assert sorted(rows) == [("tiny_add", "correct", 1), ("tiny_add", "incorrect", 1)]


def commands_in(text: str) -> Iterator[str]:
    """Yield every command line that begins with ``nki-grader``, in blocks and in running text."""
    yield from re.findall(r"^\s*(?:\.venv/bin/)?(nki-grader .*)$", text, re.MULTILINE)
    yield from re.findall(r"`(nki-grader [^`]+)`", text)


COMMANDS = [(page.name, line) for page in PAGES for line in commands_in(page.read_text())]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_every_command_line_parses(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = command_line
    context = click.Context(command, info_name="nki-grader")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if words[0] == "COMMAND":
            return
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command, context = found, click.Context(found, parent=context, **found.context_settings)
    command.make_parser(context).parse_args(words)


def options_of(command: click.Command) -> set[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        children = [command.get_command(context, name) for name in command.list_commands(context)]
        return set().union(*(options_of(child) for child in children if child is not None))
    return {spelling for option in command.params for spelling in option.opts + option.secondary_opts}


@every_page
def test_every_option_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"`(--[a-z-]+)", page.read_text())) - {"--help"}
    # Docker's, where docs/sandbox.md says how to let a container make namespaces.
    assert named - {"--security-opt"} <= options_of(command_line)


PYTHON = [
    (p.name, block) for p in PAGES for block in re.findall(r"```python\n(.*?)```", p.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("page", "block"), PYTHON)
def test_every_python_example_is_python_and_imports_what_exists(page: str, block: str) -> None:
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)


def test_the_first_python_example_grades() -> None:
    _, example = next((page, block) for page, block in PYTHON if page == "python.md")
    solution = ROOT / "data" / "tasks" / "softmax_rows" / "solutions" / "good_simple.py"
    script = f"code = open({str(solution)!r}).read()\n{example}"
    completed = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    verdict, overall, destination = completed.stdout.splitlines()[:3]
    assert verdict == "correct"
    assert 0 < float(overall) <= 1
    assert destination == "review"


@every_page
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make (\w+)", page.read_text(), re.MULTILINE)) <= targets


# Nothing points at what is not there.


def anchors_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    # Code may look like a link: kernel[2](x).
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors_of(there), target


@every_page
def test_every_path_of_the_repository_that_is_named_exists(page: Path) -> None:
    folders = "pipeline|tests|docs|evals|prompts|rubrics|data"
    # Arguments of a command are files of whoever types it.
    text = re.sub(r"nki-grader .*", "", page.read_text())
    for path in re.findall(rf"(?<![\w/.])((?:{folders})/[\w./-]*\w/?)", text):
        assert (ROOT / path).exists(), path


@every_page
def test_every_module_and_test_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    for dotted in re.findall(r"\bpipeline(?:\.\w+)+", text):
        if dotted.endswith(".py"):
            continue
        module, _, name = dotted.rpartition(".")
        try:
            importlib.import_module(dotted)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), name), dotted
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert set(re.findall(r"`(test_\w+)`", text)) <= defined


@every_page
def test_a_page_names_no_path_of_a_machine(page: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:work|home|root)/\S*", page.read_text())
