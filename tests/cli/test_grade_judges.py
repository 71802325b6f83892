"""``grade`` with a judge that asks models: caps, keys, rehearsals and labels, as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipeline.judge.providers.compatible import forget_dialects
from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, Ended, run
from tests.e2e.commands import copy_database
from tests.judge.loopback import Loopback

KEY = "sk-ant-api03-Zq81xkLmVb77TrueSecret"
GOOD = (TINY_SOLUTIONS / "good_add.py", TINY_SOLUTIONS / "good_add_swapped.py")


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NKI_GRADER_MODELS"):
        monkeypatch.delenv(name, raising=False)
    forget_dialects()
    with Loopback() as server:
        yield server
    forget_dialects()


class Desk:
    """Grades with one judge into one database."""

    def __init__(self, folder: Path, server: Loopback) -> None:
        self.database = folder / "g.duckdb"
        self.server = server

    def grade(self, *arguments: str | Path, files: tuple[Path, ...] = GOOD[:1]) -> Ended:
        judge: tuple[str | Path, ...] = ("--judge", "anthropic", "--base-url", self.server.address)
        if "--judge" in arguments:
            judge = ()
        return run("grade", *files, "--tasks", TINY_TASKS, "--db", self.database, *judge, *arguments)

    def costs(self) -> tuple[int, int]:
        """Return calls and micro-dollars."""
        lines = run("costs", "--db", self.database, "--json").data["lines"]
        return sum(line["calls"] for line in lines), sum(line["cost"] for line in lines)


@pytest.fixture
def empty_desk(tmp_path: Path, loopback: Loopback) -> Desk:
    return Desk(tmp_path, loopback)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which all is known of the good submissions but what models say."""
    database = tmp_path_factory.mktemp("known") / "g.duckdb"
    ended = run("grade", *GOOD, "--tasks", TINY_TASKS, "--db", database)
    assert ended.code == 0, ended.err
    return database


@pytest.fixture
def desk(known: Path, empty_desk: Desk) -> Desk:
    """A desk with a copy of that database, so that nothing has to run before a model is asked."""
    copy_database(known, empty_desk.database)
    return empty_desk


def only_line(text: str) -> str:
    (line,) = text.splitlines()
    return line


# Refused before anything is sent.

