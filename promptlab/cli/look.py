"""Commands that show tasks and their history in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from promptlab.cli.load import policy_option
from promptlab.cli.options import Call, common, nothing_titled, titled
from promptlab.cli.output import (
    Cell,
    Column,
    Table,
    day,
    ident,
    interval,
    judged,
    milliseconds,
    n_of,
    named,
    passed_of,
    path,
    plain,
    plain_interval,
    points,
    print_headline,
    print_json,
    print_rows,
    print_table,
    print_text,
    score,
    spoken,
    target,
    words,
)
from promptlab.errors import NothingToDo, UsageError
from promptlab.relations import fetched
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from promptlab.contracts.analysis_result import (
        AnalysisResult,
        CaseResult,
    )
    from promptlab.contracts.memory_result import MemoryResult


# ---------- runs


_TASKS = """
    select
        tasks.task_id, tasks.run_id, tasks.title, tasks.variant, tasks.prompt_version,
        tasks.model, tasks.branch, tasks.commit_sha, tasks.created_at,
        summaries.grade, summaries.overall_score, summaries.pass_rate,
        summaries.n_pass, summaries.n_fail, summaries.n_error,
        summaries.n_unevaluated, summaries.n_cases,
        summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
        errors.value as error_share
    from marts.dim_tasks as tasks
    inner join marts.fct_task_summaries as summaries using (task_id)
    left join marts.fct_trends as errors
        on
            tasks.task_id = errors.task_id
            and errors.measure = 'error_share' and errors.subject is null
    where
        tasks.role = 'full'
        and ($title is null or tasks.title = $title or tasks.task_id in $selected)
    order by tasks.created_at desc, tasks.task_id desc
    limit $limit
