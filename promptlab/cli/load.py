"""Commands that load files, build the marts and write reports."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlab import messages
from promptlab.cli.options import Call, common, with_options
from promptlab.cli.output import (
    Column,
    Table,
    ident,
    n_of,
    path,
    plain,
    print_headline,
    print_lines,
    print_text,
    spoken,
    words,
)
from promptlab.cli.streams import ProgressBar, in_one_line, progress
from promptlab.cli.translation import translated_message
from promptlab.errors import NothingToDo, PromptlabError, UsageError
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    from promptlab.ingest.across_files import References
    from promptlab.ingest.ingested import Ingested
    from promptlab.ingest.raw.rows import FileLoad
    from promptlab.ingest.reading.problems import Problem
    from promptlab.reports.write import TitleDecision
    from promptlab.scorers.job import Scoring
    from promptlab.settings import Settings
    from promptlab.warehouse import Warehouse


STRICT = "Exit 6 if any record was rejected; guess no encoding."


# ---------- problems of input files


SHOWN_PER_FILE = 20


def line_of(path: Path, problem: Problem) -> str:
    """Return a problem with its place, in one line; lines to copy stay lines."""
    from promptlab.ingest.reading.problems import with_place

    mark = "" if problem.severity == "reject" else " (warning)"
    text = with_place(path, problem) + mark
    if problem.code == "unreadable":
        return "\n".join(in_one_line(line) for line in text.split("\n"))
    return in_one_line(text)


def print_problems(ingested: Ingested) -> None:
    """Print the first problems of each file to stderr, and the number of others."""
    for loaded in ingested.files:
        file = loaded.path
        for problem in loaded.problems[:SHOWN_PER_FILE]:
            fields = {name: getattr(problem, name) for name in _PROBLEM_FIELDS}
            messages.say(line_of(file, problem), "problem", file=file, **fields)
        more = len(loaded.problems) - SHOWN_PER_FILE
        if more > 0:
            messages.say(
                f"{file}: and {more} more; `promptlab validate {file}` prints all",
                "more_problems",
                file=file,
                more=more,
            )


_PROBLEM_FIELDS = ("line", "column", "pointer", "severity", "code", "record_id")


# ---------- ingest


KIND_CHOICES = (
    "auto",
    "pipeline",
    "testset",
    "analysis",
    "results",
    "scores",
    "labels",
    "memory",
    *TOOLS,
)

_FILES = Table(
    columns=(
        Column("file", path, "file"),
        Column("kind", words, "kind"),
        Column("status", words, "status"),
        Column("records", plain, "records"),
        Column("rejected", plain, "rejected"),
        Column("warnings", plain, "warnings"),
        Column("redacted", plain, "redacted"),
    ),
)

_SUMMED = Table(
    columns=(
        Column("kind", words, "kind"),
        Column("status", words, "status"),
        Column("files", plain, "files"),
        *_FILES.columns[3:],
    ),
)

MOST_LISTED = 20
"""For more files only counts and rejected files are printed."""

_COLUMNS = ("file", "kind", "status", "records", "rejected", "warnings", "redacted")


property_options = with_options(
    click.option("--title", help="Title of every task in these files."),
    click.option("--variant", help="Variant of every task in these files."),
    click.option("--time", help="Time of the runs, such as 2026-11-24T09:30."),
    click.option("--branch", help="Branch that was evaluated."),
    click.option("--commit", help="Commit that was evaluated."),
    click.option("--run-name", help="Name of runs that are judged together."),
    click.option(
        "--recheck-of",
        metavar="RUN",
        help="Task or run whose cases were asked again (`promptlab recheck`).",
    ),
)
"""Options for properties that are not in the files."""


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(KIND_CHOICES),
    default="auto",
    help="Kind of the files; auto detects it from the content.",
)
@click.option("--testset", help="Testset of every task in these files.")
@property_options
@click.option("--strict", is_flag=True, help=STRICT)
@click.option("--purged-too", is_flag=True, help="Load purged files again.")
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="SINK",
    help="duckdb (the warehouse, the default) or parquet://DIR; may be repeated.",
)
@click.option(
    "--workers",
    default="1",
    help="Readers for parquet://: a number of processes, or spark.",
)
@common(exits=(5, 6))
def ingest(
    call: Call,
    paths: tuple[Path, ...],
    strict: bool,
    sinks: tuple[str, ...],
    **options: Any,
) -> int:
    """Load files and folders into the warehouse.

    Folders are searched recursively, hidden ones too; the kind of a file is detected
    from its content. Loading the same bytes again changes nothing; new content of a
    task replaces the old. A file whose task was purged is not loaded again.
    """
    warehouse = call.warehouse()
    worst = 0
    for sink in dict.fromkeys(sinks or ["duckdb"]):
        with progress(1, shown=call.shows_bars) as bar:
            ingested = ingest_with_progress(
                warehouse, call, bar, paths, sink=sink, strict=strict, **options
            )
        _print_files(ingested.files, call)
        worst = max(worst, ingest_exit_code(ingested, strict=strict))
    return worst


def ingest_with_progress(
    warehouse: Warehouse,
    call: Call,
    bar: ProgressBar,
    paths: tuple[Path, ...],
    **options: Any,
) -> Ingested:
    """Ingest as one phase of a progress bar; problems go to stderr, one per line.

    *options* are those of `Warehouse.ingest`.
    """
    ingested = warehouse.ingest(
        *paths,
        on_start=lambda _files, size: bar.begin(size),
        on_progress=lambda path, size: bar.advance(f"reading {path.name}", size),
        **options,
    )
    for file in ingested.files:
        counts = dict(zip(_COLUMNS, _file_row(file), strict=True))
        messages.detail(f"{file.path}: {file.status}", "file", **counts)
    if ingested.n_rejected_before:
        call.say(
            f"{ingested.n_rejected_before} file(s) were rejected earlier and have not"
            " changed (`promptlab doctor` lists them)",
            "rejected_before",
            files=ingested.n_rejected_before,
        )
    if ingested.n_purged:
        call.say(
            f"{ingested.n_purged} file(s) stay out: their tasks were purged"
            " (`promptlab ingest --purged-too` loads them again)",
            "purged_files_left_out",
            files=ingested.n_purged,
        )
    redacted = ingested.redacted
    if redacted:
        rules = ", ".join(f"{count} × {rule}" for rule, count in redacted.items())
        call.say(f"redacted: {rules} (setting redact)", "redacted", **redacted)
    if not call.quiet:
        print_problems(ingested)
    return ingested


def ingest_exit_code(ingested: Ingested, *, strict: bool) -> int:
    """Return 6 if a file could not be read or, if strict, a record was rejected.

    Raises:
        NothingToDo: no file was read, in this call or an earlier one.
    """
    if ingested.n_rejected or (strict and ingested.n_rejected_records):
        return 6
    if not ingested.n_held:
        raise NothingToDo(_nothing_read(ingested))
    return 0


def _nothing_read(ingested: Ingested) -> str:
    """Return why none of the files is in the warehouse."""
    reasons = {
        "of no known kind, or left out (--kind names the kind)": ingested.n_skipped,
        "rejected earlier": ingested.n_rejected_before,
        "purged": ingested.n_purged,
    }
    listed = ", ".join(f"{n} {reason}" for reason, n in reasons.items() if n)
    return f"nothing was loaded: of {len(ingested.files)} file(s) {listed}"


def _print_files(files: Sequence[FileLoad], call: Call) -> None:
    """Print the status of each file; for many files, counts per status and errors."""
    rows = [_file_row(file) for file in files]
    if call.format != "table":
        call.print_rows(_COLUMNS, rows)
    elif call.quiet:
        return
    elif len(files) <= MOST_LISTED or call.wide:
        call.print_rows(_COLUMNS, rows, _FILES)
    else:
        alike: dict[tuple[str, str], list[int]] = {}
        for _, kind, status, *counts in rows:
            before = alike.get((kind, status), [0] * (1 + len(counts)))
            alike[kind, status] = [
                a + b for a, b in zip(before, [1, *counts], strict=True)
            ]
        summed = [(*key, *counts) for key, counts in sorted(alike.items())]
        names = ("kind", "status", "files", *_COLUMNS[3:])
        call.print_rows(names, summed, _SUMMED)
        bad = [row for row in rows if row[2] == "rejected"]
        if bad:
            call.print_rows(_COLUMNS, bad, _FILES)


def _file_row(file: FileLoad) -> tuple[str, str, str, int, int, int, int]:
    severities = [problem.severity for problem in file.problems]
    return (
        str(file.path),
        file.kind,
        file.status,
        file.records_loaded,
        file.records_rejected,
        severities.count("warning"),
        sum(file.redacted.values()),
    )


# ---------- build


full_refresh_option = click.option(
    "--full-refresh",
    is_flag=True,
    help="Rebuild everything from the raw tables, not only new rows.",
)


TARGETS = ("duckdb", "spark_local", "spark_connect", "spark_thrift")


target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="Engine of the models [default: duckdb]; Spark: docs/scale.md.",
)


@click.command("build", short_help="Build the marts.")
@full_refresh_option
@target_option
@click.option(
    "--raw",
    metavar="parquet://DIR",
    help="Location of the raw tables [default: from the warehouse].",
)
@common("target", "raw")
def build(call: Call, full_refresh: bool) -> int:
    """Build the marts of everything new or changed since the last build.

    The models and their data tests, as compiled by dbt, run in one transaction.
    `promptlab dbt build` lets dbt itself build, or a part of the models.
    """
    started = time.monotonic()
    warehouse = call.warehouse()
    with progress(1, shown=call.shows_bars) as bar:
        bar.begin(1)
        build_with_progress(warehouse, call, bar, full_refresh=full_refresh)
    seconds = time.monotonic() - started
    target = call.settings.target
    where = call.settings.db if target == "duckdb" else target
    call.say(
        f"built {where} in {seconds:.1f} s",
        "built",
        seconds=round(seconds, 1),
    )
    return 0


def build_with_progress(
    warehouse: Warehouse,
    call: Call,
    bar: ProgressBar,
    *,
    full_refresh: bool = False,
) -> None:
    """Build as one phase of a progress bar."""
    warehouse.build(
        full_refresh=full_refresh,
        verbose=call.verbose,
        on_node=lambda name, place, total: bar.put(f"computing {name}", place, total),
    )


# ---------- report


DEFAULT_FORMATS = "json,html"


policy_option = click.option(
    "--policy",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Rules of the gate, TOML [default: promptlab-gate.toml, else built-in ones].",
)


report_options = with_options(
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder to write below [default: out].",
    ),
    click.option(
        "--templates",
        type=click.Path(path_type=Path),
        help="Folder of templates that replace built-in ones of the same name.",
    ),
    policy_option,
)
"""Options of every command that writes reports."""


@click.command("report", short_help="Write the reports of stored tasks.")
@click.argument("task", metavar="[RUN]", default="latest")
@click.option("--all", "everything", is_flag=True, help="Every task.")
@click.option(
    "--format",
    "formats",
    default=DEFAULT_FORMATS,
    show_default=True,
    help="Comma-separated list of forms.",
)
@click.option(
    "--from",
    "exported",
    type=click.Path(path_type=Path, file_okay=False),
    help="Read marts that `export --parquet` wrote, not the warehouse.",
)
@report_options
@common("out", "templates", "policy", formats=None)
def report(
    call: Call,
    task: str,
    everything: bool,
    formats: str,
    exported: Path | None,
) -> int:
    """Write the reports of stored tasks; nothing is run again.

    RUN is the id of a run or a task, a `--run-name`, a title, a file or folder that was
    loaded, `previous`, or `latest`: what was loaded last.
    """
    warehouse = call.warehouse(exported)
    if everything:
        tasks = warehouse.to_report(everything=True)
    else:
        with warehouse.built() as con:
            tasks = selected_tasks(con, task)
    if not tasks:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    with progress(1, shown=call.shows_bars) as bar:
        bar.begin(len(tasks))
        written = warehouse.report(
            tasks,
            call.settings.out,
            formats=formats.split(","),
            on_report=lambda name: bar.advance(f"reporting on {name}"),
        )
    for file in written:
        print_lines(str(file))
    return 0


# ---------- run


@click.command("run", short_help="Ingest, build and report.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--testset", help="Testset of every task in these files.")
@property_options
@click.option("--strict", is_flag=True, help=STRICT)
@click.option(
    "--publish",
    type=click.Path(path_type=Path),
    help="Put a read-only copy of the warehouse here, in one step.",
)
@full_refresh_option
@report_options
@common("out", "templates", "policy", exits=(5, 6))
def run(
    call: Call,
    paths: tuple[Path, ...],
    strict: bool,
    full_refresh: bool,
    publish: Path | None,
    **options: Any,
) -> int:
    """Ingest files, build the warehouse, report on what is new or changed.

    The main command: `promptlab run examples --out out`. Prints a decision for each
    title and the path of its page, and the path of the index. `--format json` and csv
    have the decision and the pages of each title and variant.
    """
    warehouse = call.warehouse()
    called_at = datetime.now(UTC)
    with (
        progress(0.3, 0.5, 0.2, shown=call.shows_bars) as bar,
        ExitStack() as kept,
    ):
        kept.enter_context(warehouse.kept_open())
        ingested = ingest_with_progress(
            warehouse, call, bar, paths, strict=strict, **options
        )
        _tell(ingested, call)
        if not ingested.n_held:
            return ingest_exit_code(ingested, strict=strict)
        bar.begin(1)
        is_new = full_refresh or ingested.n_loaded or not is_built(warehouse)
        if is_new:
            build_with_progress(warehouse, call, bar, full_refresh=full_refresh)
        began_at = datetime.now(UTC)
        tasks = warehouse.to_report()
        n_new = len(warehouse.to_report(built_since=called_at))
        if len(tasks) > MOST_REPORTED_AT_ONCE:
            kept.close()
        bar.begin(len(tasks))
        written, decided = warehouse.report_and_decide(
            tasks,
            call.settings.out,
            on_report=lambda name: bar.advance(f"reporting on {name}"),
        )
        if tasks:
            warehouse.remember_reported(began_at)
        others = _other_runs(decided, warehouse) if ingested.n_loaded else []
    n_older = len(tasks) - n_new
    older = f", built before and not yet reported: {n_older}" if n_older else ""
    call.say(
        f"tasks new or changed: {n_new}{older}; {call.settings.db} answers"
        " `promptlab runs`, `promptlab query`"
    )
    if publish is not None:
        from promptlab.operations.publish import publish as put

        call.say(f"published {put(warehouse, publish)}", "published")
    if call.format != "table":
        call.print_rows(_DECISION, _decision_rows(decided, call.settings.out))
    else:
        _print_decisions(decided, written)
        for task in others[:_MOST_SKIPPED]:
            print_text(spoken(_OTHER_RUN, task=task))
    return ingest_exit_code(ingested, strict=strict)


MOST_REPORTED_AT_ONCE = 10
"""For more reports the file is closed, so that other processes can use it meanwhile."""


_RENAMED = (
    "Has {title} been renamed? {n} of the {total} cases are the same."
    " To continue its history, add to promptlab.toml:"
)


_DECISION = ("task_id", "title", "variant", "decision", "headline", "report", "page")


def _decision_rows(
    decided: Sequence[TitleDecision], out: Path
) -> list[tuple[str | None, ...]]:
    """Return a row for each title and variant; *page* is that of the title."""
    from promptlab.reports.files import folder_name
    from promptlab.reports.pages import PAGE

    return [
        (
            *(getattr(gate, name) for name in _DECISION[:5]),
            str(out / folder_name(gate.task_id) / PAGE),
            str(decision.page),
        )
        for decision in decided
        for gate in decision.gates
    ]


def _print_decisions(decided: list[TitleDecision], written: list[Path]) -> None:
    """Print a line for each title with its page, the worst first; then other pages."""
    from promptlab.reports.pages import MEMORY, PAGE
    from promptlab.reports.printing import named

    for decision in decided:
        print_headline(decision.gate, with_next_step=True)
        who, n = decision.gate.variant, len(decision.gates)
        alike = [
            gate for gate in decision.gates if gate.decision == decision.gate.decision
        ]
        if alike[1:]:
            who = spoken("{variant}, one of {n} variants", n=n, variant=who)
        elif n > 1:
            who = spoken("the worst of {n} variants: {variant}", n=n, variant=who)
        # a variant without a name is not printed
        print_text("  ".join((decision.gate.title, *named([who]))), lead="  ")
        print_lines(f"  {decision.page}")
        if decision.renamed:
            old, new = (
                json.dumps(decision.renamed[name], ensure_ascii=False)
                for name in ("earlier_title", "title")
            )
            note = spoken(_RENAMED, title=old, n=decision.renamed["n_same"],
                          total=decision.renamed["n_cases"])  # fmt: skip
            print_text(f"{note} [titles.{new}] alias = [{old}]", lead="  ")
    for file in written:
        if MEMORY in file.parts and file.name == PAGE:
            print_lines(str(file))
    print_lines(str(written[-1]))


_OTHER_RUN = (
    "{task} was loaded, too, and is not the newest run of its title:"
    " `promptlab gate {task}` decides about it."
)


def _other_runs(decided: list[TitleDecision], warehouse: Warehouse) -> list[str]:
    """Return tasks of this call that `promptlab gate` takes and no decision is of."""
    with warehouse.built() as con:
        latest = selected_tasks(con, "latest")
    shown = {gate.task_id for decision in decided for gate in decision.gates}
    return [task for task in latest if task not in shown]


def is_built(warehouse: Warehouse) -> bool:
    """Return true if the last build has everything, by the current models."""
    last = warehouse.last_build()
    return last is not None and last.has_all and last.is_of_this_project


def _tell(ingested: Ingested, call: Call) -> None:
    """Return the status of the files in one line."""
    call.say(
        f"files: {ingested.n_loaded} loaded, {ingested.n_unchanged} unchanged,"
        f" {ingested.n_rejected} rejected, {ingested.n_skipped} skipped;"
        f" records rejected: {ingested.n_rejected_records}",
        "ingested",
        loaded=ingested.n_loaded,
        unchanged=ingested.n_unchanged,
        rejected=ingested.n_rejected,
        skipped=ingested.n_skipped,
        records_rejected=ingested.n_rejected_records,
    )
    skipped = [
        file.path.name
        for file in ingested.files
        if file.status == "skipped" and file.path.suffix not in _TEXTS_FOR_PEOPLE
    ]
    if skipped:
        names = ", ".join(skipped[:_MOST_SKIPPED])
        more = "" if len(skipped) <= _MOST_SKIPPED else ", …"
        call.say(f"skipped, of no known kind or left out: {names}{more}", "skipped")


_MOST_SKIPPED = 5
_TEXTS_FOR_PEOPLE = frozenset({".md", ".rst", ".txt"})
"""Suffixes of files that are not reported if they are not loaded."""


# ---------- validate


@click.command("validate", short_help="Check files, or print a JSON Schema.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--schema",
    metavar="NAME",
    help="Print the JSON Schema of a kind of file instead; a wrong name lists all.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --schema all: write every schema below this folder.",
)
@common(exits=(5, 6))
def validate(
    call: Call, paths: tuple[Path, ...], schema: str | None, out: Path | None
) -> int:
    """Check files and print every problem with its place; nothing is written.

    One line per problem, `file:line:column: pointer: message`, then counts.

    With --schema NAME: print the JSON Schema of an input or output.
    """
    if schema is not None:
        if paths:
            raise UsageError("validate: takes files or --schema, not both")
        return _schema(schema, out)
    if out is not None:
        raise UsageError("validate: --out goes with `--schema all`")
    if not paths:
        raise UsageError("validate: name files or folders, or --schema NAME")
    return _validate(call, paths)


def _schema(name: str, out: Path | None) -> int:
    """Print a JSON Schema, or write all."""
    from promptlab.contracts.schemas import as_text, schemas, write_schemas

    if (name == "all") != (out is not None):
        raise UsageError("validate: --out DIR and `--schema all` go together")
    if out is not None:
        for path in write_schemas(out):
            click.echo(path)
        return 0
    known = {file.removesuffix(".schema.json"): s for file, s in schemas().items()}
    if name not in known:
        raise UsageError(f"{name}: there is no such schema; {', '.join(known)}")
    click.echo(as_text(known[name]), nl=False)
    return 0


def _validate(call: Call, paths: tuple[Path, ...]) -> int:
    from promptlab.ingest.across_files import References
    from promptlab.ingest.load import read_files
    from promptlab.ingest.plan import plan
    from promptlab.ingest.reading.source import Limits

    planned = plan(list(paths), tables=call.settings.tables)
    if not planned:
        raise NothingToDo(f"no files below {', '.join(map(str, paths))}")
    references = References()
    problems = []
    for file, reading in read_files(
        planned,
        limits=Limits.from_settings(call.settings),
        redact=call.settings.redact,
    ):
        references.see_reading(file, reading)
        problems += [(file, problem) for problem in reading.problems]
    if _knows_the_warehouse(references, call.settings):
        problems += references.unmet()
    if call.format == "table":
        for file, problem in problems:
            print_lines(translated_message(line_of(file, problem)))
        counts = Counter((p.severity, p.code) for _, p in problems)
        for (severity, code), n in sorted(counts.items()):
            call.say(f"{n} × {code} ({severity})")
        if not problems:
            call.say("no problems")
    else:
        names = (*_PROBLEM_FIELDS[:-1], "message", _PROBLEM_FIELDS[-1])
        rows = [(str(f), *(getattr(p, name) for name in names)) for f, p in problems]
        call.print_rows(("file", *names), rows)
    return 6 if any(p.severity == "reject" for _, p in problems) else 0


def _knows_the_warehouse(references: References, settings: Settings) -> bool:
    """Add names from the warehouse to those of the files; false if unreadable."""
    from promptlab.warehouse import Warehouse

    if not settings.db.exists():
        return True
    at_once = settings.model_copy(update={"lock_timeout": 0.0})
    try:
        with Warehouse(settings.db, settings=at_once).connect() as con:
            references.know(con)
    except PromptlabError:
        return False
    return True


# ---------- score


_SCORERS = Table(
    columns=(
        Column("dimension", ident, "dimension_id"),
        Column("scorer", plain, "scorer"),
        Column("scored", n_of, "scored", "rounds"),
        Column("left out", plain, "left_out"),
        Column("failed cases", plain, "failed_cases"),
        Column("file", path, "file"),
    ),
    wide=(
        Column("without score", plain, "without_score"),
        Column("task", ident, "task_id"),
    ),
)


@click.command("score", short_help="Run Python scorers on a stored task.")
@click.argument("task", default="latest")
@click.option(
    "--dimension",
    "dimensions",
    multiple=True,
    metavar="ID",
    help="Score this dimension only; may be repeated.",
)
@click.option(
    "--scorer",
    metavar="NAME",
    help="With --dimension: use this scorer; alone: the dimensions that name it.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="One file for all scores [default: scores/<task>.<dimension>.jsonl in the"
    " folder for reports].",
)
@click.option("--no-ingest", is_flag=True, help="Write the file, load nothing.")
@click.option("--build", is_flag=True, help="Build the marts with the new scores.")
@common(exits=(5, 6))
def score(
    call: Call,
    task: str,
    dimensions: tuple[str, ...],
    scorer: str | None,
    out: Path | None,
    no_ingest: bool,
    build: bool,
) -> int:
    """Score a stored task with the Python scorers that its dimensions name.

    TASK is an id, a unique prefix of one, `latest`, `previous` or `baseline`. The
    scores are written to a file and loaded from it; a second run replaces them.
    """
    from promptlab.scorers.job import score_task

    if build and no_ingest:
        raise click.UsageError("--build needs the scores that --no-ingest leaves out")
    warehouse = call.warehouse()
    with progress(1, shown=call.shows_bars) as bar:
        scoring = score_task(
            warehouse,
            task,
            dimensions=dimensions,
            scorer=scorer,
            out=out,
            on_start=bar.begin,
            on_case=lambda: bar.advance("scoring"),
            on_warning=lambda sentence: messages.warn(f"promptlab: {sentence}"),
        )
    ingested = None
    if scoring.files and not no_ingest:
        ingested = warehouse.ingest(*scoring.files, kind="scores")
    _print_scoring(scoring, call)
    if ingested and build:
        warehouse.build(verbose=call.verbose)
        call.say(f"built {call.settings.db}")
    elif ingested:
        call.say("ingested; `promptlab build` brings the scores into the marts")
    if any(scored.error for scored in scoring.dimensions):
        return 2
    return 6 if ingested and ingested.n_rejected else 0


def _print_scoring(scoring: Scoring, call: Call) -> None:
    names = (
        "dimension_id", "scorer", "rounds", "scored", "without_score", "left_out",
        "failed_cases", "file",
    )  # fmt: skip
    rows = [
        (scoring.task_id, *(getattr(scored, name) for name in names))
        for scored in scoring.dimensions
    ]
    call.print_rows(("task_id", *names), rows, _SCORERS)
