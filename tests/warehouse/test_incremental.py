"""A build computes what is new, and ends where a build of everything would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from promptlab.errors import BuildError
from promptlab.ingest.raw import tables
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES

RUN = EXAMPLES / "customer_service/runs/cs-regression-v3.1.json"


def kept_tables(con: duckdb.DuckDBPyConnection, database: str) -> list[str]:
    """Stored tables: the marts, and intermediate tables with a batch's key."""
    return [
        row[0]
        for row in con.execute(
            "select schema_name || '.' || table_name from duckdb_tables()"
            " where database_name = $1 and (schema_name = 'marts' or table_name in"
            " ('int_case_contents', 'int_dimension_contents', 'int_case_scores',"
            " 'int_task_alerts', 'int_alerts_of_history', 'int_trends_of_tasks',"
            " 'int_trends_of_tags', 'int_memory_right_metrics'))"
            " union all select schema_name || '.' || view_name from duckdb_views()"
            " where database_name = $1 and schema_name = 'marts' order by 1",
            [database],
        ).fetchall()
    ]


def differences(one: Path, other: Path) -> dict[str, int]:
    """Table → rows that only one of two warehouses has."""
    with duckdb.connect() as con:
        con.execute(f"attach '{one}' as one (read_only)")
        con.execute(f"attach '{other}' as other (read_only)")
        tables = kept_tables(con, "one")
        assert tables == kept_tables(con, "other")
        found = {}
        for table in tables:
            a, b = f"select * from one.{table}", f"select * from other.{table}"
            row = con.execute(
                f"select (select count(*) from ({a} except all {b}))"
                f" + (select count(*) from ({b} except all {a}))"
            ).fetchone()
            assert row is not None
            if row[0]:
                found[table] = row[0]
        assert len(tables) > 40
        return found


