"""The histogram of case scores: counted in SQL, drawn as columns."""

from __future__ import annotations

import json

import html5lib
import pytest

from promptlab.database import connect
from promptlab.reports import to_html
from promptlab.reports.charts import HISTOGRAM_HEIGHT, HISTOGRAM_WIDTH, histogram
from promptlab.reports.queries.comparisons import comparison
from promptlab.reports.views import arrange_changes
from tests.reports.conftest import TASK_ID

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


@pytest.mark.parametrize("counts", [[], [0] * 10])
def test_nothing_is_drawn_of_nothing(counts):
    assert histogram(counts) is None


def test_the_tallest_column_fills_the_box_and_one_case_is_still_seen():
    drawn = histogram([1, 0, 0, 0, 0, 0, 0, 0, 0, 99_999])
    least, most = drawn.columns
    assert (most.y, most.height, most.low, most.high) == (0, HISTOGRAM_HEIGHT, 90, 100)
    assert 1 <= least.height < 2
    assert all(c.x >= 0 and c.x + c.width <= HISTOGRAM_WIDTH for c in drawn.columns)


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "Case scores: 0 to 10: 2 cases, 50 to 60: 3 cases, 90 to 100: 6 cases"),
        (
            "zh",
            "用例得分的分布：0 到 10 分 2 个用例，50 到 60 分 3 个用例，90 到 100 分 6 个用例",
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
    drawn = histogram(found.differences, -105, 105)
    assert (drawn.columns[0].low, drawn.columns[0].high) == (-45, -35)


def test_many_differences_are_drawn_and_few_are_not(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        many = comparison(con, "account-support-3", "account-support-4", lang="en")
    few = many.model_copy(
        update={"overall": many.overall.model_copy(update={"n_pairs": 19})}
    )
    arranged = [arrange_changes(each, most=10, names={}) for each in (many, few)]
    assert [each.spread is not None for each in arranged] == [True, False]
