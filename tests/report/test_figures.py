from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pipeline.report.figures import draw_funnel, draw_overall, draw_standing, draw_verdicts
from pipeline.report.sections import Rate, Standing, Step, TaskOutcome
from pipeline.types import Verdict

STEPS = (
    Step("received", 9, ()),
    Step("admitted", 7, (("too_large", 2),)),
    Step("built", 0, (("timeout", 7),)),
)
STANDING = Standing(released=4, waiting=3, decided=0, held=1, open=0, rejected=1)
TASKS = (
    TaskOutcome(
        task_id="<b>$x$</b>",
        title="",
        verdicts={Verdict.CORRECT: 2, None: 1},
        correct=Rate.of(2, 2),
        passed=Rate.of(1, 2),
        overall=(0.0, 0.95, 1.0),
        pass_mark=0.7,
    ),
)
FIGURES = [
    lambda: draw_funnel(STEPS),
    lambda: draw_standing(STANDING),
    lambda: draw_verdicts(TASKS),
    lambda: draw_overall(TASKS),
]


def words(svg: str) -> list[str]:
    return [
        element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")
    ]


@pytest.mark.parametrize("draw", FIGURES)
def test_the_same_numbers_give_the_same_bytes_and_no_date(draw) -> None:
    assert draw() == draw()
    assert "20" + "26" not in draw()


@pytest.mark.parametrize("draw", FIGURES)
def test_a_figure_is_one_well_formed_element_in_the_colours_of_the_page(draw) -> None:
    svg = draw()
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" in svg
    assert "#fe00" not in svg


def test_figures_of_one_page_share_no_id() -> None:
    ids = [
        {element.get("id") for element in ElementTree.fromstring(draw()).iter() if element.get("id")}
        for draw in FIGURES
    ]
    assert sum(map(len, ids)) == len(set().union(*ids))


def test_the_funnel_prints_every_count_and_what_was_lost() -> None:
    assert {"9", "7", "0", "2 too large", "7 timeout"} <= set(words(draw_funnel(STEPS)))


def test_the_standing_leaves_out_what_is_empty() -> None:
    shown = words(draw_standing(STANDING))
    assert "released: 4" in shown
    assert not [word for word in shown if word.startswith("decided")]


def test_a_name_with_markup_and_mathematics_is_shown_as_it_is() -> None:
    assert "<b>$x$</b>" in words(draw_verdicts(TASKS))


def test_overall_grades_of_one_belong_to_the_last_tenth() -> None:
    assert sorted(word for word in words(draw_overall(TASKS)) if word in ("1", "2")) == ["1", "1", "2"]


def test_a_batch_without_gradings_can_be_drawn() -> None:
    empty = Standing(released=0, waiting=0, decided=0, held=0, open=0, rejected=0)
    for svg in (
        draw_funnel((Step("received", 0, ()),)),
        draw_standing(empty),
        draw_verdicts(()),
        draw_overall(()),
    ):
        assert svg.startswith("<svg")
