"""What calls may take at most, told before they are made."""

from __future__ import annotations

import pytest

from pipeline.judge.calls.estimates import Estimate, estimate_call
from pipeline.judge.providers.models import find_model
from tests.judge.calls.fakes import a_question, a_role


def estimate(*models: str, batch: bool = False) -> Estimate:
    roles = [a_role(model) for model in models]
    each = [estimate_call(a_question("k", role).request, find_model(role), batch=batch) for role in roles]
    return sum(each, Estimate())


def test_estimates_add_up_and_a_batch_costs_half() -> None:
    both = estimate("priced", "priced")
    assert (both.calls, both.output_tokens, both.unpriced) == (2, 200, 0)
    assert both.input_tokens > 0
    # One micro-dollar per token read, two per token written.
    assert both.cost == both.input_tokens + 400
    assert estimate("priced", "priced", batch=True).cost == pytest.approx(both.cost / 2, abs=2)


def test_a_model_without_a_price_is_counted_and_costs_nothing_known() -> None:
    unknown = estimate("unpriced-model")
    assert (unknown.calls, unknown.cost, unknown.unpriced) == (1, 0, 1)


def test_what_the_provider_counted_takes_the_place_of_the_estimate() -> None:
    role = a_role("priced")
    counted = estimate_call(a_question("k", role).request, find_model(role), counted=7)
    assert (counted.input_tokens, counted.cost) == (7, 7 + 200)
