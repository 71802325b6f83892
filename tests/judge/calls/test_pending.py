"""Questions are collected instead of asked."""

from __future__ import annotations

import pytest

from pipeline.errors import GraderError
from pipeline.judge.calls.caller import LiveCaller
from pipeline.judge.calls.pending import AnswerPending, CollectingCaller
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store
from pipeline.types import JudgeSetup
from tests.judge.calls.fakes import ScriptedProvider, a_question, a_role, an_answer


async def test_what_is_stored_is_answered_and_the_rest_is_collected_once_in_order(store: Store) -> None:
    live = LiveCaller(
        JudgeSetup(judge=a_role()), store, open_provider=lambda role: ScriptedProvider(an_answer("known"))
    )
    await live.ask(a_question("k1"))
    await live.aclose()
    collecting = CollectingCaller(JudgeSetup(judge=a_role()), store)
    assert (await collecting.ask(a_question("k1"))).text == "known"
    for key in ("k3", "k2", "k3"):
        with pytest.raises(AnswerPending) as pending:
            await collecting.ask(a_question(key))
        assert pending.value.question.key == key
    assert [question.key for question in collecting.wanted] == ["k3", "k2"]
    assert collecting.stopped is None
    assert store.ledger.open_calls() == []


async def test_what_may_not_be_sent_is_not_collected(store: Store) -> None:
    collecting = CollectingCaller(JudgeSetup(judge=a_role(), send_to=("local",)), store)
    with pytest.raises(ProviderError, match="may not be sent to house"):
        await collecting.ask(a_question())
    assert collecting.wanted == ()


def test_a_cap_with_a_model_of_unknown_price_is_refused(store: Store) -> None:
    with pytest.raises(GraderError, match="price of unpriced-model"):
        CollectingCaller(JudgeSetup(judge=a_role("unpriced-model"), max_cost=1), store)