"""


_RUNS_TABLE = Table(
    columns=(
        Column("title", plain, "title"),
        Column("variant", plain, "variant"),
        Column("version", plain, "prompt_version"),
        Column("passed", passed_of, "n_pass", "n_judged", "error_share"),
        Column("score", score, "overall_score"),
        Column("created", day, "created_at"),
    ),
    wide=(
        Column("task", ident, "task_id"),
        Column("run", ident, "run_id"),
        Column("model", plain, "model"),
        Column("branch", plain, "branch"),
        Column("commit", ident, "commit_sha"),
        Column("grade", plain, "grade"),
        Column("at", plain, "created_at"),
        Column("pass rate", score, "pass_rate"),
        Column("failed", plain, "n_fail"),
        Column("errors", plain, "n_error"),
        Column("error share", score, "error_share"),
        Column("unevaluated", plain, "n_unevaluated"),
        Column("cases", plain, "n_cases"),
    ),
)


@click.command("runs", short_help="List the tasks, newest first.")
@titled
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@common()
def runs(call: Call, title: str | None, limit: int) -> int:
    """List the tasks of the warehouse, newest first: all, or those of TITLE.

    TITLE may also be a run, a file or folder that was loaded, or latest: then these are
    the tasks that the gate judges.
    """
    with call.warehouse().built() as con:
        values = {"title": title, "selected": [""], "limit": limit}
        columns, rows = fetched(con, _TASKS, values)
        if not rows and title is not None:
            try:
                values["selected"] = selected_tasks(con, title)
            except (NothingToDo, UsageError):
                pass  # the message below suggests a title
            else:
                columns, rows = fetched(con, _TASKS, values)
        if not rows and call.format == "table":
            raise NothingToDo(f"runs: {nothing_titled(con, title)}")
    call.print_rows(columns, rows, _RUNS_TABLE)
    place = columns.index("error_share")
    if call.format == "table" and not call.wide and any(row[place] for row in rows):
        print_text(spoken(_ERRORS))
    return 0


_ERRORS = "!: rounds ended in an error; `--wide` has the share of the rounds"


# ---------- show


@click.command("show", short_help="Show one task in the terminal.")
@click.argument("task", metavar="[RUN]", default="latest")
@common()
def show(call: Call, task: str) -> int:
    """Show tasks: verdict, alerts, dimensions, the most important cases.

    Of a memory run, also the figures by category and the times. RUN is the id of a run
    or a task, a `--run-name`, a title, a file or folder that was loaded, `previous`, or
    `latest`: what was loaded last. `--format json` prints the whole AnalysisResult (of
    several tasks a list), `--format csv` a line per case.
    """
    from promptlab.reports import analysis_result
    from promptlab.reports.memory import memory_result, memory_runs

    warehouse = call.warehouse()
    options = warehouse.report_options()
    with warehouse.built() as con:
        task_ids = selected_tasks(con, task)
        of_memory = {
            run_id: memory_result(con, run_id, options)
            for run_id in memory_runs(con).intersection(task_ids)
            if call.format == "table"
        }
        results = [analysis_result(con, task_id, options) for task_id in task_ids]
    if call.format == "json":
        texts = [result.as_json() for result in results]
        print_json(texts[0] if len(texts) == 1 else f"[{','.join(texts)}]")
    elif call.format == "csv":
        _print_cases(results)
    else:
        for result in results:
            _print_task(result, wide=call.wide)
            if figures := of_memory.get(result.task.task_id):
                _print_memory(figures, wide=call.wide)
    return 0


def _print_cases(results: Sequence[AnalysisResult]) -> None:
    """Print a line per case; with several tasks, each line starts with its task."""
    several = len(results) > 1
    dimensions = list(
        dict.fromkeys(d.dimension_id for result in results for d in result.dimensions)
    )
    names = ("case_id", "status", "must_have_pass", "aggregated_score", *dimensions)
    print_rows(
        (*(["task_id"] if several else []), *names),
        [
            (
                *([result.task.task_id] if several else []),
                case.case_id,
                case.status,
                case.must_have_pass,
                case.aggregated_score,
                *(case.dimension_scores.get(d) for d in dimensions),
            )
            for result in results
            for case in result.case_results
        ],
        "csv",
    )


_DIMENSIONS = Table(
    columns=(
        Column("dimension", plain, "name"),
        Column("score", score, "score"),
        Column("95% interval", interval, "ci_low", "ci_high"),
        Column("target", target, "target_status"),
        Column("weight", plain, "weight"),
        Column("cases", plain, "n_cases"),
    ),
    wide=(
        Column("id", ident, "dimension_id"),
        Column("diagnosis", plain, "diagnosis"),
    ),
)


class _Failure(NamedTuple):
    """The first reason why a case did not pass."""

    place: str | None
    reason: str | None
    is_code: bool = False
    """The reason is a code, which tables print as words."""


def _first_failure(case: CaseResult) -> _Failure:
    """Return the first difference, assertion, error, feedback or worst score."""
    if case.differences:
        first = case.differences[0]
        return _Failure(first.pointer, first.reason, is_code=True)
    for status in ("fail", "error", "unevaluated"):
        for assertion in case.assertions:
            if assertion.status == status:
                return _Failure(assertion.name, assertion.reason)
    bad = {
        outcome.round_id: outcome for outcome in case.rounds if outcome.status != "pass"
    }
    for outcome in bad.values():
        if outcome.error_code or outcome.feedback:
            return _Failure(None, outcome.error_code or outcome.feedback)
    scored = [
        evidence
        for evidence in case.evidences
        if evidence.round_id in bad
        and isinstance(evidence.payload.get("score"), int | float)
        and not evidence.summary.endswith("%")  # the number alone is no reason
    ]
    if not scored:
        return _Failure(None, None)
    worst = min(scored, key=lambda evidence: evidence.payload["score"])
    return _Failure(worst.dimension_id, worst.summary)


def _reason(failure: _Failure) -> Cell:
    if failure.is_code or failure.reason is None:
        return words(failure.reason)
    line = failure.reason.strip().partition("\n")[0].rstrip()
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 1].rstrip()}…"
    return path(line)  # so that a long address can be wrapped


_LONGEST = 80


class _BadCase(NamedTuple):
    """A row of the table of cases that did not pass."""

    case_id: str
    status: str
    aggregated_score: float | None
    failure: _Failure


def _cases_table(cases: Sequence[_BadCase]) -> Table:
    """Return the table of cases, without the columns that are empty for all."""
    columns = [
        Column("case", ident, "case_id"),
        Column("status", judged, "status"),
        Column("score", score, "aggregated_score"),
    ]
    if any(case.failure.place for case in cases):
        columns.append(
            Column("differs at", lambda failure: plain(failure.place), "failure")
        )
    if any(case.failure.reason for case in cases):
        columns.append(Column("reason", _reason, "failure"))
    return Table(columns=tuple(columns))


_MOST_CASES = 30


def _print_task(result: AnalysisResult, *, wide: bool) -> None:
    task, summary = result.task, result.summary
    if result.gate is not None:
        print_headline(result.gate)
    print_text(f"{result.title}  {task.task_id}  {task.prompt_version}  {task.model}")
    print_text(summary.conclusion)
    if result.errors_text is not None:
        print_text(result.errors_text)
    for alert in summary.alerts:
        sign = judged(alert.severity)
        print_text(
            alert.message,
            lead=spoken("  {severity}: ", severity=sign.text),
            lead_style=sign.style,
        )
    click.echo()
    print_table(result.dimensions, _DIMENSIONS, wide=wide)
    bad = [c for c in result.case_results if c.status != "pass"]
    shown = bad if wide else bad[:_MOST_CASES]
    if bad:
        click.echo()
        rows = [
            _BadCase(
                case.case_id, case.status, case.aggregated_score, _first_failure(case)
            )
            for case in shown
        ]
        print_table(rows, _cases_table(rows), wide=wide)
    if shown != bad:
        more = len(bad) - len(shown)
        print_text(spoken("{n} more that did not pass: --wide lists them", n=more))


_TIMES = Table(
    columns=(
        Column("operation", words, "operation"),
        Column("stage", plain, "stage"),
        Column("calls", plain, "n_calls"),
        Column("mean ms", milliseconds, "mean_ms"),
        Column("p50 ms", milliseconds, "p50_ms"),
        Column("p95 ms", milliseconds, "p95_ms"),
    ),
    wide=(
        Column("min ms", milliseconds, "min_ms"),
        Column("p90 ms", milliseconds, "p90_ms"),
        Column("p99 ms", milliseconds, "p99_ms"),
        Column("max ms", milliseconds, "max_ms"),
    ),
)


def _print_memory(result: MemoryResult, *, wide: bool) -> None:
    """Print the scores of a memory run by category, and the times of its calls."""
    from promptlab.reports.texts import catalogue

    texts, metrics = catalogue(result.lang), result.metrics
    rules = (
        texts.label("memory_view", "last_round"),
        texts.label("memory_failed", "as_zero"),
        texts.label("memory_average", "micro"),
    )
    headings = {name: texts.label("memory_metric", name) for name in metrics}
    scores = [Column(heading, score, name) for name, heading in headings.items()]
    table = Table(
        columns=(
            Column("category", named, "category", "name"),
            Column("questions", plain, "n_questions"),
            Column("failed", plain, "n_failed"),
            Column("95% interval", interval, "ci_low", "ci_high"),
            *scores[:2],
        ),
        wide=tuple(scores[2:]),
    )
    names = ("n_questions", "n_failed", "ci_low", "ci_high")
    rows = []
    for category in result.categories:
        headlines = [result.headline(category.category, metric) for metric in metrics]
        first = next(iter(headlines), None)
        rows.append(
            (
                category.category,
                category.name,
                *(getattr(first, name, None) for name in names),
                *(headline and headline.score for headline in headlines),
            )
        )
    if metrics:
        click.echo()
        print_text(texts.text("word.comma").join(rules))
        print_rows(("category", "name", *names, *metrics), rows, "table", table,
                   wide=wide)  # fmt: skip
    if result.timings:
        click.echo()
        print_table(result.timings, _TIMES, wide=wide)


# ---------- trends


# The newest tasks of the title, in the order of time; one row per task and subject.
_TRENDS = """
    select
        task_id, created_at, variant, prompt_version, model, subject, value, ci_low,
        ci_high, n, change
    from marts.fct_trends
    where
        title = $title and measure = $measure
        and ($subject is null or subject = $subject)
    qualify
        dense_rank() over (partition by variant order by task_number desc) <= $last
    order by variant, subject nulls first, task_number