ROLE = '[judge]\nprovider = "anthropic"\nmodel = "m"\nbase_url = "{address}"\n'
BAD_SETUPS = {
    "no TOML": ("x = ", "is no TOML"),
    "unknown key": (f'{ROLE}colour = "red"\n', "there is no key judge.colour"),
    "no base url": ('[judge]\nprovider = "openai-compatible"\nmodel = "m"\n', "set base_url"),
    "no scheme": ('[judge]\nprovider = "openai"\nmodel = "m"\nbase_url = "h/v1"\n', "http://127.0.0.1:8000/v1"),
    "no key": (f'{ROLE}key_variable = "NOBODY_SET_THIS"\n', "NOBODY_SET_THIS is not set"),
    "no key file": (f'{ROLE}key_file = "/nowhere/key"\n', "the key file /nowhere/key cannot be opened"),
    "a cap without a price": (f"{ROLE}[policy]\nmax_cost = 1\n", "the price of m (judge, anthropic)"),
    "provider not allowed": (f'{ROLE}[policy]\nsend_to = ["local"]\n', "may not be sent to anthropic"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_SETUPS)
def test_a_judge_that_is_not_set_up_is_one_line_and_nothing_is_sent(
    name: str, empty_desk: Desk, tmp_path: Path
) -> None:
    text, message = BAD_SETUPS[name]
    file = tmp_path / "judge.toml"
    file.write_text(text.format(address=empty_desk.server.address))
    ended = empty_desk.grade("--judge", file)
    assert (ended.code, ended.out) == (2, "")
    assert message in only_line(ended.err)
    assert empty_desk.server.requests == []
    assert not empty_desk.database.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "openai-compatible", "--model", "m"), "set base_url"),
        (("--judge", "openai-compatible", "--base-url", "http://127.0.0.1:1/v1"), "--model NAME"),
        (("--judge", "anthropic", "--send-to", "openai"), "may not be sent to anthropic"),
        (("--judge", "none.toml"), "none.toml: cannot be read"),
        (("--judge", "rules", "--model", "m"), "the rules judge asks no model"),
        (("--judge", "rules", "--dry-run"), "this judge asks no model"),
        (("--judge", "anthropic", "--max-cost", "0"), "--max-cost"),
        (("--judge", "anthropic", "--fresh", "a label"), "a label is up to 64"),
        (("--judge", "anthropic", "--fresh", str(TINY_TASKS)), "is a path, not a label"),
    ],
)
def test_an_option_that_does_not_fit_is_one_line(
    arguments: tuple[str, ...], message: str, empty_desk: Desk
) -> None:
    ended = empty_desk.grade(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in only_line(ended.err)
    assert empty_desk.server.requests == []


def test_a_key_file_that_others_can_read_is_refused_and_its_key_not_shown(
    empty_desk: Desk, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o644)
    file = tmp_path / "judge.toml"
    file.write_text(ROLE.format(address=empty_desk.server.address) + f'key_file = "{key}"\n')
    refused = empty_desk.grade("--judge", file)
    assert refused.code == 2
    assert f"chmod 600 {key}" in only_line(refused.err)
    assert KEY not in refused.err
    assert empty_desk.server.requests == []


# Runs that stop, and go on.

pytestmark = pytest.mark.sandbox


def test_a_wrong_key_stops_the_run_and_the_right_one_finishes_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.server.key = KEY
    wrong = KEY[:-6] + "Forged"
    monkeypatch.setenv("ANTHROPIC_API_KEY", wrong)
    stopped = desk.grade("--json", files=GOOD)
    assert stopped.code == 4
    assert stopped.data["stopped"]["code"] == "wrong_key"
    assert (stopped.data["held"], stopped.data["graded"]) == (0, 0)
    # Whoever was under way goes to a person, who is told why there is no draft; the others are left open.
    asked = [row for row in stopped.data["gradings"] if row["state"] == "waiting"]
    assert asked
    assert {row["state"] for row in stopped.data["gradings"]} <= {"waiting", "open"}
    assert all("the judge could not draft it: " in row["reason"] for row in asked)
    assert only_line(stopped.err).startswith(f"stopped: {len(asked)} of 2 done; ")
    assert "check the key" in stopped.err
    assert wrong[8:] not in stopped.err + stopped.out
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = desk.grade("--json", files=GOOD)
    assert (done.code, done.data["waiting"], done.data["stopped"]) == (0, 2, None)
    assert all("no certificate" in row["reason"] for row in done.data["gradings"])
    answered = [call for call in desk.server.calls if call.headers["authorization"] == f"Bearer {KEY}"]
    assert len(answered) == 2


@pytest.mark.parametrize("checkpoints", ["kept", "lost"])
def test_a_person_may_decide_what_no_judge_could_draft_and_that_stands(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, checkpoints: str
) -> None:
    desk.server.key = KEY
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY[:-6] + "Forged")
    (row,) = desk.grade("--json").data["gradings"]
    shown = run("show", row["grading_id"], "--db", desk.database, "--json").data
    assert shown["judgment"]["fault"]["owner"] == "environment"
    assert shown["confidence"]["value"] is None
    if checkpoints == "lost":
        with duckdb.connect(str(desk.database)) as connection:
            connection.execute("DELETE FROM checkpoints")
            connection.execute("DELETE FROM checkpoint_writes")
    level = ("--level", "judgement=3", "--level", "overlap=2")
    decided = run("review", "decide", row["review_id"], "--db", desk.database, *level, "--reviewer", "ada")
    assert decided.code == 0, decided.err
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    again = desk.grade("--json")
    assert (again.data["graded"], again.data["computed"]) == (1, 0)
    released = run("show", row["grading_id"], "--db", desk.database, "--json").data
    assert released["grade"]["decided_by"] == "ada"
    assert len([call for call in desk.server.calls if call.headers["authorization"] == f"Bearer {KEY}"]) == 0


