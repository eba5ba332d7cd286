"""The raw layer as Parquet holds what the warehouse's own raw tables would hold."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from promptlab.build import build, call_dbt
from promptlab.build.plan import live_models
from promptlab.errors import DatabaseLocked, SettingsError, UsageError, WarehouseError
from promptlab.exported import exported_marts
from promptlab.ingest import file_reader
from promptlab.ingest.parquet import ParquetLayer, ingest_parquet, sink
from promptlab.ingest.parquet import layer as layer_module
from promptlab.ingest.parquet.sink import mapping
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.requests import request_comparison
from promptlab.ingest.reading import records
from promptlab.operations.purge import purge
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES
from tests.foreign.reading_of import DATA as FOREIGN

RUN = EXAMPLES / "customer_service/runs/cs-regression-v3.1.json"
# when a load happened, and its number: files that are not read again have none here
OF_THE_LOAD = {"load_id", "started_at", "finished_at"}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def load(layer: ParquetLayer, *paths: Path) -> dict[str, str]:
    """File name → status of an ingest."""
    loads = ingest_parquet(layer, plan(paths), live_models(), ingest_version="1")
    return {each.path.name: each.status for each in loads}


def result(sample: str, variant: str, score: float) -> str:
    return json.dumps(
        {
            "sample_id": sample,
            "entity_type": "agent",
            "entity_id": "a",
            "variant": variant,
            "run_id": "r",
            "overall_score": score,
            "created_at": "2026-01-01T00:00:00Z",
        }
    )


@pytest.fixture
def layer(tmp_path: Path) -> ParquetLayer:
    return ParquetLayer(tmp_path / "raw")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two warehouses after the same three ingests: one that holds its raw tables, and
    one that reads them from Parquet. Tasks, testsets and scores were replaced, of files
    of two tasks only one, and a file was rejected.
    """
    folder = tmp_path_factory.mktemp("both")
    run = json.loads(RUN.read_text("utf-8"))
    first, second, third = folder / "1", folder / "2", folder / "3"
    shutil.copytree(EXAMPLES, first / "examples")
    write(first / "two.jsonl", f"{result('s1', 'x', 8)}\n{result('s1', 'y', 6)}\n")
    score = {"task_id": "cs-regression-v3.1", "case_id": "c", "round_id": "1"}
    score |= {"dimension_id": "d", "score": 0.5, "scorer": "mine"}
    scores = write(folder / "scores.jsonl", json.dumps(score))
    write(second / "smaller.json", json.dumps(run | {"cases": run["cases"][:3]}))
    one = {"task": run["task"] | {"task_id": "y"}, "cases": run["cases"][:1]}
    write(second / "one.json", json.dumps(run | one))
    write(third / "broken.json", '{"task": {}, "cases": [')
    testset = next((EXAMPLES / "customer_service").rglob("*.jsonl"))
    shorter = testset.read_text("utf-8").splitlines()[0] + "\n"

    owning = Warehouse(folder / "owning.duckdb")
    raw = f"parquet://{folder / 'raw'}"
    reading = Warehouse(folder / "reading.duckdb", settings=Settings(raw=raw))
    for warehouse, to in ((owning, "duckdb"), (reading, raw)):
        kept = json.dumps(score | {"task_id": "cs-regression-v3.2"})
        scores.write_text(f"{json.dumps(score)}\n{kept}\n", "utf-8")
        warehouse.ingest(first, scores, sink=to)
        scores.write_text(json.dumps(score | {"score": 0.75}), "utf-8")
        warehouse.ingest(second, scores, sink=to)
        write(third / testset.name, shorter)
        warehouse.ingest(third, sink=to)
    call_dbt(reading, ["build", "--select", "+stg_tasks__tasks"])
    return owning.settings.db, reading.settings.db


