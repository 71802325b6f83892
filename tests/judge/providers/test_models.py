"""The list of models: what the shipped file says, what a file of one's own changes, what an answer costs."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.judge.providers.models import MODELS_VARIABLE, find_model, find_price, load_models
from pipeline.types import JudgeRole, Usage


def make_role(provider: str, model: str, name: str = "") -> JudgeRole:
    return JudgeRole.model_validate(
        {"provider": provider, "model": model, "name": name, "base_url": "http://127.0.0.1:1/v1"}
    )


def cost(provider: str, model: str, *, batch: bool = False, **tokens: int) -> int:
    price = find_model(make_role(provider, model)).price
    assert price is not None
    return price.cost(Usage(**{f"{kind}_tokens": count for kind, count in tokens.items()}), batch=batch)


# A price in dollars per million tokens is one in micro-dollars per token.
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # 1000 x 4 + 2000 x 0.20 + 100 x 5 + 300 x 20
        ("claude-opus-5-5", 4000 + 400 + 500 + 6000),
        # 1000 x 2 + 2000 x 0.10 + 100 x 2.50 + 300 x 10
        ("claude-sonnet-5-5", 2000 + 200 + 250 + 3000),
        # 1000 x 0.10 + 2000 x 0.01 + 100 x 0.125 + 300 x 0.50 = 282.5, rounded up
        ("claude-haiku-5-5", 283),
    ],
)
def test_each_kind_of_token_has_its_price(model: str, expected: int) -> None:
    assert cost("anthropic", model, input=1000, cache_read=2000, cache_write=100, output=300) == expected


def test_a_batch_costs_half_rounded_up() -> None:
    assert cost("anthropic", "claude-opus-5-5", batch=True, input=1, output=1) == 12
    assert cost("openai", "gpt-6.1-terra", batch=True, input=1) == 1


def test_a_long_prompt_is_dearer_as_a_whole() -> None:
    # At 100,000 tokens of prompt, cached ones included, the lower price holds; one more, and all cost five
    # times.
    short = cost("anthropic", "claude-haiku-5-5", input=60_000, cache_read=40_000, output=10)
    long = cost("anthropic", "claude-haiku-5-5", input=60_001, cache_read=40_000, output=10)
    assert short == 6000 + 400 + 5
    assert long == 30_001 + 2000 + 25  # 30,000.5 rounded up with the rest: 32,025.5


def test_openai_doubles_what_is_read_above_272_000_tokens() -> None:
    assert cost("openai", "gpt-6.2-sol", input=272_000, output=100) == 544_000 + 1000
    assert cost("openai", "gpt-6.2-sol", input=272_001, output=100) == 1_088_004 + 1500


def test_nothing_costs_nothing() -> None:
    assert cost("openai", "gpt-6-luna") == 0


def test_tenths_add_up_exactly() -> None:
    # In binary floating point 3 x 0.1 is a little more than 0.3, and 30 times that would round up to 4.
    assert cost("openai", "gpt-6-luna", input=30) == 3


def test_the_shipped_list_says_when_and_where_it_was_read() -> None:
    models = load_models()
    assert date(2026, 11, 1) <= models.as_of <= date(2027, 12, 31)
    assert models.sources


@pytest.mark.parametrize("key", sorted(load_models().models), ids=" ".join)
def test_every_shipped_model_is_priced_in_the_order_that_every_provider_keeps(key: tuple[str, str]) -> None:
    model = load_models().models[key]
    assert model.price is not None
    for rates in filter(None, (model.price, model.price.long)):
        assert rates.cache_read is not None
        assert rates.cache_write is not None
        assert 0 < rates.cache_read < rates.input < rates.cache_write < rates.output
    assert model.max_output_tokens < model.context_tokens
    assert model.concurrency.start <= model.concurrency.maximum


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-compatible"])
def test_an_unknown_model_has_limits_and_no_price(provider: str) -> None:
    model = find_model(make_role(provider, "model-of-tomorrow"))
    assert (model.id, model.provider, model.price) == ("model-of-tomorrow", provider, None)
    assert model.context_tokens > model.max_output_tokens > 0


def test_a_compatible_server_does_not_take_over_the_price_of_a_hosted_model() -> None:
    assert find_model(make_role("openai-compatible", "gpt-6.2-sol")).price is None


def test_the_model_that_is_asked_by_default_is_priced() -> None:
    models = load_models()
    assert models.default_models.keys() == {"anthropic", "openai"}
    for provider, model in models.default_models.items():
        assert models.models[provider, model].price is not None


def test_the_price_of_a_batch_is_found_under_whatever_name_its_provider_has() -> None:
    price = find_model(make_role("anthropic", "claude-opus-5-5")).price
    assert find_price("anthropic", "claude-opus-5-5") == price
    assert find_price("our-team", "claude-opus-5-5") == price
    assert find_price("our-team", "model-of-tomorrow") is None


OWN = """
[[model]]
provider = "anthropic"
id = "claude-opus-5-5"
context_tokens = 50_000
price = { input = 3, output = 15 }

[[model]]
provider = "local"
id = "*"
concurrency = { start = 1, maximum = 2 }
price = { input = 0, output = 0 }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def test_a_file_of_ones_own_replaces_an_entry(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODELS_VARIABLE, str(own))
    model = find_model(make_role("anthropic", "claude-opus-5-5"))
    assert model.context_tokens == 50_000
    assert model.price is not None
    # What has no price of its own costs as much as input.
    usage = Usage(input_tokens=1, cache_read_tokens=10, cache_write_tokens=100, output_tokens=1)
    assert model.price.cost(usage, batch=True) == 3 * 111 + 15
    assert find_model(make_role("anthropic", "claude-sonnet-5-5")).context_tokens == 1_000_000


def test_an_entry_can_stand_for_every_model_of_a_server(own: Path) -> None:
    models = load_models(own)
    model = models.find(make_role("openai-compatible", "qwen", name="local"))
    assert (model.id, model.concurrency.maximum) == ("qwen", 2)
    assert model.price is not None
    assert model.price.cost(Usage(input_tokens=5, output_tokens=5)) == 0
    assert models.find(make_role("openai-compatible", "qwen", name="other")).price is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[model]\n", "bad"),
        ("[model]\nid = 1\n", "[[model]]"),
        ("[modles]\n", "modles"),
        ('[[model]]\nprovider = "x"\n', "id"),
        ('[[model]]\nprovider = "x"\nid = "y"\nprice = { input = -1, output = 1 }\n', "price.input"),
        ('[[model]]\nprovider = "x"\nid = "y"\nprice = { input = nan, output = 1 }\n', "price.input"),
        ('[[model]]\nprovider = "x"\nid = "y"\ncolour = "red"\n', "colour"),
    ],
)
def test_a_file_that_says_nothing_sensible_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(GraderError) as caught:
        load_models(path)
    assert caught.value.fault.code == "bad_models_file"
    assert caught.value.fault.where == str(path)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraderError) as caught:
        load_models(tmp_path / "none.toml")
    assert caught.value.fault.code == "bad_models_file"


def test_the_list_of_models_and_the_package_load_no_sdk() -> None:
    code = (
        "import sys, pipeline.judge.providers\n"
        "from pipeline.judge.providers.models import load_models\n"
        "load_models()\n"
        "sys.exit(' '.join(sorted({'anthropic', 'openai', 'httpx2'} & sys.modules.keys())))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
