"""A warehouse file from an untrusted source: files in its views and macros are not read."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from promptlab import relations
from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse
from tests.conftest import EXHAUSTIVE
from tests.faults.conftest import contents
from tests.ingest.test_load import task as task_file
from tests.ingest.test_load import write

SECRET = "S3CRET-OF-THE-MACHINE"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "elsewhere" / "secret.csv"
    file.parent.mkdir()
    file.write_text(SECRET)
    return file


def _views(secret: Path) -> dict[str, str]:
    read = f"select content from read_text('{secret}')"
    macro = "create macro marts.reads(p) as table select content from read_text(p); "
    return {
        "a mart more": f"create view marts.leak as {read}",
        "a raw table more": f"create view raw.leak as {read}",
        "a view of CSV": f"create view marts.leak as from read_csv('{secret}', header=false)",
        "a view of a path": f"create view marts.leak as from '{secret}'",
        "a folder": f"create view marts.leak as from glob('{secret.parent}/*')",
        "a macro of tables": f"{macro}create view marts.leak as from marts.reads('{secret}')",
        "rejects": "alter table raw.rejects rename to kept; create view raw.rejects as"
        f" select * replace (({read}) as message) from raw.kept",
        "tasks": "alter table raw.tasks rename to kept; create view raw.tasks as"
        f" select * replace (({read}) as title) from raw.kept",
        "summaries": "alter table marts.dim_tasks rename to kept; create view"
        f" marts.dim_tasks as select * replace (({read}) as title) from marts.kept",
        "a function of ours": f"create macro main.lower(x) as ({read})",
        "another function": f"create macro main.coalesce(x, y) as ({read})",
        "a sum": f"create macro main.strftime(x, y) as ({read})",
    }  # fmt: skip


KINDS = list(_views(Path("x")))
MORE = KINDS[:6]
"""A view more, which only commands read that read every table there is."""

EXPORT = ("export", "--parquet", "out-of-marts")
EXPORT_RAW = ("export", "--parquet", "out", "--schema", "raw")
REPORT = ("report", "latest", "--out", "out-reports")
RUNS = ("runs",)
GATE = ("gate", "latest")
QUERY = ("query", "from raw.rejects")
BUILD = ("build", "--full-refresh")
ACCEPT = ("accept", "{task}", "--reason", "shorter on purpose")

READERS_OF_ALL = [
    EXPORT,
    EXPORT_RAW,
    ("export", "--file", "out.duckdb"),
    ("doctor", "--wide"),
    ("purge", "--task", "{task}"),
]
READERS = [*READERS_OF_ALL, REPORT, RUNS, GATE, QUERY]
WRITERS = [
    ("purge", "--task", "{task}", "--yes"),
    BUILD,
    ("run", "in", "--out", "out"),
    ACCEPT,
]

READ = {
    "a mart more": [each for each in READERS_OF_ALL if each != EXPORT_RAW],
    **{kind: [EXPORT] for kind in MORE[1:]},
    "a raw table more": [EXPORT_RAW],
    "rejects": [EXPORT_RAW, QUERY],
    "tasks": [EXPORT_RAW, *WRITERS],
    "summaries": [REPORT, RUNS, GATE, ACCEPT],
    "a function of ours": [REPORT, BUILD],
    "another function": [REPORT],
    "a sum": [REPORT],
}
"""Commands that would show what a table or a function reads, and each command once."""

CALLS = [
    (kind, command)
    for kind in KINDS
    for command in (READERS + WRITERS if EXHAUSTIVE else READ[kind])
]


@pytest.mark.parametrize(("kind", "command"), CALLS)
def test_no_command_reads_another_file_for_a_warehouse(
    kind, command, small_db, secret, tmp_path, monkeypatch, capfd
):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    db = Path(shutil.copy(small_db, folder / "w.duckdb"))
    write(folder / "in" / "a.json", task_file("new"))
    with duckdb.connect(str(db)) as con:
        (task,) = con.execute("select min(task_id) from marts.dim_tasks").fetchone()
        con.execute(_views(secret)[kind])
    before = db.read_bytes()
    run_cli([*(part.format(task=task) for part in command), "--db", str(db)])
    printed = "".join(capfd.readouterr())
    assert SECRET not in printed
    assert "Traceback" not in printed
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix not in (".duckdb", ".parquet"):
            assert SECRET.encode() not in file.read_bytes(), file
    for made in folder.rglob("*.parquet"):
        assert SECRET not in repr(pl.read_parquet(made).to_dicts()), made
    for made in folder.rglob("*.duckdb"):
        if made == db and db.read_bytes() == before:
            continue
        assert SECRET not in repr(_tables(made)), made


def _tables(db: Path) -> list[object]:
    """Every row of every table that is stored; blocks of the file are compressed."""
    with duckdb.connect(str(db), read_only=True) as con:
        return [
            con.execute(f"from {table.sql}").fetchall()
            for table in relations.tables_of(con)
        ]


def test_an_export_names_the_view_that_reads_another_file(
    writable_small_db, secret, tmp_path, capsys
):
    with duckdb.connect(str(writable_small_db)) as con:
        con.execute(_views(secret)["a mart more"])
    out = tmp_path / "out"
    call = ["export", "--parquet", str(out), "--db", str(writable_small_db)]
    assert run_cli(call) == 2
    assert "marts.leak: is a view that reads other files" in capsys.readouterr().err
    assert not out.exists()


def test_the_views_among_our_own_marts_are_exported(example_db, tmp_path):
    out = tmp_path / "it's [an] export"
    call = ["export", "--parquet", str(out), "--db", str(example_db)]
    assert run_cli(call) == 0
    with duckdb.connect(str(example_db), read_only=True) as con:
        views = con.execute(
            "select view_name from duckdb_views() where schema_name = 'marts'"
        ).fetchall()
        assert views
        for (view,) in views:
            path = str(out / "marts" / view / "**" / "*.parquet").replace("'", "''")
            path = path.replace("[an]", "[[]an[]]")
            stored = con.execute(f"select count(*) from marts.{view}").fetchone()
            assert con.execute(f"select count(*) from '{path}'").fetchone() == stored


def test_a_purge_and_a_copy_of_a_clean_warehouse_need_no_more(
    writable_small_db, tmp_path
):
    warehouse = Warehouse(writable_small_db)
    before = contents(writable_small_db)
    copy = str(tmp_path / "c.duckdb")
    call = ["export", "--file", copy, "--db", str(warehouse.settings.db)]
    assert run_cli(call) == 0
    assert contents(tmp_path / "c.duckdb") == before
