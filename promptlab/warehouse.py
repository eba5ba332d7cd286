"""The Python API: ingest, build, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.errors import InputError, NothingToDo, PromptlabError, UsageError
from promptlab.warehouse_file import WarehouseFile

if TYPE_CHECKING:
    import polars as pl

    from promptlab.build.execution import LastBuild, OnNode
    from promptlab.contracts.analysis_result import AnalysisResult
    from promptlab.contracts.comparison import Comparison
    from promptlab.contracts.gate import GateResult
    from promptlab.contracts.sources import LabelOptions
    from promptlab.ingest.file_reader import OnProgress
    from promptlab.ingest.ingested import Ingested
    from promptlab.power import Plan
    from promptlab.reports.report_options import ReportOptions
    from promptlab.reports.write import TitleDecision


_READ_FIRST = (
    "title", "variant", "case_id", "overall_score", "value", "change", "pass_rate",
    "prompt_version", "measure", "subject", "score_rank", "grade", "n_cases",
    "created_at", "ci_low", "ci_high", "task_id",
)  # fmt: skip
"""Columns that people look for, the first of every frame."""

_UNREAD = (
    "load_id", "contents_hash", "expectation_hash", "judge_hash", "prompt_hash",
    "settings_hash", "n_rows_claimed", "n_rows_held",
)  # fmt: skip
"""Columns of the marts that are in no frame."""


class Warehouse(WarehouseFile):
    """One warehouse file, with all steps: ingest, build, report.

    Example:
        >>> warehouse = Warehouse("promptlab.duckdb")
        >>> warehouse.ingest("examples")
        >>> warehouse.build()
        >>> warehouse.result("latest").summary.overall_score
    """

    def ingest(
        self,
        *paths: str | Path,
        kind: str = "auto",
        testset: str | None = None,
        purged_too: bool = False,
        strict: bool = False,
        title: str | None = None,
        variant: str | None = None,
        time: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        run_name: str | None = None,
        recheck_of: str | None = None,
        labels: LabelOptions | None = None,
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
            strict: reject a table whose encoding would have to be guessed.
            title: title of every task loaded here, whatever the files say.
            variant: variant of every task loaded here.
            time: when their runs were made, ISO 8601; without a zone: UTC.
            branch: branch that was evaluated; else that of the CI system.
            commit: commit that was evaluated; else that of the CI system.
            run_name: name of the runs that are judged together.
            recheck_of: task or run whose cases were asked again; the loaded files add
                rounds to it, and are not a separate run.
            labels: options for files of the kind ``labels``.
            sink: ``duckdb``, the warehouse; ``parquet://DIR``, Parquet files instead.
            workers: readers for Parquet: a number of processes, or ``spark``.
            on_start: called with the number of files and their bytes.
            on_progress: called after each file with its path and bytes.

        Raises:
            InputError: a path that cannot be read; without a warehouse, only files
                of no known kind.
            NothingToDo: there is no file below ``paths``.
            UsageError: the time is invalid, or the task or run is unknown.
        """
        from dataclasses import replace

        from promptlab.build.plan import live_models
        from promptlab.database import write_quickly
        from promptlab.ingest import raw
        from promptlab.ingest.ingested import Ingested
        from promptlab.ingest.load import ingest
        from promptlab.ingest.local_commit import local_commit
        from promptlab.ingest.overrides import for_path, overrides_of
        from promptlab.ingest.plan import plan
        from promptlab.ingest.reading.source import Limits
        from promptlab.version import __version__

        named = [Path(path) for path in paths]
        planned = plan(named, kind, self.settings.tables)
        if not planned:
            raise NothingToDo(f"no files below {', '.join(map(str, named))}")
        first = planned[0][0]
        is_new = not self.settings.db.exists()
        if is_new and all(file.fault and file.named for file, _ in planned):
            raise InputError(f"{first.path}: cannot be read: {first.fault}")
        repeated, other_ids = (
            self._rechecked(recheck_of) if recheck_of else (None, frozenset())
        )
        overrides = overrides_of(
            os.environ,
            title=title,
            variant=variant,
            time=time,
            run_name=run_name,
            branch=branch,
            base_branch=self.settings.base_branch,
            commit=commit,
            recheck_of=repeated,
            other_ids=other_ids,
            prompt_vars=self.settings.prompt_vars,
            tag_keys=self.settings.tag_keys,
        )
        if overrides.commit_sha is None and overrides.branch is None:
            files = (file.path for file, _ in planned)
            overrides = replace(overrides, local=local_commit(Path.cwd(), files))
        sources = self.settings.sources
        planned = [
            (
                replace(
                    file,
                    overrides=for_path(overrides, file.path, sources),
                    labels=labels,
                ),
                kind_of_file,
            )
            for file, kind_of_file in planned
        ]
        size = sum(file.size for file, _ in planned)
        on_start(len(planned), size)
        options: dict[str, Any] = {
            "ingest_version": __version__,
            "testset": testset,
            "purged_too": purged_too,
            "limits": Limits.from_settings(self.settings, strict=strict),
            "redact": self.settings.redact,
            "on_progress": on_progress,
        }
        if sink == "duckdb":
            with self.writable(expected=size) as con:
                raw.check_not_views(con)
                loads = ingest(con, planned, live_models(), **options)
                if raw.is_small(con):
                    write_quickly(con)
                return Ingested(loads)
        from promptlab.ingest.parquet import ParquetLayer, ingest_parquet, mapping

        layer = ParquetLayer.from_address(sink)
        with mapping(workers) as map_shards:
            return Ingested(
                ingest_parquet(
                    layer, planned, live_models(), map_shards=map_shards, **options
                )
            )

    def _rechecked(self, wanted: str) -> tuple[str, frozenset[str]]:
        """Return the id of the task or run that a re-check names, and the other ids."""
        from promptlab.task_ids import STORED, resolve_task

        with self.connect() as con:
            if con.execute(
                "select 1 from raw.memory_runs where run_id = ?", [wanted]
            ).fetchone():
                raise UsageError(
                    f"{wanted}: is a run of a memory benchmark, which has no re-check:"
                    " the memory of another run is not the same"
                )
            known = con.execute(
                f"select 1 from {STORED} where run_id = ? and recheck_of is null",
                [wanted],
            )
            if known.fetchone() is None:
                wanted = resolve_task(con, wanted, tasks=STORED)
                query = f"select recheck_of from {STORED} where task_id = ?"
                [[repeats]] = con.execute(query, [wanted]).fetchall()
                if repeats is not None:
                    raise UsageError(
                        f"{wanted}: is a re-check itself; name what it repeats:"
                        f" {repeats}"
                    )
            others = con.execute(
                f"select task_id from {STORED} where recheck_of is distinct from ?",
                [wanted],
            )
            return wanted, frozenset(task_id for (task_id,) in others.fetchall())

    def build(
        self,
        *,
        full_refresh: bool = False,
        verbose: bool = False,
        on_node: OnNode = lambda _name, _place, _of: None,
    ) -> None:
        """Build and test the marts of new and changed tasks, all or nothing.

        Runs the plan compiled by dbt in one transaction; dbt itself builds if the raw
        tables are Parquet, and on another engine.

        Args:
            full_refresh: compute everything again from the raw tables.
            verbose: let dbt's log through to stderr.
            on_node: called before each model and test with its name, its position from
                1, and their number; not if dbt builds.

        Raises:
            SettingsError: there is no warehouse yet, or no Spark.
            UsageError: the raw tables are to be read from Parquet, and the warehouse
                has rows in its own; or Spark is to build from the warehouse's own.
            BuildError: names the model or test that failed, and rows of it.
        """
        from promptlab.build import build

        build(self, full_refresh=full_refresh, verbose=verbose, on_node=on_node)

    def last_build(self) -> LastBuild | None:
        """Return the newest finished build; ``None`` before the first."""
        from promptlab.build.execution import last_build
        from promptlab.ingest import raw

        if not self.settings.db.exists():
            return None
        with self.examining() as con:
            if raw.schema_version(con) != raw.SCHEMA_VERSION:
                return None
            return last_build(con, self.settings)

    def report(
        self,
        task_ids: Sequence[str],
        out: Path,
        *,
        formats: Sequence[str] = ("json", "html"),
        lang: str | None = None,
        templates: Path | None = None,
        generated_at: datetime | None = None,
        on_report: Callable[[str], None] = lambda _name: None,
    ) -> list[Path]:
        """Write the reports of stored tasks, and the index.

        Nothing is run again: everything is read from the marts.

        Args:
            task_ids: whole ids.
            out: target folder; nothing is written outside of it.
            formats: names of ``reports.FORMATS``.
            lang: ``zh`` or ``en``.
            templates: folder of templates that replace built-in ones.
            generated_at: the time in the reports; now, when not given.
            on_report: called before each task with its id.

        Returns:
            Every file written, the index last.
        """
        from promptlab import reports

        options = self.report_options(lang, templates, generated_at)
        with self.built() as con:
            return reports.write_all(
                con,
                task_ids,
                out,
                options,
                formats=formats,
                on_report=on_report,
            )

    def report_and_decide(
        self,
        task_ids: Sequence[str],
        out: Path,
        *,
        on_report: Callable[[str], None] = lambda _name: None,
    ) -> tuple[list[Path], list[TitleDecision]]:
        """Write reports like `report`; also return the decisions that they contain.

        Args:
            task_ids: whole ids of tasks that have marts.
            out: folder of the reports.
            on_report: called before each task with its id.

        Returns:
            Every file written, the index last; the worst decision of each title, and
            its page.
        """
        from promptlab import reports

        options = self.report_options()
        with self.built() as con:
            written = reports.write_all(
                con, task_ids, out, options, on_report=on_report
            )
            decided = reports.decisions(con, task_ids, out, options) if task_ids else []
        return written, decided

    def result(
        self, task: str = "latest", *, lang: str | None = None
    ) -> AnalysisResult:
        """Return the AnalysisResult of a stored task.

        Args:
            task: an id, a unique prefix, ``latest`` or ``previous``.
            lang: language of its sentences, ``zh`` or ``en``.
        """
        from promptlab import reports
        from promptlab.task_ids import resolve_task

        options = self.report_options(lang)
        with self.built() as con:
            return reports.analysis_result(con, resolve_task(con, task), options)

    def report_options(
        self,
        lang: str | None = None,
        templates: Path | None = None,
        generated_at: datetime | None = None,
    ) -> ReportOptions:
        """Return the options that all reports share, from the settings and the policy.

        Args:
            lang: ``zh`` or ``en``, instead of the setting.
            templates: folder of templates that replace built-in ones, instead of it.
            generated_at: the time in the reports; now, when not given.

        Raises:
            SettingsError: the policy cannot be read, or is wrong.
        """
        from promptlab.reports.gate.policy import load_policy
        from promptlab.reports.report_options import ReportOptions

        return ReportOptions(
            generated_at=generated_at or datetime.now(UTC),
            lang=lang or self.settings.lang,
            templates=templates or self.settings.templates,
            policy=load_policy(self.settings.policy),
            report_url=self.settings.report_url,
        )

    def compare(
        self,
        baseline: str = "baseline",
        candidate: str = "latest",
        *,
        lang: str | None = None,
    ) -> Comparison:
        """Compare one task with another, paired case by case.

        A new pair is built now and stored.

        Args:
            baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
                ``previous`` are those of the candidate.
            candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
            lang: language of its sentences, ``zh`` or ``en``.
        """
        from promptlab.history import compare

        return compare(self, baseline, candidate, lang=lang or self.settings.lang)

    def accept(self, run: str, reason: str) -> None:
        """Accept the tasks of a run as they should be.

        For their cases that are broken, watched or not compared, history starts there.

        Args:
            run: the id of a run or a result, a title, a loaded file, ``previous`` or
                ``latest``: what was loaded last.
            reason: why, for those who read the history.

        Raises:
            NothingToDo: there is nothing to accept.
        """
        from promptlab.accept import accept

        accept(self, run, reason)

    def runs(self, title: str | None = None) -> pl.DataFrame:
        """Return the results of the warehouse, one row each, the newest first.

        Args:
            title: only those of this title.
        """
        return self._of_title(
            "select tasks.*, summaries.* exclude (task_id)"
            " from marts.dim_tasks as tasks"
            " inner join marts.fct_task_summaries as summaries using (task_id)",
            title,
            "tasks.created_at desc, tasks.task_id desc",
        )

    def trends(
        self, title: str | None = None, measure: str = "overall_score"
    ) -> pl.DataFrame:
        """Return one number of every result over time (``marts.fct_trends``).

        Args:
            title: only the results of this title.
            measure: the measure, such as ``pass_rate`` or ``cost_total``.

        Raises:
            UsageError: there is no such measure; the message has the nearest.
        """
        from promptlab.history import trend_unit

        with self.built() as con:
            trend_unit(con, measure)
        return self._of_title(
            "from (from marts.fct_trends where measure = $1)",
            title,
            "title, variant, subject nulls first, task_number",
            measure,
        )

    def leaderboard(self, title: str | None = None) -> pl.DataFrame:
        """Return models and prompt versions by score (``marts.fct_leaderboard``).

        Args:
            title: only those of this title.
        """
        return self._of_title(
            "from marts.fct_leaderboard",
            title,
            "title, testset_id, score_rank nulls last, variant, prompt_version",
        )

    def flaky(self, title: str | None = None) -> pl.DataFrame:
        """Return cases that pass and fail by chance (``marts.fct_flaky_cases``).

        Args:
            title: only those of this title.
        """
        return self._of_title(
            "from marts.fct_flaky_cases",
            title,
            "abs(pass_rate - 0.5), n_rounds desc, title, case_id, variant",
        )

    def gate(self, run: str = "latest", *, lang: str | None = None) -> list[GateResult]:
        """Return the gate's decision for each result of a run, the worst first.

        Args:
            run: the id of a run or a result, a title, a loaded file, ``previous`` or
                ``latest``: what was loaded last.
            lang: language of the sentences, ``zh`` or ``en``.
        """
        from promptlab.history import judge
        from promptlab.reports.gate.policy import load_policy

        policy = load_policy(self.settings.policy)
        return judge(self, run, policy, lang=lang or self.settings.lang)

    def judges(self, judge: str | None = None, by: str = "all") -> pl.DataFrame:
        """Return how well judges agree with people (``marts.fct_judge_agreement``).

        Args:
            judge: only this judge or dimension.
            by: a row per ``tag``, ``length``, ``model``, ``month`` or ``title``; or
                ``all``, a row per judge and dimension.
        """
        return self.sql(
            "from marts.fct_judge_agreement"
            " where slice_kind = $1 and ($2 is null or $2 in (judge, dimension_id))"
            " order by dimension_id, judge, slice",
            [by, judge],
        )

    def power(
        self,
        task: str = "latest",
        *,
        drop: float | None = None,
        rounds: int | None = None,
        cases: int | None = None,
        flaky: float | None = None,
        power: float = 0.8,
    ) -> Plan:
        """Return the drops of the pass rate that a suite finds, and the cases it needs.

        Args:
            task: an id, a title, ``previous`` or ``latest``: the result that gives the
                cases, the rounds and, with its earlier results, the noise.
            drop: a drop to find; by default half of the smallest that it finds now.
            rounds: rounds per case instead of its own.
            cases: cases instead of its own.
            flaky: variance of the rounds of a case instead of that of its results.
            power: how often a drop must be found.

        Raises:
            NothingToDo: no case of the task passed or failed.
        """
        from promptlab.power import plan
        from promptlab.task_ids import selected_tasks

        with self.built() as con:
            task_id = selected_tasks(con, task)[0]
            row = con.execute(
                "select n_cases, n_rounds, within_variance, n_results, n_clusters"
                " from marts.fct_power where task_id = ?",
                [task_id],
            ).fetchone()
        if row is None:
            raise NothingToDo(f"{task_id}: no case passed or failed: there is no rate")
        n_cases, n_rounds, within, n_results, n_clusters = row
        return plan(
            cases or n_cases,
            rounds or n_rounds,
            within if flaky is None else flaky,
            n_results=n_results if flaky is None else 0,
            n_clusters=n_clusters,
            drop=drop,
            power=power,
        )

    def _of_title(
        self, query: str, title: str | None, order: str, *parameters: Any
    ) -> pl.DataFrame:
        if title is not None:
            parameters = (*parameters, title)
            query = f"from ({query}) as found where title = ${len(parameters)}"
            order = order.replace("tasks.", "")
        frame = self.sql(f"{query} order by {order}", parameters)
        read = [name for name in _READ_FIRST if name in frame.columns]
        others = [name for name in frame.columns if name not in (*read, *_UNREAD)]
        return frame.select(*read, *others)

    def __repr__(self) -> str:
        """Return the file and what it contains, without opening a missing file."""
        if not self.settings.db.exists():
            return f"Warehouse({str(self.settings.db)!r}, empty)"
        try:
            with self.built() as con:
                row = con.execute(
                    "select count(*), count(distinct title), max(created_at)::date"
                    " from marts.dim_tasks"
                ).fetchone()
        except PromptlabError as error:
            return f"Warehouse({str(self.settings.db)!r}, {error})"
        n_results, n_titles, newest = row or (0, 0, None)
        return (
            f"Warehouse({str(self.settings.db)!r}, {n_results} results of {n_titles}"
            f" titles, newest {newest})"
        )

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> pl.DataFrame:
        """Run one read-only query over the whole warehouse.

        The query can only read the warehouse: no files, no network.

        Raises:
            UsageError: the query is wrong, or would write.
        """
        import polars as pl

        from promptlab.relations import run_query

        with self.connect() as con:
            columns, rows = run_query(con, query, parameters)
        return pl.DataFrame(
            rows, schema=columns, orient="row", infer_schema_length=None
        )

    def to_report(
        self, *, everything: bool = False, built_since: datetime | None = None
    ) -> list[str]:
        """Return the tasks built since the last reports of ``run``, the oldest first.

        A task is built again when its numbers, its baseline's numbers or its baseline
        change, because its report contains the comparison.

        Args:
            everything: return all tasks, whenever they were built.
            built_since: leave out tasks that were built before this time.
        """
        from promptlab.history import to_report

        with self.built() as con:
            return to_report(con, everything=everything, built_since=built_since)

    def remember_reported(self, began_at: datetime) -> None:
        """Record that everything built before *began_at* has its report."""
        from promptlab.ingest.raw.requests import note_reported

        with self.writable() as con:
            note_reported(con, began_at)
