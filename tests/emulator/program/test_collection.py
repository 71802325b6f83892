"""Garbage collection is suspended while a program is made, and goes on as it did."""

import gc

import pytest

from pipeline.emulator.frontend.recorder import Recorder
from pipeline.emulator.program.collection import paused_collection
from tests.emulator.frontend.kernels import record_body


@pytest.fixture(autouse=True)
def _collecting():
    gc.enable()
    yield
    gc.enable()


def test_nothing_is_collected_meanwhile():
    before = gc.get_stats()
    with paused_collection():
        lists = [[number] for number in range(10_000)]
        assert gc.get_stats() == before
    assert gc.isenabled()
    assert len(lists) == 10_000


def test_an_exception_ends_it_too():
    with pytest.raises(KeyError), paused_collection():
        raise KeyError
    assert gc.isenabled()


def test_who_has_switched_collection_off_finds_it_off():
    gc.disable()
    with paused_collection():
        pass
    assert not gc.isenabled()


def test_a_finished_record_goes_without_being_collected():
    gc.collect()
    gc.disable()
    record_body(
        "for i in nl.dynamic_range(0, 4):\n    nisa.memset(dst=nl.ndarray((1, 1), nl.float32), value=0.0)"
    )
    assert not [thing for thing in gc.get_objects() if isinstance(thing, Recorder)]
