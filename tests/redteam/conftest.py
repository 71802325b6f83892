from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import choose_level
from pipeline.library.tasks import load_task
from pipeline.types import BuildResult, Task

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
GOOD = (TINY_ADD / "solutions" / "good_add.py").read_text()


class Shelf:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def save_artifact(self, data: bytes, media_type: str) -> str:
        name = f"{len(self.kept):064x}"
        self.kept[name] = data
        return name

    def load_artifact(self, sha256: str) -> bytes:
        return self.kept[sha256]


@pytest.fixture(scope="session")
def tiny_add() -> Task:
    task = load_task(TINY_ADD)
    # What a submission does ends it here, never how slow a loaded machine is.
    limits = task.limits.model_copy(update={"wall_seconds": 120.0})
    return task.model_copy(update={"limits": limits})


@pytest.fixture(scope="session")
def executor() -> Iterator[EmulatorExecutor]:
    made = EmulatorExecutor(choose_level(), workers=1)
    yield made
    made.close()


@pytest.fixture
def build(executor: EmulatorExecutor, tiny_add: Task) -> Callable[[str], BuildResult]:
    """Build a submission in the real sandbox, and see that the next honest one is unharmed."""

    def build_code(code: str) -> BuildResult:
        built = executor.build(tiny_add, code, target="trn2", toolchain="0.6", artifacts=Shelf())
        after = executor.build(tiny_add, GOOD, target="trn2", toolchain="0.6", artifacts=Shelf())
        assert after.verdict is None
        return built

    return build_code
