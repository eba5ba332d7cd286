"""Commands about a decision: the gate, comparisons, sample sizes."""

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
    from_to,
    ident,
    interval_of_points,
    judged,
    judged_from_to,
    must_have,
    p_value,
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
from promptlab.cli.translation import translated
from promptlab.errors import SettingsError, UsageError
from promptlab.task_ids import require_built, resolve_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from promptlab.contracts.comparison import Comparison, ScoreComparison
    from promptlab.contracts.gate import GateResult
    from promptlab.power import Plan
    from promptlab.reports.report_options import ReportOptions


# ---------- gate


SUMMARY = "GITHUB_STEP_SUMMARY"

_MOST_CASES = 20
_MOST_OF_SEVERAL = 5
"""Number of cases printed with their rounds, for one task and for each of several; all
with `--wide`."""


def _of_rule(verdict: str) -> Cell:
    return judged("cannot_tell" if verdict == "inconclusive" else verdict)


_RULE_COLUMNS = ("rule", "value", "limit", "verdict", "note")
_RULES = Table(
    columns=(
        Column("rule", ident, "rule"),
        Column("value", plain_beside, "value", "limit"),
        Column("limit", plain_beside, "limit", "value"),
        Column("verdict", _of_rule, "verdict"),
    ),
)


@click.command("gate")
@click.argument("task", metavar="[RUN]", default="latest")
@policy_option
@click.option("--init", is_flag=True, help="Print the built-in policy, as a template.")
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 instead of 4.")
@common("policy", formats=("table", "json", "csv", "md", "junit"), exits=(1, 3, 4, 5))
def gate(
    call: Call,
    task: str,
    init: bool,
    allow_inconclusive: bool,
) -> int:
    """Decide whether a run can ship: what broke, since when, and every rule.

    RUN is the id of a run or a task, a `--run-name`, a title, a file or folder that was
    loaded, or `latest`: what was loaded last. The newest task of each title and variant
    in it is judged. With `latest` or a folder, a file that was left out and may
    contain a newer run makes the answer "Cannot tell".

    Exits 0 for "Ship" and a first run, 1 for "Do not ship", 3 for "Run again", 4 for
    "Cannot tell"; the worst of several tasks. The answer depends on the loaded runs,
    what people accepted, and the policy, and on nothing else. `--format md` is the
    comment for a pull request; if GITHUB_STEP_SUMMARY names a file, it is appended.
    """
    from promptlab.history import exit_code, judge
    from promptlab.reports.gate.policy import default_policy, load_policy

    if init:
        for line in default_policy().splitlines():
            click.echo(_explained(line))
        return 0
    policy = load_policy(call.settings.policy)
    results = judge(call.warehouse(), task, policy, lang=call.settings.lang)
    _print_gates(results, call)
    _append_summary(results, call)
    return exit_code(results, allow_inconclusive=allow_inconclusive)


def _print_gates(results: list[GateResult], call: Call) -> None:
    from promptlab.reports.formats import gate_junit

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
        click.echo(_comment(results, call), nl=False)
    elif form == "junit":
        click.echo(gate_junit(results), nl=False)
    elif len(results) == 1:
        _print_rules(results[0], call)
    else:
        _print_decisions(results, call)


def _print_rules(result: GateResult, call: Call) -> None:
    print_headline(result, with_next_step=True)
    print_text(
        f"{result.title}  {result.variant}  {result.task_id}  {result.prompt_version}"
        f"  {result.model}  {spoken('policy: {policy}', policy=spoken(result.policy))}"
    )
    click.echo()
    _print_cases(result, _MOST_CASES, call)
    if result.cases:
        click.echo()
    print_table(result.rules, _RULES)
    notes = [
        (rule.rule, rule.note)
        for rule in result.rules
        if rule.note
        and (call.wide or rule.verdict in ("fail", "inconclusive", "check"))
    ]
    if notes:
        click.echo()
    for rule, note in notes:
        print_text(f"{rule}: {note}", lead="  ")


def _print_cases(result: GateResult, most: int, call: Call) -> None:
    """Print the newly failing cases with their rounds, the broken ones first."""
    from promptlab.reports.texts import catalogue

    texts = catalogue(result.lang)
    shown = result.cases[: None if call.wide else most]
    for case in shown:
        state = texts.text(f"case_state.{case.state}")
        print_text(f"{state}  {case.case_id}  {case.text}", lead="  ")
    if len(result.cases) > len(shown):
        n = len(result.cases) - len(shown)
        print_text(texts.text("count.more", n=n), lead="  ")


def _print_decisions(results: list[GateResult], call: Call) -> None:
    """Print a decision per task; `gate TASK` shows the rules."""
    for number, result in enumerate(results):
        print_headline(result, with_next_step=number == 0)
        print_text(f"{result.title}  {result.variant}  {result.task_id}", lead="  ")
        _print_cases(result, _MOST_OF_SEVERAL, call)
        if call.wide:
            print_table(result.rules, _RULES)


def _explained(line: str) -> str:
    """Return a line of a policy, its comment in the language of the call."""
    code, mark, comment = line.rpartition("# ")
    rule = "---- " if comment.startswith("---- ") else ""
    return f"{code}{mark}{rule}{translated(comment.removeprefix(rule))}"


