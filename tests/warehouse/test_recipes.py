"""The recipes of CONTRIBUTING.md, followed in a copy of the dbt project: nothing else has
to be touched for what they add to count.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from promptlab import paths, seeds
from promptlab.build import plan
from promptlab.warehouse import Warehouse
from tests.conftest import ROOT
from tests.scoring.tasks import case, dimension, task

SCORER = """\
{{ config(materialized=view_of_step()) }}

with

dimensions as (
    select * from {{ ref('int_dimensions_resolved') }}
    where scorer = 'politeness' and problem is null
),
rounds as (select * from {{ ref('int_rounds_prepared') }}),

scored as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        dimensions.dimension_id,
        {{ one_or_zero("contains(lower(rounds.raw_output), 'please')") }} as metric,
        cast(null as string) as reason,
        'please' as expected,
        rounds.raw_output as actual,
        {{ as_json("null") }} as detail

    from dimensions
    inner join rounds on dimensions.task_id = rounds.task_id

)

select * from scored
"""

DESCRIPTION = """
  - name: int_politeness_scored
    description: "Scorer `politeness`: whether an answer says please."
"""

ALERT = """
    union all

    select
        task_id,
        case_id,
        'many_words' as code,
        n_rounds

    from case_results

),

counted as ("""


def columns_of(seed: Path) -> list[str]:
    with seed.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def add_row(seed: Path, **values: str) -> None:
    """A row of a seed: what is not named stays empty."""
    columns = columns_of(seed)
    assert set(values) <= set(columns)
    with seed.open("a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, columns, lineterminator="\n").writerow(values)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def add_a_scorer(project: Path) -> None:
    scorers = project / "models/intermediate/scoring/scorers"
    with (scorers / "_scorers__models.yml").open("a", encoding="utf-8") as described:
        described.write(DESCRIPTION)
    (scorers / "int_politeness_scored.sql").write_text(SCORER, "utf-8")
    with (scorers / "int_round_metrics.sql").open("a", encoding="utf-8") as union:
        union.write("\nunion all\n\nselect * from {{ ref('int_politeness_scored') }}\n")
    add_row(
        project / "seeds/scoring/scorers.csv",
        scorer="politeness",
        scorer_version="1",
        unit="share",
        is_share="true",
        is_zero_on_error="true",
        has_verdict="true",
    )


def add_an_alert(project: Path) -> None:
    alerts = project / "models/intermediate/scoring/alerts"
    edit(alerts / "int_alerts_of_rounds.sql", "\n),\n\ncounted as (", ALERT)
    policy = project / "seeds/scoring/alert_policy.csv"
    sentences = {c: "{n}" for c in columns_of(policy) if c.startswith("message")}
    add_row(policy, code="many_words", severity="minor", threshold="0", **sentences)


def add_a_grade(project: Path) -> None:
    add_row(project / "seeds/scoring/grades.csv", grade="A+", min_score="1")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the dbt project, which promptlab takes for its own."""
    copy = tmp_path / "dbt_project"
    ignored = shutil.ignore_patterns("target", "logs", "dbt_packages")
    shutil.copytree(ROOT / "dbt_project", copy, ignore=ignored)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "promptlab")
    seeds._column.cache_clear()
    yield copy
    seeds._column.cache_clear()


@pytest.mark.slow
def test_a_scorer_an_alert_and_a_grade_are_there_by_what_the_recipes_name(
    project: Path, tmp_path: Path
) -> None:
    for follow in (add_a_scorer, add_an_alert, add_a_grade):
        follow(project)
    file = tmp_path / "run.json"
    asked = task("t", [case("Please wait."), case("please")], [dimension("politeness")])
    file.write_text(json.dumps(asked), "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    assert warehouse.ingest(file).n_rejected == 0
    warehouse.build()
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as con:
        scores = con.sql("select score from marts.fct_dimension_scores").fetchall()
        grades = con.sql("select grade from marts.fct_task_summaries").fetchall()
        alerts = con.sql(
            "select code, severity, n_cases from marts.fct_alerts"
        ).fetchall()
    assert scores == [(1.0,)]
    assert grades == [("A+",)]
    assert alerts == [("many_words", "minor", 2)]


def test_without_them_the_project_is_the_one_that_is_shipped(project: Path) -> None:
    assert plan.sources_hash(project) == plan.sources_hash(ROOT / "dbt_project")
    add_a_grade(project)
    assert plan.sources_hash(project) != plan.sources_hash(ROOT / "dbt_project")


PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROOMS = ("", "promptlab", "ingest", "dbt_project", "reports", "docs", "tests")


def files_named() -> list[str]:
    """What a backtick in CONTRIBUTING.md names that looks like a path."""
    named = re.findall(r"`([\w./-]+(?:/|\.(?:py|sql|md|toml|csv|jsonl)))`", PAGE)
    return sorted(set(named))


@pytest.mark.parametrize("name", files_named())
def test_a_file_that_contributing_names_is_there(name: str) -> None:
    assert any((ROOT / room / name).exists() for room in ROOMS)


MODEL = re.compile(r"\b(?:int|stg|fct|dim)_[a-z][a-z_]*[a-z]\b")
NO_MODELS = {"int_type", "int_range"}


def texts() -> list[Path]:
    of = {
        "dbt_project": ("sql", "yml", "md"),
        "docs": ("md",),
        "ingest": ("py", "sql"),
        "promptlab": ("py",),
        "reports": ("py", "j2", "toml"),
    }
    found = [
        p
        for room, kinds in of.items()
        for k in kinds
        for p in (ROOT / room).rglob(f"*.{k}")
    ]
    return sorted([*ROOT.glob("*.md"), *(p for p in found if "target" not in p.parts)])


def test_a_model_that_a_text_or_comment_names_is_there() -> None:
    project = ROOT / "dbt_project"
    there = {p.stem for p in project.rglob("models/**/*.sql")} | NO_MODELS
    wrong = [
        (str(path.relative_to(ROOT)), name)
        for path in texts()
        for name in sorted(set(MODEL.findall(path.read_text("utf-8"))) - there)
    ]
    assert wrong == []


def test_the_index_of_decisions_names_each_by_its_number() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| \[(\d+)\]\(([\w-]+\.md)\)", index, re.M))
    files = {str(int(p.name[:4])): p for p in sorted(folder.glob("0*.md"))}
    assert listed == {number: path.name for number, path in files.items()}
    for number, path in files.items():
        assert path.read_text("utf-8").startswith(f"# {number}. "), path.name