@pytest.mark.parametrize(
    "table",
    [
        "loads", "rejects", "redactions", "testsets", "test_cases", "expectations",
        "pipelines", "pipeline_steps", "tasks", "cases", "rounds", "baselines",
        "dimension_configs", "scores", "requested_comparisons",
        "memory_runs", "memory_tests", "memory_answers", "memory_invalid_questions",
        "memory_timings",
    ],
)  # fmt: skip
def test_views_show_what_raw_tables_would_hold(
    both: tuple[Path, Path], table: str
) -> None:
    def contents(db: Path) -> tuple[list[str], list[tuple[object, ...]]]:
        with duckdb.connect(str(db), read_only=True) as con:
            con.execute("set TimeZone = 'UTC'")
            shown = con.sql(f"select * from raw.{table}")
            names = [name for name in shown.columns if name not in OF_THE_LOAD]
            columns = ", ".join(f'"{name}"' for name in names)
            # a layer does not look at the rows of earlier files
            told = ""
            if table == "rejects":
                told = "where code not in ('scores_replaced', 'task_replaced', 'scores_outdated')"
            kinds = [
                f"{n} {t}" for n, t in zip(shown.columns, shown.types, strict=True)
            ]
            rows = con.execute(
                f"select {columns} from raw.{table} {told} order by all"
            ).fetchall()
            return kinds, rows

    ours, theirs = map(contents, both)
    assert ours == theirs


def test_the_same_files_again_change_nothing(layer: ParquetLayer) -> None:
    assert load(layer, RUN) == {RUN.name: "loaded"}
    before = layer.manifest()
    assert load(layer, RUN) == {RUN.name: "unchanged"}
    assert layer.manifest() == before


def test_a_copy_of_a_run_that_a_later_call_brings_is_loaded_once(
    layer: ParquetLayer, tmp_path: Path
) -> None:
    run = (FOREIGN / "promptfoo/rivers.json").read_text("utf-8")
    first = write(tmp_path / "first/rivers.json", run)
    copy = write(tmp_path / "second/copy.json", f"{run}\n")

    assert load(layer, first) == {"rivers.json": "loaded"}
    assert load(layer, copy) == {"copy.json": "skipped"}


