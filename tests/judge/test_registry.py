"""Judges by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge import JUDGES, check_judge, open_judge
from pipeline.store import open_store

FROM = "http://127.0.0.1:1/v1"


def opened_id(tmp_path: Path, settings: Settings) -> str:
    with open_store(tmp_path / "g.duckdb") as store:
        return open_judge(settings, store).id


def test_there_is_one_judge_that_asks_nobody_and_one_per_wire_format() -> None:
    assert list(JUDGES) == ["rules", "anthropic", "openai", "openai-compatible"]


def test_the_default_judge_is_the_one_by_rules(tmp_path: Path) -> None:
    assert opened_id(tmp_path, Settings()).startswith("rules ")


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-compatible"])
def test_a_language_judge_states_its_model_and_samples(name: str, tmp_path: Path) -> None:
    settings = Settings(judge=name, model="m-1", base_url=FROM)
    assert opened_id(tmp_path, settings).startswith("language 1 m-1x1 ")


def test_a_fresh_run_is_another_judge(tmp_path: Path) -> None:
    settings = Settings(judge="anthropic", model="m", fresh="again")
    assert opened_id(tmp_path, settings).endswith(" draw again")


def test_an_unknown_judge_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for check in (check_judge, lambda settings: opened_id(tmp_path, settings)):
        with pytest.raises(GraderError, match=r"there is no judge 'oracle'.*choose one of: rules, anthropic"):
            check(Settings(judge="oracle"))


def test_a_hosted_judge_needs_its_key_only_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings = Settings(judge="anthropic")
    check_judge(settings, sending=False)
    with pytest.raises(GraderError, match="ANTHROPIC_API_KEY is not set"):
        check_judge(settings)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    check_judge(settings)


def test_a_compatible_server_needs_its_address_even_to_rehearse() -> None:
    with pytest.raises(GraderError, match="needs its address"):
        check_judge(Settings(judge="openai-compatible", model="m"), sending=False)


@pytest.mark.parametrize(
    "settings",
    [Settings(model="m"), Settings(base_url=FROM), Settings(provider_batches=True)],
    ids=["model", "base_url", "provider_batches"],
)
def test_what_only_a_language_judge_can_use_is_refused_without_one(settings: Settings) -> None:
    with pytest.raises(GraderError, match="the rules judge asks no model"):
        check_judge(settings)


def test_a_batch_is_refused_where_the_provider_takes_none() -> None:
    settings = Settings(judge="openai-compatible", model="m", base_url=FROM, provider_batches=True)
    with pytest.raises(GraderError, match="takes no batches"):
        check_judge(settings, sending=False)
