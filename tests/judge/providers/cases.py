"""Roles and requests that the tests of all formats share."""

from __future__ import annotations

from typing import Any

from pipeline.judge.providers.provider import Message, ModelRequest
from pipeline.types import JudgeRole
from tests.judge.loopback import Loopback

FORMATS = ("anthropic", "openai", "openai-compatible")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "level": {"type": "integer", "enum": [0, 1, 2, 3, 4]},
    },
    "required": ["reason", "level"],
    "additionalProperties": False,
}

#: What the loopback server writes to that schema: the first level that the schema offers is 0, but it
#: prefers 2.
ANSWER = '{"reason": "This is what the cited place shows.", "level": 2}'


def make_role(server: Loopback, provider: str, **fields: Any) -> JudgeRole:
    return JudgeRole.model_validate(
        {"provider": provider, "model": "model-1", "base_url": server.url(provider)} | fields
    )


def make_request(**fields: Any) -> ModelRequest:
    given: dict[str, Any] = {
        "model": "model-1",
        "system": ("Guidance and rubric.", "The task."),
        "messages": (Message("user", "1 | import nki"),),
        "schema": SCHEMA,
        "schema_name": "judgment",
        "max_output_tokens": 500,
    }
    return ModelRequest(**(given | fields))
