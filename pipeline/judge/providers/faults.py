"""Whatever can go wrong between us and a provider, as one error that says whose it is and what to do.

Statuses, bodies and exceptions of all three wire formats end here. A prompt that is longer than the model's
context, and one that the provider declines, are no errors: they are answers without text, and come back so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import SecretStr

from pipeline.judge.providers.bodies import ErrorBody, read_error_body, read_request_id, read_retry_after
from pipeline.judge.providers.keys import mask
from pipeline.judge.providers.provider import ProviderError
from pipeline.types import Completion, Fault, JudgeRole, Owner, StopReason, Usage
from pipeline.types.text import join_lines

__all__ = [
    "NOT_FOUND",
    "TYPE_STATUSES",
    "Origin",
    "read_exception",
    "read_status",
    "read_wait",
    "refuse_batch",
    "refuse_body",
    "refuse_count",
]

#: Longest quotation of what a server said: it may repeat the whole request.
_QUOTED_CHARACTERS: Final = 300

#: Codes by which OpenAI, and Azure's and other gateways in its format, decline a prompt.
_DECLINED: Final = frozenset(
    {
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "cyber_policy_violation",
        "invalid_prompt",
        "misalignment_policy_violation",
    }
)

#: How Anthropic, OpenAI, vLLM, llama.cpp and llama-cpp-python say that a prompt does not fit.
_TOO_LONG: Final = re.compile(
    r"prompt is too long|exceeds? (the )?(available )?context|maximum context length|context window of \d+"
    r"|context[_ ]length[_ ]exceeded|exceed_context_size|input length and .{0,20}max_tokens.{0,20} exceed",
    re.IGNORECASE,
)
_NO_MODEL: Final = re.compile(
    r"model\b.{0,80}\b(not found|does ?n[o']t exist|not exist|not available)|(invalid|unknown) model"
    r"|not_found_error.{0,20}model|^model: ",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(
    r"insufficient_quota|billing|credit balance|spend.?limit|quota.{0,20}exceeded", re.I
)

#: Statuses that stand for the error types in the lines of a Message Batch, which have no status of their own.
TYPE_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


#: Codes of errors with status 404: what a provider finds missing, it often calls a model.
NOT_FOUND: Final = ("wrong_address", "unknown_model")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who was asked, for messages.

    Attributes:
        role: The role that asked.
        key: The key that was sent; it appears in no message.
    """

    role: JudgeRole
    key: SecretStr | None = None

    @property
    def where(self) -> str:
        """Provider and model."""
        return f"{self.role.called} {self.role.model}"

    def quote(self, text: str) -> str:
        """Return what a server said: one line, bounded, without keys."""
        # Masked before it is cut: half a key is still half a key.
        said = mask(join_lines(text[: 20 * _QUOTED_CHARACTERS]), self.key)
        return said if len(said) <= _QUOTED_CHARACTERS else said[: _QUOTED_CHARACTERS - 2] + " …"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a status means."""

    code: str
    message: str
    remedy: str
    owner: Owner = Owner.ENVIRONMENT
    retryable: bool = False
    throttled: bool = False
    maybe_charged: bool = False
    stops_run: bool = False


_WAIT: Final = "wait, or ask less at a time"
_LATER: Final = "run the same command later: what is known is not asked again"
_REPORT: Final = "report this: the grader wrote a request that the provider does not take"
_MEANINGS: Final = {
    400: _Meaning("bad_request", "does not take the request", _REPORT, Owner.GRADER),
    401: _Meaning("wrong_key", "rejects the key", "check the key", stops_run=True),
    402: _Meaning("no_credit", "wants to be paid first", "check the account's billing", stops_run=True),
    403: _Meaning("not_allowed", "does not let this key do that", "check the key's rights", stops_run=True),
    404: _Meaning("wrong_address", "has nothing at this address", "check base_url", stops_run=True),
    408: _Meaning("timeout", "waited too long for the request", _LATER, retryable=True),
    409: _Meaning("conflict", "reports a conflict", _LATER, retryable=True),
    413: _Meaning("request_too_large", "finds the request too large", "a person grades this submission"),
    422: _Meaning("bad_request", "does not take the request", _REPORT, Owner.GRADER),
    429: _Meaning("rate_limited", "asks for fewer requests", _WAIT, retryable=True, throttled=True),
    500: _Meaning("provider_failed", "failed", _LATER, retryable=True),
    503: _Meaning("overloaded", "is overloaded", _LATER, retryable=True, throttled=True),
    # The work went on behind the gateway that gave up waiting for it.
    504: _Meaning("timeout", "took too long", _LATER, retryable=True, maybe_charged=True),
    524: _Meaning("timeout", "took too long", _LATER, retryable=True, maybe_charged=True),
    529: _Meaning("overloaded", "is overloaded", _LATER, retryable=True, throttled=True),
}
_NO_MODEL_HERE: Final = _Meaning(
    "unknown_model",
    "does not know the model",
    "check the model's name, and that the key may use it",
    stops_run=True,
)
_BLOCKED: Final = _Meaning(
    "blocked", "is shielded by something that answers in its place", "check proxies and base_url"
)
_REDIRECT: Final = _Meaning("wrong_address", "is somewhere else", "correct base_url", stops_run=True)


def read_status(
    status: int, headers: Mapping[str, str], text: str, origin: Origin
) -> ProviderError | Completion:
    """Return what an answer with an error status means.

    Args:
        status: HTTP status, or one that stands for the error in a batch's line.
        headers: Of the response, with lower-case names (or a mapping that does not care).
        text: Its body.
        origin: Who was asked.

    Returns:
        An error; or, of a prompt that is too long or declined, an answer without text.
    """
    body = read_error_body(text)
    if status in (400, 413, 422, 500) and body.form == "json":
        stop = _read_stop(body)
        if stop is not None:
            return Completion(
                text="",
                stop=stop,
                refusal=origin.quote(body.message) if stop == "refusal" else "",
                model=origin.role.model,
                request_id=read_request_id(headers),
                usage=Usage(),
            )
    meaning = _choose_meaning(status, body)
    said = f": {origin.quote(body.message)}" if body.form in ("json", "text") else ""
    if body.form == "html":
        said = ": it answered with an HTML page"
    return ProviderError(
        Fault(
            owner=meaning.owner,
            code=meaning.code,
            message=f"{origin.role.called} {meaning.message} (HTTP {status}){said}",
            where=origin.where,
            remedy=meaning.remedy,
        ),
        retryable=meaning.retryable,
        throttled=meaning.throttled,
        retry_after=read_retry_after(headers) if meaning.retryable else None,
        maybe_charged=meaning.maybe_charged,
        stops_run=meaning.stops_run,
    )


def read_exception(error: Exception, sdk: Any, origin: Origin) -> ProviderError | Completion:
    """Return what an exception of an SDK means.

    Args:
        error: What was raised.
        sdk: The module `anthropic` or `openai`: both name their exceptions alike.
        origin: Who was asked.

    Raises:
        Exception: `error` itself, where it is no matter of the provider's but a defect of ours.
    """
    if isinstance(error, sdk.APIStatusError):
        return read_status(error.status_code, error.response.headers, _read_text(error.response), origin)
    if isinstance(error, sdk.APITimeoutError):
        return read_wait(origin, sent=not _never_left(error))
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__
        left = not _never_left(error)
        why = origin.quote(str(cause) or type(cause).__name__) if cause is not None else "no reason given"
        return ProviderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="connection_lost" if left else "unreachable",
                message=(
                    f"the connection to {origin.role.called} broke before the answer was complete: {why}"
                    if left
                    else f"{origin.role.called} cannot be reached: {why}"
                ),
                where=origin.where,
                remedy=_LATER if left else "check the network and base_url",
            ),
            retryable=True,
            maybe_charged=left,
        )
    raise error


def read_wait(origin: Origin, *, sent: bool = True) -> ProviderError:
    """Return the error of a request whose time is over.

    Args:
        origin: Who was asked.
        sent: Whether the request may have reached it.
    """
    message = "did not answer in time" if sent else "could not be reached in time"
    return ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="timeout",
            message=f"{origin.role.called} {message}",
            where=origin.where,
            remedy=_LATER,
        ),
        retryable=True,
        maybe_charged=sent,
    )


def refuse_body(text: str, origin: Origin, why: str = "") -> ProviderError:
    """Return the error of an answer with a good status whose body is no answer.

    Args:
        text: The body.
        origin: Who was asked.
        why: What is missing in it, where it is JSON.
    """
    form = read_error_body(text).form
    seen = {
        "html": "an HTML page",
        "json": f"JSON without {why or 'an answer'}",
        "text": "something that is not JSON",
        "empty": "nothing",
    }[form]
    return ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="unreadable_answer",
            message=f"{origin.role.called} answered with {seen}",
            where=origin.where,
            remedy="check base_url and proxies" if form == "html" else _LATER,
        ),
        retryable=True,
        # A page comes from something that stands in between; anything else may be the rest of paid work.
        maybe_charged=form != "html",
    )


def refuse_count(origin: Origin, why: str) -> ProviderError:
    """Return the error of a provider that cannot say how many tokens a request has."""
    return ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="cannot_count_tokens",
            message=f"{origin.role.called} cannot count the tokens: {why}",
            where=origin.where,
            remedy="go by the estimate from the number of characters",
        )
    )


def refuse_batch(origin: Origin, why: str, *, code: str = "batch_refused") -> ProviderError:
    """Return the error of a batch, or of a request in one, that brings no answer."""
    return ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=code,
            message=f"no answer from a batch at {origin.role.called}: {origin.quote(why)}",
            where=origin.where,
            remedy=_LATER,
        ),
        retryable=code in ("batch_expired", "batch_canceled", "batch_unfinished"),
    )


def _read_stop(body: ErrorBody) -> StopReason | None:
    if _TOO_LONG.search(f"{body.kind} {body.message}"):
        return "context"
    return "refusal" if _DECLINED & set(body.kind.split()) else None


def _choose_meaning(status: int, body: ErrorBody) -> _Meaning:
    said = f"{body.kind} {body.message}" if body.form == "json" else ""
    if status in (402, 403, 429) and _NO_CREDIT.search(said):
        return _MEANINGS[402]
    if status == 400 and _NO_CREDIT.search(body.message if body.form == "json" else ""):
        return _MEANINGS[402]
    if status in (400, 404, 422) and ("model_not_found" in said or _NO_MODEL.search(body.message)):
        return _NO_MODEL_HERE
    if status == 403 and body.form != "json":
        # A firewall that dislikes one request says nothing about the next.
        return _BLOCKED
    if 300 <= status < 400:
        return _REDIRECT
    return _MEANINGS.get(status) or _MEANINGS[500 if status >= 500 else 400]


def _never_left(error: Exception) -> bool:
    import httpx2

    before = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
    return isinstance(error.__cause__, (*before, httpx2.UnsupportedProtocol, httpx2.InvalidURL))


def _read_text(response: Any) -> str:
    try:
        return str(response.text)
    except Exception:  # a body that was never read, or in an encoding that does not exist
        return ""
