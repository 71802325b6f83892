"""One oracle for the tests of single tasks: starting its worker takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.compare.oracle import Oracle
from pipeline.execute.sandbox import SandboxPool, choose_level


@pytest.fixture(scope="session")
def shared_oracle() -> Iterator[Oracle]:
    with SandboxPool(1, choose_level(), ("pipeline.execute.jobs.reference",)) as pool:
        yield Oracle(pool, "5eed" * 8)