"""


def _trends_table(unit: str) -> Table:
    """Measures that are shares, shown as 0 to 100."""
    is_share = unit == "share"
    number = milliseconds if unit == "ms" else plain
    return Table(
        columns=(
            Column("task", ident, "task_id"),
            Column("version", plain, "prompt_version"),
            Column("created", day, "created_at"),
            Column("value", score if is_share else number, "value"),
            Column(
                "95% interval",
                interval if is_share else plain_interval,
                "ci_low",
                "ci_high",
            ),
            Column("change", points if is_share else number, "change"),
        ),
        wide=(
            Column("model", plain, "model"),
            Column("at", plain, "created_at"),
            Column("of", plain, "n"),
        ),
        by=("variant", "subject"),
    )


@click.command("trends", short_help="Show one number of a title over time.")
@titled
@click.option(
    "--measure",
    default="overall_score",
    show_default=True,
    help="Measure, such as pass_rate, dimension_score, tag_score, cost_total.",
)
@click.option("--subject", help="Only this dimension, or tag.")
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, help="Tasks."
)
@common()
def trends(
    call: Call, title: str | None, measure: str, subject: str | None, last: int
) -> int:
    """Follow one number of a title's tasks over time.

    TITLE defaults to that of the latest task. Changes are from task to task and
    unpaired; `promptlab compare` tests whether a change is significant.
    """
    from promptlab.history import trend_unit

    with call.warehouse().built() as con:
        title = title or _latest_title(con)
        unit = trend_unit(con, measure)
        parameters = {
            "title": title,
            "measure": measure,
            "subject": subject,
            "last": last,
        }
        columns, rows = fetched(con, _TRENDS, parameters)
        if not rows and call.format == "table":
            raise NothingToDo(
                f"trends: {_reason_for_nothing(con, title, measure, subject)}"
            )
    if call.format == "table":
        from promptlab.reports.texts import catalogue

        label = catalogue(call.settings.lang).label("trend_measure", measure)
        print_text(spoken("{title}: {label}", title=title, label=label))
    call.print_rows(columns, rows, _trends_table(unit))
    return 0


def _latest_title(con: duckdb.DuckDBPyConnection) -> str:
    row = con.execute(
        "select title from marts.dim_tasks where role = 'full'"
        " order by created_at desc, task_id desc"
        " limit 1"
    ).fetchone()
    if row is None:
        raise NothingToDo("the warehouse holds no task yet; `promptlab run PATH`")
    return str(row[0])


def _reason_for_nothing(
    con: duckdb.DuckDBPyConnection, title: str, measure: str, subject: str | None
) -> str:
    of_title = con.execute("select 1 from marts.dim_tasks where title = ?", [title])
    if of_title.fetchone() is None:
        return nothing_titled(con, title)
    subject_clause = f" of {subject!r}" if subject else ""
    return f"no task titled {title!r} has {measure}{subject_clause}"


# ---------- flaky


_FLAKY = """
    with listed as (
        select *
        from marts.fct_flaky_cases
        where $title is null or title = $title
        order by
            abs(pass_rate - 0.5), n_rounds desc, title, case_id, variant, prompt_version
        limit $limit
    ),
    known as (
        select
            tasks.title, tasks.variant, odds.case_id,
            max_by(odds.is_known_flaky, tasks.run_number) as is_known_flaky
        from marts.fct_case_odds as odds
        inner join marts.dim_tasks as tasks using (task_id)
        group by all
    )

    select
        case_id, title, variant, prompt_version, model, flaky_across, pass_rate,
        n_pass, n_fail, n_error, n_rounds, n_tasks, n_flips, flip_rate,
        coalesce(known.is_known_flaky, false) as is_known_flaky
    from listed
    left join known using (title, variant, case_id)
    order by
        min(abs(pass_rate - 0.5)) over (partition by title, variant, prompt_version),
        title, variant, prompt_version, abs(pass_rate - 0.5), n_rounds desc, case_id
