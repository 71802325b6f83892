"""What the oracle draws follows from a secret seed and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.execute.references import Draw
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.library.tasks import load_task
from pipeline.types import Case, Task

TINY = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
SEED = "00112233445566778899aabbccddeeff"
OTHER = "f" * 32


@pytest.fixture(scope="module")
def workers() -> Iterator[SandboxPool]:
    with SandboxPool(1, choose_level(), ("pipeline.execute.jobs.reference",)) as pool:
        yield pool


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TINY)


def case_named(task: Task, name: str) -> Case:
    return next(case for case in task.cases if case.name == name)


def draw(oracle: Oracle, task: Task, name: str, seed: int = 0) -> Draw:
    drawn = oracle.draw(task, case_named(task, name), seed)
    assert isinstance(drawn, Draw), drawn
    return drawn


def content(drawn: Draw) -> bytes:
    return b"".join(values.tobytes() for values in (*drawn.inputs, *drawn.expected))


def test_the_same_seed_draws_the_same(workers: SandboxPool, task: Task) -> None:
    for name in ("small", "battery: impulse"):
        one, other = (draw(Oracle(workers, SEED), task, name) for _ in range(2))
        assert content(one) == content(other)


def test_another_seed_case_or_draw_gives_other_inputs(workers: SandboxPool, task: Task) -> None:
    oracle = Oracle(workers, SEED)
    drawn = [
        draw(oracle, task, "battery: drawn"),
        draw(oracle, task, "battery: drawn", 1),
        draw(oracle, task, "battery: large"),
        draw(Oracle(workers, OTHER), task, "battery: drawn"),
    ]
    # Signs, because a pattern scales and yet draws anew.
    assert len({np.sign(one.inputs[0]).tobytes() for one in drawn}) == len(drawn)


def test_without_a_seed_one_is_drawn(workers: SandboxPool) -> None:
    seeds = {Oracle(workers).seed for _ in range(3)}
    assert len(seeds) == 3
    assert {len(bytes.fromhex(seed)) for seed in seeds} == {16}


@pytest.mark.parametrize("seed", ["", "12", SEED + "0", "g" * 32, f"{SEED}\n"])
def test_what_is_no_seed_is_refused(workers: SandboxPool, seed: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        Oracle(workers, seed)


def test_a_seed_is_the_same_in_capitals(workers: SandboxPool) -> None:
    assert Oracle(workers, SEED.upper()).seed == SEED


def test_patterns_shape_what_the_reference_gets(workers: SandboxPool, task: Task) -> None:
    shifted = draw(Oracle(workers, SEED), task, "battery: offset")
    x, y = (values.astype(np.float64) for values in shifted.inputs)
    assert x.min() > 500
    np.testing.assert_array_equal(shifted.expected[0], x + y)


def test_what_is_needed_again_is_not_drawn_again(workers: SandboxPool, task: Task) -> None:
    oracle = Oracle(workers, SEED)
    assert draw(oracle, task, "small") is draw(oracle, task, "small")
    forgetful = Oracle(workers, SEED, cache_bytes=0)
    assert draw(forgetful, task, "small") is not draw(forgetful, task, "small")
