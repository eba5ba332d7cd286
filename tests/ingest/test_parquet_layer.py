"""The raw layer as Parquet holds what the warehouse's own raw tables would hold."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path

import duckdb
import pytest

from ingest.parquet import ParquetLayer, ingest, sink
from ingest.plan import plan
from promptlab.errors import DatabaseLocked, SettingsError, UsageError, WarehouseError
from promptlab.pipeline import Warehouse
from promptlab.settings import Settings
from tests.conftest import EXAMPLES

RUN = EXAMPLES / "customer_service/runs/cs-regression-v3.1.json"
# when a load happened, and its number: files that are not read again have none here
OF_THE_LOAD = {"load_id", "started_at", "finished_at"}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def load(layer: ParquetLayer, *paths: Path) -> dict[str, str]:
    """File name → status of an ingest."""
    loads = ingest(layer, plan(paths), ingest_version="1")
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
    one that reads them from Parquet. Tasks, testsets and scores were replaced, of a file
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
    write(second / "one.jsonl", result("s1", "y", 9))
    write(third / "broken.json", '{"task": {}, "cases": [')
    testset = next((EXAMPLES / "customer_service").rglob("*.jsonl"))
    shorter = testset.read_text("utf-8").splitlines()[0] + "\n"

    owning = Warehouse(folder / "owning.duckdb")
    raw = f"parquet://{folder / 'raw'}"
    reading = Warehouse(folder / "reading.duckdb", settings=Settings(raw=raw))
    for warehouse, to in ((owning, "duckdb"), (reading, raw)):
        scores.write_text(json.dumps(score), "utf-8")
        warehouse.ingest(first, scores, sink=to)
        scores.write_text(json.dumps(score | {"score": 0.75}), "utf-8")
        warehouse.ingest(second, scores, sink=to)
        write(third / testset.name, shorter)
        warehouse.ingest(third, sink=to)
    reading.build(["--select", "stg_tasks__tasks"])
    return owning.settings.db, reading.settings.db


@pytest.mark.parametrize(
    "table",
    [
        "loads", "rejects", "redactions", "testsets", "test_cases", "expectations",
        "pipelines", "pipeline_steps", "tasks", "cases", "rounds", "baselines",
        "dimension_configs", "scores", "named_baselines", "requested_comparisons",
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
            kinds = [
                f"{n} {t}" for n, t in zip(shown.columns, shown.types, strict=True)
            ]
            rows = con.execute(
                f"select {columns} from raw.{table} order by all"
            ).fetchall()
            return kinds, rows

    ours, theirs = map(contents, both)
    assert ours == theirs


def test_the_same_files_again_change_nothing(layer: ParquetLayer) -> None:
    assert load(layer, RUN) == {RUN.name: "loaded"}
    before = layer.manifest()
    assert load(layer, RUN) == {RUN.name: "unchanged"}
    assert layer.manifest() == before


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
    assert layer.loads()["load_id"].to_list() == [1, 2]


def test_who_reads_an_older_snapshot_can_go_on(layer: ParquetLayer) -> None:
    load(layer, RUN)
    snapshot = layer.folder / "snapshots" / layer.manifest()["snapshot"]
    load(layer, RUN.with_name("cs-regression-v3.2.json"))
    assert duckdb.sql(f"from read_parquet('{snapshot}/loads.parquet')").shape[0] == 1


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


@pytest.mark.parametrize("address", ["raw", "parquet://", "s3://bucket/raw"])
def test_an_address_says_parquet(address: str) -> None:
    with pytest.raises(SettingsError, match="expected parquet://DIR"):
        ParquetLayer.of(address)


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


def test_spark_is_told_where_the_raw_tables_are(tmp_path: Path) -> None:
    warehouse = Warehouse(
        tmp_path / "w.duckdb", settings=Settings(target="spark_local")
    )
    with pytest.raises(UsageError, match="--raw parquet://DIR"):
        warehouse.build()
