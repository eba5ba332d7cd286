"""Commands about a decision: the gate, comparisons, baselines, what to run again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.load import policy_option
from promptlab.cli.options import Call, common
from promptlab.cli.output import (
    Cell,
    Column,
    Table,
    day,
    from_to,
    ident,
    interval_of_points,
    judged,
    judged_from_to,
    must_have,
    p_value,
    path,
    plain,
    plain_beside,
    plain_from_to,
    plain_interval_of,
    points,
    print_headline,
    print_json,
    print_rows,
    print_sides,
    print_table,
    print_text,
    score,
    spoken,
    words,
)
from promptlab.errors import NothingToDo, SettingsError, UsageError
from promptlab.task_ids import require_built, resolve_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from promptlab.contracts.comparison import Comparison, ScoreComparison
    from promptlab.contracts.gate import GateResult
    from promptlab.power import Plan
    from promptlab.reports.edition import Edition
    from promptlab.warehouse import Warehouse


# ---------- gate


SUMMARY = "GITHUB_STEP_SUMMARY"

_MOST_CASES = 20
_MOST_OF_SEVERAL = 5
"""Number of cases printed with their rounds, for one task and for each of several; all
with `--wide`."""

_RULE_COLUMNS = ("rule", "value", "limit", "verdict", "note")
_RULES = Table(
    columns=(
        Column("rule", ident, "rule"),
        Column("value", plain_beside, "value", "limit"),
        Column("limit", plain_beside, "limit", "value"),
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
    _print_gates(results, call)
    _append_summary(results)
    if not no_record:
        record(call.warehouse(), results, policy)
    return exit_code(results, allow_inconclusive=allow_inconclusive)


def _print_gates(results: list[GateResult], call: Call) -> None:
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
            ("task_id", *_RULE_COLUMNS),
            [
                (result.task_id, *(getattr(rule, name) for name in _RULE_COLUMNS))
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
        _print_rules(results[0], call)
    else:
        _print_decisions(results, call)


def _print_rules(result: GateResult, call: Call) -> None:
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
    print_table(result.rules, _RULES)
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


def _print_decisions(results: list[GateResult], call: Call) -> None:
    """Print a decision per task; `gate TASK` shows the rules."""
    for result in results:
        print_headline(result)
        print_text(f"{result.title}  {result.variant}  {result.task_id}", lead="  ")
        for case in result.cases[: None if call.wide else _MOST_OF_SEVERAL]:
            print_text(f"{case.case_id}  {case.text}", lead="    ")
        if call.wide:
            print_table(result.rules, _RULES)


def _append_summary(results: list[GateResult]) -> None:
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


# ---------- compare


SHOWN = 20

_SOURCES = {
    "named": "the baseline that was named",
    "previous": "the previous task of this title",
    "requested": "as requested",
}
_OLDER = (
    "not the previous run: {n} in between without “Ship”, incomplete or of a branch"
)


@click.command("compare", short_help="Compare two tasks case by case.")
@click.argument("tasks", nargs=-1, metavar="[[BASELINE] CANDIDATE]")
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=SHOWN,
    show_default=True,
    help="Number of changed cases in a table or Markdown.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write the comparison as a page below this folder.",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 instead of 4.")
@policy_option
@common("policy", formats=("table", "json", "csv", "md"))
def compare(
    call: Call,
    tasks: tuple[str, ...],
    cases: int,
    out: Path | None,
    allow_inconclusive: bool,
) -> int:
    """Compare two tasks case by case: better, worse, and whether it is real.

    BASELINE and CANDIDATE are as RUN in `promptlab gate`: the id of a run or a task, a
    `--run-name`, a title, a file or folder that was loaded, `latest`. BASELINE may also
    be `previous` or `baseline`, those of the candidate. Where both name several tasks,
    those of one title and variant are compared. CANDIDATE alone is compared with its
    baseline, and without any the latest task is.
    `--format json` prints the whole comparison, `--format csv` a line per case;
    `--out DIR` writes a page with the answers of both, side by side.

    Exit codes are those of `gate`: 1 for "do not ship", 4 for "cannot tell".
    """
    from promptlab.history import compare_selected, exit_code
    from promptlab.reports.gate.verdict import gate_result

    if len(tasks) > 2:
        raise UsageError(f"compare: takes two tasks, found {len(tasks)}")
    warehouse = call.warehouse()
    edition = warehouse.edition()
    if tasks:
        candidate = tasks[-1]
    else:
        with warehouse.built() as con:
            candidate = _newest(con, call)
    comparisons = compare_selected(
        warehouse,
        tasks[0] if len(tasks) == 2 else "baseline",
        candidate,
        lang=edition.lang,
        cases=None if call.format in ("json", "csv") else cases,
    )
    pairs = []
    for comparison in comparisons:
        with warehouse.built() as con:
            gate = gate_result(
                con,
                comparison.candidate.task_id,
                edition.policy,
                lang=edition.lang,
                baseline=comparison.baseline.task_id,
            )
            page = None if out is None else _write(con, comparison, out, edition)
        pairs.append((comparison, gate))
        if page is not None:
            call.say(f"written: {page}")
    _print_comparisons(pairs, call)
    return exit_code([gate for _, gate in pairs], allow_inconclusive=allow_inconclusive)


def _newest(con: duckdb.DuckDBPyConnection, call: Call) -> str:
    """Return the latest task, and say which it is if its run has several."""
    require_built(con)
    task_id = resolve_task(con, "latest")
    variant, n = con.execute(
        "select max(own.variant), count(*) from marts.dim_tasks as own"
        " inner join marts.dim_tasks as tasks using (run_id, title)"
        " where own.task_id = ? and tasks.role = 'full'",
        [task_id],
    ).fetchone() or (None, 0)
    if n > 1:
        call.say(
            f"compared: {variant}, one of {n} variants;"
            " `promptlab compare latest` compares all"
        )
    return task_id


def _write(
    con: duckdb.DuckDBPyConnection,
    comparison: Comparison,
    out: Path,
    edition: Edition,
) -> Path:
    from promptlab.reports.write import write_comparison

    before, after = comparison.baseline.task_id, comparison.candidate.task_id
    return write_comparison(con, before, after, out, edition)


def _print_comparisons(
    pairs: Sequence[tuple[Comparison, GateResult]], call: Call
) -> None:
    from promptlab.reports.formats import comparison_markdown

    if call.format == "json":
        texts = [comparison.as_json() for comparison, _ in pairs]
        print_json(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    elif call.format == "csv":
        several = len(pairs) > 1
        rows = [
            (
                *([comparison.candidate.task_id] if several else []),
                *(getattr(case, name) for name in _CASE_FIELDS.values()),
            )
            for comparison, _ in pairs
            for case in comparison.cases
        ]
        print_rows((*(["task_id"] if several else []), *_CASE_FIELDS), rows, "csv")
    elif call.format == "md":
        texts = [comparison_markdown(*pair) for pair in pairs]
        click.echo("\n".join(texts), nl=False)
    else:
        for comparison, gate in pairs:
            print_headline(gate)
            _print_comparison(comparison, wide=call.wide)


def _print_comparison(comparison: Comparison, *, wide: bool) -> None:
    counts = comparison.counts
    _print_sides(comparison)
    print_text(comparison.conclusion)
    for note in comparison.notes:
        print_text(note, lead="  ")
    print_text(spoken(_COUNTS, **counts.model_dump()))
    for heading, scores in (
        ("dimension", [comparison.overall, *comparison.dimensions]),
        ("tag", comparison.tags),
    ):
        if scores:
            click.echo()
            print_table(scores, _score_table(heading), wide=wide)
    _tell_adjusted([*comparison.dimensions, *comparison.tags])
    if comparison.measures:
        click.echo()
        print_table(comparison.measures, _MEASURES, wide=wide)
    changed = [c for c in comparison.cases if c.change != "same"]
    if changed:
        click.echo()
        print_table(changed, _CASES, wide=wide)


_COUNTS = (
    "cases: {better} better, {worse} worse, {same} same, {added} added,"
    " {removed} removed, {not_comparable} not comparable;"
    " {newly_failing} newly failing, {newly_fixed} newly fixed;"
    " must-haves: {must_have_lost} lost, {must_have_gained} gained"
)


def _print_sides(comparison: Comparison) -> None:
    baseline, candidate = (
        f"{task.task_id}  {task.prompt_version}  {task.model}"
        f"  {task.created_at:%Y-%m-%d}"
        for task in (comparison.baseline, comparison.candidate)
    )
    source = _SOURCES[comparison.pair_source]
    if comparison.pair_source == "previous" and comparison.n_runs_between:
        source = _OLDER
    why = spoken(source, n=comparison.n_runs_between)
    why = spoken("({why})", why=why)
    print_sides(f"{baseline}  {why}", candidate)


def _tell_adjusted(parts: Sequence[ScoreComparison]) -> None:
    """Say what an adjusted p is, below a table that shows one."""
    if any(part.held_back_by == "adjusted_p" for part in parts):
        n = sum(part.p_adjusted is not None for part in parts)
        print_text(spoken(_ADJUSTED, n=n))


_ADJUSTED = (
    "adjusted p: among {n} comparisons some look clear by chance, so each has to be"
    " clearer than one alone"
)


def _undecided(
    verdict: str, held_back_by: str | None, n_pairs: int, p_adjusted: float | None
) -> Cell:
    """Return a verdict, and why it is no change although the interval is clear."""
    cell = judged(verdict)
    if held_back_by is None:
        return cell
    if held_back_by == "too_few_pairs":
        why = spoken("{n} pairs are too few", n=n_pairs)
    elif held_back_by == "too_few_clusters":
        why = spoken("too few clusters")
    else:
        why = spoken("adjusted p {p}", p=p_value(p_adjusted).text)
    text = spoken("{verdict}: {why}", verdict=cell.text, why=why)
    return Cell(text, cell.style)


def _subject(name: str | None, subject: str) -> Cell:
    return plain(name or spoken(subject))


def _from_to(before: float | None, after: float | None, measured: str | None) -> Cell:
    """Return both scores, or what was measured in its own unit."""
    return from_to(before, after) if measured is None else Cell(measured)


def _score_table(heading: str) -> Table:
    return Table(
        columns=(
            Column(heading, _subject, "name", "subject"),
            Column("score", _from_to, "baseline_score", "candidate_score", "measured"),
            Column("change", points, "delta"),
            Column("95% interval", interval_of_points, "ci_low", "ci_high"),
            Column(
                "verdict",
                _undecided,
                "verdict",
                "held_back_by",
                "n_pairs",
                "p_adjusted",
            ),
        ),
        wide=(
            Column("p", p_value, "p_value"),
            Column("adjusted p", p_value, "p_adjusted"),
            Column("pairs", plain, "n_pairs"),
            Column("passes lost", plain, "n_lost"),
            Column("gained", plain, "n_gained"),
            Column("McNemar p", p_value, "mcnemar_p"),
            Column("detectable", score, "smallest_detectable"),
        ),
    )


_MEASURES = Table(
    columns=(
        Column("measure", plain, "name"),
        Column("mean", plain_from_to, "baseline_value", "candidate_value"),
        Column("change", plain, "delta"),
        Column("95% interval", plain_interval_of, "ci_low", "ci_high"),
        Column("verdict", judged, "verdict"),
    ),
    wide=(
        Column("p", p_value, "p_value"),
        Column("adjusted p", p_value, "p_adjusted"),
        Column("pairs", plain, "n_pairs"),
        Column("higher", plain, "n_higher"),
        Column("lower", plain, "n_lower"),
        Column("direction", words, "direction"),
    ),
)


_CASE_FIELDS = {
    "case_id": "case_id", "change": "change", "severity": "severity",
    "before": "baseline_score", "after": "candidate_score", "delta": "delta",
    "status_before": "baseline_status", "status_after": "candidate_status",
    "must_have_lost": "must_have_lost", "must_have_gained": "must_have_gained",
    "reason": "reason",
}  # fmt: skip
"""The columns of a line per case, and the fields that they show."""

_CASES = Table(
    columns=(
        Column("case", ident, "case_id"),
        Column("change", judged, "change"),
        Column("score", from_to, "baseline_score", "candidate_score"),
        Column("status", judged_from_to, "baseline_status", "candidate_status"),
        Column("must-have", must_have, "must_have_lost", "must_have_gained"),
    ),
    wide=(
        Column("points", points, "delta"),
        Column("severity", judged, "severity"),
        Column("reason", words, "reason"),
    ),
)


# ---------- baseline


_NAMED = Table(
    columns=(
        Column("task", ident, "task_id"),
        Column("baseline of", plain, "title"),
        Column("variant", plain, "variant"),
        Column("state", words, "state"),
        Column("set", day, "set_at"),
    ),
    wide=(Column("testset", path, "testset_id"),),
)
_OF_TASK = Table(
    columns=(
        Column("task", ident, "task_id"),
        Column("baseline", ident, "baseline_task_id"),
        Column("source", words, "baseline_source"),
        Column("state", words, "state"),
        Column("set", day, "set_at"),
    ),
)


@click.command("baseline", short_help="Name, show or clear a baseline.")
@click.argument("action", type=click.Choice(("set", "show", "clear")))
@click.argument("run", metavar="[RUN]", required=False)
@common()
def baseline(call: Call, action: str, run: str | None) -> int:
    """Name the tasks that others of their title, variant and testset are compared with.

    RUN is as in `promptlab gate`: of a run, all variants. `set RUN` names baselines
    until others are named; `show` lists all named baselines, `show RUN` the baselines
    of RUN; `clear [RUN]` removes the baselines of all variants of the title and testset
    of RUN (default: the latest). Without a named baseline, a task is compared with an
    earlier task of its variant, which the gate accepted.
    """
    from promptlab.history import clear_baseline, set_baseline

    warehouse = call.warehouse()
    if action == "show":
        return _show(call, warehouse, run)
    if action == "set":
        if run is None:
            raise UsageError("baseline set: name a run; `promptlab runs` lists them")
        for task_id, series in set_baseline(warehouse, run):
            call.say(f"{task_id} is the baseline of {series}")
    else:
        for task_id, series in clear_baseline(warehouse, run or "latest"):
            call.say(f"{task_id} is no longer the baseline of {series}")
    return 0


def _show(call: Call, warehouse: Warehouse, run: str | None) -> int:
    from promptlab.history import baselines_of, named_baselines

    with warehouse.built() as con:
        if run is not None:
            call.print_rows(
                ("task_id", "baseline_task_id", "baseline_source", "state", "set_at"),
                baselines_of(con, run),
                _OF_TASK,
            )
            return 0
        rows = named_baselines(con)
    if not rows and call.format == "table":
        raise NothingToDo(
            "no baseline is named: every task is compared with an earlier one of its"
            " variant; `promptlab baseline set RUN`"
        )
    names = ("title", "testset_id", "variant", "task_id", "state", "set_at")
    call.print_rows(names, rows, _NAMED)
    return 0


# ---------- recheck


DEFAULT_DB = Path("promptlab.duckdb")


@click.command("recheck", short_help="Print how to run newly failing cases again.")
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--tool-args",
    metavar="TEXT",
    default="",
    help="Arguments for the tool, such as '-c evals/promptfooconfig.yaml'.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="recheck",
    show_default=True,
    help="Folder for the new results, and for files that the commands read.",
)
@common(formats=("text", "json", "csv"))
def recheck(call: Call, run: str, tool_args: str, out: Path) -> int:
    """Print the commands that run newly failing cases again, on both sides.

    RUN is as in `promptlab gate`. The text is a shell script: it runs the cases of the
    new side and of the old one with promptfoo or Inspect, and loads the new rounds with
    `promptlab ingest --recheck-of`. `promptlab gate` then uses them. For other
    tools the cases are listed; `--format json` and `csv` list them for any tool.
    """
    from promptlab.history import COLUMNS, recheck

    db = call.settings.db
    with call.warehouse().built() as con:
        found = recheck(
            con,
            run,
            out,
            tool_args=tool_args,
            db=None if db == DEFAULT_DB else db,
        )
    if call.format != "text":
        rows = [tuple(case[name] for name in COLUMNS) for case in found.cases]
        call.print_rows(COLUMNS, rows)
        return 0
    found.write(out)
    click.echo(found.script, nl=False)
    return 0


# ---------- power


@click.command("power", short_help="Plan sample sizes.")
@click.argument("task", required=False)
@click.option("--drop", type=click.FloatRange(0.001, 1), help="Drop of the pass rate.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds per case.")
@click.option("--cases", type=click.IntRange(min=2), help="Cases of the suite.")
@click.option(
    "--flaky",
    "within",
    type=click.FloatRange(0, 0.25),
    help="Variance within a case [default: from the history; 0.25 is a coin].",
)
@click.option(
    "--power", type=click.FloatRange(0.5, 0.99), default=0.8, show_default=True
)
@click.option("--rate", type=click.FloatRange(0, 1), help="Measure one pass rate …")
@click.option(
    "--within",
    "half_width",
    type=click.FloatRange(0.001, 0.5),
    default=0.05,
    show_default=True,
    help="… to within this, half the width of its interval.",
)
@click.option("--labels", is_flag=True, help="Number of labels to check a judge.")
@common(formats=("table", "json"))
def power(
    call: Call,
    task: str | None,
    drop: float | None,
    rounds: int | None,
    cases: int | None,
    within: float | None,
    power: float,
    rate: float | None,
    half_width: float,
    labels: bool,
) -> int:
    """Report the changes that TASK's suite can detect, and the sample sizes for others.

    TASK is an id, `latest` or a title; its results give the number of cases, the rounds
    and how flaky the cases are. Without a warehouse, name them with `--cases`,
    `--rounds` and `--flaky`.
    """
    from promptlab import power as sizes

    answer: dict[str, Any]
    if labels:
        answer = _labels(half_width)
    elif rate is not None:
        needed = sizes.cases_for_rate(rate, half_width)
        answer = {"rate": rate, "within": half_width, "cases": needed}
        text = (
            f"A pass rate of {rate:.0%} is known to within {100 * half_width:g} points"
            f" with {needed} cases: its interval is {200 * half_width:g} points wide."
        )
        answer["answer"] = [text]
    else:
        if cases is None or within is None:
            plan = call.warehouse().power(
                task or "latest",
                drop=drop,
                rounds=rounds,
                cases=cases,
                flaky=within,
                power=power,
            )
        else:
            plan = sizes.plan(cases, rounds or 1, within, drop=drop, power=power)
        answer = asdict(plan) | {"answer": _sentences(plan)}
    if call.format == "json":
        click.echo(json.dumps(answer))
    else:
        for line in answer["answer"]:
            click.echo(line)
    return 0


def _labels(half_width: float) -> dict[str, Any]:
    from promptlab.power import cases_for_rate

    fails, passes = cases_for_rate(0.8, half_width), cases_for_rate(0.9, half_width)
    return {
        "within": half_width,
        "failing_labels": fails,
        "passing_labels": passes,
        "answer": [
            f"To know to within {100 * half_width:g} points how many failures a judge"
            f" catches (8 of 10), label {fails} failing answers of a random draw; for"
            f" how many passes it keeps (9 of 10), {passes} passing ones.",
            "Below 15 of each nothing can be said.",
        ],
    }


def _sentences(plan: Plan) -> list[str]:
    often = f"{10 * plan.power:g} times in 10"
    if plan.assumed_variance is not None:
        noise = (
            "how flaky the cases are is not known, since none was asked twice."
            f" --flaky {plan.assumed_variance:g} is assumed: a fair guess for a"
            " language model"
        )
    else:
        noise = (
            f"a variance of {plan.within_variance:.3f} within cases"
            if plan.within_variance
            else "no case is flaky"
        ) + (f" (from {plan.n_results} result(s))" if plan.n_results else "")
    lines = [
        f"{plan.cases} cases, {plan.rounds} round(s) per case, {noise}.",
        f"A drop of {100 * plan.smallest_drop:.1f} points is found {often}."
        if plan.smallest_drop is not None
        else f"No drop is found {often}: there are too few cases.",
    ]
    if plan.n_clusters:
        lines.append(
            f"The cases belong to {plan.n_clusters} cluster(s). Where those of one"
            " change together, only larger drops are found."
        )
    needed, more = plan.cases_needed, plan.cases_needed_with_one_more_round
    if plan.drop is not None and plan.power_now is not None:
        found = f"{needed} cases find" if needed else "not even 100,000 cases find"
        lines.append(
            f"A drop of {100 * plan.drop:.1f} points is found in"
            f" {plan.power_now:.0%} of comparisons now; {found} it {often}."
        )
    if needed and more:
        lines.append(
            f"One more round per case saves {needed - more} cases."
            if more < needed
            else "More rounds per case save no cases."
        )
    return lines
