"""``promptlab score``: run Python scorers on a stored task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab import messages
from promptlab.cli.cells import ident, n_of, path, plain
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_rows
from promptlab.cli.progress import progress

if TYPE_CHECKING:
    from promptlab.scorers.job import Scoring


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
    names = (
        "dimension_id", "scorer", "rounds", "scored", "without_score", "left_out",
        "failed_cases", "file",
    )  # fmt: skip
    rows = [
        (scoring.task_id, *(getattr(each, name) for name in names))
        for each in scoring.dimensions
    ]
    print_rows(("task_id", *names), rows, call.format, _TABLE, wide=call.wide)
