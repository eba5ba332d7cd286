"""A warehouse file, with one way of opening it per purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo
from promptlab.settings import Settings

if TYPE_CHECKING:
    import duckdb


class WarehouseFile:
    """One warehouse file and the settings it is used with.

    Operations use it to read the warehouse, to read its marts, or to write.
    """

    def __init__(
        self,
        db: str | Path = "promptlab.duckdb",
        *,
        settings: Settings | None = None,
        exported: Path | None = None,
    ) -> None:
        """Name the file; it is opened for each call and never kept open.

        Args:
            db: the DuckDB file; ``ingest`` makes it.
            settings: everything else; its ``db`` is ignored.
            exported: folder of exported marts that reports read instead.
        """
        self.exported = exported
        self.settings = (settings or Settings()).model_copy(update={"db": Path(db)})
        self._keeping: ExitStack | None = None
        self._kept: duckdb.DuckDBPyConnection | None = None

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection that is restricted to the warehouse.

        Raises:
            WarehouseError: the file is of another schema version.
        """
        with self.reading() as con:
            if self._kept is None:
                con.execute("set lock_configuration = true")
            yield con

    @contextmanager
    def examining(
        self, *, files: Sequence[Path] = (), folders: Sequence[Path] = ()
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection to a file of any schema version.

        Raises:
            UsageError: its raw tables are Parquet files, and no setting names them.
        """
        import duckdb

        from promptlab.database import shut_in
        from promptlab.ingest import raw

        with self._connect(read_only=True) as con:
            if self._kept is None:
                shut_in(con, files=files, folders=[*folders, *self._raw_folders()])
            try:
                yield con
            except duckdb.PermissionException:
                if self.settings.raw is None:
                    raw.check_not_views(
                        con, "name their folder: PROMPTLAB_RAW=parquet://DIR"
                    )
                raise

    @contextmanager
    def reading(
        self, *, files: Sequence[Path] = (), folders: Sequence[Path] = ()
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection for copies and exports, like ``examining``.

        Raises:
            WarehouseError: the file is of another schema version.
        """
        from promptlab.ingest import raw

        with self.examining(files=files, folders=folders) as con:
            raw.check_version(con)
            yield con

    @contextmanager
    def built(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection to a warehouse with marts.

        Raises:
            NothingToDo: the marts were never built.
        """
        if self.exported is not None:
            from promptlab.exported import exported_marts

            with exported_marts(self.exported) as con:
                yield con
            return
        from promptlab.database import SMALL, plan_quickly
        from promptlab.relations import has_relation

        with self.reading() as con:
            if not has_relation(con, "marts.fct_task_summaries"):
                raise NothingToDo(
                    f"{self.settings.db}: nothing has been built yet; `promptlab build`"
                )
            if self._kept is None:
                rounds = con.execute("select count(*) from marts.fct_rounds")
                if rounds.fetchall()[0][0] <= SMALL:
                    plan_quickly(con)
                con.execute("set lock_configuration = true")
            yield con

    def require(self) -> None:
        """Check that there is a file, which a write would create otherwise.

        Raises:
            SettingsError: there is none, or it is not a DuckDB file.
        """
        from promptlab.database import check_file, resolve

        if self._kept is None:  # to read and close an open file takes its lock away
            db = self.settings.db
            check_file(db, resolve(db), read_only=True)

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep the file open from its first write to the end of a ``with`` block.

        Otherwise each call opens the file, so that other processes can use it in
        between, which takes longer than a small step itself.
        """
        if self.builds_by_dbt or self._keeping is not None:
            yield
            return
        with ExitStack() as self._keeping:
            try:
                yield
            finally:
                self._keeping = self._kept = None

    @property
    def builds_by_dbt(self) -> bool:
        """True if dbt itself has to build: on another engine, or from Parquet."""
        return self.settings.raw is not None or self.settings.target != "duckdb"

    @contextmanager
    def writable(self, *, expected: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection that may write to the raw tables.

        *expected* is the likely size of a new file in bytes.

        Raises:
            WarehouseError: the file is of another schema version.
        """
        if self._kept is None and self._keeping is not None:
            self._kept = self._keeping.enter_context(self._up_to_date(expected))
        if self._kept is not None:
            yield self._kept
            return
        with self._up_to_date(expected) as con:
            yield con

    @contextmanager
    def _up_to_date(self, expected: int) -> Iterator[duckdb.DuckDBPyConnection]:
        from promptlab.copies import files_of_copy, remove_leftovers
        from promptlab.database import shut_in
        from promptlab.ingest import raw
        from promptlab.relations import file_of
        from promptlab.version import __version__

        with self._connect(read_only=False, expected=expected) as con:
            file = file_of(con)
            remove_leftovers(file)
            # a purge writes the file again
            shut_in(con, files=files_of_copy(file), folders=self._raw_folders())
            raw.ensure_schema(con, ingest_version=__version__)
            yield con

    def _raw_folders(self) -> list[Path]:
        """Return the folder of the raw layer, if the settings name one."""
        if self.settings.raw is None:
            return []
        from promptlab.ingest.parquet import ParquetLayer

        return [ParquetLayer.from_address(self.settings.raw).folder]

    @contextmanager
    def _connect(
        self, *, read_only: bool, expected: int = 0
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        from promptlab.database import connect

        if self._kept is not None:
            yield self._kept
            return
        with connect(
            self.settings.db,
            read_only=read_only,
            lock_timeout=self.settings.lock_timeout,
            memory_limit=self.settings.memory_limit,
            threads=self.settings.threads,
            temp_directory=self.settings.temp_directory,
            expected=expected,
        ) as con:
            yield con
