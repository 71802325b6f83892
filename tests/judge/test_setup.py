"""Who judges, read from settings and files; whatever does not fit is one line that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge.setup import check_setup, read_setup
from pipeline.types import JudgeRole, JudgeSetup

PANEL = """
[judge]
provider = "anthropic"
model = "cheap"
samples = 2

[second]
provider = "anthropic"
model = "strong"

[arbiter]
provider = "openai-compatible"
name = "local"
model = "llama"
base_url = "http://127.0.0.1:8000/v1"

[policy]
escalate_below = 0.5
max_cost = 25
send_to = ["anthropic", "local"]
"""


def write(tmp_path: Path, text: str) -> str:
    file = tmp_path / "panel.toml"
    file.write_text(text)
    return str(file)


def refusal(tmp_path: Path, text: str, **settings: object) -> GraderError:
    with pytest.raises(GraderError) as caught:
        read_setup(Settings(judge=write(tmp_path, text), **settings))  # type: ignore[arg-type]
    return caught.value


def test_a_file_sets_up_a_panel_and_its_policy(tmp_path: Path) -> None:
    setup = read_setup(Settings(judge=write(tmp_path, PANEL)))
    assert [(name, role.called, role.model) for name, role in setup.roles.items()] == [
        ("judge", "anthropic", "cheap"),
        ("second", "anthropic", "strong"),
        ("arbiter", "local", "llama"),
    ]
    assert (setup.judge.samples, setup.second.samples if setup.second else 0) == (2, 1)
    assert (setup.escalate_below, setup.max_cost, setup.max_cost_per_day) == (0.5, 25, None)


def test_settings_outrank_the_file(tmp_path: Path) -> None:
    settings = Settings(
        judge=write(tmp_path, PANEL),
        max_cost=1.5,
        max_cost_per_day=3,
        send_to=("local", "anthropic", "other"),
    )
    setup = read_setup(settings)
    assert (setup.max_cost, setup.max_cost_per_day) == (1.5, 3)
    assert setup.send_to == ("local", "anthropic", "other")


def test_a_name_is_one_model_in_one_role() -> None:
    setup = read_setup(Settings(judge="openai", model="m", base_url="http://127.0.0.1:1/v1"))
    assert setup == JudgeSetup(
        judge=JudgeRole(provider="openai", model="m", base_url="http://127.0.0.1:1/v1")
    )


def test_a_hosted_provider_has_a_default_model_and_a_compatible_server_has_none() -> None:
    for name in ("anthropic", "openai"):
        assert read_setup(Settings(judge=name)).judge.model
    with pytest.raises(GraderError, match=r"no model is named.*--model"):
        read_setup(Settings(judge="openai-compatible", base_url="http://127.0.0.1:1/v1"))


def test_an_empty_model_is_no_reason_to_ask_another_one() -> None:
    with pytest.raises(GraderError, match=r"judge\.model"):
        read_setup(Settings(judge="anthropic", model=""))


ROLE = '[judge]\nprovider = "anthropic"\nmodel = "m"\n'
BAD_FILES = {
    "no TOML": ("x = ", "is no TOML"),
    "no judge": ("[policy]\nmax_cost = 3\n", "judge is missing"),
    "judge is no table": ('judge = "anthropic"\n', "judge must be a table"),
    "policy is no table": (f"policy = 3\n{ROLE}", "policy must be a table"),
    "unknown table": (f"{ROLE}[polcy]\n", "no key polcy.*judge, second, arbiter, policy"),
    "unknown key of a role": (f'{ROLE}colour = "red"\n', r"no key judge\.colour.*provider, model"),
    "unknown key of the policy": (f"{ROLE}[policy]\nmax_costs = 3\n", r"no key policy\.max_costs.*max_cost,"),
    "a role inside the policy": (f"{ROLE}[policy]\nsecond = 3\n", r"no key policy\.second"),
    "unknown provider": ('[judge]\nprovider = "anthropc"\nmodel = "m"\n', r"judge\.provider must be"),
    "no model": ('[judge]\nprovider = "anthropic"\n', r"judge\.model is missing"),
    "too many samples": (f"{ROLE}samples = 17\n", r"judge\.samples"),
    "negative cap": (f"{ROLE}[policy]\nmax_cost = -1\n", r"policy\.max_cost "),
    "address without scheme": (f'{ROLE}base_url = "127.0.0.1:8000/v1"\n', r"judge\.base_url '127\.0\.0\.1"),
    "address without host": (f'{ROLE}base_url = "http:///v1"\n', r"judge\.base_url"),
    "address with a bad port": (f'{ROLE}base_url = "http://h:99999/"\n', r"judge\.base_url"),
    "two servers of one name": (
        f'{ROLE}[second]\nprovider = "anthropic"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n',
        "second is another server.*both are called anthropic.*name of its own",
    ),
    "two keys of one name": (
        f'{ROLE}[second]\nprovider = "anthropic"\nmodel = "m"\nkey_variable = "OTHER"\n',
        "both are called anthropic",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_does_not_fit_is_one_line_that_names_what(name: str, tmp_path: Path) -> None:
    text, message = BAD_FILES[name]
    error = refusal(tmp_path, text)
    assert error.fault.code == "invalid_setup"
    assert error.fault.where == str(tmp_path / "panel.toml")
    with pytest.raises(GraderError, match=message):
        raise error
    assert "\n" not in str(error)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.toml")
    with pytest.raises(GraderError, match=r"none\.toml: cannot be read: No such file") as caught:
        read_setup(Settings(judge=missing))
    assert caught.value.fault.code == "no_setup"


@pytest.mark.parametrize("settings", [{"model": "x"}, {"base_url": "http://127.0.0.1:1"}])
def test_model_and_address_belong_to_a_judge_given_by_name(settings: dict[str, str], tmp_path: Path) -> None:
    assert "--model and --base-url" in str(refusal(tmp_path, PANEL, **settings))


def test_a_provider_that_may_not_be_sent_code_is_refused_by_name(tmp_path: Path) -> None:
    error = refusal(tmp_path, PANEL, send_to=("anthropic",))
    assert error.fault.code == "provider_not_allowed"
    assert "may not be sent to local" in str(error)


def test_one_server_may_play_every_role_under_one_name(tmp_path: Path) -> None:
    role = 'provider = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\n'
    text = "".join(f'[{name}]\n{role}model = "{name}"\n' for name in ("judge", "second", "arbiter"))
    assert len(read_setup(Settings(judge=write(tmp_path, text))).roles) == 3


# What can be told before the first call.


def one_role(**fields: object) -> JudgeSetup:
    return JudgeSetup.model_validate({"judge": {"provider": "anthropic", "model": "m"} | fields})


def test_a_missing_key_is_found_only_where_something_is_to_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THIS_KEY", raising=False)
    setup = one_role(key_variable="THIS_KEY")
    check_setup(setup, sending=False)
    with pytest.raises(GraderError, match="THIS_KEY is not set"):
        check_setup(setup)
    monkeypatch.setenv("THIS_KEY", "sk-a-key-that-opens-nothing")
    check_setup(setup)


def test_a_key_file_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-a-key-that-opens-nothing\n")
    file.chmod(0o640)
    with pytest.raises(GraderError, match=r"is open to others \(mode 640\).*chmod 600"):
        check_setup(one_role(key_file=str(file)))
    file.chmod(0o600)
    check_setup(one_role(key_file=str(file)))


def test_a_cap_needs_the_price_of_every_role() -> None:
    setup = JudgeSetup(
        judge=JudgeRole(provider="anthropic", model="claude-opus-5-5"),
        arbiter=JudgeRole(
            provider="openai-compatible", name="local", model="llama", base_url="http://127.0.0.1:1/v1"
        ),
        max_cost=1,
    )
    with pytest.raises(GraderError, match=r"the price of llama \(arbiter, local\) is unknown") as caught:
        check_setup(setup, sending=False)
    assert caught.value.fault.code == "price_unknown"


def test_a_parameter_that_a_provider_lacks_is_refused_before_the_run() -> None:
    with pytest.raises(GraderError, match="anthropic takes no temperature"):
        check_setup(one_role(temperature=0.2), sending=False)
