"""What a draft shows about itself, number by number."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.features import NAMES, TaskHistory, read_features
from pipeline.types import (
    GRADE,
    Citation,
    Criterion,
    Fact,
    Fault,
    Finding,
    Inspection,
    Judgment,
    Level,
    Overall,
    OverallGrade,
    Owner,
    Provenance,
    Rubric,
    Score,
    Severity,
    Struck,
    Verdict,
    Vote,
)


def a_criterion(name: str, source: str, evidence: tuple[str, ...] = ("code",)) -> Criterion:
    levels = tuple(Level(level=level, anchor="seen") for level in range(5))
    return Criterion(
        id=name, title=name, question="?", weight=1, source=source, evidence=evidence, levels=levels
    )


RUBRIC = Rubric(
    id="quality",
    version="v1",
    title="Quality",
    purpose="To test.",
    criteria=(
        a_criterion("traffic", "check:traffic"),
        a_criterion("use", "check:use"),
        a_criterion("overlap", "judge", ("profile.seconds",)),
        a_criterion("style", "judge"),
    ),
    overall=Overall(gates=(), pass_mark=0.6, minimum_scored_weight=0.5),
)


def a_score(name: str, level: int | None, source: str = "judge", **more: object) -> Score:
    return Score.model_validate(
        {"criterion": name, "level": level, "source": source, "reason": "because", **more}
    )


def votes(*given: tuple[int | None, float]) -> tuple[Vote, ...]:
    return tuple(
        Vote(member=f"m {place}", level=level, confidence=sure) for place, (level, sure) in enumerate(given)
    )


#: Checks give 2 and 3 of 4, on average 0.625; the judge 4 and 1, on average 0.625 too.
CHECKED = (a_score("traffic", 2, "check:traffic"), a_score("use", 3, "check:use"))
JUDGED = (a_score("overlap", 4, confidence=0.9), a_score("style", 1, confidence=0.5))


def a_judgment(
    scores: tuple[Score, ...] = CHECKED + JUDGED, *, value: float | None = 0.7, **more: object
) -> Judgment:
    overall = OverallGrade(value=value, passed=None, reason="why", scored_weight=0.75)
    return Judgment.model_validate({"judge": "language 1", "scores": scores, "overall": overall, **more})


def an_inspection(*facts: Fact, approximated: tuple[str, ...] = ()) -> Inspection:
    return Inspection(verdict=Verdict.CORRECT, sandbox="bubblewrap", facts=facts, approximated=approximated)


def a_fact(name: str, provenance: Provenance, value: int = 7) -> Fact:
    return Fact(id=name, value=value, provenance=provenance)


def read(
    name: str,
    judgment: Judgment,
    inspection: Inspection | None = None,
    history: TaskHistory | None = None,
) -> dict[str, float]:
    """Return the features of `name` by their names."""
    rows = read_features(inspection or an_inspection(), judgment, RUBRIC, history)
    return dict(zip(NAMES, rows[name], strict=True))


def test_there_is_a_row_for_each_level_of_the_judge_and_one_for_the_grade() -> None:
    assert list(read_features(an_inspection(), a_judgment(), RUBRIC)) == ["overlap", "style", GRADE]


def test_what_has_no_level_has_no_row() -> None:
    unscored = (*CHECKED, a_score("overlap", None), a_score("style", 3))
    assert list(read_features(an_inspection(), a_judgment(unscored), RUBRIC)) == ["style", GRADE]
    assert list(read_features(an_inspection(), a_judgment(value=None), RUBRIC)) == ["overlap", "style"]


def test_a_grade_of_checks_alone_has_a_row_that_says_nothing_of_a_judge() -> None:
    row = read(GRADE, a_judgment(CHECKED))
    assert (row["self_report"], row["vote_share"], row["dispersion"]) == (0.5, 1.0, 0.0)
    assert (row["above_checks"], row["below_checks"], row["citations"]) == (0.0, 0.0, 0.0)


def test_a_judge_that_failed_has_no_row() -> None:
    fault = Fault(owner=Owner.JUDGE, code="garbage", message="no JSON")
    assert read_features(an_inspection(), a_judgment(fault=fault), RUBRIC) == {}


def test_a_criterion_that_the_rubric_lacks_has_no_row() -> None:
    foreign = a_judgment((a_score("colour", 3),))
    assert list(read_features(an_inspection(), foreign, RUBRIC)) == [GRADE]


def test_levels_are_shares_of_the_best_and_the_grade_lies_beside_its_pass_mark() -> None:
    judgment = a_judgment()
    assert read("overlap", judgment)["level"] == 1.0
    assert read("style", judgment)["level"] == 0.25
    grade = read(GRADE, judgment)
    assert grade["level"] == 0.7
    assert grade["margin"] == pytest.approx(0.1)
    assert read("style", judgment)["margin"] == pytest.approx(0.1)
    assert grade["unscored_weight"] == 0.25


def test_a_level_is_held_against_what_checks_settled() -> None:
    judgment = a_judgment()
    assert read("overlap", judgment)["above_checks"] == pytest.approx(0.375)
    assert read("overlap", judgment)["below_checks"] == 0.0
    assert read("style", judgment)["below_checks"] == pytest.approx(0.375)
    assert read(GRADE, judgment)["above_checks"] == read(GRADE, judgment)["below_checks"] == 0.0
    alone = read("overlap", a_judgment(JUDGED))
    assert (alone["above_checks"], alone["below_checks"]) == (0.0, 0.0)


def test_a_panel_shows_its_share_of_votes_how_far_it_lies_apart_and_how_sure_the_agreeing_are() -> None:
    panel = votes((3, 0.9), (3, 0.7), (1, 0.2), (None, 0.0))
    judgment = a_judgment((*CHECKED, a_score("overlap", 3, confidence=0.4, votes=panel), JUDGED[1]))
    row = read("overlap", judgment)
    assert row["vote_share"] == 0.5
    assert row["dispersion"] == 0.5
    assert row["self_report"] == pytest.approx(0.8)
    # The grade is as far apart as its worst criterion, and as sure as its two are on average.
    grade = read(GRADE, judgment)
    assert (grade["vote_share"], grade["dispersion"]) == (0.5, 0.5)
    assert grade["self_report"] == pytest.approx((0.8 + 0.5) / 2)


def test_a_judge_that_does_not_say_how_sure_it_is_stands_in_the_middle() -> None:
    assert read("style", a_judgment((a_score("style", 2),)))["self_report"] == 0.5


def test_struck_statements_count_where_they_stood_and_in_all() -> None:
    fallen = tuple(
        Struck(member="judge m 1", place=place, text="It flies.", problems=("no such line",))
        for place in ("score overlap", "score overlap", "feedback item 1")
    )
    judgment = a_judgment(struck=fallen)
    assert read("overlap", judgment)["struck_here"] == pytest.approx(math.log(3))
    assert read("style", judgment)["struck_here"] == 0.0
    assert read("style", judgment)["struck"] == pytest.approx(math.log(4))
    assert read(GRADE, judgment)["struck_here"] == pytest.approx(math.log(4))


def test_contradictions_count_where_they_stood_and_notes_do_not() -> None:
    said = [
        (Severity.WARNING, "score style calls 7 measured"),
        (Severity.WARNING, "score style_guide is another criterion"),
        (Severity.INFO, "score style has a note"),
    ]
    findings = tuple(
        Finding(check="judge", severity=severity, message=message, owner=Owner.JUDGE)
        for severity, message in said
    )
    judgment = a_judgment(findings=findings)
    assert read("style", judgment)["contradictions_here"] == pytest.approx(math.log(2))
    assert read("overlap", judgment)["contradictions_here"] == 0.0
    assert read("overlap", judgment)["contradictions"] == pytest.approx(math.log(3))


def test_citations_count_for_their_level_and_together_for_the_grade() -> None:
    cited = (Citation(kind="lines", first_line=1, last_line=2), Citation(kind="lines", first_line=3))
    judgment = a_judgment((a_score("overlap", 3, citations=cited), a_score("style", 3, citations=cited[:1])))
    assert read("overlap", judgment)["citations"] == pytest.approx(math.log(3))
    assert read(GRADE, judgment)["citations"] == pytest.approx(math.log(4))


def test_evidence_that_is_only_modelled_is_told_from_measured() -> None:
    modelled = a_fact("profile.seconds", Provenance.MODELLED)
    measured = a_fact("run.seconds", Provenance.MEASURED)
    counted = a_fact("build.shapes", Provenance.COUNTED)
    assert read("overlap", a_judgment(), an_inspection(modelled, counted))["modelled_only"] == 1.0
    assert read("overlap", a_judgment(), an_inspection(counted))["modelled_only"] == 0.0
    # `style` is judged from the code and cites no fact.
    assert read("style", a_judgment(), an_inspection(modelled))["modelled_only"] == 0.0
    assert read(GRADE, a_judgment(), an_inspection(modelled))["modelled_only"] == 1.0
    assert read(GRADE, a_judgment(), an_inspection(modelled, measured))["modelled_only"] == 0.0
    cited = a_score("style", 3, citations=(Citation(kind="fact", fact="profile.seconds", value="7"),))
    assert read("style", a_judgment((cited,)), an_inspection(modelled))["modelled_only"] == 1.0


def test_the_program_shows_its_length_and_what_is_approximated() -> None:
    traced = an_inspection(a_fact("build.instructions", Provenance.COUNTED, 99), approximated=("exp", "tanh"))
    row = read(GRADE, a_judgment(), traced)
    assert row["program_length"] == pytest.approx(math.log(100))
    assert row["approximated"] == pytest.approx(math.log(3))
    assert read(GRADE, a_judgment())["program_length"] == 0.0


def test_a_task_is_new_until_it_has_labels_and_its_share_is_drawn_to_the_usual_one() -> None:
    new = read(GRADE, a_judgment())
    assert (new["novelty"], new["task_history"]) == (1.0, 0.5)
    known = read(GRADE, a_judgment(), history=TaskHistory(labels=4, right=4, usual=0.75))
    assert known["novelty"] == pytest.approx(0.2)
    # (4 + 4 x 0.75) / 8.
    assert known["task_history"] == pytest.approx(0.875)


@pytest.mark.parametrize(
    ("labels", "right", "usual"), [(1, 2, 0.5), (3, -1, 0.5), (0, 0, 1.5), (0, 0, math.nan)]
)
def test_a_history_that_cannot_be_is_refused(labels: int, right: int, usual: float) -> None:
    with pytest.raises(ValueError):
        TaskHistory(labels=labels, right=right, usual=usual)


@given(
    levels=st.tuples(*[st.none() | st.integers(0, 4)] * 4),
    sure=st.none() | st.floats(),
    value=st.none() | st.floats(0, 1),
    panel=st.lists(st.tuples(st.none() | st.integers(0, 4), st.floats(0, 1)), max_size=4),
)
def test_every_number_is_finite(
    levels: tuple[int | None, ...],
    sure: float | None,
    value: float | None,
    panel: list[tuple[int | None, float]],
) -> None:
    scores = tuple(
        a_score(criterion.id, level, criterion.source, confidence=sure, votes=votes(*panel))
        for criterion, level in zip(RUBRIC.criteria, levels, strict=True)
    )
    rows = read_features(an_inspection(), a_judgment(scores, value=value), RUBRIC)
    assert all(len(row) == len(NAMES) for row in rows.values())
    assert all(math.isfinite(number) for number in itertools.chain(*rows.values()))
