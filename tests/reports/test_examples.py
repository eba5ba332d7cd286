"""The reports of the example warehouse, built by the real project."""

from __future__ import annotations

import json
import re

import duckdb
import html5lib
import pytest

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.contracts.memory_result import MemoryResult
from promptlab.reports import FORMATS, write_all
from promptlab.reports.report_options import ReportOptions
from tests.reports.conftest import GENERATED_AT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["zh", "en"])
def files(example_db, tmp_path_factory, request):
    out = tmp_path_factory.mktemp("out")
    with duckdb.connect(str(example_db), read_only=True) as con:
        ids = con.execute("select task_id from marts.dim_tasks order by 1").fetchall()
        return write_all(
            con,
            [row[0] for row in ids],
            out,
            ReportOptions(GENERATED_AT, request.param),
            formats=list(FORMATS),
        )


def test_every_result_obeys_its_contract(files):
    read = {"result.json": AnalysisResult, "memory.json": MemoryResult}
    found = [file for file in files if file.name in read]
    assert {file.name for file in found} == set(read)
    for file in found:
        read[file.name].model_validate(json.loads(file.read_text("utf-8")))


def test_every_page_is_well_formed_and_leaves_nothing_unsaid(files):
    for file in files:
        if file.suffix != ".html":
            continue
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        tree = parser.parse(file.read_text("utf-8"))
        assert [error[1] for error in parser.errors] == [], file
        shown = [text.strip() for text in tree.find("body").itertext()]
        assert not {"None", "nan", "NaN", "null", "undefined"} & set(shown), file


def test_the_second_run_of_a_title_is_compared_with_the_first(files):
    found = {
        result["task"]["task_id"]: result["comparison"]
        for file in files
        if file.name == "result.json"
        for result in [json.loads(file.read_text("utf-8"))]
    }
    compared = {task: c["baseline"]["task_id"] for task, c in found.items() if c}
    assert compared == {
        "cs-regression-v3.2": "cs-regression-v3.1",
        "review-sentiment-improved": "review-sentiment-baseline",
        "travel_diary/250615_2100": "travel_diary/250601_2100",
    }


def test_dimensions_that_we_name_are_named_in_the_language_of_the_report(files):
    index = next(file for file in files if file.name == "index.html")
    english = 'lang="en"' in index.read_text("utf-8")
    for file in files:
        if file.name == "report.html" and "review-sentiment" in str(file):
            page = file.read_text("utf-8")
            assert ("Judge score" in page) is english
            assert ("裁判模型评分" in page) is not english


def test_every_english_sentence_of_ours_is_english(files):
    page = next(file for file in files if file.name == "index.html")
    text = page.read_text("utf-8")
    if 'lang="en"' not in text:
        pytest.skip("asks the English pages only")
    for file in files:
        if file.suffix == ".md":
            heads = re.findall(r"^## (.*)$", file.read_text("utf-8"), re.MULTILINE)
            heads = [head for head in heads if head != "Against the baseline"]
            assert heads == ["Alerts", "Dimensions", "Cases"]
