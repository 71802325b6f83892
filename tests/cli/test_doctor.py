"""``doctor``: says what there is, and never what is secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.execute.sandbox import Level
from tests.cli.terminal import run

pytestmark = pytest.mark.sandbox


def test_every_sandbox_level_is_named_with_whether_and_why(tmp_path: Path) -> None:
    ended = run("doctor", "--db", tmp_path / "g.duckdb", "--json")
    assert ended.code == 0, ended.out
    checks = {line["what"]: line for line in ended.data["checks"]}
    for level in Level:
        assert checks[f"sandbox: {level}"]["detail"]
    assert checks["isolation"]["status"] == "ok"
    assert ended.data["can_grade"] is True


def test_a_key_is_present_or_not_and_its_value_is_never_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-value")
    ended = run("doctor", "--db", tmp_path / "g.duckdb")
    assert "ANTHROPIC_API_KEY is set" in ended.out
    assert "OPENAI_API_KEY is not set" in ended.out
    assert "secret" not in ended.out + ended.err


def test_a_folder_that_is_not_there_keeps_grading_from_running(tmp_path: Path) -> None:
    ended = run("doctor", "--db", tmp_path / "no" / "g.duckdb")
    assert ended.code == 1
    assert f"{tmp_path / 'no'} is no folder" in ended.out
    assert ended.out.endswith("Grading cannot run here.\n")


def test_looking_changes_nothing(tmp_path: Path) -> None:
    run("doctor", "--db", tmp_path / "g.duckdb")
    assert list(tmp_path.iterdir()) == []
