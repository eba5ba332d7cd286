"""Line charts: scales, intervals, marks."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from promptlab.reports.charts import MOST_DOTS, Point, curve, line_chart, pareto


def drawn(values, **options):
    points = [
        Point(run, value) for run, value in enumerate(values) if value is not None
    ]
    options = {"form": "{:g}".format, "is_share": True} | options
    return line_chart(
        {"a": points}, [f"day {n}" for n in range(len(values))], **options
    )


def heights(chart):
    return [dot.y for dot in chart.lines[0].dots]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, math.inf, 2.0],
        [math.nan, 1.0],
        [math.inf],
        [-math.inf, math.nan],
        [1.7e308, 5e-324, -1.7e308],
        [5e-324],
        [0.0, -1.0],
        [1e-320, 1e-310],
    ],
)
@pytest.mark.parametrize("is_share", [False, True])
def test_no_number_stops_a_chart(values, is_share):
    if is_share:
        values = [value for value in values if not 1 < abs(value) < math.inf]
    chart = drawn(values, is_share=is_share)
    priced = {"overall_score": 0.5, "ci_low": None, "ci_high": None, "is_on_front": 1}
    points = pareto(
        [(n, priced | {"cost_total": abs(value)}) for n, value in enumerate(values)]
    )
    line = curve([(abs(value), 0.5) for value in values])
    n_known = sum(map(math.isfinite, values))
    assert (chart is not None) == (n_known > 0)
    for text in (repr(chart), repr(points), repr(line)):
        assert not re.search(r"[xy]=(nan|-?inf)\b|(nan|inf),", text)


def test_nothing_is_drawn_without_a_value():
    assert drawn([None, None]) is None


def test_a_line_goes_up_when_the_values_do():
    first, second, third = heights(drawn([0.2, 0.5, 0.9]))
    assert first > second > third


def test_a_missing_value_has_no_point_and_keeps_its_place():
    chart = drawn([0.2, None, 0.6])
    ends = drawn([0.2, 0.4, 0.6]).lines[0].dots
    assert [dot.x for dot in chart.lines[0].dots] == [ends[0].x, ends[2].x]


def test_noise_is_not_drawn_as_a_trend():
    chart = drawn([0.800, 0.801, 0.800])
    assert max(heights(chart)) - min(heights(chart)) < 2


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.58, 0.74], ["0.5", "0.6", "0.7", "0.8"]),
        ([0.0, 1.0], ["0", "0.5", "1"]),
        ([0.99, 1.0], ["0.8", "0.9", "1"]),
        ([0.0, 0.001], ["0", "0.1", "0.2"]),
    ],
)
def test_the_axis_of_shares_has_whole_tenths(values, labels):
    assert [label for _, label in drawn(values).rows] == labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1100, 2739], ["0", "1000", "2000", "3000"]),
        ([0.1343], ["0", "0.05", "0.1", "0.15"]),
        ([0, 0], ["0", "1"]),
    ],
)
def test_any_other_axis_begins_at_zero(values, labels):
    assert [label for _, label in drawn(values, is_share=False).rows] == labels


def test_every_value_and_interval_is_inside_the_box():
    points = [Point(0, 0.5, 0.0, 1.0), Point(1, 0.97, 0.93, 0.99)]
    chart = line_chart({"a": points}, ["x", "y"], form=str, is_share=True)
    marks = chart.lines[0].intervals.replace("M", " ").replace("V", " ").split()
    assert all(0 <= float(number) <= chart.width for number in marks)
    ends = [float(number) for number in (marks[1], marks[2], marks[4], marks[5])]
    assert all(chart.top <= end <= chart.bottom for end in ends)


def test_marks_keep_their_line_and_lose_words_that_would_overlap():
    chart = drawn([0.5] * 60, marks={1: "v1", 2: "v2", 40: "v3"})
    assert [text for _, text in chart.marks] == ["v1", "", "v3"]


def test_labels_of_runs_do_not_overlap_and_the_newest_has_one():
    chart = drawn([0.5] * 200)
    places = [x for x, _ in chart.columns]
    assert min(b - a for a, b in pairwise(places)) > 40
    assert chart.columns[-1][1] == "day 199"


def test_a_long_history_has_no_dots():
    assert drawn([0.5] * MOST_DOTS).lines[0].dots
    assert not drawn([0.5] * (MOST_DOTS + 1)).lines[0].dots
