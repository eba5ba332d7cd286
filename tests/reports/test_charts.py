"""Charts: histograms of case scores, counted in SQL, and lines."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from types import SimpleNamespace

import html5lib
import pytest

from promptlab.database import connect
from promptlab.reports import ReportOptions, analysis_result, to_html
from promptlab.reports.charts import (
    MOST_DOTS,
    Point,
    line_chart,
    pareto,
)
from promptlab.reports.comparisons import comparison
from promptlab.reports.pages import environment
from tests.reports.conftest import GENERATED_AT, TASK_ID

# ---------- the histogram of case scores: counted in SQL, drawn as columns


SVG = "{http://www.w3.org/2000/svg}"


def test_a_dimension_counts_its_cases_by_tenths(result_of):
    counts = {d.dimension_id: d.histogram for d in result_of().dimensions}
    assert counts == {
        "accuracy": [2, 0, 0, 0, 0, 3, 0, 0, 0, 6],
        "consistency": [1, 0, 0, 0, 0, 0, 0, 0, 0, 9],
        "latency": [0, 0, 0, 0, 0, 0, 0, 1, 0, 10],
        "politeness": [],
    }


@pytest.mark.parametrize("tenth", range(11))
def test_a_score_on_a_border_belongs_to_the_upper_tenth(marts, result_of, tenth):
    scores = json.dumps({"accuracy": tenth / 10})
    marts.execute("update marts.fct_case_results set dimension_scores = ?", [scores])
    counts = next(d for d in result_of().dimensions if d.dimension_id == "accuracy")
    expected = [0] * 10
    expected[min(tenth, 9)] = 12
    assert counts.histogram == expected


def test_a_score_below_a_border_stays_below(marts, result_of):
    scores = json.dumps({"accuracy": 0.299999})
    marts.execute("update marts.fct_case_results set dimension_scores = ?", [scores])
    assert result_of().dimensions[0].histogram[2] == 12


def test_a_dimension_of_any_name_is_counted(marts, result_of):
    name = 'a "quoted" $.[0] 名'
    marts.execute(
        "update marts.fct_dimension_scores set dimension_id = ?"
        " where dimension_id = 'accuracy'",
        [name],
    )
    marts.execute(
        "update marts.fct_case_results set dimension_scores = ? where task_id = ?",
        [json.dumps({name: 0.55}), TASK_ID],
    )
    found = {d.dimension_id: d.histogram for d in result_of().dimensions}
    assert found[name][5] == 12


def columns(*counts, **scale):
    """The drawn columns: their places and words."""
    macros = environment("en").get_template("macros.html.j2").module
    return html5lib.parseFragment(
        str(macros.histogram(counts, **scale)), namespaceHTMLElements=False
    ).findall(f".//{SVG}rect")


def test_the_tallest_column_fills_the_box_and_one_case_is_still_seen():
    least, most = columns(1, 0, 0, 0, 0, 0, 0, 0, 0, 99_999)
    assert (float(most.get("y")), float(most.get("height"))) == (0, 24)
    assert most[0].text == "90 to 100: 99,999 cases"
    assert 1 <= float(least.get("height")) < 2
    for each in (least, most):
        assert 0 <= float(each.get("x")) <= 100 - float(each.get("width"))


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "Case scores: 0 to 10: 2 cases, 50 to 60: 3 cases, 90 to 100: 6 cases"),
        (
            "zh",
            "用例得分的分布：0 至 10 分 2 个用例，50 至 60 分 3 个用例，90 至 100 分 6 个用例",
        ),
    ],
)
def test_the_drawing_says_in_words_what_it_shows(result_of, lang, told):
    tree = html5lib.parse(to_html(result_of(lang)), namespaceHTMLElements=False)
    drawn = [e for e in tree.iter(f"{SVG}svg") if e.get("class") == "histogram"]
    assert len(drawn) == 3
    assert drawn[0].get("aria-label") == told
    assert [title.text for title in drawn[0].iter(f"{SVG}title")] == [
        part.removeprefix("Case scores: ").removeprefix("用例得分的分布：")
        for part in told.replace("，", ", ").split(", ")
    ]


def test_the_differences_of_a_comparison_are_counted_in_steps_around_zero(
    six_titles_db,
):
    with connect(six_titles_db, read_only=True) as con:
        found = comparison(con, "account-support-3", "account-support-4", lang="en")
        deltas = [case.delta for case in found.cases if case.delta is not None]
    assert len(found.differences) == 21
    assert sum(found.differences) == len(deltas) == 24
    near_zero = sum(abs(delta) < 0.05 for delta in deltas)
    assert found.differences[10] == near_zero
    first, *_ = columns(*found.differences, low=-105, high=105)
    assert first[0].text.startswith("-45 to -35: ")


def test_many_differences_are_drawn_and_few_are_not(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        many = comparison(con, "account-support-3", "account-support-4", lang="en")
        result = analysis_result(
            con, "account-support-4", ReportOptions(GENERATED_AT, "en")
        )
    few = many.model_copy(
        update={"overall": many.overall.model_copy(update={"n_pairs": 19})}
    )
    pages = [
        to_html(result.model_copy(update={"comparison": each})) for each in (many, few)
    ]
    assert ['class="spread"' in page for page in pages] == [True, False]


# ---------- line charts: scales, intervals, marks


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
        [
            (n, SimpleNamespace(**priced, cost_total=abs(value)))
            for n, value in enumerate(values)
        ]
    )
    n_known = sum(map(math.isfinite, values))
    assert (chart is not None) == (n_known > 0)
    for text in (repr(chart), repr(points)):
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
    assert [text for _, text in chart.marks] == ["", "v2", "v3"]


def test_labels_of_runs_do_not_overlap_and_the_newest_has_one():
    chart = drawn([0.5] * 200)
    places = [x for x, _ in chart.columns]
    assert min(b - a for a, b in pairwise(places)) > 40
    assert chart.columns[-1][1] == "day 199"


def test_a_long_history_has_no_dots():
    assert drawn([0.5] * MOST_DOTS).lines[0].dots
    assert not drawn([0.5] * (MOST_DOTS + 1)).lines[0].dots
