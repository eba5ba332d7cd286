"""``promptlab project``: the folder of the dbt project."""

from __future__ import annotations

import click

from promptlab.cli.options import Call, common


@click.command("project", short_help="Print the folder of the dbt project.")
@common()
def command(call: Call) -> int:
    """Print the folder of the bundled dbt project.

    Name it in the `packages.yml` of your own dbt project, and build models on the
    marts: `packages: [{local: FOLDER}]`.
    """
    from promptlab.cli.output import print_rows
    from promptlab.paths import dbt_project

    if call.format == "table":  # bare, for `$(promptlab project)`
        click.echo(dbt_project())
    else:
        print_rows(("project",), [(str(dbt_project()),)], call.format)
    return 0
