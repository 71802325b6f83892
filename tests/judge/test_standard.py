"""The standard of feedback: what it finds, what it lets pass, and that the rules judge meets it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.judge import RulesJudge
from pipeline.judge.standard import check_feedback, split_sentences
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import list_rubrics
from pipeline.report.collect import Collector
from pipeline.store import open_store
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Citation,
    Criterion,
    FeedbackItem,
    Finding,
    Level,
    Overall,
    OverallGrade,
    Rubric,
    Score,
    Severity,
)
from tests.judge.test_rules_judge import SITUATIONS, a_request

LINE = Citation(kind="lines", first_line=14, last_line=16, quote="x")
TRAFFIC = Citation(kind="fact", fact="profile.hbm_traffic_ratio", value="2.333")
RUBRIC = Rubric(
    id="made_up",
    version="v1",
    title="Made up",
    purpose="",
    criteria=tuple(
        Criterion(
            id=name,
            title=title,
            question="",
            weight=1,
            source=source,
            evidence=(),
            levels=tuple(Level(level=level, anchor="") for level in range(5)),
        )
        for name, title, source in (
            ("traffic", "HBM traffic", "check:hbm_traffic"),
            ("overlap", "Overlap and balance", "judge"),
        )
    ),
    overall=Overall(gates=("correct",), pass_mark=0.6, minimum_scored_weight=0.5),
)
GOOD = (
    FeedbackItem(part="works", text="The tile of `rhs` is loaded once per column block.", citations=(LINE,)),
    FeedbackItem(
        part="change",
        text="Traffic is 2.333 times the smallest: `lhs` is loaded again.",
        citations=(TRAFFIC,),
    ),
    FeedbackItem(
        part="next", text="Hoist the load of `lhs` out of the loop over columns.", citations=(LINE,)
    ),
)


def check(*items: FeedbackItem, **changes: Any) -> list[str]:
    given = {
        "scores": (a_score("traffic", 3), a_score("overlap", 4)),
        "overall": OverallGrade(value=0.8, passed=True, reason="", scored_weight=1.0),
        "rubric": RUBRIC,
    }
    return check_feedback(items, **{**given, **changes})


def a_score(criterion: str, level: int | None, *citations: Citation) -> Score:
    return Score(criterion=criterion, level=level, source="judge", reason="r", citations=citations)


def item(part: Any, text: str, *citations: Citation) -> FeedbackItem:
    return FeedbackItem(part=part, text=text, citations=citations)


def test_feedback_that_is_concrete_grounded_and_complete_has_no_shortcoming() -> None:
    assert check(*GOOD) == []


# Order and completeness of the parts.


def test_parts_out_of_order_are_named() -> None:
    works, change, next_ = GOOD
    assert check(change, works, next_) == ["item 2 (works): it stands behind the part 'change'"]


def test_feedback_without_a_next_step_is_incomplete() -> None:
    assert check(*GOOD[:2]) == ["no item names a next step"]
    assert check() == ["no item names a next step"]


# Evidence.


def test_praise_without_evidence_is_found() -> None:
    praise = item("works", "Tiles of 128 rows are used.")
    assert check(praise, *GOOD[1:]) == ["item 1 (works): it praises without evidence"]


def test_a_change_that_cites_nothing_is_found() -> None:
    change = item("change", "The loop over 4 blocks loads `lhs` again.")
    assert check(GOOD[0], change, GOOD[2]) == ["item 2 (change): it cites nothing"]


def test_a_checks_own_words_are_evidence_where_the_check_had_none_to_give() -> None:
    finding = Finding(check="compiles", severity=Severity.ERROR, message="The file is 300 KiB.")
    report = CheckReport(check="compiles", status=CheckStatus.FAILED, reason="", findings=(finding,))
    change = item("change", "The file is 300 KiB. Remove what is not used.")
    assert check(change, GOOD[2], reports=(report,)) == []
    with_fact = finding.model_copy(update={"facts": ("build.shapes",)})
    cites_less = report.model_copy(update={"findings": (with_fact,)})
    assert check(change, GOOD[2], reports=(cites_less,)) == ["item 1 (change): it cites nothing"]


def test_talk_of_levels_needs_evidence() -> None:
    talk = item("next", "HBM traffic would reach level 3.")
    assert check(talk) == ["item 1 (next): it speaks of a level without evidence for it"]
    assert check(item("next", "HBM traffic stands at level 3: line 14 loads again.", LINE)) == []


# Words that say nothing.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Great job on line 14.", "Great job"),
        ("Well done, 128 rows at a time.", "Well done"),
        ("Line 14 is right. Overall, a clean kernel.", "Overall"),
        ("Keep up the pace of line 14.", "Keep up the"),
        ("Follow best practices on line 14.", "best practices"),
        ("Line 14 looks good.", "looks good"),
    ],
)
def test_boilerplate_is_found_though_evidence_stands_beside_it(text: str, found: str) -> None:
    assert check(item("next", text, LINE)) == [f"item 1 (next): {found!r} is boilerplate"]


@pytest.mark.parametrize(
    "text",
    [
        "The vector engine cannot keep up with tensor.",
        "HBM traffic overall is 3 times the smallest.",
        "`great_job` on line 14 is never read.",
        "At least 0.75 is good: work on wider tiles.",
        "Start with the load: good tiles have 512 columns.",
    ],
)
def test_words_of_the_trade_are_no_boilerplate(text: str) -> None:
    assert check(item("next", text, LINE)) == []


@pytest.mark.parametrize("text", ["Improve the performance.", "Consider better tiling and less traffic."])
def test_what_would_be_as_true_of_another_submission_is_found(text: str) -> None:
    assert check(item("next", text)) == ["item 1 (next): it would be as true of another submission"]


@pytest.mark.parametrize(
    "text",
    [
        "Use tiles of 512 columns.",
        "Keep `acc` in PSUM.",
        "Widen the nisa.dma_copy.",
        "Look at overlap and balance first.",
        "Load gain once.",
    ],
)
def test_a_number_a_name_or_a_criterion_makes_a_step_particular(text: str) -> None:
    assert check(item("next", text), names=("gain",)) == []


def test_a_name_inside_another_word_makes_nothing_particular() -> None:
    assert check(item("next", "Try it again."), names=("gain",)) != []


def test_an_empty_item_is_found_once() -> None:
    assert check(item("next", " \n")) == ["item 1 (next): it says nothing"]


# One remark per fault.


def test_the_same_remark_twice_is_found_and_names_the_first() -> None:
    again = item("change", "`lhs` is loaded again: traffic is 2.333 times the smallest!", TRAFFIC)
    assert check(GOOD[0], GOOD[1], again, GOOD[2]) == ["item 3 (change): it says what item 2 says"]


def test_a_next_step_may_take_up_a_change() -> None:
    step = GOOD[1].model_copy(update={"part": "next"})
    assert check(GOOD[0], GOOD[1], step) == []


# Length of sentences, counted by hand.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One two three.", [3]),
        ("One two. Three four five!", [2, 3]),
        ("A ratio of 0.5 from nl.load is one sentence.", [9]),
        ("First this; then that: done.", [2, 2, 1]),
        ("Load it once (or keep it there) and go on.", [6, 4]),
        ("Call nl.load(a, b) first.", [4]),
        ("`for i in range(4): x. y` is one word.", [4]),
        ("… – !", []),
        ("", []),
    ],
)
def test_words_of_a_sentence_are_counted_as_documented(text: str, words: list[int]) -> None:
    assert split_sentences(text) == words


def test_a_sentence_of_41_words_is_too_long_and_one_of_40_is_not() -> None:
    short = item("next", "Stop at 14.", LINE)
    assert check(short, item("next", " ".join(["word"] * 40), LINE)) == []
    assert check(short, item("next", " ".join(["word"] * 41), LINE)) == [
        "item 2 (next): a sentence has 41 words; 40 is the most"
    ]


def test_the_mean_over_all_items_may_be_25_and_no_more() -> None:
    # 10 and 40 words make 25 on average; 11 and 40 make 25.5.
    long = item("next", " ".join(["word"] * 40), LINE)
    assert check(item("next", " ".join(["other"] * 10), LINE), long) == []
    assert check(item("next", " ".join(["other"] * 11), LINE), long) == [
        "sentences have 25.5 words on average; 25 is the most"
    ]


# Completeness: gates and levels.

CLOSED = OverallGrade(value=0.0, passed=False, reason="", scored_weight=1.0, closed_gates=("correct",))


def a_failure(**evidence: Any) -> CheckReport:
    finding = Finding(check="correct", severity=Severity.ERROR, message="Case big fails.", **evidence)
    return CheckReport(check="correct", status=CheckStatus.FAILED, reason="", findings=(finding,))


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        (item("change", "Case big fails. Look at the tail.", TRAFFIC), {}),
        (item("change", "The last tile is cut off.", LINE), {"lines": (16,)}),
        (item("next", "Mend 3 cases.", Citation(kind="fact", fact="run.cases")), {"facts": ("run.cases",)}),
    ],
)
def test_a_closed_gate_is_spoken_of_by_words_line_or_fact(
    answer: FeedbackItem, evidence: dict[str, Any]
) -> None:
    step = item("next", "Begin at line 99.", Citation(kind="lines", first_line=99, last_line=99))
    assert check(answer, step, overall=CLOSED, reports=(a_failure(**evidence),)) == []


def test_a_closed_gate_that_nothing_speaks_of_is_found() -> None:
    assert check(*GOOD, overall=CLOSED, reports=(a_failure(lines=(17,)),)) == [
        "gate correct is closed, and no item under change or next says so or cites what closed it"
    ]


def test_praise_does_not_answer_a_closed_gate() -> None:
    praise = item("works", "Case big fails. The others pass.", LINE)
    step = item("next", "Begin at 3.")
    assert len(check(praise, step, overall=CLOSED, reports=(a_failure(),))) == 1


def test_a_criterion_two_levels_below_its_best_is_spoken_of() -> None:
    far = (a_score("traffic", 2, TRAFFIC), a_score("overlap", 2, Citation(kind="lines", first_line=15)))
    step = item("next", "Begin at 3.")
    assert check(step, scores=far) == [
        f"{title} stands at level 2 of 4, and no item under change or next cites its evidence or names it"
        for title in ("HBM traffic", "Overlap and balance")
    ]
    # One by the fact, the other by overlapping lines.
    assert (
        check(item("change", "It loads `a` again.", TRAFFIC), item("next", "Stop.", LINE), scores=far) == []
    )
    named = item("next", "Mend HBM traffic, then overlap and balance.")
    assert check(named, scores=far) == []


def test_praise_does_not_answer_for_a_low_level() -> None:
    far = (a_score("traffic", 0, TRAFFIC),)
    praise = item("works", "HBM traffic is counted.", TRAFFIC)
    assert len(check(praise, item("next", "Begin at 3."), scores=far)) == 1


@pytest.mark.parametrize("level", [None, 3, 4])
def test_a_criterion_that_is_unscored_or_near_its_best_may_be_passed_over(level: int | None) -> None:
    assert check(item("next", "Begin at 3."), scores=(a_score("traffic", level),)) == []


def test_evidence_of_a_criterions_check_counts_as_its_own() -> None:
    finding = Finding(check="hbm_traffic", severity=Severity.WARNING, message="m", facts=("profile.other",))
    report = CheckReport(check="hbm_traffic", status=CheckStatus.FAILED, reason="", findings=(finding,))
    answer = item("change", "It loads `a` again.", Citation(kind="fact", fact="profile.other", value="1"))
    far = (a_score("traffic", 0),)
    assert check(answer, item("next", "Begin at 3."), scores=far, reports=(report,)) == []


def test_levels_do_not_matter_while_a_gate_is_closed() -> None:
    answer = item("change", "Case big fails. Look at `a`.", LINE)
    report = a_failure()
    far = (a_score("traffic", 0),)
    assert check(answer, GOOD[2], scores=far, overall=CLOSED, reports=(report,)) == []


# The rules judge is held to it too.


@pytest.mark.parametrize("rubric", list_rubrics())
@pytest.mark.parametrize("evidence", SITUATIONS.values(), ids=SITUATIONS)
async def test_the_rules_judge_meets_the_standard_whatever_the_verdict(evidence: Any, rubric: str) -> None:
    request = a_request(evidence, rubric)
    made = await RulesJudge().judge(request)
    assert (
        check_feedback(made.feedback, made.scores, made.overall, request.rubric, reports=request.reports)
        == []
    )


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_rules_judge_meets_the_standard_on_every_shipped_solution(shipped: Path, tmp_path: Path) -> None:
    database = Path(shutil.copy(shipped / "grades.duckdb", tmp_path))
    shortcomings = {}
    with open_store(database) as store:
        collector = Collector(store)
        _, rows = collector.load_batch(store.list_batches(1)[0].id)
        for row in rows:
            detail = collector.load_detail(row)
            made, rubric, inspection = detail.judgment, detail.rubric, detail.inspection
            assert made is not None
            assert rubric is not None
            assert inspection is not None
            shortcomings[row.origin] = check_feedback(
                made.feedback, made.scores, made.overall, rubric, reports=inspection.reports
            )
    assert shortcomings == {str(path): [] for path in tasks_root().glob("*/solutions/*.py")}
