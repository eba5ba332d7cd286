"""The folder of the raw layer as Parquet, and its snapshots.

::

    manifest.json                     the current snapshot, and the tables' columns
    snapshots/000007/loads.parquet    the load log
    snapshots/000007/objects.parquet  the objects of the loads
    tables/rounds/load_id=12/*.parquet  rows of one load, never changed

A load is visible when the manifest's snapshot names it; the manifest is replaced
atomically, so a reader only sees whole loads, and a killed ingest has changed nothing.
No row is rewritten: the models of the schema `live` select the rows that count.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.database import open_duckdb
from promptlab.errors import DatabaseLocked, SettingsError, WarehouseError
from promptlab.ingest.raw.catalogue import OF_BUILDS, SCHEMA_VERSION
from promptlab.ingest.raw.live import LiveModel
from promptlab.ingest.raw.tables import as_frame, polars_types
from promptlab.relations import literal

if TYPE_CHECKING:
    import duckdb
    import polars as pl


FORMAT_VERSION = "1.2"
# 1.0  first version
# 1.1  scores are live by task and file
# 1.2  the objects of loads, instead of those that are live

SCHEME = "parquet://"
SNAPSHOTS_KEPT = 10
KEPT_FOR_S = 24 * 60 * 60
"""Age, and number of newer snapshots, after which an old snapshot is deleted.

