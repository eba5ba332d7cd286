"""Dimensions that we named ourselves are named in the language of the report."""

from __future__ import annotations

import pytest

from reports import to_html
from reports.names import Names


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
        "update marts.fct_dimension_scores set diagnosis_en = 'Of “期望匹配”.'"
    )
    marts.execute(
        "update marts.fct_task_summaries set conclusion_en = '“期望匹配” it is'"
    )
    return result_of


def test_a_default_dimension_has_an_english_name_and_sentence(evaluated):
    result = evaluated("en")
    assert result.dimensions[0].name == "Expectations"
    assert result.dimensions[0].diagnosis == "Of “Expectations”."
    assert result.summary.conclusion == "“Expectations” it is"
    assert result.comparison.dimensions[0].name == "Expectations"
    assert "期望匹配" not in to_html(result)


def test_a_default_dimension_keeps_its_chinese_name_in_chinese(evaluated):
    assert evaluated("zh").dimensions[0].name == "期望匹配"


def test_a_dimension_that_a_file_names_keeps_its_name(result_of):
    assert result_of("en").dimensions[0].name == "准确性"
    assert Names("analysis", "en").name("期望匹配") == "期望匹配"
    assert Names("analysis", "en").sentence("“时延”") == "“时延”"


def test_only_a_quoted_name_is_one():
    names = Names("results", "en")
    assert names.sentence("“时延” was 时延") == "“Latency” was 时延"
