"""Runs of other tools as their reader sees them: assertions, and ungraded numbers."""

from __future__ import annotations

import json
import re
from email import message_from_bytes
from email.policy import default
from html import escape
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.sources import TableMapping
from promptlab.reports import FORMATS
from promptlab.reports.write import RUNS, TITLES
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "ours.csv").write_text(
        "question,answer,likeness\nwhich river?,Rhine,0.5\n"
    )
    row = {"user_input": "which river?", "response": "Rhine", "faithfulness": 0.5}
    (folder / "ragas.jsonl").write_text(json.dumps(row | {"reference": "Rhine"}))
    mapping = TableMapping(inputs=("question",), output="answer", scores=("likeness",))
    settings = Settings(tables={"ours": mapping})
    made = Warehouse(folder / "w.duckdb", settings=settings)
    made.ingest(
        DATA / "promptfoo" / "rivers.json",
        DATA / "pydantic_evals" / "early_1.json",
        DATA / "pydantic_evals" / "late_1.json",
        folder / "ours.csv",
        folder / "ragas.jsonl",
    )
    made.build()
    return made


@pytest.fixture(scope="module")
def every_tool(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = Warehouse(tmp_path_factory.mktemp("tools") / "w.duckdb")
    made.ingest(*(folder for folder in DATA.iterdir() if folder.is_dir()))
    made.build()
    return made


@pytest.fixture(scope="module")
def column(warehouse: Warehouse) -> str:
    """The first column of promptfoo's file."""
    tasks = warehouse.sql(
        "select task_id from marts.dim_tasks where source_kind = 'promptfoo' order by 1"
    )
    return str(tasks["task_id"][0])


@pytest.fixture(scope="module")
def pair(warehouse: Warehouse) -> tuple[str, str]:
    """Two runs of Pydantic Evals that measure lengths."""
    tasks = warehouse.sql(
        "select task_id from marts.dim_tasks where source_kind = 'pydantic_evals'"
        " order by title"
    )
    early, late = tasks["task_id"]
    return early, late


def report_in(out: Path) -> str:
    """The one report of a task below a folder; the pages of titles are others."""
    (page,) = (path for path in out.rglob("report.html") if is_of_a_task(path))
    return page.read_text("utf-8")


def is_of_a_task(path: Path) -> bool:
    return not {RUNS, TITLES} & {*path.parts}


def test_a_result_holds_every_assertion_of_the_tool(
    warehouse: Warehouse, column: str
) -> None:
    said = warehouse.sql(
        "select case_id, round_id, assertion_name, status, weight"
        " from marts.fct_assertions where task_id = ? order by all",
        [column],
    )
    told = [
        (case.case_id, a.round_id, a.name, a.status, a.weight)
        for case in warehouse.result(column).case_results
        for a in case.assertions
    ]
    assert sorted(told, key=str) == sorted(said.rows(), key=str)


def test_a_report_says_first_which_assertion_does_not_hold_and_why(
    warehouse: Warehouse, column: str, tmp_path: Path
) -> None:
    warehouse.report([column], tmp_path, formats=["html", "md", "junit"])
    page = report_in(tmp_path)
    (markdown,) = (path.read_text("utf-8") for path in tmp_path.rglob("*.md"))
    (junit,) = (path.read_text("utf-8") for path in tmp_path.rglob("*.xml"))
    broken = [
        a
        for case in warehouse.result(column).case_results
        for a in case.assertions
        if a.status == "fail"
    ]
    assert broken
    for each in broken:
        words = (each.reason or each.name).split('"')[0]
        assert escape(words) in page
    for text in (markdown, junit):
        assert "Expected output to contain" in text
    assert "weight 3" in page
    assert "at least 0.5" in page
    assert "assertions passed" in page


def test_what_a_case_is_not_asserted_of_is_no_missing_score(
    warehouse: Warehouse, column: str, tmp_path: Path
) -> None:
    warehouse.report([column], tmp_path, formats=["html"])
    page = report_in(tmp_path)
    cases = page.partition('<section id="cases"')[2]
    assert "no score has arrived)" not in cases
    assert "Scored " not in re.sub(r'<span class="why">.*?</span>', "", cases)


def test_numbers_on_a_scale_of_their_own_stand_in_each_form_of_a_comparison(
    warehouse: Warehouse,
    pair: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    comparison = warehouse.compare(*pair)
    (measure,) = (each for each in comparison.measures if each.name == "characters")
    assert measure.direction is None
    assert measure.n_pairs == measure.n_higher + measure.n_lower + measure.n_same
    assert measure.delta == measure.candidate_value - measure.baseline_value
    db = ["--db", str(warehouse.settings.db), "--allow-inconclusive"]
    run_cli(["compare", *pair, *db, "--out", str(tmp_path)])
    table = capsys.readouterr().out
    run_cli(["compare", *pair, *db, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    run_cli(["compare", *pair, *db, "--format", "md"])
    markdown = capsys.readouterr().out
    page = report_in(tmp_path)
    assert "characters" in table.partition("measure")[2]
    assert [each["name"] for each in document["measures"]] == [
        each.name for each in comparison.measures
    ]
    assert "| characters |" in markdown.partition("not graded")[2]
    assert "characters" in page.partition("not graded")[2]


def test_where_a_tool_judges_nothing_the_advice_is_what_its_users_can_do(
    warehouse: Warehouse,
) -> None:
    tasks = warehouse.sql(
        "select source_kind, task_id from marts.dim_tasks"
        " where source_kind in ('ragas', 'table') order by 1"
    )
    advice = {
        kind: warehouse.result(task, lang="en").gate.advice
        for kind, task in tasks.rows()
    }
    assert advice == {
        "ragas": ["score_rules"],
        "table": ["verdict_column", "score_rules"],
    }


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_kind_of_report_can_be_written_of_every_tool(
    every_tool: Warehouse, tmp_path: Path, lang: str
) -> None:
    kind = "source_kind, title, variant" if lang == "en" else "source_kind"
    tasks = every_tool.sql(
        "select any_value(task_id order by task_id) as task_id from marts.dim_tasks"
        f" group by {kind} order by all"
    )["task_id"].to_list()
    written = every_tool.report(tasks, tmp_path, formats=[*FORMATS], lang=lang)
    files = [path for path in written if is_of_a_task(path)]
    index = 2  # as page and as JSON
    assert len(files) == len(tasks) * len(FORMATS) + index


def test_a_mail_quotes_the_assertion_that_failed_and_the_answer(
    warehouse: Warehouse, column: str, tmp_path: Path
) -> None:
    result = warehouse.result(column, lang="en")
    case = next(c for c in result.case_results if c.status == "fail")
    broken = next(a for a in case.assertions if a.status == "fail")
    answer = next(r for r in case.rounds if r.round_id == broken.round_id).answer
    [mail, *_] = warehouse.report([column], tmp_path, formats=["email"], lang="en")
    parsed = message_from_bytes(mail.read_bytes(), policy=default)
    text = parsed.get_body(("plain",)).get_content()
    told = text[text.index(case.case_id) :].splitlines()[1:4]
    assert [line.strip() for line in told] == [
        f"{broken.name}: {broken.reason}",
        f"Expected: {json.loads(broken.expected)}",
        f"Actual: {answer}",
    ]
