"""``promptlab report``: write reports of stored tasks."""

from __future__ import annotations

from pathlib import Path

import click

from promptlab.cli.options import Call, F, common
from promptlab.cli.progress import progress

DEFAULT_FORMATS = "json,html"


policy_option = click.option(
    "--policy",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Rules of the gate, TOML [default: promptlab-gate.toml, else built-in ones].",
)


def report_options(function: F) -> F:
    """The options of every command that writes reports."""
    for option in (
        policy_option,
        click.option(
            "--templates",
            type=click.Path(path_type=Path),
            help="Folder of templates that replace built-in ones of the same name.",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder to write below [default: out].",
        ),
    ):
        function = option(function)
    return function


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
def command(
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
    from promptlab.cli.output import print_lines
    from promptlab.errors import NothingToDo
    from promptlab.task_ids import selected_tasks

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
    for path in written:
        print_lines(str(path))
    return 0
