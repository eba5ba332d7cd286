"""``promptlab validate``: check input files; writes nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    from promptlab.ingest.closing import References
    from promptlab.settings import Settings


@click.command("validate", short_help="Check files; writes nothing.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@common()
def command(call: Call, paths: tuple[Path, ...]) -> int:
    """Check files and print every problem with its place; nothing is written.

    One line per problem, `file:line:column: pointer: message`, then counts. Exits 3 if
    any record would be rejected.
    """
    from promptlab.cli.output import print_lines, print_rows
    from promptlab.cli.problems import line_of
    from promptlab.ingest.closing import References
    from promptlab.ingest.load import read_files
    from promptlab.ingest.plan import plan
    from promptlab.ingest.reading.limits import Limits

    references = References()
    found = []
    for path, reading in read_files(
        plan(list(paths), tables=call.settings.tables),
        limits=Limits.of(call.settings),
        redact=call.settings.redact,
    ):
        references.see_reading(path, reading)
        found += [(path, problem) for problem in reading.problems]
    if _knows_the_warehouse(references, call.settings):
        found += references.unmet()
    if call.format == "table":
        for path, problem in found:
            print_lines(line_of(path, problem))
        counts = Counter((p.severity, p.code) for _, p in found)
        for (severity, code), n in sorted(counts.items()):
            call.say(f"{n} × {code} ({severity})")
        if not found:
            call.say("no problems")
    else:
        names = (
            "line",
            "column",
            "pointer",
            "severity",
            "code",
            "message",
            "record_id",
        )
        print_rows(
            ("file", *names),
            [(str(f), *(getattr(p, name) for name in names)) for f, p in found],
            call.format,
        )
    return 3 if any(p.severity == "reject" for _, p in found) else 0


def _knows_the_warehouse(references: References, settings: Settings) -> bool:
    """Add names from the warehouse to those of the files; false if unreadable."""
    from promptlab.errors import PromptlabError
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
