"""``promptlab score``: Python scorers over a stored task."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab import messages
from promptlab.cli.cells import ident, n_of, path, plain
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows

if TYPE_CHECKING:
    from promptlab.scorers.job import DimensionScores, Scoring


_TABLE = Table(
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
@common()
def command(
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
    scores go to a file and from it into the warehouse; a second run replaces those of
    the first.
    """
    from promptlab.scorers.job import score_task
    from promptlab.warehouse import Warehouse

    if build and no_ingest:
        raise click.UsageError("--build needs the scores that --no-ingest leaves out")
    warehouse = Warehouse(call.settings.db, settings=call.settings)
    with ExitStack() as stack:
        advance: list[Callable[[], None]] = [lambda: None]
        scoring = score_task(
            warehouse,
            task,
            dimensions=dimensions,
            scorer=scorer,
            out=out,
            on_start=lambda cases: advance.__setitem__(
                0, stack.enter_context(_case_progress(cases, shown=call.shows_bars))
            ),
            on_case=lambda: advance[0](),
            on_warning=lambda sentence: messages.warn(f"promptlab: {sentence}"),
        )
    ingested = None
    if scoring.files and not no_ingest:
        ingested = warehouse.ingest(*scoring.files, kind="scores")
    _print(scoring, call)
    if ingested and build:
        warehouse.build(verbose=call.verbose)
        call.say(f"built {call.settings.db}")
    elif ingested:
        call.say("ingested; `promptlab build` brings the scores into the marts")
    if any(each.error for each in scoring.dimensions):
        return 2
    return 3 if ingested and ingested.n_rejected else 0


def _print(scoring: Scoring, call: Call) -> None:
    print_rows(
        (
            "task_id",
            "dimension_id",
            "scorer",
            "rounds",
            "scored",
            "without_score",
            "left_out",
            "failed_cases",
            "file",
        ),
        [_row(scoring.task_id, each) for each in scoring.dimensions],
        call.format,
        _TABLE,
        wide=call.wide,
    )


def _row(task_id: str, each: DimensionScores) -> tuple[str | int | None, ...]:
    return (
        task_id,
        each.dimension_id,
        each.scorer,
        each.rounds,
        each.scored,
        each.without_score,
        each.left_out,
        each.failed_cases,
        str(each.file) if each.file else None,
    )


@contextmanager
def _case_progress(cases: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """A bar over ``cases`` cases on a terminal; yields what to call per case."""
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("score", total=cases)
        yield lambda: progress.advance(bar)
