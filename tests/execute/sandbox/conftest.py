from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.execute.sandbox import Level, Limits, Outcome, Sandbox
from pipeline.execute.sandbox.probe import probe_level

ATTACKS = Path(__file__).parent / "attacks"


@pytest.fixture(scope="session", params=list(Level))
def level(request: pytest.FixtureRequest) -> Level:
    probe = probe_level(request.param)
    if not probe.available:
        pytest.skip(probe.reason)
    return probe.level


@pytest.fixture(scope="session")
def sandbox(level: Level) -> Iterator[Sandbox]:
    with Sandbox(level, ("numpy", "attacks"), import_paths=(ATTACKS,)) as sandbox:
        yield sandbox


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that every user can read: only a sandbox keeps a job out of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def attack(sandbox: Sandbox) -> Iterator[Callable[..., Outcome]]:
    """Run a job of attacks.py in the session's sandbox, and see to it that the next job runs all the same."""

    def run(name: str, payload: bytes = b"", **limits: float) -> Outcome:
        given: dict[str, float] = {"wall_seconds": 60, "memory_bytes": 256 << 20} | limits
        return sandbox.run(f"attacks:{name}", payload, Limits(**given))  # type: ignore[arg-type]

    yield run
    assert run("reverse", b"abc").reply == b"cba"
