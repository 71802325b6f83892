"""Collectives whose sizes stand in a tensor, against loops over ranks and elements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import OPERATIONS, Fidelity, Participant, Registers
from pipeline.emulator.operations.errors import MeetingError
from tests.emulator.operations.meetings import call_of, complaints, meet

FEW = settings(max_examples=30, deadline=None)
KEPT = -1.0  # what a destination holds before


def counts(*rows):
    return np.array(rows, np.uint32)


def own_numbers(rank, elements):
    """Numbers that say whose they are: 100 * rank, 100 * rank + 1, ..."""
    return 100.0 * rank + np.arange(elements, dtype=np.float32)


@FEW
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=4, max_size=4), st.booleans())
def test_all_gather_v_puts_each_chunk_at_the_head_of_its_senders_slot(sends, known):
    sources = [own_numbers(rank, 8) for rank in range(4)]
    results = [np.full(12, KEPT, np.float32) for _ in range(4)]
    received = [counts([7, 7, 7, 7]) for _ in range(4)]
    arguments = [
        {
            "src": sources[rank],
            "dst": results[rank],
            "replica_group": (4, 0, 1, 2, 3),
            "send": counts([sends[rank][0]], [sends[rank][1]]),
            "recv_counts": None if known else received[rank],
        }
        for rank in range(4)
    ]
    meet("all_gather_v", arguments)
    expected = np.full(12, KEPT, np.float32)
    for sender, (count, start) in enumerate(sends):
        for element in range(count):
            expected[3 * sender + element] = 100 * sender + start + element
    for rank in range(4):
        assert results[rank].tolist() == expected.tolist()
        assert received[rank].tolist() == [[7, 7, 7, 7] if known else [count for count, _ in sends]]


@st.composite
def exchanges(draw):
    """Per sender and receiver, how many elements and from where."""
    size = draw(st.integers(1, 3))
    pair = st.tuples(st.integers(0, 2), st.integers(0, 4))
    return [[draw(pair) for _ in range(size)] for _ in range(size)]


@FEW
@given(exchanges(), st.booleans())
def test_all_to_all_v_sends_every_rank_its_own_chunk(table, given_places):
    size = len(table)
    # With displacements, chunks are placed in the opposite order, two elements apart.
    places = [2 * (size - 1 - sender) for sender in range(size)]
    results = [np.full(2 * size, KEPT, np.float32) for _ in range(size)]
    received = [counts([9] * size) for _ in range(size)]
    arguments = [
        {
            "src": own_numbers(rank, 6),
            "dst": results[rank],
            "replica_group": (size, *range(size)),
            "send": counts([c for c, _ in table[rank]], [start for _, start in table[rank]]),
            "recv_counts": received[rank],
            "recv_displs": counts(places) if given_places else None,
        }
        for rank in range(size)
    ]
    call = call_of("all_to_all_v", arguments[0], "trn3")
    level = OPERATIONS["all_to_all_v"].fidelity
    assert callable(level)
    assert level(call) is (Fidelity.UNMODELLED if given_places else Fidelity.APPROXIMATE)
    operation = call.operation
    run_unrestricted(operation, arguments)
    for receiver in range(size):
        expected = np.full(2 * size, KEPT, np.float32)
        for sender in range(size):
            count, start = table[sender][receiver]
            place = places[sender] if given_places else 2 * sender
            for element in range(count):
                expected[place + element] = 100 * sender + start + element
        assert results[receiver].tolist() == expected.tolist()
        assert received[receiver].tolist() == [[table[sender][receiver][0] for sender in range(size)]]


def run_unrestricted(operation, arguments):
    """As `meet`, on groups that all_to_all_v takes on no single chip."""
    participants = [
        Participant(
            call_of(operation.name, own),
            Registers.fresh(rank=rank),
            [own.get(parameter.name) for parameter in operation.tensor_parameters],
        )
        for rank, own in enumerate(arguments)
    ]
    operation.bind(participants[0].call)(participants)


def gather(**changes):
    return {
        "src": own_numbers(0, 8),
        "dst": np.zeros(8, np.float32),
        "replica_group": (4, 0, 1, 2, 3),
        "send": counts([1], [0]),
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"send": counts([4], [6])}, ("elements 6 to 9", "src has 8")),
        ({"send": counts([3], [0])}, ("3 elements", "room for 2")),
    ],
)
def test_counts_that_leave_a_tensor_are_told(changes, words):
    with pytest.raises(MeetingError) as caught:
        meet("all_gather_v", [gather(**(changes if rank == 2 else {})) for rank in range(4)])
    assert all(word in caught.value.message for word in ("rank 2", *words)), caught.value.message


@pytest.mark.parametrize(
    ("name", "target", "changes", "rule"),
    [
        ("all_gather_v", "trn2", {"replica_group": (2, 0, 1)}, "all-gather-v-group"),
        ("all_gather_v", "trn2", {"recv_displs": counts([0, 0, 0, 0])}, "all-gather-v-displacements"),
        ("all_gather_v", "trn2", {"send": counts([1, 1], [0, 0])}, "metadata-shape"),
        ("all_gather_v", "trn2", {"recv_counts": counts([1, 1])}, "metadata-shape"),
        ("all_gather_v", "trn2", {"dst": np.zeros(7, np.float32)}, "metadata-slots"),
        ("all_to_all_v", "trn2", {"send": counts([1], [0])}, "metadata-shape"),
        ("all_to_all_v", "trn2", {"recv_displs": counts([0, 0, 0, 0])}, "all-to-all-v-displacements"),
        ("all_to_all_v", "trn3", {"replica_group": (4, 0, 1, 2, 3)}, "all-to-all-v-group"),
        ("all_to_all_v", "trn3", {"replica_group": (4, 0, 2, 4, 6, 1, 3, 5, 7)}, "all-to-all-v-group"),
    ],
)
def test_what_they_refuse(name, target, changes, rule):
    assert rule in complaints(call_of(name, gather(**changes), target))


def test_consecutive_ranks_of_two_devices_may_exchange_on_trn3():
    send = counts([0] * 4, [0] * 4)
    call = call_of("all_to_all_v", gather(replica_group=(4, *range(8)), send=send), "trn3")
    assert complaints(call) == {}


def test_metadata_lies_on_one_partition():
    spread = counts([1], [0])  # two partitions of one element
    assert "metadata-shape" in complaints(call_of("all_gather_v", gather(send=spread), memory="sbuf"))
