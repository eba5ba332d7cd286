"""``promptlab ingest``: load files into the warehouse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptlab.cli.cells import path, plain, words
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows
from promptlab.cli.progress import ProgressBar, progress
from promptlab.ingest.foreign.registry import TOOLS

if TYPE_CHECKING:
    from promptlab.ingest.ingested import FileLoad, Ingested
    from promptlab.warehouse import Warehouse

F = TypeVar("F", bound=Callable[..., Any])

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

_TABLE = Table(
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
        *_TABLE.columns[3:],
    ),
)

MOST_LISTED = 20
"""For more files only counts and rejected files are printed."""

_COLUMNS = ("file", "kind", "status", "records", "rejected", "warnings", "redacted")


def given_options(command: F) -> F:
    """Add the options for properties that are not in the files."""
    for option in reversed(
        (
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
    ):
        command = option(command)
    return command


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(KIND_CHOICES),
    default="auto",
    help="Kind of the files; auto detects it from the content.",
)
@click.option("--testset", help="Testset of every task in these files.")
@given_options
@click.option("--strict", is_flag=True, help="Exit 3 if any record was rejected.")
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
@common()
def command(
    call: Call,
    paths: tuple[Path, ...],
    kind: str,
    testset: str | None,
    strict: bool,
    purged_too: bool,
    sinks: tuple[str, ...],
    workers: str,
    **given: str | None,
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
                warehouse,
                call,
                bar,
                paths,
                kind,
                testset,
                purged_too=purged_too,
                sink=sink,
                workers=workers,
                given=given,
            )
        _print(ingested.files, call)
        worst = max(worst, exit_code(ingested, strict=strict))
    return worst


def ingest_with_progress(
    warehouse: Warehouse,
    call: Call,
    bar: ProgressBar,
    paths: tuple[Path, ...],
    kind: str = "auto",
    testset: str | None = None,
    *,
    purged_too: bool = False,
    sink: str = "duckdb",
    workers: str = "1",
    given: Mapping[str, Any] = MappingProxyType({}),
) -> Ingested:
    """Ingest as one phase of a progress bar; problems go to stderr, one per line."""
    from promptlab.cli.problems import print_problems
    from promptlab.messages import detail

    ingested = warehouse.ingest(
        *paths,
        kind=kind,
        testset=testset,
        purged_too=purged_too,
        sink=sink,
        workers=workers,
        on_start=lambda _files, size: bar.begin(size),
        on_progress=lambda path, size: bar.advance(f"reading {path.name}", size),
        **given,
    )
    for file in ingested.files:
        detail(f"{file.path}: {file.status}", "file", **_fields(file))
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
        print_problems(
            [
                (file.path, problem)
                for file in ingested.files
                for problem in file.problems
            ]
        )
    return ingested


def exit_code(ingested: Ingested, *, strict: bool) -> int:
    """Return 3 if a file could not be read or, if strict, a record was rejected."""
    bad = ingested.n_rejected or (strict and ingested.n_rejected_records)
    return 3 if bad else 0


def _print(files: Sequence[FileLoad], call: Call) -> None:
    """Print the status of each file; for many files, counts per status and errors."""
    rows = [_row(file) for file in files]
    if call.format != "table":
        print_rows(_COLUMNS, rows, call.format)
    elif call.quiet:
        return
    elif len(files) <= MOST_LISTED or call.wide:
        print_rows(_COLUMNS, rows, call.format, _TABLE, wide=call.wide)
    else:
        alike: dict[tuple[str, str], list[int]] = {}
        for _, kind, status, *counts in rows:
            before = alike.get((kind, status), [0] * (1 + len(counts)))
            alike[kind, status] = [
                a + b for a, b in zip(before, [1, *counts], strict=True)
            ]
        summed = [(*key, *counts) for key, counts in sorted(alike.items())]
        names = ("kind", "status", "files", *_COLUMNS[3:])
        print_rows(names, summed, call.format, _SUMMED)
        bad = [row for row in rows if row[2] == "rejected"]
        if bad:
            print_rows(_COLUMNS, bad, call.format, _TABLE)


def _fields(file: FileLoad) -> dict[str, object]:
    return dict(zip(_COLUMNS, _row(file), strict=True))


def _row(file: FileLoad) -> tuple[str, str, str, int, int, int, int]:
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
