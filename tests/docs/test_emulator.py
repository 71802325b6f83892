"""The emulator's pages: tables as its registries have them, every name of NKI, examples that run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.reference import FIDELITIES, TABLES, refresh
from pipeline.emulator.reference.sampling import sample
from pipeline.emulator.toolchain import SURFACE, Kind
from tests.cli.terminal import run as run_command
from tests.docs.test_docs import DOCS, ROOT
from tests.e2e.commands import environment

PAGES = ("emulator.md", "coverage.md", "rules.md")


def test_every_table_stands_on_one_page() -> None:
    marks = [
        mark for page in PAGES for mark in re.findall(r"<!-- begin (\w+) -->", (DOCS / page).read_text())
    ]
    assert sorted(marks) == sorted(TABLES)


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_the_emulator_are_those_of_its_registries(page: str) -> None:
    text = (DOCS / page).read_text()
    assert text == refresh(text), f"run: .venv/bin/python -m pipeline.emulator.reference docs/{page}"


# Coverage.


def covered() -> dict[str, list[str]]:
    """The cells of every row of coverage by the name it is about."""
    text = (DOCS / "coverage.md").read_text()
    tables = "\n".join(re.findall(r"<!-- begin names_\w+ -->\n(.*?)<!-- end", text, re.DOTALL))
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        for line in tables.splitlines()
        if line.startswith("| `")
    ]
    names = [row[0].strip("`") for row in rows]
    assert len(set(names)) == len(names), "a name stands twice"
    return dict(zip(names, rows, strict=True))


COVERED = covered()


def test_every_name_of_nki_is_covered() -> None:
    wanted = {(owner, name) for owner, names in SURFACE.items() for name in names}
    assert len(COVERED) == len(wanted)
    for owner, name in wanted:
        short = owner.replace("nki.language.NkiTensor", "NkiTensor")
        short = re.sub(r"^nki\.language\b", "nl", re.sub(r"^nki\.isa\b", "nisa", short))
        assert f"{short}.{name}" in COVERED


@pytest.mark.parametrize(
    ("name", "status", "fidelity", "targets", "versions", "note"),
    [
        ("nl.add", "emulated", "exact", "all", "all", ""),
        ("nl.exp", "emulated", "approximate", "all", "all", ""),
        ("nl.rand", "emulated", "unmodelled", "all", "all", "not the device's"),
        ("nl.program_id", "emulated", "", "all", "all", ""),
        ("nl.abs_max", "emulated", "exact", "trn3", "since 0.4", ""),
        ("nl.divide", "refused", "", "", "all", "nisa.reciprocal"),
        ("nl.average", "operator", "", "all", "since 0.5", ""),
        ("nl.arange", "removed", "", "", "before 0.3", "t[a:b, c:d]"),
        ("nl.dynamic_range", "emulated", "", "all", "all; deprecated since 0.6", "nl.fori_loop"),
        ("nki.compiler", "unsupported", "", "", "all", ""),
        ("nisa.topk", "emulated", "approximate", "all", "since 0.6", ""),
        ("nisa.nc_matmul_mx", "emulated", "exact", "trn3", "all", ""),
        ("nisa.tensor_copy_dynamic_src", "removed", "", "", "before 0.4", "nisa.tensor_copy"),
        ("nisa.engine.vector", "emulated", "", "all", "all", ""),
        (
            "nki.collectives.all_gather_v",
            "emulated",
            "exact; unmodelled between two data types",
            "all",
            "since 0.6",
            "",
        ),
    ],
)
def test_a_row_of_coverage_says(
    name: str, status: str, fidelity: str, targets: str, versions: str, note: str
) -> None:
    row = COVERED[name]
    assert (row[2], row[3], row[4], row[5]) == (status, fidelity, targets, versions)
    assert note in row[6]


FUNCTIONS = [
    name for name in SURFACE["nki.language"].values() if name.kind is Kind.FUNCTION and not name.until
]


@pytest.mark.parametrize("name", FUNCTIONS, ids=lambda name: name.name)
def test_a_function_of_the_language_is_legal_where_its_row_says(name) -> None:
    row = COVERED[f"nl.{name.name}"]
    assert sample(name).targets == (frozenset() if row[2] == "refused" else name.targets)


def test_every_fidelity_that_depends_on_arguments_is_explained() -> None:
    assert set(FIDELITIES) == {name for name, operation in OPERATIONS.items() if callable(operation.fidelity)}


# Examples: a Python block that begins with a comment of its file's name is that file.

TEXT = (DOCS / "emulator.md").read_text()
README = (ROOT / "README.md").read_text()
CONSOLE = re.compile(r"```console\n\$ (.*?)\n(.*?)```", re.DOTALL)
FILES = {
    name: block
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    for name in re.findall(r"\A# (\w+\.py)\n", block)
}
SESSIONS = CONSOLE.findall(README) + CONSOLE.findall(TEXT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_examples() -> None:
    assert len(SESSIONS) >= 6


@pytest.mark.parametrize(("command", "printed"), SESSIONS)
def test_an_example_prints_what_the_page_shows(folder: Path, command: str, printed: str) -> None:
    words = shlex.split(command)
    if words[0] == "nki-grader":
        ended = run_command(*words[1:])
        assert ended.out + ended.err == printed
    else:
        completed = subprocess.run(
            [sys.executable, *words[1:]],
            cwd=folder,
            env={**environment(), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert completed.stdout + completed.stderr == printed


def test_the_emulator_of_the_readme_prints_what_its_comment_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(import numpy.*?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(example, {})
    assert f"# {capsys.readouterr().out}" in example