A large ingest makes many.
"""

_ODD = frozenset("*?[]{}'`\\\n")
"""Characters in paths that some engine interprets as a pattern or an option."""

_OF_SNAPSHOT = ("loads", "objects")
"""Tables that are one file, written again with each snapshot."""


class ParquetLayer:
    """A folder with the raw layer as Parquet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    @classmethod
    def from_address(cls, address: str) -> ParquetLayer:
        """Return the layer of ``parquet://DIR``.

        Raises:
            SettingsError: it is not such an address.
        """
        folder = address.removeprefix(SCHEME)
        if folder == address or not folder:
            raise SettingsError(
                f"{address}: expected {SCHEME}DIR, such as {SCHEME}raw"
                f" or {SCHEME}/data/raw"
            )
        layer = cls(Path(folder))
        odd = sorted(_ODD & set(str(layer.folder)))
        if odd:
            raise SettingsError(
                f"{layer.folder}: engines cannot read a path with"
                f" {' '.join(map(repr, odd))} in it; name another folder"
            )
        return layer

    @property
    def address(self) -> str:
        """Return ``parquet://DIR`` with an absolute path."""
        return f"{SCHEME}{self.folder}"

    @property
    def manifest_file(self) -> Path:
        """The file that names the current snapshot."""
        return self.folder / "manifest.json"

    def manifest(self) -> dict[str, Any]:
        """Read the manifest.

        Raises:
            SettingsError: it is missing.
            WarehouseError: another version of promptlab wrote it, or it is damaged.
        """
        try:
            manifest: dict[str, Any] = json.loads(self.manifest_file.read_text("utf-8"))
        except FileNotFoundError:
            raise SettingsError(
                f"{self.folder}: there is no raw layer here (no manifest.json);"
                f" make one with `promptlab ingest PATH --sink {self.address}`"
            ) from None
        except ValueError as error:
            raise self._damaged(error) from None
        versions = manifest.get("format_version"), manifest.get("schema_version")
        if versions != (FORMAT_VERSION, SCHEMA_VERSION):
            raise WarehouseError(
                f"{self.folder}: is of format {versions[0]} with schema version"
                f" {versions[1]}, this promptlab knows {FORMAT_VERSION} and"
                f" {SCHEMA_VERSION}; ingest the files into a new folder (nothing was"
                " changed)"
            )
        return manifest

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the layer for writing; delete files of unfinished ingests.

        Raises:
            DatabaseLocked: another process writes.
            SettingsError: the folder cannot be created, or contains other files.
        """
        self._check()
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DatabaseLocked(
                    f"{self.folder}: another ingest writes here; wait for it to end"
                    " (nothing was changed)"
                ) from None
            if not self.manifest_file.exists():
                self._make()
            self._remove_unfinished()
            yield

    def path(self, table: str, load_id: int, part: int | str) -> Path:
        """Return the path of a part of a load's rows of a table."""
        return (
            self.folder
            / "tables"
            / table
            / f"load_id={load_id}"
            / f"part-{part}.parquet"
        )

    def write(
        self, table: str, load_id: int, part: int | str, frame: pl.DataFrame
    ) -> None:
        """Write a part of a load's rows atomically.

        Writing it again replaces the same file.
        """
        _write(frame.drop("load_id", strict=False), self.path(table, load_id, part))

    def discard(self, load_id: int) -> None:
        """Delete the rows of a file that was left out after all."""
        for folder in (self.folder / "tables").glob(f"*/load_id={load_id}"):
            shutil.rmtree(folder)

    def give_out(self, n_loads: int) -> int:
        """Reserve *n_loads* load ids and return the first.

        No id is reserved twice, even after a killed ingest: one of its workers may
        still be writing.
        """
        file = self.folder / ".given_out"
        newest = self.loads()["load_id"].max()
        last = newest if isinstance(newest, int) else 0
        if file.exists():
            last = max(last, int(file.read_text("utf-8")))
        _replace(file, str(last + n_loads))
        return last + 1

    def loads(self) -> pl.DataFrame:
        """Return the load log of the current snapshot."""
        return self._snapshot("loads")

    def objects(self) -> pl.DataFrame:
        """Return the objects of these loads."""
        return self._snapshot("objects")

    def commit(self, loads: pl.DataFrame, objects: pl.DataFrame) -> None:
        """Commit these loads and their objects as a new snapshot."""
        before = self.manifest_file.exists() and self.manifest()["snapshot"]
        name = f"{int(before or 0) + 1:06d}"
        _write(loads, self._snapshot_file("loads", name))
        _write(objects, self._snapshot_file("objects", name))
        # one line: Spark reads it as one value
        text = json.dumps(
            {
                "format_version": FORMAT_VERSION,
                "schema_version": SCHEMA_VERSION,
                "snapshot": name,
                "tables": _tables(),
            },
            ensure_ascii=False,
        )
        _replace(self.manifest_file, text + "\n")
        for old in sorted((self.folder / "snapshots").iterdir())[:-SNAPSHOTS_KEPT]:
            if old.stat().st_mtime < time.time() - KEPT_FOR_S:
                shutil.rmtree(
                    old, ignore_errors=True
                )  # it may be open on a network disk

    @contextmanager
    def connect(
        self, *tables: str, live: Sequence[LiveModel] = ()
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection with the load log and some tables as ``raw.*``.

        Args:
            tables: Raw tables besides the loads and their objects.
            live: The models of the schema `live`; ``live.objects`` is there, too.
        """
        name = self.manifest()["snapshot"]
        with open_duckdb() as con:
            con.execute("create schema raw")
            for table in _OF_SNAPSHOT:
                file = literal(self._snapshot_file(table, name))
                con.execute(f"create view raw.{table} as from read_parquet({file})")
            for table in tables:
                files = literal(self.folder / "tables" / table / "*" / "*.parquet")
                con.execute(
                    f"create view raw.{table} as select *"
                    f" from read_parquet({files}, hive_partitioning = true)"
                )
            con.execute("create schema live")
            for model in live:
                if model.relation == '"live"."objects"':
                    con.execute(f"create table {model.relation} as {model.query}")
            yield con

    def _check(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()) and not (
                self.manifest_file.exists() or (self.folder / ".lock").exists()
            ):
                raise SettingsError(
                    f"{self.folder}: holds something that is no raw layer (no"
                    " manifest.json); name an empty or a new folder (nothing was"
                    " changed)"
                )
        except OSError as error:
            raise SettingsError(
                f"{self.folder}: cannot be written to: {error}"
            ) from None

    def _make(self) -> None:
        """Write every table without rows, so that readers find its columns."""
        for table in _tables():
            if table not in _OF_SNAPSHOT:
                self.write(table, 0, 0, frame_of(table, {}))
        self.commit(frame_of("loads", {}), frame_of("objects", {}))

    def _remove_unfinished(self) -> None:
        """Find rows of killed ingests: their loads are not listed."""
        counting = {0, *self.loads()["load_id"].to_list()}
        for folder in (self.folder / "tables").glob("*/load_id=*"):
            if int(folder.name.removeprefix("load_id=")) not in counting:
                shutil.rmtree(folder, ignore_errors=True)  # a worker may still write

    def _snapshot(self, table: str) -> pl.DataFrame:
        import polars as pl

        file = self._snapshot_file(table, self.manifest()["snapshot"])
        try:
            return pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> WarehouseError:
        return WarehouseError(
            f"{self.folder}: this raw layer is damaged ({error}); put a backup in its"
            " place, or ingest the files into a new folder (nothing was changed)"
        )

    def _snapshot_file(self, table: str, name: str) -> Path:
        return self.folder / "snapshots" / name / f"{table}.parquet"


def frame_of(table: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return columns of a raw table as a typed frame; missing ones are null."""
    import polars as pl

    types = {name: polars_types()[kind] for name, kind in _columns()[table].items()}
    frame = as_frame(columns, _columns()[table])
    missing = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in types.items()
        if name not in columns
    ]
    if not columns:
        return pl.DataFrame(schema=types)
    return frame.with_columns(missing).select(list(types))


@cache
def _columns() -> dict[str, dict[str, str]]:
    """Return raw table → column → type from ``raw.sql``, without tables of builds."""
    with open_duckdb() as con:
        con.execute(
            resources.files("promptlab.ingest.raw")
            .joinpath("raw.sql")
            .read_text("utf-8")
        )
        rows = con.execute(
            "select table_name, column_name, data_type from duckdb_columns()"
            " where schema_name = 'raw' order by table_name, column_index"
        ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        if table not in OF_BUILDS:
            tables.setdefault(table, {})[column] = kind
    return tables


@cache
def _tables() -> dict[str, dict[str, Any]]:
    """Return the columns of each table."""
    return {table: {"columns": columns} for table, columns in _columns().items()}


def _write(frame: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    frame.write_parquet(beside)
    beside.replace(path)


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f"{file.name}.new")
    beside.write_text(text, "utf-8")
    beside.replace(file)
