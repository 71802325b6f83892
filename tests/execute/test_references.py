"""A reference is strangers' code: whatever it does is its task's fault, told in one line, never a draw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.execute.references import Draw, draw_reference
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.library.tasks import load_task
from pipeline.types import Case, Fault, Owner, Task

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
GOOD = (TINY_ADD / "reference.py").read_text()
SEND = """
import os, struct, msgspec
def send(body):
    os.write(3, struct.pack("<4sBQ", b"nkij", 0, len(body)) + body)
    os._exit(0)
def answer(inputs, expected):
    send(msgspec.msgpack.encode({"inputs": inputs, "expected": expected}))
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[SandboxPool]:
    with SandboxPool(1, choose_level(), ("pipeline.execute.jobs.reference",)) as pool:
        yield pool


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TINY_ADD)


def draw(workers: SandboxPool, task: Task, reference: str) -> Draw | Fault:
    case: Case = task.cases[0]
    return draw_reference(workers, task.model_copy(update={"reference": reference}), case, 0)


def test_an_honest_reference_is_drawn(workers: SandboxPool, task: Task) -> None:
    drawn = draw(workers, task, GOOD)
    assert isinstance(drawn, Draw)
    x, y = (values.astype(np.float64) for values in drawn.inputs)
    np.testing.assert_array_equal(drawn.expected[0], x + y)


def answering(values: str) -> str:
    return GOOD.replace("def reference", "def _sum") + (
        f"\nimport numpy as np\ndef reference(inputs, axes):\n    out = _sum(inputs, axes)['out']\n"
        f"    return {{'out': {values}}}\n"
    )


#: Source of a reference, and a word of the fault's message.
BROKEN = {
    "answers finite inputs with NaN": (answering("out * np.nan"), "NaN"),
    "answers in another shape": (answering("out[:1]"), "shape"),
    "answers with no array": (answering("object()"), "shape"),
    "raises text of many lines": (GOOD + "\nraise ValueError('a\\nb\\r\\u2028c' * 10000)\n", "ValueError"),
    "raises half a surrogate pair": (GOOD + "\nraise ValueError('\\ud800')\n", "no answer"),
    "prints without end": (GOOD + "\nwhile True: print('x' * 10000)\n", "printed more than"),
    "reads a file": (GOOD + "\nopen('/etc/passwd')\n", "passwd"),
    "opens a socket": (GOOD + "\nimport socket; socket.socket()\n", "PermissionError"),
    "exits": (GOOD + "\nimport os; os._exit(0)\n", "exited"),
    "replies with no arrays": (f"{SEND}\nanswer([], [])", "malformed"),
    "replies with sizes below zero": (
        f"{SEND}\nanswer([[[-1], 'float32', b'']] * 2, [[[8, 16], 'float64', b'']])", "malformed",
    ),
    "replies with too few bytes": (
        f"{SEND}\nanswer([[[8, 16], 'float32', b'']] * 2, [[[8, 16], 'float64', b'']])", "malformed",
    ),
    "replies with an unknown dtype": (
        f"{SEND}\nanswer([[[8, 16], 'complex', b'']] * 2, [[[8, 16], 'float64', b'']])", "malformed",
    ),
    "replies with a nest without end": (
        f"{SEND}\nsend(bytes.fromhex('81a17a') + bytes([0x91]) * 50000 + b'x')", "malformed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_reference_that(what: str, workers: SandboxPool, task: Task) -> None:
    reference, word = BROKEN[what]
    fault = draw(workers, task, reference)
    assert isinstance(fault, Fault)
    assert fault.owner is Owner.TASK
    assert word in fault.message
    assert fault.message.splitlines() == [fault.message]
    assert len(fault.message) <= 2000


def test_what_a_reference_raises_is_told_in_one_short_line(workers: SandboxPool, task: Task) -> None:
    fault = draw(workers, task, GOOD + "\nraise ValueError('first\\nsecond ' + 'x' * 3000)\n")
    assert isinstance(fault, Fault)
    assert fault.message.startswith("reference.py raised ValueError: first second xxx")
    assert fault.message.endswith("...")
    assert len(fault.message) == 300


def test_nan_that_comes_from_nan_is_an_answer(workers: SandboxPool, task: Task) -> None:
    spoiled = GOOD.replace(
        '"x": rng.standard_normal(shape)', '"x": rng.standard_normal(shape) * float("nan")'
    )
    assert isinstance(draw(workers, task, spoiled), Draw)