def test_a_cap_stops_before_it_is_passed_and_a_higher_one_goes_on_from_there(desk: Desk) -> None:
    # A call may write 8192 tokens, so some $0.10 are set aside for each; the answers cost less than $0.01.
    stopped = desk.grade("--max-cost", "0.105", files=GOOD)
    assert stopped.code == 4
    assert "stopped: 1 of 2 done; this run has spent" in stopped.err
    assert "raise --max-cost" in only_line(stopped.err)
    assert "1 waiting for a person, 0 held, 1 left open" in stopped.out
    assert "1 of 1 verdicts as expected" in stopped.out
    calls, cost = desk.costs()
    assert calls == 1
    assert cost < 105_000
    done = desk.grade("--max-cost", "0.2", files=GOOD)
    assert done.code == 0, done.err
    assert desk.costs()[0] == len(desk.server.calls) == 2


def test_a_second_run_asks_nothing_and_another_database_asks_again(desk: Desk, tmp_path: Path) -> None:
    first = desk.grade()
    assert first.code == 0
    cost = desk.costs()[1]
    assert f"1 call to models for ${cost / 1e6:.4f}; 0 answers were stored already" in first.out
    assert desk.grade("--json").data["computed"] == 0
    assert len(desk.server.calls) == 1
    (tmp_path / "other").mkdir()
    assert Desk(tmp_path / "other", desk.server).grade().code == 0
    assert len(desk.server.calls) == 2


def test_fresh_asks_again_and_its_label_goes_on_with_that_run(desk: Desk) -> None:
    assert desk.grade().code == 0
    again = desk.grade("--fresh")
    assert (again.code, len(desk.server.calls)) == (0, 2)
    label = only_line(again.err).partition("--fresh ")[2].split()[0]
    same = desk.grade("--fresh", label, "--json")
    assert (same.code, same.data["computed"], len(desk.server.calls)) == (0, 0, 2)


def test_a_judge_asked_for_a_model_it_lacks_stops_the_run(desk: Desk) -> None:
    desk.server.play("status:404")
    stopped = desk.grade()
    assert stopped.code == 4
    assert "check the model's name" in only_line(stopped.err)


# Rehearsals.


