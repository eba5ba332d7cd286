"""The cookbook: every query runs on the example warehouse and has something to say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from promptlab.database.connection import connect, run_query
from promptlab.warehouse import Warehouse

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
QUESTIONS = re.findall(
    r"^### (\d+\. .*?)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL
)
CODE = [*(ROOT / "reports").rglob("*.py"), *(ROOT / "promptlab").rglob("*.py")]


def test_there_are_twenty_seven_questions_each_with_one_query():
    assert [int(title.split(".")[0]) for title, _ in QUESTIONS] == list(range(1, 28))
    assert {body.count("```sql") for _, body in QUESTIONS} == {1}


@pytest.fixture(scope="module")
def labelled_db(tmp_path_factory):
    """A warehouse of ``examples_labels/``."""
    folder = ROOT / "examples_labels"
    warehouse = Warehouse(tmp_path_factory.mktemp("labelled") / "w.duckdb")
    warehouse.ingest(folder / "run.json", folder / "scores.jsonl")
    warehouse.ingest(folder / "labels.csv", kind="labels")
    warehouse.build()
    return warehouse.settings.db


@pytest.mark.parametrize(("title", "body"), QUESTIONS, ids=lambda v: v[:40])
def test_each_query_answers_on_the_examples(title, body, english_db, labelled_db):
    (sql,) = re.findall(r"```sql\n(.*?)```", body, re.DOTALL)
    db = labelled_db if title.startswith(("25.", "26.")) else english_db
    with connect(db, read_only=True) as con:
        columns, rows = run_query(con, sql)
        # the examples have neither prices nor times of steps
        assert columns if title.startswith(("20.", "21.")) else rows, title


def test_the_exposures_name_every_mart_that_is_read_and_no_other():
    file = ROOT / "dbt_project" / "models" / "exposures.yml"
    exposures = yaml.safe_load(file.read_text("utf-8"))["exposures"]
    named = {
        re.findall(r"'(\w+)'", ref)[0] for e in exposures for ref in e["depends_on"]
    }
    code = "\n".join(path.read_text("utf-8") for path in CODE)
    assert named == set(re.findall(r"\bmarts\.((?:dim|fct)_\w+)", code))
