"""What a server whose every number is a lie can do to the caps, and to the rest of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store import Store, open_store
from pipeline.types import Completion, Usage
from tests.judge.calls.fakes import Answer, a_question, an_answer, write_models
from tests.judge.calls.test_caller import Case

#: Of the priced model, in micro-dollars: 1 for a token read, 2 for a token written, of which 100 are allowed.
WRITTEN_AT_MOST = 200


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("NKI_GRADER_MODELS", str(write_models(tmp_path)))
    with open_store(tmp_path / "grades.duckdb") as opened:
        yield opened


def uncounted(text: str, read: int = 0) -> Completion:
    return Completion(text=text, stop="complete", model="priced", usage=Usage(input_tokens=read))


async def spend(store: Store, answer: Answer) -> tuple[int, int]:
    """Return what one call cost by the run's books and by the ledger."""
    case = Case(store, answer)
    await case.ask()
    return case.caller.spending.cost, store.ledger.spent(None)


@pytest.mark.parametrize("read", [0, 7])
async def test_text_that_nobody_counted_costs_what_was_set_aside(store: Store, read: int) -> None:
    by_run, by_ledger = await spend(store, uncounted("yes", read))
    assert by_run == by_ledger
    assert by_run > WRITTEN_AT_MOST


async def test_a_refusal_before_the_first_word_stays_free(store: Store) -> None:
    assert await spend(store, uncounted("")) == (0, 0)


async def test_text_that_is_counted_costs_what_it_says(store: Store) -> None:
    assert await spend(store, an_answer(read=100, written=10)) == (120, 120)


async def test_a_cap_holds_against_a_server_that_counts_nothing(store: Store) -> None:
    case = Case(store, uncounted("yes"), max_cost=0.001)
    ended = await case.ask_all(*[a_question(f"k{number}") for number in range(20)])
    assert any(isinstance(one, Exception) for one in ended)
    # Each answer may have taken its 200 micro-dollars of 1000.
    assert len(case.provider.requests) <= 5


async def test_a_count_of_a_billion_tokens_holds_nobody_up_for_days(store: Store, tmp_path: Path) -> None:
    limited = (
        (tmp_path / "models.toml")
        .read_text()
        .replace('id = "priced"', 'id = "priced"\ntokens_per_minute = 10_000')
    )
    (tmp_path / "limited.toml").write_text(limited)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NKI_GRADER_MODELS", str(tmp_path / "limited.toml"))
        case = Case(store, an_answer(read=10**11))
        await case.ask(a_question("k1"))
        await case.ask(a_question("k2"))
    # The model holds 100,000 tokens, which pass in ten minutes.
    assert case.time.seconds <= 11 * 60
