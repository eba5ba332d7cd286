"""``promptlab doctor``: versions, and the health of the warehouse file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import judged, plain
from promptlab.cli.language import speak
from promptlab.cli.options import Call, common
from promptlab.cli.output import Column, Table, print_objects, print_text

if TYPE_CHECKING:
    from promptlab.operations.health import Finding

_TABLE = Table(
    columns=(
        Column("state", judged, "state"),
        Column("name", plain, "name"),
        Column("value", plain, "value"),
        Column("fix", plain, "fix"),
    ),
    by=("what",),
)


@click.command("doctor", short_help="Print versions and check the warehouse.")
@common()
def command(call: Call) -> int:
    """Examine the warehouse file: is it whole, and does it hold together?

    Reads every table, since damage only shows as it is read; compares what was loaded
    with what was built. Each line is ok, warn or fail, with one fix; a table has only
    those that are not ok, unless --wide or --verbose ask for all. Exits 70 if any line
    is fail.
    """
    from promptlab.operations.health import examine

    speak("en")  # what is wrong with a file reads as errors do
    findings = list(examine(call.warehouse()))
    is_short = call.format == "table" and not (call.wide or call.verbose)
    shown = [f for f in findings if f.state != "ok"] if is_short else findings
    if shown or not is_short:
        columns = ("what", "name", "state", "value", "fix")
        print_objects(shown, columns, call.format, _TABLE)
    if is_short:
        _print_summary(findings)
    return 70 if any(f.state == "fail" for f in findings) else 0


def _print_summary(findings: Sequence[Finding]) -> None:
    """Return a line with a check and its result."""
    told = {finding.name: finding.value for finding in findings}
    counts = Counter(finding.state for finding in findings)
    state = "fail" if counts["fail"] else "warn" if counts["warn"] else "ok"
    sign = judged(state)
    looked_at = Counter(finding.what for finding in findings)
    print_text(
        f"promptlab {told['promptlab']}, duckdb {told['duckdb']},"
        f" dbt {told['dbt-core']}, python {told['python']}; {told['warehouse']}:"
        f" {looked_at['rows']} tables read, {looked_at['check']} checks;"
        f" {counts['fail']} fail, {counts['warn']} warn, {counts['ok']} ok",
        lead=f"{sign.text}: ",
        lead_style=sign.style,
    )
