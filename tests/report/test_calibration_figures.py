"""Figures of a calibration: where points, bars and the certified place lie, and what the table samples."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pipeline.report.calibration.figures import draw_reliability, draw_risk, sample_risk
from pipeline.stats.reliability import Reliability, measure_reliability
from tests.report.calibrated import certificate

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def measured() -> Reliability:
    """Twenty drafts at 0.9, two of them wrong, and twenty at 0.5, ten of them wrong."""
    sure = [0.9] * 20 + [0.5] * 20
    right = [1] * 18 + [0] * 2 + [1] * 10 + [0] * 10
    return measure_reliability(sure, right, [n % 8 for n in range(40)])


def circles(svg: str) -> list[tuple[float, float]]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}circle")
    return [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in found]


def polylines(svg: str) -> list[list[tuple[float, float]]]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return [
        [tuple(map(float, point.split(","))) for point in one.attrib["points"].split()]  # type: ignore[misc]
        for one in found
    ]


def test_probabilities_that_hold_lie_on_the_diagonal(measured: Reliability) -> None:
    svg = str(draw_reliability(measured, "k"))
    (diagonal,) = polylines(svg)
    (left, bottom), (right, top) = diagonal
    for x, y in circles(svg):
        across, up = (x - left) / (right - left), (bottom - y) / (bottom - top)
        assert across == pytest.approx(up, abs=0.002)
    assert [round((x - left) / (right - left), 2) for x, _ in circles(svg)] == [0.5, 0.9]


def test_the_table_of_risk_counts_wrong_ones_among_the_surest(measured: Reliability) -> None:
    first, second = sample_risk(measured)
    assert (first.threshold, first.accepted, first.wrong, first.risk) == (0.9, 20, 2, 0.1)
    assert (second.threshold, second.accepted, second.wrong, second.risk) == (0.5, 40, 12, 0.3)
    assert (first.coverage, second.coverage) == (0.5, 1.0)
    # Wilson's interval of 2 in 20.
    assert (first.interval.low, first.interval.high) == pytest.approx((0.0279, 0.3010), abs=1e-4)


def test_the_certified_point_lies_at_its_coverage_and_is_named(measured: Reliability) -> None:
    svg = str(draw_risk(measured, 0.1, certificate(threshold=0.8), "k"))
    limit = polylines(svg)[0]
    ((x, _),) = circles(svg)
    assert (x - limit[0][0]) / (limit[1][0] - limit[0][0]) == pytest.approx(0.62, abs=0.002)
    assert "certified: 62 %" in svg
    assert "certified are 62 %" in svg  # for whoever hears the page


def test_a_refusal_is_no_point(measured: Reliability) -> None:
    svg = str(draw_risk(measured, 0.1, certificate(threshold=None), "k"))
    assert circles(svg) == []
    assert "no threshold is certified" in svg


def test_a_curve_of_very_many_points_is_thinned_and_keeps_its_ends() -> None:
    n = 5000
    many = measure_reliability([place / n for place in range(n)], [1, 0] * (n // 2), [0, 1] * (n // 2))
    svg = str(draw_risk(many, 0.1, None, "k"))
    curve = polylines(svg)[1]
    assert len(curve) == 200
    assert curve[-1][0] == polylines(svg)[0][1][0]
    assert len(sample_risk(many)) == 10


def test_colours_are_those_of_the_page_and_text_is_escaped(measured: Reliability) -> None:
    svg = str(draw_risk(replace(measured), 0.1, certificate(threshold=0.8), "k"))
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b", svg)
    assert "var(--accent)" in svg
