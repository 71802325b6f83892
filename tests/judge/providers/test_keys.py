"""Keys: from where, how safe, and never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.judge.providers import open_provider
from pipeline.judge.providers.keys import find_key
from pipeline.judge.providers.provider import ProviderError
from pipeline.types import JudgeRole, Owner
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import make_request, make_role

KEY = "sk-ant-secret-0123456789"


def make_file(path: Path, text: str = KEY, mode: int = 0o600) -> JudgeRole:
    path.write_text(text)
    path.chmod(mode)
    return JudgeRole(provider="anthropic", model="m", key_file=str(path))


def refuse(role: JudgeRole) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        find_key(role)
    assert caught.value.fault.owner is Owner.ENVIRONMENT
    assert caught.value.stops_run
    assert KEY not in str(caught.value)
    return caught.value


def test_a_key_comes_from_the_variable_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"  {KEY}\n")
    key = find_key(JudgeRole(provider="openai", model="m"))
    assert key is not None
    assert key.get_secret_value() == KEY


def test_a_named_variable_comes_before_that_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", KEY)
    key = find_key(JudgeRole(provider="anthropic", model="m", key_variable="TEAM_KEY"))
    assert key is not None
    assert key.get_secret_value() == KEY


def test_a_key_shows_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    key = find_key(JudgeRole(provider="openai", model="m"))
    assert KEY not in f"{key} {key!r}"


@pytest.mark.parametrize("value", [None, "", "   "])
def test_no_key_is_a_fault_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    if value is not None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    error = refuse(JudgeRole(provider="anthropic", model="m"))
    assert error.fault.code == "no_key"
    assert "ANTHROPIC_API_KEY" in error.fault.message
    assert "key_file" in error.fault.remedy


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_without_a_key_nothing_is_sent(
    loopback: Loopback, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    # Other ways in, which the SDK knows and nobody named here.
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")
    opened = open_provider(make_role(loopback, provider))
    with pytest.raises(ProviderError) as caught:
        await opened.complete(make_request(), timeout=30.0)
    assert caught.value.fault.code == "no_key"
    assert loopback.requests == []


def test_a_compatible_server_needs_no_key() -> None:
    assert find_key(JudgeRole(provider="openai-compatible", model="m", base_url="http://127.0.0.1:1")) is None


def test_a_safe_file_holds_the_key(tmp_path: Path) -> None:
    key = find_key(make_file(tmp_path / "key", f"{KEY}\n"))
    assert key is not None
    assert key.get_secret_value() == KEY


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    error = refuse(make_file(tmp_path / "key", mode=mode))
    assert error.fault.code == "bad_key_file"
    assert f"{mode:03o}" in error.fault.message
    assert "chmod 600" in error.fault.remedy


def test_a_link_is_as_safe_as_what_it_points_to(tmp_path: Path) -> None:
    make_file(tmp_path / "open", mode=0o644)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "open")
    assert refuse(JudgeRole(provider="openai", model="m", key_file=str(link))).fault.code == "bad_key_file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    role = make_file(tmp_path / "key")
    os.chown(tmp_path / "key", 12345, 12345)
    assert "somebody else" in refuse(role).fault.message


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "device", "empty", "binary"])
def test_what_is_no_key_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    if kind == "folder":
        path.mkdir(mode=0o700)
    elif kind == "fifo":
        os.mkfifo(path, mode=0o600)
    elif kind == "device":
        path = Path("/dev/null")
    elif kind in ("empty", "binary"):
        path.write_bytes(b"" if kind == "empty" else b"\xff\xfe\x00")
        path.chmod(0o600)
    assert refuse(JudgeRole(provider="openai", model="m", key_file=str(path))).fault.code == "bad_key_file"


@pytest.mark.parametrize("text", [f"{KEY}\n{KEY}", f"KEY = {KEY}", f"{KEY}\x07", "k" * 5000])
def test_a_file_with_more_than_a_key_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    assert refuse(make_file(tmp_path / "key", text)).fault.code == "bad_key"


def test_a_role_that_asks_anthropic_for_a_temperature_is_refused() -> None:
    with pytest.raises(GraderError) as caught:
        open_provider(JudgeRole(provider="anthropic", model="m", temperature=0.0))
    assert caught.value.fault.code == "no_temperature"


def test_a_compatible_server_without_an_address_is_refused() -> None:
    with pytest.raises(GraderError) as caught:
        open_provider(JudgeRole(provider="openai-compatible", model="m"))
    assert caught.value.fault.code == "no_base_url"
