"""The whole road: ingest, build, report; what the command line and Python call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import NothingToDo, UsageError
from promptlab.settings import Settings

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from promptlab.build.execution import OnNode
    from promptlab.build.record import LastBuild
    from promptlab.contracts.analysis_result import AnalysisResult
    from promptlab.contracts.comparison import Comparison
    from promptlab.loading import Ingested, OnProgress

_NOT_REPORTED = """
    built_at >= coalesce(
        (select max(began_at) from raw.reported_runs), '-infinity'::timestamptz
    )
"""


class Warehouse:
    """One warehouse file.

    Example:
        >>> warehouse = Warehouse("promptlab.duckdb")
        >>> warehouse.ingest("examples")
        >>> warehouse.build()
        >>> warehouse.result("latest").summary.overall_score
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
            settings: everything else; its own ``db`` does not count.
            exported: folder of exported marts that reports read instead.
        """
        self.exported = exported
        self.settings = (settings or Settings()).model_copy(update={"db": Path(db)})
        self._kept: duckdb.DuckDBPyConnection | None = None

    def ingest(
        self,
        *paths: str | Path,
        kind: str = "auto",
        testset: str | None = None,
        purged_too: bool = False,
        sink: str = "duckdb",
        workers: str = "1",
        on_start: Callable[[int, int], None] = lambda _files, _size: None,
        on_progress: OnProgress = lambda _path, _size: None,
    ) -> Ingested:
        """Load files and folders into the raw tables; whole files only.

        Args:
            paths: files, or folders to walk (hidden ones too).
            kind: ``auto`` recognises files by their content.
            testset: testset of every task loaded here, whatever the files say.
            purged_too: load files again that were purged.
            sink: ``duckdb``, the warehouse; ``parquet://DIR``, Parquet files instead.
            workers: who reads for Parquet: a number of processes, or ``spark``.
            on_start: called with the number of files and their bytes.
            on_progress: called after each file with its path and bytes.

        Raises:
            InputError: a path that cannot be read, or a file named itself that is of
                no known kind.
            NothingToDo: there is no file below ``paths``.
        """
        from promptlab.loading import load

        return load(
            self,
            [Path(path) for path in paths],
            kind=kind,
            sink=sink,
            workers=workers,
            on_start=on_start,
            testset=testset,
            purged_too=purged_too,
            on_progress=on_progress,
        )

    def build(
        self,
        args: Sequence[str] = (),
        *,
        full_refresh: bool = False,
        verbose: bool = False,
        on_node: OnNode = lambda _name, _place, _of: None,
    ) -> None:
        """Compute every number, and test it: what is new or changed, all or nothing.

        In one transaction, by the plan that dbt compiled; dbt itself builds where the
        raw tables are Parquet, on another engine, and where it gets arguments.

        Args:
            args: for ``dbt build``.
            full_refresh: compute everything again from the raw tables.
            verbose: let dbt's log through to stderr.
            on_node: called before each model and test with its name, its place from 1,
                and how many there are; not where dbt builds.

        Raises:
            SettingsError: there is no warehouse yet, or no Spark.
            UsageError: the raw tables are to be read from Parquet, and the warehouse
                has rows in its own; or Spark is to build from the warehouse's own.
            BuildError: names the model or test that failed, and rows of it.
        """
        from promptlab.build import build

        build(self, args, full_refresh=full_refresh, verbose=verbose, on_node=on_node)

    def last_build(self) -> LastBuild | None:
        """The newest finished build; ``None`` before the first."""
        from ingest import raw
        from promptlab.build.record import last_build

        if not self.settings.db.exists():
            return None
        with self.examining() as con:
            if raw.schema_version(con) != raw.SCHEMA_VERSION:
                return None
            return last_build(con)

    def report(
        self,
        task_ids: Sequence[str],
        out: Path,
        *,
        formats: Sequence[str] = ("json", "html"),
        memory_runs: Sequence[str] | None = None,
        lang: str | None = None,
        templates: Path | None = None,
        generated_at: datetime | None = None,
        on_report: Callable[[str], None] = lambda _name: None,
    ) -> list[Path]:
        """Write the reports of stored tasks and memory runs, and the index.

        Nothing is run again: everything is read from the marts.

        Args:
            task_ids: whole ids.
            out: folder to write below; nothing is written anywhere else.
            formats: names of ``reports.FORMATS``.
            memory_runs: whole ids; every memory run by default.
            lang: ``zh`` or ``en``.
            templates: folder of templates that replace built-in ones.
            generated_at: the time that the reports carry; now, when not given.
            on_report: called before each task and memory run with its id.

        Returns:
            Every file written, the index last.
        """
        import reports
        from promptlab.gate_policy import load_policy

        policy = load_policy()
        with self.built() as con:
            return reports.write_all(
                con,
                task_ids,
                out,
                formats=formats,
                memory_runs=memory_runs,
                lang=lang or self.settings.lang,
                templates=templates or self.settings.templates,
                report_url=self.settings.report_url,
                policy=policy,
                generated_at=generated_at or datetime.now(UTC),
                on_report=on_report,
            )

    def result(
        self, task: str = "latest", *, lang: str | None = None
    ) -> AnalysisResult:
        """The AnalysisResult of a stored task.

        Args:
            task: an id, a unique prefix, ``latest`` or ``previous``.
            lang: language of its sentences, ``zh`` or ``en``.
        """
        import reports
        from promptlab.gate_policy import load_policy
        from promptlab.task_ids import resolve_task

        policy = load_policy()
        with self.built() as con:
            return reports.analysis_result(
                con,
                resolve_task(con, task),
                lang=lang or self.settings.lang,
                generated_at=datetime.now(UTC),
                policy=policy,
            )

    def compare(
        self,
        baseline: str = "baseline",
        candidate: str = "latest",
        *,
        lang: str | None = None,
    ) -> Comparison:
        """How one task did against another, paired case by case.

        A pair that was not compared before is built now, and kept.

        Args:
            baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
                ``previous`` are those of the candidate.
            candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
            lang: language of its sentences, ``zh`` or ``en``.
        """
        from promptlab.history import compare

        return compare(self, baseline, candidate, lang=lang or self.settings.lang)

    def set_baseline(self, task: str) -> None:
        """Name a task the baseline of its title and testset, until another is named.

        Args:
            task: an id, a unique prefix, ``latest`` or ``previous``.
        """
        from promptlab.history import set_baseline

        set_baseline(self, task)

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> pl.DataFrame:
        """Run one read-only query over the whole warehouse.

        The query sees the warehouse and nothing else: no file, no network.

        Raises:
            UsageError: the query is wrong, or would write.
        """
        import polars as pl

        with self.connect() as con:
            result = run_query(con, query, parameters)
            # rows, not the relation itself: polars would keep it alive past the end
            return pl.DataFrame(
                result.fetchall(),
                schema=result.columns,
                orient="row",
                infer_schema_length=None,
            )

    def to_report(self, *, everything: bool = False) -> tuple[list[str], list[str]]:
        """Tasks and memory runs that were built since the last ``run`` reported.

        A task is built again when its own numbers change, or its baseline's, or when it
        has another baseline: its report compares.

        Args:
            everything: all that there is, whenever it was built.

        Returns:
            Ids of tasks, the oldest first; ids of memory runs, the newest first.
        """
        of_task = of_run = "true"
        if not everything:
            of_task = (
                "task_id in (select candidate_task_id from raw.comparison_builds"
                f" where {_NOT_REPORTED})"
            )
            of_run = (
                "run_id in (select run_id from raw.memory_builds"
                f" where {_NOT_REPORTED})"
            )
        with self.built() as con:
            tasks = con.execute(
                f"select task_id from marts.dim_tasks where {of_task}"
                " order by created_at, task_id"
            ).fetchall()
            runs = con.execute(
                f"select run_id from marts.dim_memory_runs where {of_run}"
                " order by started_at desc nulls last, run_id desc"
            ).fetchall()
        return [row[0] for row in tasks], [row[0] for row in runs]

    def remember_reported(self, began_at: datetime) -> None:
        """Note that everything that was built before *began_at* has its report."""
        with self.writable() as con:
            con.execute("insert into raw.reported_runs values (?)", [began_at])

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection that reaches nothing but the warehouse.

        Raises:
            WarehouseError: the file is of another schema version.
        """
        with self.reading() as con:
            if self._kept is None:
                con.execute("set enable_external_access = false")
                con.execute("set lock_configuration = true")
            yield con

    @contextmanager
    def examining(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection to a file of any schema version."""
        with self._connect(read_only=True) as con:
            yield con

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection that may write other files: copies and exports.

        Raises:
            WarehouseError: the file is of another schema version.
        """
        from ingest import raw

        with self.examining() as con:
            raw.check_current(con)
            yield con

    @contextmanager
    def built(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection to a warehouse whose marts are there.

        Raises:
            NothingToDo: the marts were never built.
        """
        if self.exported is not None:
            from promptlab.exported import exported_marts

            with exported_marts(self.exported) as con:
                yield con
            return
        with self.connect() as con:
            there = con.execute(
                "select 1 from duckdb_tables() where schema_name = 'marts'"
                " and table_name = 'fct_task_summaries'"
            ).fetchone()
            if there is None:
                raise NothingToDo(
                    f"{self.settings.db}: nothing has been built yet; `promptlab build`"
                )
            yield con

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Open the file once for all that is done in a ``with`` block, for writing.

        Each call opens it otherwise, so that others get their turn; that takes longer
        than a small step itself.
        """
        if self.builds_by_dbt or self._kept is not None:
            yield
            return
        with self.writable() as con:
            self._kept = con
            try:
                yield
            finally:
                self._kept = None

    @property
    def builds_by_dbt(self) -> bool:
        """Whether dbt itself has to build: on another engine, or from Parquet."""
        return self.settings.raw is not None or self.settings.target != "duckdb"

    @contextmanager
    def writable(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that may write into the raw tables.

        A file of an older schema version, or one that only new clients open, is
        brought up to date first.
        """
        from ingest import raw
        from promptlab import __version__

        if self._kept is not None:
            yield self._kept
            return
        with self._connect(read_only=False) as con:
            is_rewritten = self._write_for_every_client(con)
            if not is_rewritten:
                raw.ensure_schema(con, ingest_version=__version__)
                yield con
        if is_rewritten:
            with self.writable() as con:
                yield con

    def _write_for_every_client(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Write a file anew that DuckDB 1 does not open, unless it is not ours."""
        from ingest import raw
        from promptlab.copies import only_new_clients_open, write_copy
        from promptlab.messages import say

        if not only_new_clients_open(con) or raw.schema_version(con) is None:
            return False
        # so that nothing of the old file is left beside the new one
        con.execute("checkpoint")
        write_copy(con, self.settings.db)
        say(
            f"{self.settings.db} is written anew: any DuckDB since 1.3 opens it now",
            "storage_rewritten",
        )
        return True

    @contextmanager
    def _connect(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        from promptlab.warehouse import connect

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
        ) as con:
            yield con


def run_query(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()
) -> duckdb.DuckDBPyRelation:
    """Run one statement; one that gives no rows, or would write, is a UsageError."""
    import duckdb

    try:
        statements = con.extract_statements(query)
        if len(statements) != 1:
            raise UsageError(f"expected one statement, found {len(statements)}")
        return con.sql(query, params=list(parameters) or None)
    except duckdb.Error as error:
        raise UsageError(f"query: {error}") from None