def _comment(results: list[GateResult], call: Call) -> str:
    """Return the comment of a pull request, with a link to the page of the worst."""
    from promptlab.reports.formats import gate_markdown
    from promptlab.reports.write import page_of

    base = call.settings.report_url
    link = f"{base.rstrip('/')}/{page_of(results)}" if base else None
    return gate_markdown(results, link=link, lang=call.settings.lang)


def _append_summary(results: list[GateResult], call: Call) -> None:
    target = os.environ.get(SUMMARY)
    if not target:
        return
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(_comment(results, call))
    except OSError as error:
        raise SettingsError(
            f"{SUMMARY}: {target}: cannot be written: {error}"
        ) from None


# ---------- compare


PAGE_LIMITS = 20

_SOURCES = {
    "accepted": "the run that was accepted",
    "previous": "the run before of this variant",
    "requested": "as requested",
}
_OLDER = "not the run before: {n} in between are incomplete or of another branch"


@click.command("compare", short_help="Compare two tasks case by case.")
@click.argument("tasks", nargs=-1, metavar="[[BASELINE] CANDIDATE]")
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=PAGE_LIMITS,
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
@common("policy", formats=("table", "json", "csv", "md"), exits=(1, 3, 4, 5))
def compare(
    call: Call,
    tasks: tuple[str, ...],
    cases: int,
    out: Path | None,
    allow_inconclusive: bool,
) -> int:
    """Compare two tasks case by case: better, worse, and whether it is real.

    BASELINE and CANDIDATE are as RUN in `promptlab gate`: the id of a run or a task, a
    `--run-name`, a title, a variant, a file or folder that was loaded, `latest`.
    BASELINE may also be `previous` or `baseline`, those of the candidate. Where both
    name several tasks, those of one title and variant are compared; of two variants,
    those of one title. CANDIDATE alone is compared with its baseline, and without any
    the latest task is.
    `--format json` prints the whole comparison, `--format csv` a line per case;
    `--out DIR` writes a page with the answers of both, side by side.

    Whether a run can ship is what `promptlab gate` says.
    """
    from promptlab.history import compare_selected

    if len(tasks) > 2:
        raise UsageError(f"compare: takes two tasks, found {len(tasks)}")
    warehouse = call.warehouse()
    report_options = warehouse.report_options()
    if tasks:
        candidate = tasks[-1]
    else:
        with warehouse.built() as con:
            candidate = _newest(con, call)
    comparisons = compare_selected(
        warehouse,
        tasks[0] if len(tasks) == 2 else "baseline",
        candidate,
        lang=report_options.lang,
        cases=None if call.format in ("json", "csv") else cases,
    )
    for comparison in comparisons:
        if out is not None:
            with warehouse.built() as con:
                call.say(f"written: {_write(con, comparison, out, report_options)}")
    _print_comparisons(comparisons, call)
    codes = {_exit_code(comparison, allow_inconclusive) for comparison in comparisons}
    return next(code for code in (1, 4, 0) if code in codes)


def _exit_code(comparison: Comparison, allow_inconclusive: bool) -> int:
    verdict = comparison.overall.verdict
    if verdict == "regressed" or comparison.counts.must_have_lost:
        return 1
    if verdict == "not_comparable":
        return 4
    return 4 if verdict == "inconclusive" and not allow_inconclusive else 0


def _newest(con: duckdb.DuckDBPyConnection, call: Call) -> str:
    """Return the latest task; print its id if its run has several."""
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
    report_options: ReportOptions,
) -> Path:
    from promptlab.reports.write import write_comparison

    before, after = comparison.baseline.task_id, comparison.candidate.task_id
    return write_comparison(con, before, after, out, report_options)


def _print_comparisons(comparisons: Sequence[Comparison], call: Call) -> None:
    from promptlab.reports.formats import comparison_markdown

    if call.format == "json":
        texts = [comparison.as_json() for comparison in comparisons]
        print_json(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    elif call.format == "csv":
        several = len(comparisons) > 1
        rows = [
            (
                *([comparison.candidate.task_id] if several else []),
                *(getattr(case, name) for name in _CASE_FIELDS.values()),
            )
            for comparison in comparisons
            for case in comparison.cases
        ]
        print_rows((*(["task_id"] if several else []), *_CASE_FIELDS), rows, "csv")
    elif call.format == "md":
        click.echo("\n".join(map(comparison_markdown, comparisons)), nl=False)
    else:
        for comparison in comparisons:
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
            Column("passes gained", plain, "n_gained"),
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
            click.echo(translated(line))
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
        cases_found = (
            f"{needed} cases find" if needed else "not even 100,000 cases find"
        )
        lines.append(
            f"A drop of {100 * plan.drop:.1f} points is found in"
            f" {plan.power_now:.0%} of comparisons now; {cases_found} it {often}."
        )
    if needed and more:
        lines.append(
            f"One more round per case saves {needed - more} cases."
            if more < needed
            else "More rounds per case save no cases."
        )
    return lines