def test_shards_are_flattened_alike_wherever_they_are(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    Warehouse().ingest(EXAMPLES, sink=f"parquet://{one}")
    Warehouse().ingest(EXAMPLES, sink=f"parquet://{other}", workers="2")
    files = sorted(p.relative_to(one) for p in (one / "tables").rglob("*.parquet"))
    assert len(files) > 50
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


def test_a_killed_ingest_changes_nothing_and_the_next_completes_it(
    layer: ParquetLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(layer, RUN)
    before = layer.manifest()
    more = RUN.with_name("cs-regression-v3.2.json")
    with monkeypatch.context() as patch:
        patch.setattr(
            sink, "_commit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            load(layer, more)
    left = list((layer.folder / "tables").glob("*/load_id=2"))
    assert left
    assert layer.manifest() == before
    assert load(layer, more) == {more.name: "loaded"}
    # a number is not given out again: a worker may outlive its ingest
    assert layer.loads()["load_id"].to_list() == [1, 3]
    assert not [folder for folder in left if folder.exists()]


@pytest.mark.parametrize(("every", "commits"), [(0, 4), (60, 1)])
def test_a_commit_is_not_made_for_every_shard(
    layer: ParquetLayer, monkeypatch: pytest.MonkeyPatch, every: int, commits: int
) -> None:
    monkeypatch.setattr(sink, "SHARD_FILES", 1)
    monkeypatch.setattr(sink, "COMMIT_EVERY_S", every)
    for number in range(4):
        write(layer.folder.parent / f"in/{number}.jsonl", result(f"s{number}", "x", 8))
    with layer.locked():
        before = int(layer.manifest()["snapshot"])
    assert len(load(layer, layer.folder.parent / "in")) == 4
    assert int(layer.manifest()["snapshot"]) - before == commits
    assert layer.objects()["load_id"].to_list() == [1, 2, 3, 4]


def test_a_commit_that_fails_at_the_end_is_not_made_twice(
    layer: ParquetLayer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "in/a.jsonl", result("s1", "x", 8))
    committing = ParquetLayer.commit

    def failing(self: ParquetLayer, *of: Any) -> None:
        committing(self, *of)
        if not of[1].is_empty():
            raise OSError("the disk went away")

    monkeypatch.setattr(ParquetLayer, "commit", failing)
    with pytest.raises(OSError, match="went away"):
        load(layer, tmp_path / "in")
    assert layer.loads()["load_id"].to_list() == [1]


def test_what_was_read_before_a_worker_failed_counts(
    layer: ParquetLayer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "SHARD_FILES", 1)
    for number in range(3):
        write(tmp_path / f"in/{number}.jsonl", result(f"s{number}", "x", 8))

    def failing(function: Any, shards: Any) -> Any:
        yield function(shards[0])
        raise WarehouseError("a worker was killed")

    with pytest.raises(WarehouseError):
        ingest_parquet(
            layer,
            plan([tmp_path / "in"]),
            live_models(),
            ingest_version="1",
            map_shards=failing,
        )
    assert layer.loads()["load_id"].to_list() == [1]
    assert set(load(layer, tmp_path / "in").values()) == {"unchanged", "loaded"}


def test_workers_end_with_the_ingest_that_started_them(tmp_path: Path) -> None:
    script = write(
        tmp_path / "killed.py",
        "import os, time\n"
        "from promptlab.ingest.parquet.sink import mapping\n"
        "def work(_):\n"
        "    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    with mapping('2') as run:\n"
        "        print(*run(work, [1]), flush=True)\n"
        "        os.kill(os.getpid(), 9)\n",
    )
    killed = subprocess.run(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, timeout=60
    )
    worker = int(killed.stdout)
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker lives on")


def test_a_worker_that_is_killed_is_reported() -> None:
    with (
        pytest.raises(WarehouseError, match="a worker was killed"),
        mapping("2") as run,
    ):
        list(run(os._exit, [9]))


def test_snapshots_of_one_large_ingest_are_kept_for_who_reads_them(
    layer: ParquetLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_module, "SNAPSHOTS_KEPT", 2)
    load(layer, RUN)
    first = layer.folder / "snapshots" / layer.manifest()["snapshot"]
    for _ in range(3):
        layer.commit(layer.loads(), layer.objects())
    assert first.exists()
    long_ago = time.time() - 2 * layer_module.KEPT_FOR_S
    os.utime(first, (long_ago, long_ago))
    layer.commit(layer.loads(), layer.objects())
    assert not first.exists()


def test_in_parquet_a_run_in_two_files_is_live_in_both_even_after_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "BLOCK_BYTES", 100)
    monkeypatch.setattr(records, "BATCH_CHARACTERS", 100)
    large = "\n".join(result(f"s{n}", "x", 8) for n in range(50))
    write(tmp_path / "in/a.jsonl", large)
    write(tmp_path / "in/b.jsonl", result("s1", "x", 9))
    layer = ParquetLayer(tmp_path / "raw")
    load(layer, tmp_path / "in")
    with layer.connect("rounds", live=live_models()) as con:
        live = con.execute("select object_id, load_id from live.objects").fetchall()
        rounds = con.execute(
            "select load_id, count(*) from raw.rounds group by all order by all"
        ).fetchall()
    assert sorted(live) == [("r", 1), ("r", 2)]
    assert rounds == [(1, 50), (2, 1)]


def test_who_reads_an_older_snapshot_can_go_on(layer: ParquetLayer) -> None:
    load(layer, RUN)
    snapshot = layer.folder / "snapshots" / layer.manifest()["snapshot"]
    load(layer, RUN.with_name("cs-regression-v3.2.json"))
    with duckdb.connect() as con:
        kept = con.sql(f"from read_parquet('{snapshot}/loads.parquet')").shape[0]
    assert kept == 1


def test_a_second_writer_is_refused(layer: ParquetLayer) -> None:
    load(layer, RUN)
    with (layer.folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DatabaseLocked, match="another ingest writes here"):
            load(layer, RUN)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "theirs" / "a.txt", "a")
    with pytest.raises(SettingsError, match="is no raw layer"):
        load(ParquetLayer(tmp_path / "theirs"), RUN)
    assert [p.name for p in (tmp_path / "theirs").iterdir()] == ["a.txt"]


def test_a_layer_of_another_version_is_refused(layer: ParquetLayer) -> None:
    load(layer, RUN)
    manifest = layer.manifest() | {"schema_version": 99}
    layer.manifest_file.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(WarehouseError, match="schema version 99"):
        load(layer, RUN)


def test_a_damaged_layer_is_reported(layer: ParquetLayer) -> None:
    load(layer, RUN)
    shutil.rmtree(layer.folder / "snapshots")
    with pytest.raises(WarehouseError, match="is damaged"):
        load(layer, RUN)
    layer.manifest_file.write_text("{", "utf-8")
    with pytest.raises(WarehouseError, match="is damaged"):
        load(layer, RUN)


@pytest.mark.parametrize("name", ["a*b", "a[1]", "it's", "{a}"])
def test_a_path_that_engines_read_as_something_else_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="name another folder"):
        ParquetLayer.from_address(f"parquet://{name}")


