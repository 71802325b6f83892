"""The server as a fixture; import it into a test module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judge.loopback.server import Loopback

__all__ = ["loopback"]


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server
