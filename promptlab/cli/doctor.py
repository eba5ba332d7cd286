"""``promptlab doctor``: versions, and the health of the warehouse file."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common


@click.command("doctor", short_help="Versions, and the health of the warehouse.")
@common()
def command(call: Call) -> int:
    """Examine the warehouse file: is it whole, and does it hold together?

    Reads every table, since damage only shows as it is read; compares what was loaded
    with what was built. Each line is ok, warn or fail, with one fix. Exits 70 if any
    line is fail.
    """
    from promptlab.cli.output import print_rows
    from promptlab.operations.health import examine
    from promptlab.pipeline import Warehouse

    findings = list(examine(Warehouse(call.settings.db, settings=call.settings)))
    print_rows(
        ("what", "name", "state", "value", "fix"),
        [(f.what, f.name, f.state, f.value, f.fix) for f in findings],
        call.format,
    )
    return 70 if any(f.state == "fail" for f in findings) else 0
