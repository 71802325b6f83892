"""Everything that can go wrong between us and a provider, with the real SDK clients, in all three formats."""

from __future__ import annotations

import logging
import socket
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import SecretStr

from pipeline.judge.providers import open_provider
from pipeline.judge.providers.bodies import read_error_body, read_retry_after
from pipeline.judge.providers.faults import Origin, read_status
from pipeline.judge.providers.provider import ProviderError
from pipeline.types import JudgeRole, Owner
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import FORMATS, make_request, make_role


async def fail(server: Loopback, provider: str, step: str, *, timeout: float = 30.0) -> ProviderError:
    server.play(step)
    opened = open_provider(make_role(server, provider))
    try:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(make_request(), timeout=timeout)
    finally:
        await opened.aclose()
    return caught.value


# Code, retryable, throttled, maybe charged, stops the run.
STATUSES = {
    "status:400": ("bad_request", False, False, False, False),
    "status:401": ("wrong_key", False, False, False, True),
    "status:402": ("no_credit", False, False, False, True),
    "status:403": ("not_allowed", False, False, False, True),
    "status:404": ("unknown_model", False, False, False, True),
    "status:408": ("timeout", True, False, False, False),
    "status:409": ("conflict", True, False, False, False),
    "status:413": ("request_too_large", False, False, False, False),
    "status:422": ("bad_request", False, False, False, False),
    "status:429": ("rate_limited", True, True, False, False),
    "status:500": ("provider_failed", True, False, False, False),
    "status:502": ("provider_failed", True, False, False, False),
    "status:503": ("overloaded", True, True, False, False),
    "status:504": ("timeout", True, False, True, False),
    "status:529": ("overloaded", True, True, False, False),
    "html": ("unreadable_answer", True, False, False, False),
    "html:403": ("blocked", False, False, False, False),
    "html:502": ("provider_failed", True, False, False, False),
    "malformed": ("unreadable_answer", True, False, True, False),
    "empty": ("unreadable_answer", True, False, True, False),
    "other": ("unreadable_answer", True, False, True, False),
    "raw:[1]": ("unreadable_answer", True, False, True, False),
    "raw:" + "[" * 100_000: ("unreadable_answer", True, False, True, False),
    "reset": ("connection_lost", True, False, True, False),
    "reset-body": ("connection_lost", True, False, True, False),
}


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize("step", STATUSES, ids=lambda step: step[:12])
async def test_a_fault_has_its_code_and_says_what_may_be_done(
    loopback: Loopback, provider: str, step: str
) -> None:
    error = await fail(loopback, provider, step)
    found = (error.retryable, error.throttled, error.maybe_charged, error.stops_run)
    assert (error.fault.code, *found) == STATUSES[step]
    assert error.fault.remedy
    assert error.fault.where == f"{provider} model-1"
    assert "\n" not in str(error)
    # The SDK must not have tried again.
    assert len(loopback.calls) == 1


@pytest.mark.parametrize("provider", FORMATS)
async def test_only_a_request_that_we_wrote_wrongly_is_the_graders_fault(
    loopback: Loopback, provider: str
) -> None:
    owners = {step: (await fail(loopback, provider, step)).fault.owner for step in STATUSES}
    graders = {step for step, owner in owners.items() if owner is Owner.GRADER}
    assert graders == {"status:400", "status:422"}
    assert {owner for step, owner in owners.items() if step not in graders} == {Owner.ENVIRONMENT}


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize("step", ["hang", "drip"])
async def test_a_server_that_does_not_end_its_answer_is_left_when_the_time_is_over(
    loopback: Loopback, provider: str, step: str
) -> None:
    error = await fail(loopback, provider, step, timeout=0.3)
    assert error.fault.code == "timeout"
    assert error.retryable
    assert error.maybe_charged


@pytest.mark.parametrize("provider", FORMATS)
async def test_a_server_that_is_not_there_charges_nothing(provider: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    role = JudgeRole.model_validate(
        {"provider": provider, "model": "m", "base_url": f"http://127.0.0.1:{port}/v1"}
    )
    opened = open_provider(role)
    with pytest.raises(ProviderError) as caught:
        await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    assert caught.value.fault.code == "unreachable"
    assert caught.value.retryable
    assert not caught.value.maybe_charged


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("retry-after=7", 7.0),
        ("retry-after=300", 300.0),
        ("retry-after-ms=250", 0.25),
        ("retry-after=-4", 0.0),
        ("retry-after=soon", None),
        ("retry-after=inf", None),
        ("x-nothing=1", None),
    ],
)
async def test_the_wait_that_a_provider_asks_for_is_passed_on(
    loopback: Loopback, provider: str, header: str, seconds: float | None
) -> None:
    assert (await fail(loopback, provider, f"status:429;{header}")).retry_after == seconds


