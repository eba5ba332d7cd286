"""Dimensions that we named ourselves are named in the language of the report."""

from __future__ import annotations

import pytest

from promptlab.reports import to_html
from promptlab.reports.sentences import Speech


@pytest.fixture
def evaluated(marts, result_of):
    """The task as if it were evaluation results, with a default dimension."""
    marts.execute("update marts.dim_tasks set source_kind = 'results'")
    for table in ("fct_dimension_scores", "fct_task_comparisons"):
        marts.execute(
            f"update marts.{table} set name = '期望匹配', dimension_id = 'expectations'"
            " where dimension_id = 'accuracy'"
        )
    marts.execute(
        "update marts.fct_task_summaries set weakest_dimension_id = 'expectations'"
    )
    marts.execute(
        "update marts.fct_alerts set dimension_ids = '[\"expectations\"]',"
        " facts = replace(facts, '准确性', '期望匹配')"
    )
    return result_of


def test_a_default_dimension_has_an_english_name_in_every_sentence(evaluated):
    result = evaluated("en")
    assert result.dimensions[0].name == "Expectations"
    assert "the weakest dimension is “Expectations”" in result.summary.conclusion
    assert result.summary.alerts[1].message.startswith("“Expectations” scored")
    assert result.comparison.dimensions[0].name == "Expectations"
    assert result.comparison.dimensions[0].conclusion.startswith("“Expectations”")
    assert "期望匹配" not in to_html(result)


def test_a_default_dimension_keeps_its_chinese_name_in_chinese(evaluated):
    assert evaluated("zh").dimensions[0].name == "期望匹配"


def test_a_dimension_that_a_file_names_keeps_its_name(result_of):
    assert result_of("en").dimensions[0].name == "准确性"
    assert (
        Speech.for_language("en", "analysis").dimension("expectations", "期望匹配")
        == "期望匹配"
    )
    assert (
        Speech.for_language("en", "results").dimension("mine", "期望匹配") == "期望匹配"
    )
