"""History in Python: data frames and tables for notebooks."""

from __future__ import annotations

import pytest

from promptlab.errors import UsageError
from promptlab.warehouse import Warehouse


@pytest.fixture(scope="module")
def warehouse(six_titles_db) -> Warehouse:
    return Warehouse(six_titles_db)


def test_runs_are_a_row_each_the_newest_first(warehouse):
    runs = warehouse.runs()
    assert runs.height == 30
    assert runs["created_at"].is_sorted(descending=True)
    assert set(warehouse.runs("Sales FAQ")["title"]) == {"Sales FAQ"}


def test_trends_follow_one_number_in_the_order_of_the_runs(warehouse):
    trend = warehouse.trends("Sales FAQ", "pass_rate")
    assert trend["task_number"].to_list() == [1, 2, 3, 4, 5]
    assert set(trend["measure"]) == {"pass_rate"}


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("passrate", "there is no measure 'passrate'; did you mean `pass_rate`"),
        ("nothing like it", "there are answer_chars_mean, "),
    ],
)
def test_a_misspelled_measure_is_named_with_the_nearest(warehouse, measure, message):
    with pytest.raises(UsageError, match=message):
        warehouse.trends(measure=measure)


def test_the_leaderboard_begins_with_the_best(warehouse):
    assert warehouse.leaderboard("Sales FAQ")["prompt_version"][0] == "v15"


def test_flaky_cases_begin_with_those_closest_to_a_coin(warehouse):
    rates = warehouse.flaky("Travel planner")["pass_rate"]
    assert [abs(rate - 0.5) for rate in rates] == sorted(abs(r - 0.5) for r in rates)


def test_a_title_that_is_not_there_has_no_rows(warehouse):
    for rows in (warehouse.runs, warehouse.trends, warehouse.leaderboard):
        assert rows("it's not there").height == 0


def test_the_gate_decides_for_each_result(warehouse):
    [gate] = warehouse.gate("parcel-tracker-5", lang="en")
    assert gate.decision == "do_not_ship"


def test_a_warehouse_says_what_it_contains(warehouse, tmp_path):
    assert "30 results of 6 titles, newest 2026-11-19" in repr(warehouse)
    assert repr(Warehouse(tmp_path / "none.duckdb")).endswith("empty)")


def test_results_and_comparisons_are_tables_in_a_notebook(warehouse):
    result = warehouse.result("parcel-tracker-5", lang="en")
    assert len(repr(result)) < 200
    assert "decision='do_not_ship'" in repr(result)
    shown = result._repr_html_()
    assert "Do not ship" in shown
    assert "<td>Quality</td>" in shown
    compared = warehouse.compare("previous", "parcel-tracker-5", lang="en")
    assert "<td>inconclusive</td>" in compared._repr_html_()
    assert len(repr(compared)) < 200
    assert "verdict='inconclusive'" in repr(compared)


def test_names_are_escaped_in_a_notebook(warehouse):
    compared = warehouse.compare("previous", "parcel-tracker-5", lang="en")
    hostile = compared.overall.model_copy(update={"name": "<script>"})
    shown = compared.model_copy(update={"overall": hostile})._repr_html_()
    assert "<script>" not in shown
