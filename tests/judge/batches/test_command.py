"""``nki-grader grade --provider-batches``, as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.errors import ExitCode
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS, command, environment, run, run_json
from tests.judge.loopback import Loopback

pytestmark = pytest.mark.slow

MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}


def answer(wire: str, request: dict[str, Any]) -> str | None:
    """Give the first submission an answer that has to be repaired, and everything else the usual one."""
    turns = request["messages"] if wire == "anthropic" else request["input"]
    asked = [turn["content"] for turn in turns if turn["role"] == "user"]
    return "I like it." if "variant 0" in json.dumps(turns) and len(asked) == 1 else None


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(answer=answer, batch_seconds=0.3) as opened:
        yield opened


class Command:
    """One command line, over three submissions and one sample of each."""

    def __init__(self, folder: Path, server: Loopback, provider: str) -> None:
        self.db = folder / "grader.duckdb"
        code = (TINY_SOLUTIONS / "good_add.py").read_text()
        submissions = folder / "submissions"
        submissions.mkdir()
        for number in range(3):
            (submissions / f"s{number}.py").write_text(f'LABEL = "variant {number}"\n{code}')
        key = folder / "key"
        key.write_text("sk-a-key-that-opens-nothing")
        key.chmod(0o600)
        setup = folder / "judge.toml"
        setup.write_text(
            f'[judge]\nprovider = "{provider}"\nmodel = "{MODELS[provider]}"\nkey_file = "{key}"\n'
            f'base_url = "{server.url(provider)}"\n[policy]\nbatch_poll_seconds = 0.2\n'
        )
        self.arguments: list[str | Path] = [
            "grade", submissions, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", self.db,
            "--judge", setup, "--provider-batches",
        ]  # fmt: skip

    def list_levels(self) -> list[float | None]:
        """Return what each submission came to; None of one without a judgment."""
        ids = run_json("review", "list", "--db", self.db)
        return [entry["grading"]["overall"] for entry in ids]


def count_lines(server: Loopback) -> list[int]:
    return [len(batch.lines) for batch in server.desk.batches.values()]


def test_a_run_takes_two_rounds_at_half_the_price_and_its_repetition_none(
    tmp_path: Path, server: Loopback
) -> None:
    given = Command(tmp_path, server, "anthropic")
    done = run(*given.arguments)
    assert done.returncode == ExitCode.OK, done.stderr
    assert count_lines(server) == [3, 1]
    assert server.calls == []
    assert None not in given.list_levels()
    (line,) = run_json("costs", "--db", given.db, "--by", "provider")["lines"]
    assert (line["calls"], line["answered"], line["open"]) == (4, 4, 0)
    assert run(*given.arguments).returncode == ExitCode.OK
    assert count_lines(server) == [3, 1]
    # The same, asked one by one, costs twice as much, up to the rounding of four amounts.
    live = [argument for argument in given.arguments if argument != "--provider-batches"]
    assert run(*live, "--fresh", "live").returncode == ExitCode.OK
    (both,) = run_json("costs", "--db", given.db, "--by", "provider")["lines"]
    assert len(server.calls) == 4
    assert abs(both["cost"] - 3 * line["cost"]) <= 4


def test_a_cap_ends_the_run_after_what_was_sent_came_back_and_the_next_run_goes_on(
    tmp_path: Path, server: Loopback
) -> None:
    given = Command(tmp_path, server, "anthropic")
    # Room for the dearest question, whose estimate varies a little with the random boundary; and as an answer
    # costs more than that, then for no other.
    requests = run_json(*given.arguments, "--dry-run")["requests"]
    cap = max(request["estimate"]["cost"] for request in requests) + 50
    capped = run(*given.arguments, "--max-cost", f"{cap / 1_000_000:.6f}")
    assert capped.returncode == ExitCode.STOPPED, capped.stderr
    sent = sum(count_lines(server))
    assert sent == 1, capped.stderr
    (line,) = run_json("costs", "--db", given.db, "--by", "provider")["lines"]
    assert (line["answered"], line["open"]) == (sent, 0)
    assert 50 < line["cost"] <= cap
    done = run(*given.arguments)
    assert done.returncode == ExitCode.OK, done.stderr
    assert sum(count_lines(server)) == 4
    assert None not in given.list_levels()


def test_interrupted_while_it_waits_the_same_command_goes_on_with_what_was_sent(
    tmp_path: Path, server: Loopback
) -> None:
    server.desk.seconds = None
    given = Command(tmp_path, server, "openai")
    process = subprocess.Popen(
        command(*given.arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    polled = ("/v1/messages/batches/", "/v1/batches/")
    limit = time.monotonic() + 120
    while not any(request.path.startswith(polled) for request in list(server.requests)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == ExitCode.INTERRUPTED, said
    assert "Traceback" not in said
    server.desk.seconds = 0.0
    done = run(*given.arguments)
    assert done.returncode == ExitCode.OK, done.stderr
    assert count_lines(server) == [3, 1]
    assert None not in given.list_levels()
