"""Arguments that are lists: tensors and numbers, each in a slot of its own."""

from __future__ import annotations

import pytest

from pipeline.emulator.targets import ENGINES
from tests.emulator.frontend.kernels import record_body, refusal, resolved

TILE = "t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"


@pytest.mark.parametrize("srcs", ["[x, t]", "(x, t)"])
@pytest.mark.parametrize("scales", ["[1.0, 2]", "(1.0, 2)"])
def test_each_entry_takes_a_slot(srcs: str, scales: str) -> None:
    body = f"{TILE}nisa.dma_compute(t, {srcs}, scales={scales}, reduce_op=nl.add)"
    sum_ = resolved(record_body(body))[0]
    given = [name for name, pattern in sum_.tensors.items() if pattern is not None]
    assert given == ["dst", "srcs[0]", "srcs[1]"]
    assert [sum_.scalars[f"scales[{slot}]"] for slot in range(3)] == [1.0, 2, None]


def test_a_list_left_out_leaves_every_slot_empty() -> None:
    sum_ = resolved(record_body(f"{TILE}nisa.dma_compute(dst=t, srcs=[x], reduce_op=nl.add)"))[0]
    assert all(sum_.scalars[f"scales[{slot}]"] is None for slot in range(16))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("srcs=[x] * 17, reduce_op=nl.add", ("srcs", "17", "16")),
        ("srcs=[x, 1.0], reduce_op=nl.add", ("srcs", "list of tensors")),
        ("srcs=[x], scales=['1'], reduce_op=nl.add", ("scales", "list of numbers")),
        ("srcs=[x], scales=[1.0] * 17, reduce_op=nl.add", ("scales", "17", "16")),
        ("reduce_op=nl.add", ("srcs",)),
    ],
)
def test_a_wrong_list_is_refused(arguments: str, words: tuple[str, ...]) -> None:
    message = str(refusal(f"{TILE}nisa.dma_compute(dst=t, {arguments})"))
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("call", "engine"),
    [
        ("nisa.rng(dst=r)", "vector"),
        ("nisa.rng(dst=r, engine=nisa.engine.gpsimd)", "gpsimd"),
        ("nisa.rand_get_state(dst=r)", "gpsimd"),
    ],
)
def test_an_engine_left_out_is_the_documented_one(call: str, engine: str) -> None:
    body = f"r = nl.ndarray((128, 6), dtype=nl.uint32, buffer=nl.sbuf)\n{call}"
    assert ENGINES[resolved(record_body(body))[0].engine] == engine
