"""Golden-set replay: an unchanged judge is left in peace, one that changed without a word is found out."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.routing.golden_set import choose_golden
from pipeline.routing.replay import replay_golden
from pipeline.store import Store, open_store
from pipeline.types import DeskEvent, Planted, Review, hash_text
from tests.judge.loopback import Loopback
from tests.judge.loopback.answers import write_answer
from tests.review.desk_examples import NOON
from tests.routing.golden import COUNT, keep_drafts, label_drafts, request_of

RULES = Settings(fresh="one")


def plant(store: Store, number: int) -> None:
    review = Review(id=f"r-{number}", grading_id=f"g-{number:02}", reason="gold", opened_at=NOON)
    store.open_review(review)
    action = Planted(levels={"overlap": 3})
    store.desk.record(
        [DeskEvent(id=f"e-{number}", review_id=review.id, slot=0, actor="lead", at=NOON, action=action)]
    )


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copy(empty_database, tmp_path / "grades.duckdb")
    with open_store(tmp_path / "grades.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Loopback]:
    with pytest.MonkeyPatch.context() as patch, Loopback() as opened:
        patch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-Zq81xkLmVb77TrueSecret")
        yield opened


@pytest.fixture(scope="module")
def drafted(shared_server: Loopback, empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with labelled drafts by the language judge, at level 2 throughout."""
    path = tmp_path_factory.mktemp("drafted") / "grades.duckdb"
    shutil.copy(empty_database, path)
    with open_store(path) as opened:
        keep_drafts(opened, language(shared_server, ""))
        label_drafts(opened, range(COUNT))
    return path


@pytest.fixture
def language_store(drafted: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copy(drafted, tmp_path / "language.duckdb")
    with open_store(tmp_path / "language.duckdb") as opened:
        yield opened


@pytest.fixture
def server(shared_server: Loopback) -> Loopback:
    shared_server.answer = None
    return shared_server


def language(server: Loopback, label: str) -> Settings:
    return Settings(judge="anthropic", base_url=server.address, fresh=label)


def answering(*levels: int) -> Any:
    """Return what answers with one of these levels, by a hash of what is asked and of how often it was."""
    asked: Counter[str] = Counter()

    def answer(wire: str, body: dict[str, Any]) -> str:
        prompt = str(body["messages"][0]["content"])
        asked[prompt] += 1
        level = levels[int(hash_text(prompt, asked[prompt])[:8], 16) % len(levels)]
        return write_answer(body["output_config"]["format"]["schema"], prompt).replace(
            '"level": 2', f'"level": {level}'
        )

    return answer


def test_the_rules_judge_never_flips(store: Store) -> None:
    keep_drafts(store, RULES)
    label_drafts(store, range(COUNT))
    found = replay_golden(store, RULES, 40)
    assert len(found.items) == COUNT
    assert {(item.levels, item.flips, item.self_flips, item.pass_flipped) for item in found.items} == {
        (2, 0, 0, False)
    }
    assert (found.changed, found.asked_twice) == (False, True)
    assert (found.flips.value, found.usual.value) == (0.0, 0.0)
    assert found.sentence.startswith("No change beyond the judge's own noise: 0.000 of its levels flip")
    # What the first replay taught of its noise is enough for the second.
    assert not replay_golden(store, replace(RULES, fresh="two"), 40).asked_twice


def test_fewer_than_twenty_say_nothing(store: Store) -> None:
    keep_drafts(store, RULES, 19)
    label_drafts(store, range(19))
    found = replay_golden(store, RULES, 40)
    assert (found.changed, found.flips.value, found.excess.value) == (None, None, None)
    assert found.sentence == "Nothing can be said of this judge: too few: 19 of at least 20 submissions."


def test_a_model_that_changes_without_a_word_is_found_out_at_the_first_replay(
    language_store: Store, server: Loopback
) -> None:
    asked = len(server.calls)
    server.answer = answering(4)
    found = replay_golden(language_store, language(server, "one"), 40)
    assert len(server.calls) == asked + 2 * COUNT
    assert found.changed is True
    assert (found.flips.value, found.usual.value, found.excess.value) == (1.0, 0.0, 1.0)
    assert found.sentence.startswith("The judge has changed: 1.000 of its levels flip, +1.000 beside")
    # Flips against drafts of another model are no noise of this one: the next night it still is another.
    again = replay_golden(language_store, language(server, "two"), 40)
    assert (again.changed, again.asked_twice, again.usual.value) == (True, False, 0.0)
    assert len(server.calls) == asked + 3 * COUNT


def test_a_judge_that_never_agrees_with_itself_is_no_changed_one(
    language_store: Store, server: Loopback
) -> None:
    server.answer = answering(2, 3, 4)
    found = replay_golden(language_store, language(server, "one"), 40)
    # Of three levels two differ from any: both shares are near 2/3, within 3 sqrt(2/9 / 20).
    assert found.flips.value == pytest.approx(2 / 3, abs=0.32)
    assert found.usual.value == pytest.approx(2 / 3, abs=0.32)
    assert found.changed is False
    # The same label asks nothing again and says the same.
    asked = len(server.calls)
    assert replay_golden(language_store, language(server, "one"), 40) == found
    assert len(server.calls) == asked


def test_what_stops_the_judge_concludes_nothing_and_the_label_goes_on(
    language_store: Store, server: Loopback
) -> None:
    server.play(*["ok"] * 3, "status:401")
    stopped = replay_golden(language_store, language(server, "one"), 40)
    assert stopped.stopped is not None
    assert (stopped.changed, stopped.items) == (None, ())
    assert stopped.sentence.startswith("Nothing can be said yet: ")
    assert replay_golden(language_store, language(server, "one"), 40).changed is False


def test_gold_items_come_first_and_what_was_asked_before_stays(store: Store) -> None:
    keep_drafts(store, RULES)
    label_drafts(store, range(COUNT))
    for number in (3, 11):
        plant(store, number)
    judge = "rules 2"
    first = [item.request.submission.id for item in choose_golden(store, judge, 5)]
    assert sorted(first[:2]) == ["s-03", "s-11"]
    assert first == [item.request.submission.id for item in choose_golden(store, judge, 20)][:5]
    kept = choose_golden(store, judge, 2, first={"s-07"})
    assert kept[0].request.submission.id == "s-07"
    (golden,) = choose_golden(store, judge, 1, first={"s-07"})
    assert golden.request == request_of(7)


def test_a_judge_without_drafts_is_a_sentence(store: Store) -> None:
    keep_drafts(store, RULES, 1)
    with pytest.raises(GraderError, match="of 0 planted or labelled submissions none has a draft") as error:
        replay_golden(store, RULES, 40)
    assert error.value.fault.code == "not_found"
    label_drafts(store, range(1))
    with pytest.raises(
        GraderError, match="of 1 planted or labelled submissions none has a draft by 'another'"
    ):
        choose_golden(store, "another", 40)


def test_a_replay_without_a_label_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="label"):
        replay_golden(store, Settings(), 40)
