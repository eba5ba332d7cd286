"""``promptlab gate``: check tasks against a policy; the exit code is the result."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlab.cli.loading import policy_option
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Column,
    Table,
    ident,
    judged,
    plain,
    print_headline,
    print_json,
    print_rows,
    print_table,
    print_text,
    spoken,
)

if TYPE_CHECKING:
    from promptlab.contracts.gate import GateResult

SUMMARY = "GITHUB_STEP_SUMMARY"

_MOST_CASES = 20
_MOST_OF_SEVERAL = 5
"""Number of cases printed with their rounds, for one task and for each of several; all
with `--wide`."""

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
@click.argument("task", metavar="[RUN]", default="latest")
@policy_option
@click.option("--init", is_flag=True, help="Print the built-in policy, as a template.")
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 instead of 4.")
@click.option("--no-record", is_flag=True, help="Do not record the decision.")
@common("policy", formats=("table", "json", "csv", "md", "junit"))
def gate(
    call: Call,
    task: str,
    init: bool,
    allow_inconclusive: bool,
    no_record: bool,
) -> int:
    """Check tasks against a policy, rule by rule.

    RUN is the id of a run or a task, a `--run-name`, a title, a file or folder that was
    loaded, or `latest`: what was loaded last. The newest task of each title and variant
    in it is judged. With `latest` or a folder, a file that was left out and may
    contain a newer run makes the answer "Cannot tell". Exits 0 if every rule passes, 1
    if one fails, 4 if one could not be judged; the worst of several tasks. If
    GITHUB_STEP_SUMMARY names a file, the result is appended to it as Markdown.
    The first run of a title has nothing to compare with and passes, unless the policy
    sets `require_baseline`. The decision is recorded in the warehouse: a failed run is
    not a reference for later runs.
    """
    from promptlab.history import exit_code, judge, record
    from promptlab.reports.gate.policy import default_policy, load_policy
    from promptlab.reports.run import WORST_FIRST

    if init:
        click.echo(default_policy(), nl=False)
        return 0
    policy = load_policy(call.settings.policy)
    found = judge(call.warehouse(), task, policy, lang=call.settings.lang)
    results = sorted(found, key=lambda each: WORST_FIRST.index(each.verdict))
    _print(results, call)
    _append_summary(results)
    if not no_record:
        record(call.warehouse(), results, policy)
    return exit_code(results, allow_inconclusive=allow_inconclusive)


def _print(results: list[GateResult], call: Call) -> None:
    from promptlab.reports.formats import gate_junit, gate_markdown

    form = call.format
    if form == "json":
        if len(results) == 1:
            print_json(results[0].model_dump_json(indent=2))
        else:
            objects = [result.model_dump(mode="json") for result in results]
            print_json(json.dumps(objects, ensure_ascii=False, indent=2))
    elif form == "csv":
        print_rows(
            ("task_id", *_COLUMNS),
            [
                (result.task_id, *(getattr(rule, name) for name in _COLUMNS))
                for result in results
                for rule in result.rules
            ],
            "csv",
        )
    elif form == "md":
        click.echo("\n".join(map(gate_markdown, results)), nl=False)
    elif form == "junit":
        click.echo(gate_junit(results), nl=False)
    elif len(results) == 1:
        _print_one(results[0], call)
    else:
        _print_lines(results, call)


def _print_one(result: GateResult, call: Call) -> None:
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
    for case in result.cases[: None if call.wide else _MOST_CASES]:
        print_text(f"{case.case_id}  {case.text}", lead="  ")
    if result.cases:
        click.echo()
    print_table(result.rules, _TABLE)
    told = [
        (rule.rule, rule.note)
        for rule in result.rules
        if rule.note
        and (call.wide or rule.verdict in ("fail", "inconclusive", "check"))
    ]
    if told:
        click.echo()
    for rule, note in told:
        print_text(f"{rule}: {note}", lead="  ")


def _print_lines(results: list[GateResult], call: Call) -> None:
    """Print a decision per task; `gate TASK` shows the rules."""
    for result in results:
        print_headline(result)
        print_text(f"{result.title}  {result.variant}  {result.task_id}", lead="  ")
        for case in result.cases[: None if call.wide else _MOST_OF_SEVERAL]:
            print_text(f"{case.case_id}  {case.text}", lead="    ")
        if call.wide:
            print_table(result.rules, _TABLE)


def _append_summary(results: list[GateResult]) -> None:
    from promptlab.errors import SettingsError
    from promptlab.reports.formats import gate_markdown

    target = os.environ.get(SUMMARY)
    if not target:
        return
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write("\n".join(map(gate_markdown, results)))
    except OSError as error:
        raise SettingsError(
            f"{SUMMARY}: {target}: cannot be written: {error}"
        ) from None
