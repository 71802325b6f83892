"""Batches of runs that are over, of other runs, and of strangers who use the same account."""

from __future__ import annotations

from pipeline.judge.providers import open_batch_provider
from pipeline.store import Store
from tests.judge.batches.errands import (
    POLL,
    Errand,
    count_requests,
    get_batch,
    intend,
    list_events,
    list_sent,
    make_role,
    read_codes,
)
from tests.judge.calls.fakes import a_question
from tests.judge.loopback import Loopback


async def send_as_stranger(server: Loopback, provider: str, size: int) -> None:
    """Hand a batch over that no store knows."""
    role = make_role(server, provider)
    opened = open_batch_provider(role)
    request = a_question("theirs", role, "Is theirs right?").request
    await opened.submit("theirs", {f"theirs-{place}": request for place in range(size)})
    await opened.aclose()


async def lose_hand_over(server: Loopback, store: Store, provider: str, *keys: str) -> None:
    """Hand `keys` over, and end before anybody knows that they were accepted."""
    server.play_batches("lost")
    await Errand(server, store, provider).break_off(*keys)
    assert store.ledger.list_provider_batches()[-1].events == ()


async def test_what_a_killed_run_handed_over_is_collected_by_the_next(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await Errand(loopback, store, provider).break_off("a", "b")
    assert read_codes(await Errand(loopback, store, provider).run("b", "a")) == dict.fromkeys(
        "ab", "answered"
    )
    assert list_sent(loopback) == [["a", "b"]]


async def test_a_hand_over_that_nobody_noted_is_adopted(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await lose_hand_over(loopback, store, provider, "a", "b")
    assert read_codes(await Errand(loopback, store, provider).run("a", "b")) == dict.fromkeys(
        "ab", "answered"
    )
    assert list_sent(loopback) == [["a", "b"]]
    assert list_events(store) == [["adopted", "ended", "collected"]]


async def test_an_intent_that_was_never_sent_is_sent_after_two_looks(
    loopback: Loopback, store: Store, provider: str
) -> None:
    errand = Errand(loopback, store, provider)
    intend(store, errand, ["a"])
    assert read_codes(await errand.run("a")) == {"a": "answered"}
    # What was accepted a moment before the kill may not be listed at the first look.
    assert count_requests(loopback, "GET", "/batches") == 2
    assert errand.slept[0] == POLL
    assert list_events(store) == [["refused"], ["sent", "ended", "collected"]]


async def test_what_is_listed_late_is_adopted_at_the_second_look(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await lose_hand_over(loopback, store, provider, "a")
    batch = get_batch(loopback)
    loopback.desk.batches.clear()

    def list_it(_: int) -> None:
        loopback.desk.batches[batch.id] = batch
        loopback.end_batches()

    assert read_codes(await Errand(loopback, store, provider, list_it).run("a")) == {"a": "answered"}
    assert list_sent(loopback) == [["a"]]


async def test_among_strangers_of_the_same_size_ours_is_known_by_its_lines(
    loopback: Loopback, store: Store
) -> None:
    await send_as_stranger(loopback, "anthropic", 2)
    await send_as_stranger(loopback, "anthropic", 3)
    loopback.end_batches()
    await send_as_stranger(loopback, "anthropic", 2)
    await lose_hand_over(loopback, store, "anthropic", "a", "b")
    await send_as_stranger(loopback, "anthropic", 2)
    ended, _, going_on, ours, later = loopback.desk.batches.values()

    def go_on(number: int) -> None:
        if number == 2:
            later.ended = True
        if number == 4:
            ours.ended = True

    errand = Errand(loopback, store, "anthropic", go_on)
    assert read_codes(await errand.run("a", "b")) == dict.fromkeys("ab", "answered")
    assert len(loopback.desk.batches) == 5
    assert store.ledger.list_provider_batches()[0].provider_id == ours.id
    assert not going_on.ended
    # A stranger's results are looked into once, however often the list is read.
    assert errand.slept == [POLL] * 4
    for stranger in (ended, later):
        assert count_requests(loopback, "GET", f"{stranger.id}/results") == 1


async def test_while_a_stranger_may_be_ours_nothing_is_sent_again(loopback: Loopback, store: Store) -> None:
    await send_as_stranger(loopback, "anthropic", 1)
    stranger = get_batch(loopback)

    def end_stranger(number: int) -> None:
        if number >= 10:
            assert len(loopback.desk.batches) == 1 or stranger.ended
            loopback.end_batches()

    errand = Errand(loopback, store, "anthropic", end_stranger)
    intend(store, errand, ["a"])
    assert read_codes(await errand.run("a")) == {"a": "answered"}
    # Ten waits until the stranger ended, then two looks, and the batch itself.
    assert errand.slept == [POLL] * 12
    assert list_sent(loopback) == [["theirs"], ["a"]]


async def test_what_was_accepted_long_after_the_intent_is_somebody_elses(
    loopback: Loopback, store: Store
) -> None:
    errand = Errand(loopback, store, "anthropic", lambda n: None if n == 1 else loopback.end_batches())
    intend(store, errand, ["a"])
    await send_as_stranger(loopback, "anthropic", 1)
    get_batch(loopback).created += 7200.0
    assert read_codes(await errand.run("a")) == {"a": "answered"}
    assert not count_requests(loopback, "GET", f"{get_batch(loopback).id}/results")


async def test_a_stranger_whose_results_are_gone_is_no_obstacle(loopback: Loopback, store: Store) -> None:
    await send_as_stranger(loopback, "anthropic", 1)
    loopback.end_batches()
    loopback.play_results("status:404")
    errand = Errand(loopback, store, "anthropic")
    intend(store, errand, ["a"])
    assert read_codes(await errand.run("a")) == {"a": "answered"}


async def test_batches_of_another_run_are_left_alone_until_they_have_ended(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await Errand(loopback, store, provider).break_off("theirs")
    theirs = get_batch(loopback)

    def end_ours(_: int) -> None:
        get_batch(loopback, 1).ended = True

    # Nobody waits for it: this run ends though the other batch goes on.
    assert read_codes(await Errand(loopback, store, provider, end_ours).run("a")) == {"a": "answered"}
    assert not theirs.ended
    assert list_events(store) == [["sent"], ["sent", "ended", "collected"]]
    theirs.ended = True
    assert read_codes(await Errand(loopback, store, provider).run("b")) == {"b": "answered"}
    assert list_events(store)[0] == ["sent", "ended", "collected"]
    assert read_codes(await Errand(loopback, store, provider).run("theirs")) == {"theirs": "answered"}
    assert list_sent(loopback) == [["theirs"], ["a"], ["b"]]


async def test_an_intent_of_another_run_is_not_given_up(
    loopback: Loopback, store: Store, provider: str
) -> None:
    """That run may be alive, and in the middle of handing it over."""
    errand = Errand(loopback, store, provider, lambda n: loopback.end_batches() if n > 5 else None)
    intend(store, errand, ["theirs"])
    assert read_codes(await errand.run("a")) == {"a": "answered"}
    assert list_events(store) == [[], ["sent", "ended", "collected"]]


async def test_a_batch_of_another_run_that_cannot_be_read_is_no_obstacle(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await Errand(loopback, store, provider).break_off("theirs")
    get_batch(loopback).ended = True
    loopback.play_results("status:401", "reset", "status:500")
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "answered"}
    assert list_sent(loopback) == [["theirs"], ["a"]]


async def test_a_wrong_address_which_has_nothing_anywhere_is_no_reason_to_write_a_batch_off(
    loopback: Loopback, store: Store
) -> None:
    await Errand(loopback, store, "openai").break_off("a")
    moved = make_role(loopback, "openai", base_url=f"{loopback.address}/v1/elsewhere")
    errand = Errand(loopback, store, "openai")
    errand.caller._providers["house"] = open_batch_provider(moved)
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code in ("wrong_address", "unknown_model")
    assert list_events(store) == [["sent"]]
    assert read_codes(await Errand(loopback, store, "openai").run("a")) == {"a": "answered"}
    assert len(list_sent(loopback)) == 1
