"""Garbage collection is suspended while a program is made, and goes on as it did."""

import gc

import pytest

from pipeline.emulator.program.collection import paused_collection


@pytest.fixture(autouse=True)
def _collecting():
    gc.enable()
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_meanwhile():
    before = gc.get_stats()
    with paused_collection():
        assert not gc.isenabled()
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


def test_what_was_made_can_still_be_collected():
    with paused_collection():
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
    assert gc.get_freeze_count() == 0
    assert gc.collect() >= 1


def test_a_process_that_keeps_objects_frozen_goes_on_doing_so():
    gc.freeze()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    with paused_collection():
        pass
    assert gc.get_freeze_count() >= frozen
