"""A batch from the intent to the last line: what comes back, what does not, and what it costs."""

from __future__ import annotations

import pytest

from pipeline.judge.batches.collection import collect
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store
from pipeline.types import Completion, Owner, Usage
from tests.judge.batches.errands import (
    POLL,
    Errand,
    count_requests,
    get_batch,
    intend,
    list_events,
    list_outcomes,
    list_sent,
    read_codes,
)
from tests.judge.loopback import Loopback


async def test_questions_are_one_batch_and_their_answers_are_stored(
    loopback: Loopback, store: Store, provider: str
) -> None:
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a", "b", "c")) == dict.fromkeys("abc", "answered")
    assert list_sent(loopback) == [["a", "b", "c"]]
    assert list_events(store) == [["sent", "ended", "collected"]]
    assert list_outcomes(store) == {"answered": 3}
    # Whoever asks again, also in another run, is answered from the store.
    requests = len(loopback.requests)
    again = await Errand(loopback, store, provider).run("a", "b", "c")
    assert read_codes(again) == dict.fromkeys("abc", "answered")
    assert len(loopback.requests) == requests


async def test_an_answer_costs_half(loopback: Loopback, store: Store, provider: str) -> None:
    answer = (await Errand(loopback, store, provider).run("a"))["a"]
    assert isinstance(answer, Completion)
    usage = answer.usage
    # 1 micro-dollar per token read or written to the cache, a tenth from the cache, 2 per token written.
    tenths = 10 * (usage.input_tokens + usage.cache_write_tokens + 2 * usage.output_tokens)
    tenths += usage.cache_read_tokens
    assert usage.output_tokens > 0
    assert store.ledger.spent() == -(-tenths // 20)


async def test_what_is_asked_after_the_first_answers_is_a_batch_of_its_own(
    loopback: Loopback, store: Store, provider: str
) -> None:
    errand = Errand(loopback, store, provider)
    await errand.run("a", "b")
    await errand.run("a", "b", "a, repaired")
    assert list_sent(loopback) == [["a", "b"], ["a, repaired"]]


async def test_a_provider_is_asked_once_per_wait_how_far_it_is(
    loopback: Loopback, store: Store, provider: str
) -> None:
    errand = Errand(loopback, store, provider, lambda n: loopback.end_batches() if n == 5 else None)
    await errand.run("a")
    assert errand.slept == [POLL] * 5
    # At once after it was sent, after each wait, and then for the place of the results, for which one of the
    # SDKs asks by itself as well.
    places = 2 if provider == "anthropic" else 1
    assert count_requests(loopback, "GET", get_batch(loopback).id) == 1 + 5 + places
    waiting = [(seen.answered, seen.total, seen.batches) for seen in errand.seen]
    assert waiting == [(0, 1, 1)] * 6 + [(1, 1, 0)]


async def test_lines_with_passing_errors_are_sent_once_more_and_the_others_are_kept(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_lines("ok", "status:500", "status:529", "expired", "canceled", "gone", "malformed", "other")
    outcomes = await Errand(loopback, store, provider).run(*"abcdefgh")
    assert read_codes(outcomes) == dict.fromkeys("abcdefgh", "answered")
    assert list_sent(loopback) == [list("abcdefgh"), list("bcdefgh")]
    assert list_outcomes(store) == {"answered": 8, "lost": 7}


async def test_answers_without_text_are_answers(loopback: Loopback, store: Store, provider: str) -> None:
    loopback.play_lines("refusal", "truncated", "too-long")
    outcomes = await Errand(loopback, store, provider).run("a", "b", "c")
    stops = {key: outcome.stop for key, outcome in outcomes.items() if isinstance(outcome, Completion)}
    assert stops == {"a": "refusal", "b": "length", "c": "context"}
    assert len(list_sent(loopback)) == 1


async def test_a_request_that_is_refused_for_good_is_not_sent_again(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_lines("status:400", "ok")
    outcomes = await Errand(loopback, store, provider).run("a", "b")
    assert read_codes(outcomes) == {"a": "bad_request", "b": "answered"}
    refused = outcomes["a"]
    assert isinstance(refused, ProviderError)
    assert refused.fault.owner == Owner.GRADER
    again = Errand(loopback, store, provider)
    assert read_codes(await again.run("a")) == {"a": "bad_request"}
    assert len(list_sent(loopback)) == 1


async def test_a_line_that_never_comes_back_is_sent_once_more_and_then_goes_to_a_person(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_lines("gone", "ok", "gone")
    outcomes = await Errand(loopback, store, provider).run("a", "b")
    assert read_codes(outcomes) == {"a": "batch_line_lost", "b": "answered"}
    assert list_sent(loopback) == [["a", "b"], ["a"]]
    lost = outcomes["a"]
    assert isinstance(lost, ProviderError)
    assert lost.fault.owner == Owner.ENVIRONMENT
    assert "in 2 batches" in lost.fault.message
    # Nor in a later run.
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "batch_line_lost"}
    assert len(list_sent(loopback)) == 2


async def test_a_batch_whose_time_is_over_is_sent_once_more(
    loopback: Loopback, store: Store, provider: str
) -> None:
    errand = Errand(loopback, store, provider, lambda n: loopback.end_batches(expired=n == 1))
    assert read_codes(await errand.run("a", "b")) == {"a": "answered", "b": "answered"}
    assert list_events(store) == [["sent", "expired", "collected"], ["sent", "ended", "collected"]]
    assert list_outcomes(store) == {"lost": 2, "answered": 2}
    # Providers charge for answers only.
    spent = sum(line.possibly_twice_cost for line in store.ledger.list_costs("provider"))
    assert spent == 0


async def test_lines_that_nobody_asked_for_and_second_lines_count_for_nothing(
    loopback: Loopback, store: Store, provider: str
) -> None:
    def spoil(_: int) -> None:
        batch = get_batch(loopback)
        name, line, step = batch.lines[0]
        # The server writes lines in reverse, so the first of two is the one that is appended.
        batch.lines[:0] = [(name, line, step), ("pb-of-somebody-else-0", line, step), ("", line, step)]
        loopback.end_batches()

    outcomes = await Errand(loopback, store, provider, spoil).run("a", "b")
    assert read_codes(outcomes) == {"a": "answered", "b": "answered"}
    assert list_outcomes(store) == {"answered": 2}
    collected = store.ledger.list_provider_batches()[0].events[-1]
    assert (collected.event, collected.message) == ("collected", "3 lines that were not asked for")


async def test_results_that_break_off_are_read_again(loopback: Loopback, store: Store, provider: str) -> None:
    loopback.play_results("reset-body", "reset", "ok")
    errand = Errand(loopback, store, provider)
    keys = [f"q{number}" for number in range(20)]
    assert read_codes(await errand.run(*keys)) == dict.fromkeys(keys, "answered")
    assert errand.slept == [POLL, 2 * POLL, 240.0]
    assert len(list_sent(loopback)) == 1
    assert list_events(store) == [["sent", "ended", "collected"]]
    assert list_outcomes(store) == {"answered": 20}


async def test_an_answer_that_no_column_takes_is_lost_alone(loopback: Loopback, store: Store) -> None:
    class Results:
        async def results(self, provider_id: str):  # type: ignore[no-untyped-def]
            for place, written in enumerate((10, 10**12, 20)):
                usage = Usage(output_tokens=written, cache_write_tokens=written)
                yield (
                    f"pb-00000000-{place}",
                    Completion(text="yes", stop="complete", model="priced", usage=usage),
                )

    batch = intend(store, Errand(loopback, store, "anthropic"), ["a", "b", "c"])
    collected = await collect(batch, "theirs", Results(), store.ledger)  # type: ignore[arg-type]
    assert collected.cost > 0
    assert list_outcomes(store) == {"answered": 2, "lost": 1}
    assert store.ledger.find_answer("b") is None
    assert [call.outcome for call in store.ledger.list_doubtful()] == ["lost"]


async def test_no_credit_in_the_lines_ends_the_run_and_counts_against_nobody(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_lines("ok", "status:402", "status:402")
    errand = Errand(loopback, store, provider)
    assert read_codes(await errand.run("a", "b", "c")) == {"a": "answered", "b": "", "c": ""}
    assert errand.caller.stopped is not None
    assert errand.caller.stopped.code == "no_credit"
    # Paid up, they are sent as if they had not been.
    later = await Errand(loopback, store, provider).run("a", "b", "c")
    assert read_codes(later) == dict.fromkeys("abc", "answered")
    assert list_sent(loopback) == [["a", "b", "c"], ["b", "c"]]


async def test_a_batch_that_is_refused_after_it_was_accepted_ends_the_run_and_is_sent_by_the_next(
    loopback: Loopback, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = loopback.desk._write_openai
    refused = {"status": "failed", "output_file_id": None, "error_file_id": None}
    errors = {"errors": {"object": "list", "data": [{"code": "x", "message": "Enqueued token limit"}]}}
    monkeypatch.setattr(loopback.desk, "_write_openai", lambda batch: write(batch) | refused | errors)
    errand = Errand(loopback, store, "openai")
    assert read_codes(await errand.run("a")) == {"a": ""}
    assert errand.caller.stopped is not None
    assert "Enqueued token limit" in errand.caller.stopped.message
    assert len(list_sent(loopback)) == 1
    assert list_events(store) == [["sent", "ended", "refused"]]
    monkeypatch.setattr(loopback.desk, "_write_openai", write)
    assert read_codes(await Errand(loopback, store, "openai").run("a")) == {"a": "answered"}


async def test_a_batch_that_the_provider_has_forgotten_is_named_and_sent_again(
    loopback: Loopback, store: Store, provider: str
) -> None:
    def forget(number: int) -> None:
        if number == 1:
            loopback.desk.batches.clear()
        loopback.end_batches()

    assert read_codes(await Errand(loopback, store, provider, forget).run("a")) == {"a": "answered"}
    assert list_events(store)[0] == ["sent", "collected"]
    doubtful = store.ledger.list_doubtful()
    assert [call.outcome for call in doubtful] == ["lost"]
    assert doubtful[0].cost > 0


async def test_results_that_are_gone_are_named_and_asked_for_again(
    loopback: Loopback, store: Store, provider: str
) -> None:
    loopback.play_results("status:404")
    assert read_codes(await Errand(loopback, store, provider).run("a")) == {"a": "answered"}
    assert list_sent(loopback) == [["a"], ["a"]]
    assert [call.outcome for call in store.ledger.list_doubtful()] == ["lost"]