"""


# Runs in which nothing changed since the run before, and those that the gate refuses. A
# run that was accepted has no odds of its own.
_UNCHANGED = """
    with runs as (
        select
            title,
            run_id,
            bool_or(odds >= $refuse_odds or p_whole <= p_whole_limit) is true
                as is_refused
        from marts.fct_verdicts
        where $title is null or title = $title
        group by title, run_id
        having
            bool_and(
                not is_first_run
                and not is_accepted
                and json_array_length(changes) = 0
            )
    )

    select title, count(*) as n_runs, count(*) filter (is_refused) as n_refused
    from runs
    group by title
    order by n_refused desc, n_runs desc, title
"""


def _flaky_across(code: str) -> Cell:
    """Return where the rounds disagree: within runs, between them, or both."""
    names = {"rounds": "within runs", "tasks": "between runs", "both": "both"}
    return Cell(spoken(names[code]))


_FLAKY_TABLE = Table(
    columns=(
        Column("case", ident, "case_id"),
        Column("passed", n_of, "n_pass", "n_rounds"),
        Column("flaky", _flaky_across, "flaky_across"),
        Column("flips", plain, "n_flips"),
    ),
    wide=(
        Column("known", plain, "is_known_flaky"),
        Column("model", plain, "model"),
        Column("pass rate", score, "pass_rate"),
        Column("failed", plain, "n_fail"),
        Column("errors", plain, "n_error"),
        Column("tasks", plain, "n_tasks"),
        Column("flip rate", score, "flip_rate"),
    ),
    by=("title", "variant", "prompt_version"),
)


@click.command("flaky", short_help="List cases that pass and fail by chance.")
@titled
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@policy_option
@common("policy")
def flaky(call: Call, title: str | None, limit: int) -> int:
    """List cases that passed and failed without any change.

    The text of the prompt, the model and the contents are the same: across the rounds
    of a task, or from one task to the next; for all tasks, or those of TITLE. Each
    title, variant and prompt version is a part. In each, cases with a pass rate near
    50 % come first. For each title it also says how many of the runs in which nothing
    changed (prompt, model, settings, assertions, judge, cases) the gate refuses, with
    the `refuse_odds` of the policy.
    """
    from promptlab.reports.gate.policy import load_policy

    odds = load_policy(call.settings.policy).rules.refuse_odds
    with call.warehouse().built() as con:
        columns, rows = fetched(con, _FLAKY, {"title": title, "limit": limit})
        of_titles = {"title": title, "refuse_odds": odds}
        unchanged = con.execute(_UNCHANGED, of_titles).fetchall()
        if not rows and title is not None:
            there = "select 1 from marts.dim_tasks where title = ? limit 1"
            if con.execute(there, [title]).fetchone() is None:
                raise NothingToDo(f"flaky: {nothing_titled(con, title)}")
    for name, n_runs, n_refused in unchanged[: None if call.wide else _MOST_TITLES]:
        note = spoken(_REFUSED, title=name, n=n_runs, refused=n_refused)
        if call.format == "table":
            print_text(note)
        else:
            call.say(note, "unchanged_runs", title=name, n=n_runs, refused=n_refused)
    if not rows and call.format == "table":
        call.say("no case is flaky")
        return 0
    call.print_rows(columns, rows, _FLAKY_TABLE)
    return 0


_MOST_TITLES = 5
_REFUSED = "{title}: nothing changed in {n} runs; the gate refuses {refused} of them"