def test_a_dry_run_sends_nothing_needs_no_key_and_shows_every_part(
    empty_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    shown = empty_desk.grade("--dry-run", files=(*GOOD, TINY_SOLUTIONS / "bad_multiplies.py"))
    assert (shown.code, shown.err) == (0, "")
    for part in (
        "good_add.py ",
        "overlap, judgement",
        f"anthropic claude-sonnet-5-5 at {empty_desk.server.address}: 2 calls, at most ",
        "guidance and rubric",
        "comments and docstrings",
        "What is never sent",
        "3 submissions: a model would be asked about 2",
        "Nothing was sent.",
    ):
        assert part in shown.out
    assert empty_desk.server.requests == []
    assert run("costs", "--db", empty_desk.database).out == "No model was asked anything.\n"
    assert run("review", "list", "--db", empty_desk.database, "--json").data == []


def test_a_dry_run_in_json_holds_what_the_real_run_then_sends(desk: Desk) -> None:
    planned = desk.grade("--dry-run", "--json", "--author", "Secret Author").data
    (request,) = planned["requests"]
    assert (request["provider"], request["role"], request["criteria"]) == (
        "anthropic", "judge", ["overlap", "judgement"],
    )  # fmt: skip
    assert Path(request["origin"]).name == "good_add.py"
    assert desk.server.requests == []
    assert desk.grade("--author", "Secret Author").code == 0
    (call,) = desk.server.calls
    assert "Secret Author" not in json.dumps([call.body, planned])
    assert [block["text"] for block in call.body["system"]] == request["system"]
    assert call.body["output_config"]["format"]["schema"].keys() == request["schema"].keys()
    assert call.body["max_tokens"] == request["estimate"]["output_tokens"]
    _, cost = desk.costs()
    assert cost <= request["estimate"]["cost"]


def test_tokens_are_counted_by_the_provider_when_asked_for_and_nothing_is_bought(desk: Desk) -> None:
    estimated = desk.grade("--dry-run", "--json").data["estimate"]
    counted = desk.grade("--dry-run", "--count-tokens", "--json").data["estimate"]
    (request,) = desk.server.requests
    assert request.path.endswith("/count_tokens")
    assert 0 < counted["input_tokens"] < estimated["input_tokens"]
    assert counted["cost"] < estimated["cost"]
    assert run("costs", "--db", desk.database).out == "No model was asked anything.\n"
    refused = desk.grade("--count-tokens")
    assert refused.code == 2
    assert "--dry-run" in only_line(refused.err)


def test_a_dry_run_after_the_run_has_nothing_to_ask(desk: Desk) -> None:
    assert desk.grade().code == 0
    shown = desk.grade("--dry-run")
    assert "1 submission: no model would be asked" in shown.out


def test_a_dry_run_of_nothing_is_bad_input(empty_desk: Desk, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("x = 1\n")
    ended = empty_desk.grade("--dry-run", files=(kernel,))
    assert ended.code == 2
    assert ended.out.startswith("rejected: ")
    assert only_line(ended.err) == "error: there was nothing to grade: every input was rejected"


# A panel.


def test_a_panel_asks_the_second_when_unsure_and_the_arbiter_when_they_differ(
    desk: Desk, tmp_path: Path
) -> None:
    levels = {"cheap": (4, 0.3), "strong": (1, 0.9), "last": (3, 0.9)}

    def answer(wire: str, body: dict[str, object]) -> str:
        level, sure = levels[str(body["model"])]
        citation = {"fact": "profile.dma_bytes_per_partition", "value": "256"}
        entry = {
            "reason": "Each transfer is small.",
            "citations": [citation],
            "level": level,
            "confidence": sure,
        }
        item = {"part": "next", "text": "Move wider rows with each transfer.", "citations": [citation]}
        return json.dumps({"scores": {"overlap": entry, "judgement": entry}, "feedback": [item]})

    desk.server.answer = answer
    file = tmp_path / "panel.toml"
    hosted = f'provider = "anthropic"\nbase_url = "{desk.server.address}"\n'
    file.write_text(
        f'[judge]\n{hosted}model = "cheap"\n[second]\n{hosted}model = "strong"\n'
        f'[arbiter]\nprovider = "openai-compatible"\nname = "local"\nmodel = "last"\n'
        f'base_url = "{desk.server.address}/v1"\n[policy]\nsend_to = ["anthropic", "local"]\n'
    )
    (grading,) = desk.grade("--judge", file, "--json").data["gradings"]
    assert [call.body["model"] for call in desk.server.calls] == ["cheap", "strong", "last"]
    judgment = run("show", grading["grading_id"], "--db", desk.database, "--json").data["judgment"]
    (overlap,) = [score for score in judgment["scores"] if score["criterion"] == "overlap"]
    assert overlap["level"] == 3  # the middle of 1, 3 and 4
    assert [vote["level"] for vote in overlap["votes"]] == [4, 1, 3]
    by_provider = run("costs", "--db", desk.database, "--by", "provider", "--json").data["lines"]
    assert {line["value"]: line["calls"] for line in by_provider} == {"anthropic": 2, "local": 1}


# What is not used is not loaded.

_SCRIPT = """
import sys
from pipeline.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(f"exit {ended.code}", *sys.modules, sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["grade", "costs"])
def test_help_loads_no_sdk(command: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT, command, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stderr.split())
    assert "pipeline.cli.main" in loaded
    assert loaded & {"anthropic", "openai", "tenacity", "httpx", "pydantic", "duckdb"} == set()


def test_grading_by_rules_loads_no_sdk(tmp_path: Path) -> None:
    arguments = (
        "grade",
        TINY_SOLUTIONS / "bad_syntax.py",
        "--tasks",
        TINY_TASKS,
        "--db",
        tmp_path / "g.duckdb",
    )
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stderr.split())
    assert "exit" in loaded
    assert "pipeline.judge.rules" in loaded
    # LangGraph brings tenacity and httpx along by itself.
    assert loaded & {"anthropic", "openai", "pipeline.judge.language", "pipeline.judge.calls.caller"} == set()