def test_a_date_to_wait_for_is_measured_by_the_servers_clock() -> None:
    # A server whose clock is years ahead of ours.
    now = datetime(2040, 5, 1, 12, 0, tzinfo=UTC)
    headers = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=90), usegmt=True),
    }
    assert read_retry_after(headers) == 90.0


def test_a_date_that_is_past_asks_for_no_wait() -> None:
    assert read_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


@pytest.mark.parametrize("provider", FORMATS)
async def test_a_redirect_takes_no_code_elsewhere(loopback: Loopback, provider: str) -> None:
    error = await fail(loopback, provider, f"status:307;location={loopback.address}/elsewhere")
    assert error.fault.code == "wrong_address"
    assert error.stops_run
    assert [request.path for request in loopback.requests] == [loopback.calls[0].path]


@pytest.mark.parametrize("provider", FORMATS)
async def test_an_address_without_the_api_is_not_taken_for_an_unknown_model(
    loopback: Loopback, provider: str
) -> None:
    role = make_role(loopback, provider, base_url=f"{loopback.address}/nowhere")
    opened = open_provider(role)
    with pytest.raises(ProviderError) as caught:
        await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    assert caught.value.fault.code == "wrong_address"
    assert caught.value.stops_run


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, '{"error": {"message": "pay", "code": "insufficient_quota"}}', "no_credit"),
        (400, '{"error": {"type": "x", "message": "Your credit balance is too low"}}', "no_credit"),
        (400, '{"error": {"message": "Invalid model name passed in model=x"}}', "unknown_model"),
        (404, '{"error": {"message": "model \\"x\\" not found, try pulling it first"}}', "unknown_model"),
        (404, '{"detail": "Not Found"}', "wrong_address"),
        (404, "404 page not found", "wrong_address"),
        (418, '{"error": "odd"}', "bad_request"),
        (599, "", "provider_failed"),
    ],
)
def test_what_a_body_says_is_heeded_beside_the_status(status: int, body: str, code: str) -> None:
    origin = Origin(JudgeRole(provider="openai", model="x"))
    error = read_status(status, {}, body, origin)
    assert isinstance(error, ProviderError)
    assert error.fault.code == code


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("", "empty", ""),
        ("  <!DOCTYPE html><p>", "html", "<!DOCTYPE html><p>"),
        ("Bad Gateway", "text", "Bad Gateway"),
        ('{"error": {"message": "m"}}', "json", "m"),
        ('{"error": "m"}', "json", "m"),
        ('{"detail": [{"loc": ["body"]}]}', "json", '[{"loc": ["body"]}]'),
        ("[1, 2]", "json", "[1, 2]"),
        ("null", "json", "null"),
    ],
)
def test_the_message_is_found_in_whatever_an_error_is_written_as(text: str, form: str, message: str) -> None:
    body = read_error_body(text)
    assert (body.form, body.message) == (form, message)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_rejected_key_is_in_no_message_no_traceback_and_no_log(
    loopback: Loopback, provider: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-proj-Zq81xkeykeykeyLm77"
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ANTHROPIC_API_KEY" if provider == "anthropic" else "OPENAI_API_KEY", key)
    loopback.key = "another"
    error = await fail(loopback, provider, "ok")
    assert error.fault.code == "wrong_key"
    assert "Incorrect API key provided: [key]" in error.fault.message
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.fault) + caplog.text
    assert key not in shown
    assert key[8:20] not in shown


@pytest.mark.parametrize(
    "said",
    [
        "Incorrect API key provided: sk-proj-****************Lm77.",
        "bad header Authorization: Bearer abcdefgh12345678",
        "x-api-key: abcdefgh12345678 is unknown",
        "abcdefgh-own-key is unknown",
    ],
)
def test_what_looks_like_a_key_is_masked_even_if_it_is_not_ours(said: str) -> None:
    origin = Origin(JudgeRole(provider="openai", model="x"), SecretStr("abcdefgh-own-key"))
    quoted = origin.quote(said)
    assert "[key]" in quoted
    assert "Lm77" not in quoted
    assert "abcdefgh" not in quoted


def test_a_long_message_is_cut_after_it_was_masked() -> None:
    key = "k" * 40
    origin = Origin(JudgeRole(provider="openai", model="x"), SecretStr(key))
    quoted = origin.quote("a" * 280 + key + "\n" + "b" * 500)
    assert len(quoted) == 300
    assert "kkk" not in quoted