@pytest.fixture(scope="module")
def waiting(example_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples with a task and a memory run added, a task replaced and a task gone,
    another testset, a baseline named and a pair asked for; not built since.
    """
    folder = tmp_path_factory.mktemp("changed")
    db = Path(shutil.copy(example_db, folder / "changed.duckdb"))
    run = json.loads(RUN.read_text("utf-8"))
    task, cases = run["task"], run["cases"]
    new = task | {"task_id": "cs-new", "created_at": "2026-01-01T00:00:00Z"}
    replaced = task | {"title": "another title"}
    for name, document in {
        "new.json": run | {"task": new, "cases": cases[:20]},
        "replaced.json": run | {"task": replaced, "cases": cases[2:7]},
    }.items():
        (folder / name).write_text(json.dumps(document), "utf-8")
    testset = EXAMPLES / "sentiment_pipeline/testsets/review_sentiment_smoke_v1.jsonl"
    (folder / testset.name).write_text(
        testset.read_text("utf-8").splitlines()[0] + "\n", "utf-8"
    )
    memory = EXAMPLES / "memory/.sage/benchmarks/benchmark_memory/travel_diary"
    shutil.copytree(
        memory / "250615_2100",
        folder / "benchmark_memory/travel_diary/250620_2100",
    )
    warehouse = Warehouse(db)
    warehouse.ingest(folder)
    with warehouse.writable() as con:
        con.execute(
            "insert into raw.accepts values ('cs-new', now(), 'why', '[\"q1\"]')"
        )
        con.execute(
            "insert into raw.requested_comparisons"
            " values ('cs-regression-v3.1', 'cs-regression-v3.2', now())"
        )
        for table in ("tasks", "cases", "rounds", "baselines", "dimension_configs"):
            con.execute(
                f"delete from raw.{table} where task_id = 'review-sentiment-baseline'"
            )
    return db


@pytest.fixture(scope="module")
def changed(waiting: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The same, built."""
    warehouse = Warehouse(
        shutil.copy(waiting, tmp_path_factory.mktemp("built") / "built.duckdb")
    )
    warehouse.build()
    return warehouse


def test_only_what_is_new_changed_or_gone_is_built(waiting, tmp_path):
    """Every other row stays as it was, be it wrong."""
    warehouse = Warehouse(shutil.copy(waiting, tmp_path / "marked.duckdb"))
    with warehouse.writable() as con:
        con.execute("update marts.fct_rounds set latency_ms = 4242")
        con.execute(
            "update intermediate.int_memory_answers_scored set token_f1 = 0.4242"
            " where not is_failed and exact_match = 0"
        )
    warehouse.build()
    with warehouse.examining() as con:
        tasks = con.execute(
            "select distinct task_id from marts.fct_rounds where latency_ms = 4242"
            " order by all"
        ).fetchall()
        runs = con.execute(
            "select distinct run_id from marts.fct_memory_answers"
            " where token_f1 = 0.4242 order by all"
        ).fetchall()
        there = con.execute("select task_id from marts.dim_tasks order by all")
        assert there.fetchall() == [
            ("cs-new",),
            ("cs-regression-v3.1",),
            ("cs-regression-v3.2",),
            ("review-sentiment-improved",),
            # a memory run is a task as well
            ("travel_diary/250601_2100",),
            ("travel_diary/250615_2100",),
            ("travel_diary/250620_2100",),
        ]
    assert tasks == [
        ("cs-regression-v3.2",),
        ("review-sentiment-improved",),
        ("travel_diary/250601_2100",),
        ("travel_diary/250615_2100",),
    ]
    assert runs == [("travel_diary/250601_2100",), ("travel_diary/250615_2100",)]


def test_steps_of_a_build_leave_no_rows_in_the_file(changed):
    with changed.examining() as con:
        for (table,) in con.execute(
            "select table_name from duckdb_tables() where schema_name = 'intermediate'"
            " and table_name like 'int_round%'"
        ).fetchall():
            assert con.execute(f"from intermediate.{table} limit 1").fetchall() == []


@pytest.mark.slow
def test_a_full_refresh_gives_the_same_tables_however_duckdb_is_set(
    changed, tmp_path, monkeypatch
):
    """A warehouse of few rounds is planned quickly and by one thread."""
    monkeypatch.setattr(tables, "SMALL", 0)
    again = Warehouse(shutil.copy(changed.settings.db, tmp_path / "again.duckdb"))
    again.build(full_refresh=True)
    assert differences(changed.settings.db, again.settings.db) == {}


def test_what_is_gone_leaves_no_row(changed):
    with changed.examining() as con:
        columns = con.execute(
            "select schema_name, table_name, column_name from duckdb_columns()"
            " where schema_name in ('marts', 'intermediate')"
            " and column_name in ('task_id', 'candidate_task_id')"
            " and table_name <> 'int_tasks_to_build'"
            " and table_name <> 'int_comparisons_to_build'"
        ).fetchall()
        left = [
            (schema, table)
            for schema, table, column in columns
            if con.execute(
                f"select 1 from {schema}.{table}"
                f" where {column} = 'review-sentiment-baseline' limit 1"
            ).fetchone()
        ]
    assert columns and left == []


def test_what_was_built_but_not_remembered_is_built_again(
    example_db, writable_example_db
):
    """A kill between the statements that record a build, where an engine has no
    transaction: the build itself is recorded first.
    """
    warehouse = Warehouse(writable_example_db)
    with warehouse.writable() as con:
        for state in ("task_builds", "comparison_builds"):
            con.execute(f"delete from raw.{state}")
    warehouse.build()
    assert differences(example_db, writable_example_db) == {}


def test_changed_models_are_noticed_and_a_refresh_is_asked_for(
    example_db, writable_example_db
):
    with duckdb.connect(str(writable_example_db)) as con:
        con.execute("update raw.builds set project_hash = 'of other models'")
    with pytest.raises(BuildError, match=r"have changed .* --full-refresh"):
        Warehouse(writable_example_db).build()


def test_a_table_that_was_dropped_is_noticed(writable_example_db):
    with duckdb.connect(str(writable_example_db)) as con:
        con.execute("drop table marts.fct_rounds")
    with pytest.raises(BuildError, match=r"are gone: fct_rounds\. .* --full-refresh"):
        Warehouse(writable_example_db).build()


def test_a_warehouse_is_built_until_something_comes(writable_example_db, tmp_path):
    warehouse = Warehouse(writable_example_db)
    assert warehouse.last_build().has_all
    (tmp_path / "new.json").write_text(RUN.read_text("utf-8") + "\n", "utf-8")
    warehouse.ingest(tmp_path / "new.json")
    assert not warehouse.last_build().has_all
