"""The loopback server, keys that open nothing, and no memory of servers from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.judge.providers.compatible import forget_dialects
from tests.judge.loopback.fixtures import loopback

__all__ = ["loopback"]


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NKI_GRADER_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-opens-nothing")
    forget_dialects()
    yield
    forget_dialects()
