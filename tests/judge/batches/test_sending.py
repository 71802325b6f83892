"""What a provider does with the request that hands a batch over, and what the next look makes of it."""

from __future__ import annotations

import pytest

from pipeline.store import Store
from tests.judge.batches.errands import (
    POLL,
    Errand,
    count_requests,
    list_events,
    list_outcomes,
    list_sent,
    read_codes,
)
from tests.judge.loopback import Loopback


def count_hand_overs(server: Loopback) -> int:
    return count_requests(server, "POST", "/batches")


@pytest.mark.parametrize(
    ("step", "pause"),
    [("status:429", 2 * POLL), ("status:429;retry-after=500", 500.0), ("status:529", 2 * POLL)],
)
async def test_what_is_refused_for_now_is_sent_again_when_asked_to(
    step: str, pause: float, loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches(step)
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a", "b")) == {"a": "answered", "b": "answered"}
    assert errand.slept == [pause, POLL]
    assert count_hand_overs(loopback) == 2
    assert list_events(store) == [["refused"], ["sent", "ended", "collected"]]
    # Nothing was charged, and nothing is in doubt.
    assert list_outcomes(store) == {"failed": 2, "answered": 2}
    assert store.ledger.list_doubtful() == []


async def test_nobody_waits_for_longer_than_an_hour_at_a_time(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches("status:429;retry-after=86400")
    errand = Errand(loopback, store, provider)
    await errand.run("a")
    assert errand.slept[0] == 3600.0


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("status:400", "bad_request"),
        ("status:401", "wrong_key"),
        ("status:402", "no_credit"),
        ("status:404", "unknown_model"),
    ],
)
async def test_what_is_refused_for_good_ends_the_run_and_the_next_sends_it(
    step: str, code: str, loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches(step)
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code == code
    assert (count_hand_overs(loopback), errand.slept) == (1, [])
    assert list_events(store) == [["refused"]]
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "answered"}
    assert store.ledger.list_doubtful() == []


async def test_a_provider_that_never_takes_it_ends_the_run_after_a_time(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches(*["status:429"] * 100)
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code == "rate_limited"
    # Two minutes, four, and from then on five at a time, up to the last of 24 attempts.
    assert errand.slept == [120.0, 240.0, *[300.0] * 21]
    assert count_hand_overs(loopback) == 24


async def test_a_provider_that_cannot_be_asked_ends_the_run_after_a_time_and_the_batch_goes_on(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_results(*["reset"] * 24)
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code == "connection_lost"
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "answered"}
    assert count_hand_overs(loopback) == 1


async def test_a_hand_over_whose_answer_is_lost_is_looked_for_and_not_sent_twice(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches("lost")
    assert read_codes(await Errand(loopback, store, provider).run("a", "b")) == dict.fromkeys(
        "ab", "answered"
    )
    assert count_hand_overs(loopback) == 1
    assert list_events(store) == [["adopted", "ended", "collected"]]
    assert list_outcomes(store) == {"answered": 2}


async def test_a_server_that_fails_in_the_hand_over_is_looked_at_before_it_is_sent_again(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_batches("status:500")
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a")) == {"a": "answered"}
    assert count_requests(loopback, "GET", "/batches") == 2
    assert (count_hand_overs(loopback), len(list_sent(loopback))) == (2, 1)
    assert list_events(store) == [["refused"], ["sent", "ended", "collected"]]


async def test_what_one_provider_refuses_does_not_lose_what_is_under_way(
    loopback: Loopback, store: Store, provider: str
) -> None:
    """The second batch of a run is refused for good while the first is worked on."""
    await Errand(loopback, store, provider).break_off("a")
    loopback.play_batches("status:400")
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a", "b")) == {"a": "answered", "b": ""}
    assert errand.caller.stopped is not None
    assert list_sent(loopback) == [["a"]]


async def test_a_cap_sends_what_it_reaches_and_a_later_run_goes_on(
    loopback: Loopback, store: Store, provider: str
) -> None:
    keys = [f"q{number}" for number in range(18)]
    # At most 100 tokens are written for 1 micro-dollar each in a batch, so at most two fit under the cap at
    # once; they cost less, and more are sent for the rest.
    errand = Errand(loopback, store, provider, max_cost=0.00025)
    outcomes = read_codes(await errand.run(*keys))
    answered = [key for key in keys if outcomes[key] == "answered"]
    assert 0 < len(answered) < 18
    assert answered == keys[: len(answered)]
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code == "spending_cap"
    assert 0 < store.ledger.spent() <= 250
    assert list_outcomes(store) == {"answered": len(answered)}
    assert read_codes(await Errand(loopback, store, provider).run(*keys)) == dict.fromkeys(keys, "answered")
    sent = [key for batch in list_sent(loopback) for key in batch]
    assert sorted(sent) == sorted(keys)


async def test_a_cap_below_one_request_sends_nothing(loopback: Loopback, store: Store, provider: str) -> None:
    errand = Errand(loopback, store, provider, max_cost=0.00001)
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert loopback.requests == []
    assert list_events(store) == []


async def test_money_set_aside_by_a_killed_run_counts_for_the_day(
    loopback: Loopback, store: Store, provider: str
) -> None:
    await Errand(loopback, store, provider).break_off("a")
    aside = store.ledger.spent()
    errand = Errand(loopback, store, provider, lambda _: None, max_cost_per_day=aside / 1_000_000)
    # Nothing is left for another question while that batch is open.
    assert read_codes(await errand.run("b")) == {"b": ""}
    assert list_sent(loopback) == [["a"]]
    loopback.end_batches()
    # It cost less than what was set aside, which leaves some for other questions.
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "answered"}
    assert store.ledger.spent() < aside
