"""``promptlab run``: the main command, from files to reports."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.build import build_with_progress, full_refresh_option
from promptlab.cli.ingest import given_options
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.progress import progress
from promptlab.cli.report import report_options

if TYPE_CHECKING:
    from promptlab.ingest.ingested import Ingested
    from promptlab.reports.write import TitleDecision
    from promptlab.warehouse import Warehouse


@click.command("run", short_help="Ingest, build and report.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--testset", help="Testset of every task in these files.")
@given_options
@click.option("--strict", is_flag=True, help="Exit 3 if any record was rejected.")
@click.option(
    "--publish",
    type=click.Path(path_type=Path),
    help="Put a read-only copy of the warehouse here, in one step.",
)
@full_refresh_option
@report_options
@common("out", "templates", "policy")
def command(
    call: Call,
    paths: tuple[Path, ...],
    testset: str | None,
    strict: bool,
    full_refresh: bool,
    publish: Path | None,
    **given: str | None,
) -> int:
    """Ingest files, build the warehouse, report on what is new or changed.

    The main command: `promptlab run examples --out out`. Prints a decision for each
    title and the path of its page, and the path of the index; `--format json` lists
    all files.
    """
    from promptlab.cli.ingest import exit_code, ingest_with_progress
    from promptlab.cli.output import print_rows
    from promptlab.history.gate import record
    from promptlab.reports.gate.policy import load_policy

    warehouse = call.warehouse()
    with progress(0.3, 0.5, 0.2, shown=call.shows_bars) as bar:
        with warehouse.kept_open():
            ingested = ingest_with_progress(
                warehouse, call, bar, paths, testset=testset, given=given
            )
            _tell(ingested, call)
            bar.begin(1)
            if full_refresh or ingested.n_loaded or not _is_built(warehouse):
                build_with_progress(warehouse, call, bar, full_refresh=full_refresh)
            began_at = datetime.now(UTC)
            tasks = warehouse.to_report()
        bar.begin(len(tasks))
        written = warehouse.report(
            tasks,
            call.settings.out,
            on_report=lambda name: bar.advance(f"reporting on {name}"),
        )
        if tasks:
            warehouse.remember_reported(began_at)
    decided = warehouse.decisions(tasks, call.settings.out) if tasks else []
    record(
        warehouse,
        [gate for each in decided for gate in each.gates],
        load_policy(call.settings.policy),
    )
    call.say(
        f"tasks new or changed: {len(tasks)}; {call.settings.db} answers"
        " `promptlab runs`, `promptlab query`"
    )
    if publish is not None:
        from promptlab.operations.publish import publish as put

        call.say(f"published {put(warehouse, publish)}", "published")
    if call.format != "table":
        print_rows(("report",), [(str(path),) for path in written], call.format)
    elif not call.quiet:
        _print_decisions(decided, written)
    return exit_code(ingested, strict=strict)


_RENAMED = (
    "Has {title} been renamed? {n} of the {total} cases are the same."
    " To continue its history, add to promptlab.toml:"
)


def _print_decisions(decided: list[TitleDecision], written: list[Path]) -> None:
    """Print a line for each title with its page, the worst first; then other pages."""
    import json

    from promptlab.cli.output import print_headline, print_lines, print_text
    from promptlab.reports.pages import MEMORY, PAGE

    for each in decided:
        print_headline(each.gate)
        n_tasks = len(each.gates)
        who = (
            spoken("the worst of {n} variants: {variant}", n=n_tasks,
                   variant=each.gate.variant)
            if n_tasks > 1
            else each.gate.variant
        )  # fmt: skip
        print_text(f"{each.gate.title}  {who}", lead="  ")
        print_lines(f"  {each.page}")
        if each.renamed:
            old, new = (
                json.dumps(each.renamed[name], ensure_ascii=False)
                for name in ("earlier", "title")
            )
            said = spoken(_RENAMED, title=old, n=each.renamed["n_same"],
                          total=each.renamed["n_cases"])  # fmt: skip
            print_text(f"{said} [titles.{new}] alias = [{old}]", lead="  ")
    for path in written:
        if MEMORY in path.parts and path.name == PAGE:
            print_lines(str(path))
    print_lines(str(written[-1]))


def _is_built(warehouse: Warehouse) -> bool:
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