@pytest.mark.parametrize("address", ["raw", "parquet://", "s3://bucket/raw"])
def test_an_address_says_parquet(address: str) -> None:
    with pytest.raises(SettingsError, match="expected parquet://DIR"):
        ParquetLayer.from_address(address)


def test_a_build_over_a_layer_that_is_not_there_says_how_to_make_one(
    tmp_path: Path,
) -> None:
    settings = Settings(raw=f"parquet://{tmp_path}/none")
    with pytest.raises(SettingsError, match="promptlab ingest PATH --sink"):
        Warehouse(tmp_path / "w.duckdb", settings=settings).build()


def test_a_warehouse_with_rows_of_its_own_keeps_them(tmp_path: Path) -> None:
    raw = f"parquet://{tmp_path / 'raw'}"
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=Settings(raw=raw))
    warehouse.ingest(RUN, sink=raw)
    warehouse.ingest(RUN)
    with pytest.raises(UsageError, match="raw tables of its own"):
        warehouse.build()


def test_a_warehouse_over_a_layer_takes_no_files_itself(
    both: tuple[Path, Path],
) -> None:
    with pytest.raises(UsageError, match="--sink"):
        Warehouse(both[1]).ingest(RUN)


def test_commands_that_read_raw_tables_take_their_folder_from_the_settings(
    both: tuple[Path, Path],
) -> None:
    db = both[1]
    with (
        pytest.raises(UsageError, match="PROMPTLAB_RAW=parquet://DIR"),
        Warehouse(db).connect() as con,
    ):
        con.execute("from raw.loads")

    named = Settings(raw=f"parquet://{db.parent / 'raw'}")
    with Warehouse(db, settings=named).connect() as con:
        assert con.execute("from raw.loads").fetchall()
        with pytest.raises(duckdb.PermissionException):
            con.execute(f"from read_json('{RUN}')")


def test_what_changes_raw_tables_leaves_such_a_warehouse_alone(
    both: tuple[Path, Path],
) -> None:
    warehouse = Warehouse(both[1])
    for change in (
        lambda: purge(warehouse, tasks=["cs-regression-v3.1"]),
        lambda: build(warehouse, request=lambda con: request_comparison(con, "t", "x")),
        warehouse.build,
    ):
        with pytest.raises(UsageError, match="reads its raw tables from Parquet"):
            change()


@pytest.mark.parametrize(
    "table",
    [
        {"files": "../secret.parquet"},
        {"files": "/etc/*"},
        {"files": "marts/link.parquet"},
        {"files": 3},
        {"columns": [{"name": "a", "type": "INTEGER) as a, (select 1"}]},
        {"columns": [{"name": 'b" as integer) as "b', "type": "INTEGER"}]},
        {"columns": None},
    ],
)
def test_a_manifest_of_an_export_reads_and_runs_nothing_else(
    tmp_path: Path, table: dict[str, Any]
) -> None:
    folder = tmp_path / "it's [1]*"
    write(folder / "marts/x", "")
    for file in (folder / "marts/a.parquet", tmp_path / "secret.parquet"):
        pl.DataFrame({"a": [1]}).write_parquet(file)
    (folder / "marts/link.parquet").symlink_to(tmp_path / "secret.parquet")
    name = 't" as select 1; create table marts."u'
    whole: dict[str, Any] = {"schema": "marts", "name": name}
    whole |= {"files": "marts/a.parquet"}
    whole |= {"columns": [{"name": "a", "type": "INTEGER"}]}
    manifest = write(folder / "manifest.json", json.dumps({"tables": [whole]}))
    with exported_marts(folder) as con:
        quoted = name.replace('"', '""')
        assert con.execute(f'select a from marts."{quoted}"').fetchall() == [(1,)]
        assert con.execute("select count(*) from duckdb_tables()").fetchone() == (0,)
    manifest.write_text(json.dumps({"tables": [whole | table]}), "utf-8")
    with (
        pytest.raises(SettingsError, match="is damaged or not"),
        exported_marts(folder),
    ):
        pass


def test_spark_learns_where_the_raw_tables_are(tmp_path: Path) -> None:
    warehouse = Warehouse(
        tmp_path / "w.duckdb", settings=Settings(target="spark_local")
    )
    with pytest.raises(UsageError, match="--raw parquet://DIR"):
        warehouse.build()
