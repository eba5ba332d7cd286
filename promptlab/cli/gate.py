"""``promptlab gate``: a task against a policy; the exit code tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.cells import ident, judged, plain
from promptlab.cli.language import spoken
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    print_headline,
    print_json,
    print_objects,
    print_text,
)
from promptlab.cli.report import policy_option

if TYPE_CHECKING:
    from promptlab.contracts.gate import GateResult

EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 4}
SUMMARY = "GITHUB_STEP_SUMMARY"

_COLUMNS = ("rule", "value", "limit", "verdict", "note")
_TABLE = Table(
    columns=(
        Column("rule", ident, "rule"),
        Column("value", plain, "value"),
        Column("limit", plain, "limit"),
        Column("verdict", judged, "verdict"),
    ),
)


@click.command("gate")
@click.argument("task", default="latest")
@policy_option
@click.option("--init", is_flag=True, help="Print the built-in policy, to begin with.")
@click.option("--allow-inconclusive", is_flag=True, help="Exit 0 where it would be 4.")
@common("policy", formats=("table", "json", "csv", "md", "junit"))
def command(
    call: Call,
    task: str,
    init: bool,
    allow_inconclusive: bool,
) -> int:
    """Hold a task against a policy, rule by rule.

    TASK is an id, a unique prefix of one, `latest` or `previous`. Exits 0 if every rule
    passes, 1 if one fails, 4 if one could not be judged. Where GITHUB_STEP_SUMMARY
    names a file, the result is appended to it as Markdown. The first run of a title has
    nothing to compare with and passes, unless the policy says `require_baseline`.
    """
    from promptlab.history.gate import judge
    from reports.gate.policy import default_policy, load_policy

    if init:
        click.echo(default_policy(), nl=False)
        return 0
    result = judge(
        call.warehouse(),
        task,
        load_policy(call.settings.policy),
        lang=call.settings.lang,
    )
    _print(result, call)
    _append_summary(result)
    code = EXIT_CODES[result.verdict]
    return 0 if code == 4 and allow_inconclusive else code


def _print(result: GateResult, call: Call) -> None:
    from reports.formats.comparisons import gate_junit, gate_markdown

    form = call.format
    if form == "json":
        print_json(result.model_dump_json(indent=2))
    elif form == "csv":
        print_objects(result.rules, _COLUMNS, "csv")
    elif form == "md":
        click.echo(gate_markdown(result), nl=False)
    elif form == "junit":
        click.echo(gate_junit(result), nl=False)
    else:
        print_headline(result)
        against = spoken(
            "against {baseline}; policy: {policy}",
            baseline=result.baseline_task_id or spoken("no baseline"),
            policy=spoken(result.policy),
        )
        print_text(
            f"{result.title}  {result.task_id}  {result.prompt_version}  {result.model}"
            f"  {against}"
        )
        click.echo()
        print_objects(result.rules, _COLUMNS, "table", _TABLE)
        told = [
            (rule.rule, rule.note)
            for rule in result.rules
            if rule.note and (call.wide or rule.verdict in ("fail", "inconclusive"))
        ]
        if told:
            click.echo()
        for rule, note in told:
            print_text(f"{rule}: {note}", lead="  ")


def _append_summary(result: GateResult) -> None:
    from promptlab.errors import SettingsError
    from reports.formats.comparisons import gate_markdown

    target = os.environ.get(SUMMARY)
    if not target:
        return
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(gate_markdown(result))
    except OSError as error:
        raise SettingsError(
            f"{SUMMARY}: {target}: cannot be written: {error}"
        ) from None
