"""One Spark in this process, and the same raw layer for both engines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.generate import analysis_input, testset
from benchmarks.stored_steps import plan_with_stored_steps
from promptlab.build import call_dbt
from promptlab.build.dbt import environment_of
from promptlab.build.spark_models import compiled_for
from promptlab.paths import dbt_project
from promptlab.relations import tables_of
from promptlab.settings import Settings
from promptlab.spark import OLDEST_JAVA, java_version
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES
from tests.judges import suite
from tests.judging import both
from tests.judging.cases import golden_cases, output_cases, rule_cases
from tests.matching_cases import matching_cases
from tests.parity.compare import Comparison, compare_rows
from tests.parity.surroundings import surroundings
from tests.warehouse.test_matching_agrees import (
    Pair,
    generated_pairs,
    nested_pair,
    write_inputs,
)

GENERATED_PAIRS = 500

KIND = os.environ.get("PROMPTLAB_PARITY", "local")
"""``local``, ``cluster``, ``iceberg``, or ``quick``: local, with these models only."""

QUICK = (
    *(file.stem for file in (dbt_project() / "models/intermediate/verdict").glob("*.sql")),
    "int_round_results", "int_case_results", "int_case_scores",
    "int_task_baselines", "int_edited_cases", "int_changes_since_last_run",
    "fct_case_odds", "fct_gaps", "fct_verdicts",
    *(file.stem for file in (dbt_project() / "models/marts/judges").glob("*.sql")),
)  # fmt: skip
"""From rounds and scores to the verdict, and the judges; DuckDB computes what they read."""

WITHOUT_TESTS = ("--exclude-resource-types", "test", "unit_test")


@pytest.fixture(scope="session", autouse=True)
def spark_needed() -> None:
    """Skip with a message if Spark is missing."""
    if find_spec("pyspark") is None:
        pytest.skip("Spark is not installed: `make parity` installs it")
    java = java_version()
    if java is None or java < OLDEST_JAVA:
        pytest.skip(f"Spark needs Java {OLDEST_JAVA} or newer; found {java}")


@pytest.fixture(scope="session")
def spark_folder(
    spark_needed: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of Spark's tables for the life of this process."""
    folder = tmp_path_factory.mktemp("spark")
    with surroundings(KIND, folder):
        yield folder
        from pyspark.sql import SparkSession

        if (session := SparkSession.getActiveSession()) is not None:
            session.stop()


