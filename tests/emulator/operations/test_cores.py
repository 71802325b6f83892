"""The two cores of a logical NeuronCore, meeting."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.errors import MeetingError
from tests.emulator.operations.meetings import call_of, complaints, meet

KINDS = [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint32]


def exchange(source, result, core, **changes):
    usual = {"src": source, "dst": result, "send_to_rank": 1 - core, "recv_from_rank": 1 - core, "pipe_id": 0}
    return {**usual, **changes}


def tile(value, dtype=np.float32, shape=(4, 3)):
    return np.full(shape, value, dtype)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_two_cores_exchange_their_tiles_bit_for_bit(dtype, rows, columns, seed):
    bits = np.random.default_rng(seed).integers(
        0, 256, (2, rows, columns, np.dtype(dtype).itemsize), np.uint8
    )
    sent = [np.ascontiguousarray(part).view(dtype)[..., 0] for part in bits]
    got = [np.zeros((rows, columns), dtype) for _ in sent]
    meet("sendrecv", [exchange(sent[c], got[c], c) for c in (0, 1)], memory="sbuf", cores=True)
    assert got[0].tobytes() == sent[1].tobytes()
    assert got[1].tobytes() == sent[0].tobytes()


def test_tiles_are_read_before_they_are_written():
    tiles = [tile(1), tile(2)]
    meet("sendrecv", [exchange(tiles[c], tiles[c], c) for c in (0, 1)], memory="sbuf", cores=True)
    assert (tiles[0] == 2).all()
    assert (tiles[1] == 1).all()


def test_a_core_may_send_to_itself():
    source, result = tile(3), tile(0)
    meet(
        "sendrecv",
        [exchange(source, result, 0, send_to_rank=0, recv_from_rank=0)],
        memory="sbuf",
        cores=True,
    )
    assert (result == 3).all()


def test_a_barrier_moves_nothing():
    data = tile(5)
    meet("core_barrier", [{"data": data, "cores": (0, 1)}] * 2, cores=True)
    assert (data == 5).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"send_to_rank": 1}, ("receives from core 1", "sends to core 1")),
        ({"recv_from_rank": 1}, ("core 1 receives from core 1", "sends to core 0")),
        ({"pipe_id": 1}, ("pipe_id is 0 on core 0 and 1 on core 1",)),
        ({"src": tile(0, np.float16), "dst": tile(0, np.float16)}, ("float16", "float32", "alike")),
    ],
)
def test_exchanges_that_do_not_fit_together_are_told(changes, words):
    with pytest.raises(MeetingError) as caught:
        meet(
            "sendrecv",
            [exchange(tile(0), tile(0), 0), exchange(tile(0), tile(0), 1, **changes)],
            memory="sbuf",
            cores=True,
        )
    assert all(word in caught.value.message for word in words), caught.value.message


def test_an_exchange_needs_two_cores():
    with pytest.raises(MeetingError, match=r"kernel\[2\]"):
        meet("sendrecv", [exchange(tile(0), tile(0), 0)], memory="sbuf", cores=True)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"send_to_rank": 2}, "exchange-ranks"),
        ({"recv_from_rank": -1}, "exchange-ranks"),
        ({"pipe_id": (0, 1)}, "exchange-ranks"),
        ({"dst": tile(0, np.float16)}, "exchange-dtype"),
        ({"dst": tile(0, shape=(3, 4))}, "shape-agreement"),
    ],
)
def test_what_an_exchange_refuses(changes, rule):
    assert list(complaints(call_of("sendrecv", exchange(tile(0), tile(0), 0, **changes)))) == [rule]


@pytest.mark.parametrize(
    ("dtype", "elements", "refused"),
    [
        (np.float32, 256, False),
        (np.float32, 257, True),
        (ml_dtypes.bfloat16, 256, False),
        (ml_dtypes.bfloat16, 257, True),
        (np.int8, 256, False),
        (np.int8, 257, True),
    ],
)
def test_gpsimds_own_dma_moves_256_elements_of_a_partition(dtype, elements, refused):
    tiles = [tile(0, dtype, (2, elements)) for _ in range(2)]
    found = complaints(call_of("sendrecv", exchange(*tiles, 0, dma_engine="gpsimd_dma")))
    assert list(found) == (["exchange-bytes"] if refused else [])
    assert complaints(call_of("sendrecv", exchange(*tiles, 0))) == {}


def test_gpsimds_own_dma_runs_on_gpsimd():
    choose = OPERATIONS["sendrecv"].choose_engine
    assert choose is not None
    assert choose((), (), (1, 1, 0, "dma")) == "dma"
    assert choose((), (), (1, 1, 0, "gpsimd_dma")) == "gpsimd"


@pytest.mark.parametrize(("cores", "refused"), [((0, 1), False), ((1, 0), True), ((0, 1, 2), True)])
def test_a_barrier_is_of_cores_0_and_1(cores, refused):
    found = complaints(call_of("core_barrier", {"data": tile(0), "cores": cores}))
    assert list(found) == (["barrier-cores"] if refused else [])
