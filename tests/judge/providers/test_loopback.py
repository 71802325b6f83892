"""The loopback server is itself worth a few checks: other tests believe it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pipeline.judge.answer import answer_schema, read_answer
from pipeline.judge.providers import open_provider
from pipeline.judge.providers.provider import Message, ProviderError
from pipeline.library.rubrics import load_rubric
from pipeline.types import JudgeRole
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import ANSWER, FORMATS, make_request, make_role


async def test_the_same_request_has_the_same_valid_answer(loopback: Loopback) -> None:
    rubric = load_rubric("performance_quality")
    prompt = Message("user", " 1 | \n 2 | import nki\n")
    request = make_request(schema=answer_schema(rubric), messages=(prompt,))
    texts = set()
    for provider in FORMATS:
        opened = open_provider(make_role(loopback, provider))
        for _ in range(2):
            texts.add((await opened.complete(request, timeout=30.0)).text)
        await opened.aclose()
    assert len(texts) == 1
    draft = read_answer(texts.pop(), rubric)
    assert {score.level for score in draft.scores} == {2}
    assert {item.part for item in draft.feedback} == {"works", "change", "next"}
    cited = draft.scores[0].citations[0]
    assert (cited.first_line, cited.quote) == (2, "import nki")


async def test_a_server_of_its_own_process_logs_calls_before_it_answers_them(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "tests.judge.loopback", "--format", "openai", "--log", str(log)]
    with subprocess.Popen([*command, "--step", "reset"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            opened = open_provider(JudgeRole(provider="openai", model="m", base_url=address))
            with pytest.raises(ProviderError, match="broke"):
                await opened.complete(make_request(), timeout=30.0)
            assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
            await opened.aclose()
            with urllib.request.urlopen(address.removesuffix("/v1") + "/_loopback") as answer:
                assert json.load(answer)["calls"] == 2
        finally:
            process.terminate()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    calls = [entry for entry in entries if entry["event"] == "request" and entry["path"] == "/v1/responses"]
    answered = [entry["number"] for entry in entries if entry["event"] == "answered"]
    assert [(call["step"], call["number"] in answered) for call in calls] == [("reset", False), ("ok", True)]
