"""Collectives in which each rank sends to one other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import OPERATIONS, Fidelity, Registers
from pipeline.emulator.operations.errors import MeetingError
from tests.emulator.operations.meetings import call_of, complaints, meet

FEW = settings(max_examples=30, deadline=None)
RANK_OF_DATA = "collective_permute_implicit_current_processing_rank_id"


def holding(*values):
    return [np.full((2, 2), value, np.float32) for value in values]


def flat(pairs):
    return tuple(rank for pair in pairs for rank in pair)


def test_a_permute_sends_along_its_pairs():
    sources, results = holding(10, 11, 12), holding(-1, -1, -1)
    pairs = flat([(0, 2), (2, 1), (1, 0)])
    meet(
        "collective_permute",
        [{"src": a, "dst": b, "source_target_pairs": pairs} for a, b in zip(sources, results, strict=True)],
    )
    assert [result[0, 0] for result in results] == [11, 12, 10]


def test_a_rank_that_is_nobodys_target_keeps_what_it_has():
    sources, results = holding(10, 11, 12), holding(-1, -1, -1)
    meet(
        "collective_permute",
        [{"src": a, "dst": b, "source_target_pairs": (0, 1)} for a, b in zip(sources, results, strict=True)],
    )
    assert [result[0, 0] for result in results] == [-1, 10, -1]


def test_two_ranks_swap_in_place():
    tensors = holding(1, 2)
    meet(
        "collective_permute",
        [{"src": t, "dst": t, "source_target_pairs": (0, 1, 1, 0)} for t in tensors],
    )
    assert [t[0, 0] for t in tensors] == [2, 1]


@pytest.mark.parametrize(
    ("pairs", "rule"),
    [((0, 1, 2, 1), "collective-pairs"), ((0,), "collective-pairs"), ((0, -1), "collective-pairs")],
)
def test_pairs_that_are_none(pairs, rule):
    src, dst = holding(0, 0)
    assert rule in complaints(
        call_of("collective_permute", {"src": src, "dst": dst, "source_target_pairs": pairs})
    )


def test_a_pair_with_a_rank_that_nobody_plays():
    with pytest.raises(MeetingError, match=r"rank 5, the run has ranks 0 to 1"):
        meet(
            "collective_permute",
            [{"src": t, "dst": t.copy(), "source_target_pairs": (0, 5, 5, 0)} for t in holding(1, 2)],
        )


def test_a_pattern_that_is_no_ring_is_not_modelled():
    level = OPERATIONS["collective_permute"].fidelity
    assert callable(level)
    src, dst = holding(0, 0)
    levels = [
        level(call_of("collective_permute", {"src": src, "dst": dst, "source_target_pairs": pairs}))
        for pairs in ((0, 1, 1, 0), (0, 1))
    ]
    assert levels == [Fidelity.EXACT, Fidelity.UNMODELLED]


@st.composite
def rings(draw):
    size, count = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    ranks = draw(st.permutations(range(size * count)))
    return [ranks[start : start + size] for start in range(0, size * count, size)]


def encoded(groups):
    return (len(groups[0]), *(rank for group in groups for rank in group))


def processing_rank(rank, iteration, groups, registers=()):
    held = Registers.fresh(1 + len(registers), rank=rank)
    held.virtual[1:] = registers
    call = call_of(RANK_OF_DATA, {"dst": (0,), "iteration_id": iteration, "replica_group": encoded(groups)})
    call.operation.bind(call)(held)
    return held.virtual[0]


@FEW
@given(rings(), st.integers(0, 6), st.sampled_from(["hbm", "sbuf"]))
def test_after_k_steps_of_the_ring_a_rank_holds_the_data_of_the_rank_it_is_told(groups, steps, memory):
    ranks = sum(map(len, groups))
    here = holding(*range(ranks))
    for _ in range(steps):
        there = holding(*[-1] * ranks)
        arguments = [
            {"src": a, "dst": b, "replica_group": encoded(groups)} for a, b in zip(here, there, strict=True)
        ]
        meet("collective_permute_implicit", arguments, memory=memory)
        here = there
    assert [int(tile[0, 0]) for tile in here] == [
        processing_rank(rank, steps, groups) for rank in range(ranks)
    ]


def test_a_rank_sends_to_the_next_of_its_list_and_the_last_to_the_first():
    sources, results = holding(10, 11, 12), holding(-1, -1, -1)
    meet(
        "collective_permute_implicit",
        [
            {"src": a, "dst": b, "replica_group": encoded([[0, 2, 1]])}
            for a, b in zip(sources, results, strict=True)
        ],
    )
    assert [result[0, 0] for result in results] == [11, 12, 10]


def test_the_iteration_may_be_a_register():
    assert processing_rank(1, (1,), [[0, 1, 2, 3]], registers=[3]) == 2


def test_a_rank_outside_the_ring_has_no_data_to_process():
    with pytest.raises(MeetingError, match="rank 2 is in no list"):
        processing_rank(2, 0, [[0, 1]])


@pytest.mark.parametrize(("op", "expected"), [("add", [36, 14, 25]), ("maximum", [30, 10, 20])])
def test_the_reducing_ring_reduces_before_it_sends(op, expected):
    first, second, results = holding(10, 20, 30), holding(4, 5, 6), holding(-1, -1, -1)
    meet(
        "collective_permute_implicit_reduce",
        [
            {"src0": a, "src1": b, "dst": c, "replica_group": encoded([[0, 1, 2]]), "op": op}
            for a, b, c in zip(first, second, results, strict=True)
        ],
    )
    assert [result[0, 0] for result in results] == expected


@pytest.mark.parametrize("name", ["collective_permute_implicit", "collective_permute_implicit_reduce"])
def test_the_order_of_the_ring_is_the_runtimes(name):
    level = OPERATIONS[name].fidelity
    src, dst = holding(0, 0)
    call = call_of("collective_permute_implicit", {"src": src, "dst": dst, "replica_group": (2, 0, 1)})
    assert (level(call) if callable(level) else level) is Fidelity.APPROXIMATE


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"dst": np.zeros((2, 3), np.float32)}, "collective-shape"),
        ({"channel": 4}, "collective-channel"),
        ({"channel": -1}, "collective-channel"),
        ({"replica_group": (2, 0, 0)}, "collective-group"),
    ],
)
def test_what_the_ring_refuses(changes, rule):
    src, dst = holding(0, 0)
    usual = {"src": src, "dst": dst, "replica_group": (2, 0, 1)}
    assert list(complaints(call_of("collective_permute_implicit", {**usual, **changes}))) == [rule]


def test_rank_id_is_the_rank():
    held = Registers.fresh(2, rank=3)
    call = call_of("rank_id", {"dst": (1,)})
    call.operation.bind(call)(held)
    assert held.virtual == [0, 3]