class Engines:
    """Both engines over one raw layer of Parquet files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        raw = f"parquet://{folder / 'raw'}"
        db = folder / "parity.duckdb"
        self.duckdb = Warehouse(db, settings=Settings(raw=raw))
        self.spark = Warehouse(db, settings=Settings(raw=raw, target="spark_local"))
        self.sink = raw

    def ingest(self, *paths: Path, kind: str = "auto") -> None:
        """Files into the raw layer, none of which may be rejected."""
        ingested = self.duckdb.ingest(*paths, kind=kind, sink=self.sink)
        assert ingested.n_rejected == 0

    def build(self, *, spark_args: Sequence[str] = ()) -> None:
        """The models on both."""
        self.duckdb.build()
        if spark_args:
            call_dbt(self.spark, ["build", *spark_args])
        else:
            self.spark.build()

    def dbt(self, engine: str, *args: str) -> Any:
        """The result of one dbt command on ``duckdb`` or ``spark``."""
        from dbt.adapters.duckdb.connections import DuckDBConnectionManager
        from dbt.cli.main import dbtRunner

        settings = getattr(self, engine).settings
        os.environ |= environment_of(settings)
        project = str(dbt_project())
        target = str(self.folder / f"target-{engine}")
        try:
            with compiled_for(settings.target):
                return dbtRunner().invoke(
                    [*args, "--target", settings.target, "--quiet",
                     "--project-dir", project, "--profiles-dir", project,
                     "--target-path", target, "--log-path", target]
                )  # fmt: skip
        finally:
            DuckDBConnectionManager.close_all_connections()

    def compare_quick(self, *paths: Path, labels: Path) -> list[Comparison]:
        """The models of ``QUICK``: each on Spark, of what DuckDB's models gave it.

        Spark reads the text of every other model, and has the types of its contract.
        """
        warehouse = Warehouse(self.folder / "quick.duckdb")
        assert warehouse.ingest(*paths).n_rejected == 0
        assert warehouse.ingest(labels, kind="labels").n_rejected == 0
        with warehouse.writable() as con:
            for node in plan_with_stored_steps().nodes:
                # the load has written what is live
                if node.kind != "test" and node.schema != "live":
                    con.execute(f'create schema if not exists "{node.schema}"')
                    con.execute(f"create table {node.relation} as {node.query}")
        compiled = self.dbt("spark", "compile", "--select", "resource_type:model")
        assert compiled.success, compiled.exception
        models = [
            result.node
            for result in compiled.result.results
            if result.node.resource_type == "model"
        ]
        from pyspark.sql import SparkSession

        session = SparkSession.builder.getOrCreate()
        for schema in (*SCHEMAS, "raw", "live"):
            session.sql(f"create database if not exists {schema}")
        with duckdb.connect(str(warehouse.settings.db), read_only=True) as con:
            con.execute("set TimeZone = 'UTC'")
            read = {
                name for model in models for name in _NAME.findall(model.compiled_code)
            }
            for table in tables_of(con, views=True):
                if (name := f"{table.schema}.{table.name}") in read:
                    file = self.folder / f"{name}.parquet"
                    con.execute(f"copy (from {name}) to '{file}'")
                    session.sql(f"create table {name} using parquet location '{file}'")

            def compare(model: Any) -> Comparison | None:
                theirs = session.sql(model.compiled_code)
                name = f"{model.schema}.{model.alias}"
                assert len({*theirs.columns}) == len(theirs.columns), name
                for column in model.columns.values() if model.contract.enforced else ():
                    declared = str(column.data_type)
                    actual = theirs.schema[column.name].dataType.simpleString()
                    assert actual == _SPARK_TYPES.get(declared, declared), column.name
                if model.name not in QUICK:
                    return None
                quoted = ", ".join(f'"{column}"' for column in theirs.columns)
                ours = con.execute(f"select {quoted} from {name}").fetchall()
                return compare_rows(name, theirs.columns, ours, theirs.collect())

            return [found for model in models if (found := compare(model)) is not None]

    def compare(self) -> list[Comparison]:
        """Every table and view that the models made, cell by cell."""
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        found = []
        with duckdb.connect(str(self.duckdb.settings.db), read_only=True) as con:
            con.execute("set TimeZone = 'UTC'")
            for name, columns in con.execute(_TABLES, {"schemas": SCHEMAS}).fetchall():
                quoted = ", ".join(f'"{column}"' for column in columns)
                ours = con.execute(f"select {quoted} from {name}").fetchall()
                theirs = session.table(name).select(*[f"`{c}`" for c in columns])
                found.append(
                    compare_rows(
                        name,
                        columns,
                        map(without_digits, ours),
                        map(without_digits, theirs.collect()),
                    )
                )
        return found


SCHEMAS = ("staging", "intermediate", "marts", "policy")
_NAME = re.compile(r"\b\w+\.\w+\b")
_SPARK_TYPES = {"varchar": "string", "json": "string", "timestamptz": "timestamp"}
_TABLES = """
select schema_name || '.' || table_name, list(column_name)
from duckdb_columns()
where schema_name in $schemas and table_name not like 'stg_builds__%_builds'
group by all order by 1
"""


def without_digits(row: Sequence[Any]) -> list[Any]:
    """A row without the digits of the one number that is beyond a double: Spark shows
    it otherwise once it was taken out of a document. Its verdicts are the same.
    """
    return [
        cell.replace("1e400", "1e999") if isinstance(cell, str) else cell
        for cell in row
    ]


@pytest.fixture(scope="session")
def engines(spark_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(tmp_path_factory.mktemp("parity"))


@pytest.fixture(scope="session")
def first_load(engines: Engines) -> list[Comparison]:
    """The examples, a generated batch and every table of cases, built on both."""
    folder = engines.folder / "first"
    labels = engines.folder / "labels"
    write_judged(folder / "judged", labels)
    if KIND == "quick":
        write_history(folder / "history")
        return engines.compare_quick(EXAMPLES, folder, labels=labels)
    write_generated(folder / "generated", tasks={1: 60, 2: 60, 11: 40})
    testset(folder / "testset", cases=60)
    table = [Pair(c.id, c.expected, c.actual, c.config) for c in matching_cases()]
    pairs = [*table, *generated_pairs()[:GENERATED_PAIRS], nested_pair(480)]
    write_inputs(folder / "matching", pairs)
    (folder / "judging").mkdir()
    tables = (*rule_cases(), *output_cases(), *golden_cases())
    both.write_samples(folder / "judging", [sample for sample, _ in tables])
    engines.ingest(EXAMPLES, folder)
    engines.ingest(labels, kind="labels")
    engines.build()
    return engines.compare()


@pytest.fixture(scope="session")
def late_correction(engines: Engines, first_load: list[Comparison]) -> list[Comparison]:
    """A task replaced by a smaller one, one under another title, a new one, a testset
    that expects less, a memory run again: built on both, on top of the first load.
    """
    folder = engines.folder / "late"
    write_generated(folder / "generated", tasks={2: 25, 21: 60})
    retitled = generated(11, 40)
    retitled["task"]["title"] = "benchmark renamed"
    (folder / "generated" / "run-11.json").write_text(dumps(retitled), "utf-8")
    testset(folder / "testset", cases=30)
    benchmark = EXAMPLES / "memory/.sage/benchmarks/benchmark_memory"
    [run] = benchmark.glob("travel_diary/250615_2100/maya-and-tom.json")
    document = json.loads(run.read_text("utf-8"))
    document["test_results"] = document["test_results"][:-1]
    again = folder / "benchmark_memory/travel_diary/250615_2100/maya-and-tom.json"
    again.parent.mkdir(parents=True)
    again.write_text(dumps(document), "utf-8")
    engines.ingest(folder)
    # seeds are as they were, and data tests ran there after the first load
    engines.build(spark_args=[*WITHOUT_TESTS, "seed"])
    return engines.compare()


def write_history(folder: Path) -> None:
    """Seven runs of one suite, three rounds each, of which two have another variant, too;
    and three runs of a suite whose rounds have scores and no verdicts.
    """
    folder.mkdir(parents=True)
    for number in (*range(1, 90, 10), 2, 12, 22):
        document = generated(number, 12)
        run = number if number < 70 else number - 20
        document["task"] |= {
            "prompt_version": "v1",
            "variant": "m" if number < 70 else "n",
            "run_id": f"run {run}",
            "created_at": f"2026-02-{run // 10 + 1:02}T08:00:00Z",
        }
        # the same is asked, and two of three answers are those of the first run
        for n, (case, first) in enumerate(
            zip(document["cases"], generated(number % 10, 12)["cases"], strict=True)
        ):
            case |= {"context": first["context"], "baselines": first["baselines"]}
            for own, known in zip(case["rounds"], first["rounds"], strict=True):
                if (number // 10 + n + own["run_index"]) % 3:
                    own["raw_output"] = known["raw_output"]
        if number % 10 == 2:
            document["dimensions"] = document["dimensions"][2:3]
        (folder / f"run-{number}.json").write_text(dumps(document), "utf-8")


def write_judged(folder: Path, labels: Path) -> None:
    """Write two runs with the same answers, a second judge that sees some in both places,
    labels of two people for the first run, and grades of a third for the second.
    """
    folder.mkdir(parents=True)
    scores, tasks = [], []
    for task_id, version in (("run-1", "rubric-1"), ("run-2", "rubric-2")):
        tasks.append(suite.task(task_id))
        scores += [
            score | {"scorer_version": version} for score in suite.scores(task_id)
        ]
    for n, score in enumerate(scores):
        if n % 3 == 0:
            score["score"] = n % 11
        score["payload"] = {"position": ("first", "second")[n >= len(scores) // 2]}
    second = {"scorer": "second", "scorer_version": "1"}
    more = [score | second | {"score": n % 11} for n, score in enumerate(scores[::4])]
    for task in tasks:
        (folder / f"{task['task']['task_id']}.json").write_text(dumps(task), "utf-8")
    lines = "\n".join(map(dumps, scores + more))
    (folder / "scores.jsonl").write_text(lines, "utf-8")
    words = ["task_id,round_id,dimension,labeler,label,draw,weight"]
    grades = ["task_id,round_id,dimension,labeler,grade,draw"]
    for n, answer in enumerate(suite.answers()):
        ids = f"{answer['round_id']},quality"
        for person, label in answer["labels"].items():
            word = "pass" if label else "fail"
            words.append(f"run-1,{ids},{person},{word},verdict,{n % 3 + 1}")
        if n % 3:
            grades.append(f"run-2,{ids},eve,{n % 5 + 1},random")
    labels.mkdir()
    (labels / "words.csv").write_text("\n".join(words), "utf-8")
    (labels / "grades.csv").write_text("\n".join(grades), "utf-8")


def write_generated(folder: Path, *, tasks: dict[int, int]) -> None:
    """One file per task: its number and how many cases it has, of 3 rounds each."""
    folder.mkdir(parents=True)
    for number, cases in tasks.items():
        document = generated(number, cases)
        (folder / f"run-{number}.json").write_text(dumps(document), "utf-8")


def generated(number: int, cases: int) -> dict[str, Any]:
    """A task whose id and title an engine has to quote."""
    document = analysis_input(number, cases, 3)
    document["task"]["task_id"] = f'it\'s "{number}" \\ of 3 = 50%/day'
    document["task"]["title"] = f"the team's benchmark {number % 10}"
    return document


def dumps(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)
