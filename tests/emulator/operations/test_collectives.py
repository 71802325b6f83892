"""Collectives that every rank of a group joins alike, against loops over ranks and elements."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import OPERATIONS, Fidelity
from pipeline.emulator.operations.errors import MeetingError
from tests.emulator.operations.meetings import call_of, complaints, meet

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FEW = settings(max_examples=30, deadline=None)


def encoded(*groups):
    """A replica group as a program holds it."""
    return (len(groups[0]), *(rank for group in groups for rank in group))


@st.composite
def partitions(draw, most=3):
    """Ranks 0, 1, ... in groups of equal size, in any order."""
    size, count = draw(st.integers(1, most)), draw(st.integers(1, 2))
    ranks = draw(st.permutations(range(size * count)))
    return [ranks[start : start + size] for start in range(0, size * count, size)]


def arrays(seed, ranks, shape):
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(np.float32) for _ in range(ranks)]


def run(name, sources, shape, groups, memory="hbm", **options):
    """What each rank holds in ``dst`` afterwards."""
    results = [np.full(shape, np.nan, source.dtype) for source in sources]
    arguments = [
        {"src": source, "dst": result, "replica_group": encoded(*groups), **options}
        for source, result in zip(sources, results, strict=True)
    ]
    meet(name, arguments, memory=memory)
    return results


@FEW
@given(partitions(), st.sampled_from(["add", "minimum", "maximum"]), st.integers(0, 99))
def test_all_reduce_leaves_on_every_rank_what_its_group_reduces_to(groups, op, seed):
    sources = arrays(seed, sum(map(len, groups)), (2, 3))
    results = run("all_reduce", sources, (2, 3), groups, op=op)
    fold = {"add": sum, "minimum": min, "maximum": max}[op]
    for group in groups:
        for row in range(2):
            for column in range(3):
                expected = fold(float(sources[rank][row, column]) for rank in group)
                for rank in group:
                    assert results[rank][row, column] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_sum_accumulates_in_float32_in_the_order_of_the_group():
    # 2**24 + 1 is no float32 and rounds to 2**24; 1 + 1 comes first in the second group's order.
    sources = [np.full((1, 1), value, np.float32) for value in (2.0**24, 1.0, 1.0)]
    assert run("all_reduce", sources, (1, 1), [[0, 1, 2]], op="add")[0][0, 0] == 2.0**24
    assert run("all_reduce", sources, (1, 1), [[1, 2, 0]], op="add")[0][0, 0] == 2.0**24 + 2


def test_a_sum_rounds_once_when_it_is_written():
    # In bfloat16 256 + 1 rounds back to 256, twice; 258 is a bfloat16.
    sources = [np.full((1, 1), value, BFLOAT16) for value in (256, 1, 1)]
    assert float(run("all_reduce", sources, (1, 1), [[0, 1, 2]], op="add")[2][0, 0]) == 258


def test_a_reduction_may_write_where_it_reads():
    tensors = [np.full((2, 2), value, np.float32) for value in (1, 2, 4)]
    meet("all_reduce", [{"src": t, "dst": t, "replica_group": (3, 0, 1, 2), "op": "add"} for t in tensors])
    assert all((tensor == 7).all() for tensor in tensors)


@FEW
@given(partitions(), st.sampled_from([("hbm", 0), ("sbuf", 0), ("sbuf", 1)]), st.integers(0, 99))
def test_all_gather_concatenates_in_the_order_of_the_group(groups, place, seed):
    memory, axis = place
    sources = arrays(seed, sum(map(len, groups)), (2, 3))
    size = len(groups[0])
    shape = (2 * size, 3) if axis == 0 else (2, 3 * size)
    results = run("all_gather", sources, shape, groups, memory, collective_dim=axis)
    for group in groups:
        for rank in group:
            for number, sender in enumerate(group):
                for row in range(2):
                    for column in range(3):
                        at = (number * 2 + row, column) if axis == 0 else (row, number * 3 + column)
                        assert results[rank][at] == sources[sender][row, column]


def test_all_gather_moves_bits_nan_and_all():
    sources = [np.array([[0x7FA00001]], np.uint32).view(np.float32), np.array([[-0.0]], np.float32)]
    gathered = run("all_gather", sources, (2, 1), [[0, 1]], collective_dim=0)[1]
    assert gathered.view(np.uint32).tolist() == [[0x7FA00001], [0x80000000]]


@FEW
@given(partitions(), st.sampled_from(["add", "minimum", "maximum"]), st.integers(0, 99))
def test_reduce_scatter_gives_each_rank_its_part_of_an_all_reduce(groups, op, seed):
    size = len(groups[0])
    sources = arrays(seed, sum(map(len, groups)), (2 * size, 3))
    whole = run("all_reduce", sources, (2 * size, 3), groups, op=op)
    parts = run("reduce_scatter", sources, (2, 3), groups, op=op, collective_dim=0)
    for group in groups:
        for place, rank in enumerate(group):
            assert (parts[rank] == whole[rank][2 * place : 2 * place + 2]).all()


def test_reduce_scatter_of_two_ranks():
    sources = [np.array([[1, 10], [2, 20]], np.float32), np.array([[3, 30], [4, 40]], np.float32)]
    results = run("reduce_scatter", sources, (1, 2), [[0, 1]], op="add", collective_dim=0)
    assert [result.tolist() for result in results] == [[[4, 40]], [[6, 60]]]


def test_all_to_all_of_two_ranks():
    sources = [np.array([[1, 2], [3, 4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)]
    results = run("all_to_all", sources, (2, 2), [[0, 1]], collective_dim=0)
    assert [result.tolist() for result in results] == [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]


@FEW
@given(partitions(), st.integers(0, 99))
def test_all_to_all_twice_gives_back_what_was_sent(groups, seed):
    size = len(groups[0])
    sources = arrays(seed, sum(map(len, groups)), (2 * size, 3))
    once = run("all_to_all", sources, (2 * size, 3), groups, collective_dim=0)
    again = run("all_to_all", once, (2 * size, 3), groups, collective_dim=0)
    assert all((a == b).all() for a, b in zip(again, sources, strict=True))


def test_integers_are_added_as_float32():
    # 2**24 + 1 has no float32 (neuronx-cc error EVRF061).
    sources = [np.array([[1 << 24]], np.int32), np.array([[1]], np.int32)]
    results = [np.zeros((1, 1), np.int32) for _ in sources]
    meet(
        "all_reduce",
        [
            {"src": a, "dst": b, "replica_group": (2, 0, 1), "op": "add"}
            for a, b in zip(sources, results, strict=True)
        ],
    )
    assert results[0][0, 0] == 1 << 24


def arguments(**changes):
    tile = np.zeros((2, 2), np.float32)
    return {"src": tile, "dst": tile.copy(), "replica_group": (2, 0, 1), "op": "add", **changes}


@pytest.mark.parametrize(
    ("ranks", "changes", "words"),
    [
        (2, [{"replica_group": (3, 0, 1, 2)}] * 2, ("rank 2", "ranks 0 to 1")),
        (3, [{}] * 3, ("rank 2", "in no list")),
        (2, [{}, {"op": "maximum"}], ("rank 0 and rank 1", "options")),
        (2, [{}, {"src": np.zeros((4, 1), np.float32)}], ("src", "not alike")),
    ],
)
def test_ranks_that_do_not_fit_together_are_told(ranks, changes, words):
    with pytest.raises(MeetingError) as caught:
        meet("all_reduce", [arguments(**changes[rank]) for rank in range(ranks)])
    assert all(word in caught.value.message for word in words), caught.value.message


@pytest.mark.parametrize(
    ("name", "changes", "fidelity"),
    [
        ("all_reduce", {}, Fidelity.APPROXIMATE),
        ("all_reduce", {"op": "maximum"}, Fidelity.EXACT),
        ("all_reduce", {"dst": np.zeros((2, 2), np.float16)}, Fidelity.UNMODELLED),
    ],
)
def test_a_sum_over_ranks_is_approximate(name, changes, fidelity):
    level = OPERATIONS[name].fidelity
    assert callable(level)
    assert level(call_of(name, arguments(**changes))) is fidelity


def tensor(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("name", "memory", "given", "rule"),
    [
        ("all_reduce", "hbm", {"src": tensor(2, 2), "dst": tensor(2, 3)}, "collective-shape"),
        ("all_reduce", "sbuf", {"src": tensor(2, 4), "dst": tensor(4, 2)}, "collective-shape"),
        ("all_reduce", "sbuf", {"src": tensor(2, 2, 2), "dst": tensor(2, 2, 2)}, "collective-tile"),
        ("all_reduce", "hbm", {"replica_group": (2, 0, 1, 2)}, "collective-group"),
        ("all_reduce", "hbm", {"replica_group": (2, 0, 1, 1, 2)}, "collective-group"),
        ("all_reduce", "hbm", {"replica_group": 3}, "collective-group"),
        ("all_reduce", "hbm", {"replica_group": (2, -1, 0)}, "collective-group"),
        ("all_reduce", "hbm", {"priority": 1}, "collective-priority"),
        ("all_gather", "hbm", {"dst": tensor(2, 4), "collective_dim": 1}, "collective-dimension"),
        ("all_gather", "hbm", {"dst": tensor(2, 2), "collective_dim": 0}, "collective-shape"),
        ("all_gather", "sbuf", {"dst": tensor(4, 2), "collective_dim": 1}, "collective-shape"),
        ("reduce_scatter", "hbm", {"dst": tensor(1, 2), "collective_dim": 1}, "collective-dimension"),
        ("reduce_scatter", "hbm", {"dst": tensor(2, 2), "collective_dim": 0}, "collective-shape"),
        ("all_to_all", "hbm", {"src": tensor(3, 2), "dst": tensor(3, 2)}, "collective-shape"),
    ],
)
def test_what_a_collective_refuses(name, memory, given, rule):
    names = {parameter.name for parameter in OPERATIONS[name].parameters}
    usual = {key: value for key, value in arguments(collective_dim=0).items() if key in names}
    assert rule in complaints(call_of(name, {**usual, **given}, memory=memory))


def test_priorities_are_0_to_3_on_trn3():
    found = [complaints(call_of("all_reduce", arguments(priority=p), "trn3")) for p in (0, 3, 4)]
    assert [list(found_here) for found_here in found] == [[], [], ["collective-priority"]]
