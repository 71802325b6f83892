"""The entry point: quick to start, and every failure is one line and a documented exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.errors import EXIT_CODES, ExitCode, explain_failure
from pipeline.errors import GraderError
from pipeline.types import Fault, Owner
from tests.cli.terminal import run

#: Each takes longer to import than the whole of ``--help`` may take.
HEAVY = {"anthropic", "duckdb", "jinja2", "langgraph", "matplotlib", "numpy", "openai", "pydantic", "rich"}

_SCRIPT = """
import sys
from pipeline.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [("--help",), ("grade", "--help"), ("review", "decide", "--help"), ("--version",)]
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments], capture_output=True, text=True, check=True
    )
    assert "pipeline.cli.main" in ended.stderr.split()
    assert HEAVY & set(ended.stderr.split()) == set()
    assert ended.stdout


def test_help_names_every_command_and_exit_code() -> None:
    ended = run("--help")
    assert ended.code == 0
    for name in ("grade", "show", "review", "report", "tasks", "emulate", "doctor"):
        assert f"\n  {name} " in ended.out
    for code, meaning in EXIT_CODES.items():
        assert f"{code}  {meaning}" in ended.out


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("show",), ("grade", "--workers", "0", "x"), ("grade", "/does/not/exist")]
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.code == ExitCode.USAGE
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("owner", "code"),
    [
        (Owner.SUBMISSION, ExitCode.USAGE),
        (Owner.TASK, ExitCode.USAGE),
        (Owner.ENVIRONMENT, ExitCode.FAULT),
        (Owner.JUDGE, ExitCode.FAULT),
        (Owner.GRADER, ExitCode.FAULT),
    ],
)
def test_a_fault_is_one_line_and_its_owner_sets_the_exit_code(
    owner: Owner, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Fault(owner=owner, code="x", message="it\nbroke\x1b[31m", where="a.py:1", remedy="mend it")
    assert explain_failure(GraderError(fault)) == code
    assert capsys.readouterr().err == "error: a.py:1: it broke␛[31m (mend it)\n"


def test_a_defect_of_ours_shows_where_it_is_and_says_whose(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_failure(ZeroDivisionError("division by zero")) == ExitCode.FAULT
    err = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in err
    assert err.splitlines()[-1].startswith("error: this is a defect of nki-grader, not of your input")


@pytest.mark.sandbox
def test_a_terminal_that_cannot_encode_a_sign_gets_its_number(graded: Path) -> None:
    review = run("review", "list", "--db", graded, "--json").data[0]["review"]["id"]
    ended = subprocess.run(
        [sys.executable, "-m", "pipeline.cli.main", "show", review, "--db", str(graded)],
        capture_output=True,
        env={"PYTHONIOENCODING": "latin-1", "PATH": "/usr/bin:/bin"},
        check=True,
    )
    assert b"\\u2014" in ended.stdout
