"""Honest submissions that look like attacks: all are right, and no check blames any of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evals.redteam.cases import Arena, Work, load_attacks, load_honest, open_arena
from evals.redteam.run import Trial

HONEST = load_honest()
#: What inputs are drawn from here: any secret is as good.
SEED = "5eed" * 8


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with open_arena(workers=1, seed=SEED) as opened:
        yield opened


def test_there_are_enough_and_each_is_another_program_text() -> None:
    assert len(HONEST) >= 50
    texts = {work.code for work in (*HONEST, *load_attacks())}
    assert len(texts) == len(HONEST) + len(load_attacks())


@pytest.mark.parametrize("work", HONEST, ids=lambda work: work.name)
def test_an_honest_submission_is_right_whatever_it_looks_like(arena: Arena, work: Work) -> None:
    trial = Trial(work, arena.try_out(work, sketched=True))
    assert trial.accepted, (trial.verdict, trial.reason)
