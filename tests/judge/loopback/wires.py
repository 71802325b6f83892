"""Bodies of the three wire formats, written from the SDKs' types."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tests.judge.loopback.answers import find_schema, spoil, write_answer
from tests.judge.loopback.steps import SPOILT, Step

__all__ = ["FORMATS", "Answerer", "answer_call", "count_tokens", "read_wire", "write_error"]

FORMATS = {"/v1/messages": "anthropic", "/v1/responses": "openai", "/v1/chat/completions": "compatible"}

#: Called with the format and the request's body; returns the text of the answer, or None for the usual one.
Answerer = Callable[[str, dict[str, Any]], str | None]

_ANTHROPIC_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def read_wire(path: str) -> str | None:
    """Return the format of a call's path, or None if it is no call."""
    return FORMATS.get(path)


def answer_call(wire: str, request: dict[str, Any], step: Step, answerer: Answerer | None) -> tuple[int, Any]:
    """Return status and body of the answer to a call."""
    if step.kind == "status":
        return step.status, write_error(wire, step.status, step.text, request)
    if step.kind == "too-long":
        return 400, _write_too_long(wire)
    if step.kind == "declined":
        message = "Invalid prompt: it was flagged as potentially violating our usage policy."
        code = "invalid_prompt" if wire != "anthropic" else "invalid_request_error"
        return 400, write_error(wire, 400, message, request, code=code)
    if step.kind == "other":
        return 200, {"object": "something.else"}
    text = step.text if step.kind == "text" else (answerer and answerer(wire, request)) or None
    if text is None:
        schema = _read_schema(wire, request)
        text = write_answer(schema, read_prompt(wire, request)) if schema else "I see nothing wrong with it."
    if step.kind in SPOILT:
        text = spoil(text, step.kind)
    if step.kind == "truncated":
        text = text[: len(text) // 2]
    return 200, _WRITERS[wire](request, text, step.kind)


def write_error(
    wire: str, status: int, message: str, request: dict[str, Any], *, code: str | None = None
) -> dict[str, Any]:
    """Return the body of an error in the format's own shape."""
    message = message or f"status {status}, said the loopback server"
    if status == 404 and not code:
        code = "model_not_found"
        model = request.get("model", "?")
        message = f"model: {model}" if wire == "anthropic" else f"The model `{model}` does not exist"
    if wire == "anthropic":
        kind = _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_loopback"}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def read_prompt(wire: str, request: dict[str, Any]) -> str:
    """Return every text of a request, the system's parts first."""
    return "\n".join((*_list_system(wire, request), *_list_turns(wire, request)))


def count_tokens(text: str) -> int:
    """Return a number of tokens that depends on the text alone."""
    return len(text) // 4


def _list_system(wire: str, request: dict[str, Any]) -> list[str]:
    if wire == "anthropic":
        return [block["text"] for block in request.get("system", [])]
    turns = request["input"] if wire == "openai" else request["messages"]
    return [turn["content"] for turn in turns if turn["role"] in ("system", "developer")]


def _list_turns(wire: str, request: dict[str, Any]) -> list[str]:
    turns = request["input"] if wire == "openai" else request["messages"]
    return [turn["content"] for turn in turns if turn["role"] in ("user", "assistant")]


def _read_schema(wire: str, request: dict[str, Any]) -> dict[str, Any] | None:
    found: Any = None
    if wire == "anthropic":
        found = request.get("output_config", {}).get("format", {}).get("schema")
    elif wire == "openai":
        found = request.get("text", {}).get("format", {}).get("schema")
    else:
        given = request.get("response_format", {})
        found = given.get("schema") or given.get("json_schema", {}).get("schema")
    return found or find_schema(read_prompt(wire, request))


def _write_too_long(wire: str) -> dict[str, Any]:
    if wire == "anthropic":
        message = "prompt is too long: 1200000 tokens > 1000000 maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    message = "Your input exceeds the context window of this model."
    error = {"message": message, "type": "invalid_request_error", "param": "input"}
    return {"error": error | {"code": "context_length_exceeded"}}


def _name(request: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:24]


def _write_message(request: dict[str, Any], text: str, kind: str) -> dict[str, Any]:
    stop = {"truncated": "max_tokens", "context": "model_context_window_exceeded"}.get(kind, "end_turn")
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    details = None
    if kind.startswith("refusal"):
        stop = "refusal"
        details = {"type": "refusal", "category": "frontier_llm", "explanation": None}
        content = [] if kind == "refusal-empty" else [{"type": "text", "text": "I cannot help with that."}]
    system = count_tokens("\n".join(_list_system("anthropic", request)))
    return {
        "id": f"msg_{_name(request)}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": details,
        "usage": {
            "input_tokens": count_tokens("\n".join(_list_turns("anthropic", request))),
            "cache_read_input_tokens": system,
            "cache_creation_input_tokens": 16,
            "output_tokens": count_tokens(text) + 1,
        },
    }


def _write_response(request: dict[str, Any], text: str, kind: str) -> dict[str, Any]:
    status, details = "completed", None
    content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
    if kind == "truncated":
        status, details = "incomplete", {"reason": "max_output_tokens"}
    elif kind == "context":
        # This API has no other word for an answer that met the end of its context.
        status, details = "incomplete", {"reason": "max_output_tokens"}
    elif kind == "refusal":
        content = [{"type": "refusal", "refusal": "I cannot help with that."}]
    elif kind == "refusal-empty":
        status, details, content = "incomplete", {"reason": "content_filter"}, []
    name = _name(request)
    system = count_tokens("\n".join(_list_system("openai", request)))
    turns = count_tokens("\n".join(_list_turns("openai", request)))
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed"}
    written = count_tokens(text) + 1
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": 1_795_000_000,
        "model": request["model"],
        "status": status,
        "incomplete_details": details,
        "error": None,
        "output": [
            {"id": f"rs_{name}", "type": "reasoning", "summary": []},
            message | {"content": content},
        ],
        "usage": {
            "input_tokens": system + turns + 16,
            "input_tokens_details": {"cached_tokens": system, "cache_write_tokens": 16},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": system + turns + 16 + written,
        },
    }


def _write_chat(request: dict[str, Any], text: str, kind: str) -> dict[str, Any]:
    finish = {"truncated": "length", "context": "length", "refusal-empty": "content_filter"}.get(kind, "stop")
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if kind.startswith("refusal"):
        said = "I cannot help with that." if kind == "refusal" else None
        message |= {"content": None, "refusal": said}
    system = count_tokens("\n".join(_list_system("compatible", request)))
    turns = count_tokens("\n".join(_list_turns("compatible", request)))
    written = count_tokens(text) + 1
    return {
        "id": f"chatcmpl-{_name(request)}",
        "object": "chat.completion",
        "created": 1_795_000_000,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": system + turns,
            "prompt_tokens_details": {"cached_tokens": system},
            "completion_tokens": written,
            "total_tokens": system + turns + written,
        },
    }


_WRITERS = {"anthropic": _write_message, "openai": _write_response, "compatible": _write_chat}
