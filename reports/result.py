"""Read an AnalysisResult from ``marts``; no score is computed here.

With limits, only rows for the page are read, so a report of a huge task stays small and
fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from promptlab.contracts.analysis_result import (
    FORMAT_VERSION,
    AlertItem,
    AnalysisResult,
    CaseResult,
    DimensionResult,
    ErrorCategory,
    EvidenceLink,
    JudgeResult,
    PastRun,
    Prompt,
    Provenance,
    ResultSummary,
    ResultTask,
    ScorerUsed,
    TargetStatus,
)
from promptlab.contracts.gate import GateResult
from promptlab.errors import NothingToDo
from promptlab.json_text.places import pointer
from promptlab.reports import sentences
from promptlab.reports.case_contents import (
    OUTCOME,
    add_contents,
    round_row,
    text_of,
)
from promptlab.reports.comparisons import baseline_of, comparison
from promptlab.reports.queries import (
    EVERYTHING,
    JUDGES,
    Row,
    from_json,
    of_contract,
    rows,
    select,
)
from promptlab.reports.report_options import NO_LIMITS, ListLimits, ReportOptions
from promptlab.reports.sentences import Speech
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb


SUMMARY = """
select
    summaries.*, weakest.name as weakest_name, weakest.score as weakest_score
from marts.fct_task_summaries as summaries
left join marts.fct_dimension_scores as weakest
    on
        summaries.task_id = weakest.task_id
        and summaries.weakest_dimension_id = weakest.dimension_id
where summaries.task_id = $task_id
"""

# A case's scores are one JSON object, which is parsed once. Pointers reach dimensions
# of any name.
HISTOGRAMS = """
with scores as (

    select
        unnest($dimensions) as dimension_id,
        unnest(cast(json_extract(dimension_scores, $pointers) as double[])) as score
    from marts.fct_case_results
    where task_id = $task_id

)

select
    dimension_id,
    least(cast(floor(10 * score) as integer), 9) as tenth,
    count(*) as n_cases
from scores
where score is not null
group by all
"""

# The worst first: those of the gate in its order, then the newly failing ones; cases
# without a score come before those with one.
CASES = """
select
    results.case_id, results.status, results.must_have_pass,
    results.reported_must_have_pass, results.aggregated_score,
    results.dimension_scores, results.notes, results.n_rounds,
    results.n_rounds_passed, cases.in_testset, cases.tags, cases.context
from marts.fct_case_results as results
inner join marts.dim_cases as cases
    on results.task_id = cases.task_id and results.case_id = cases.case_id
left join marts.fct_case_changes as changes
    on
        results.task_id = changes.candidate_task_id
        and results.case_id = changes.case_id
        and changes.baseline_task_id = $baseline
where results.task_id = $task_id
order by
    list_position(cast($named as varchar[]), results.case_id) nulls last,
    changes.status_change is not distinct from 'newly_failing' desc,
    case results.status
        when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2 else 3
    end,
    coalesce(results.aggregated_score, -1),
    cases.case_position,
    results.case_id
limit {cases}
"""

ROUNDS = f"""
select {OUTCOME}
from marts.fct_rounds as rounds
where rounds.task_id = $task_id and rounds.case_id in (select unnest($cases))
qualify row_number() over (
    partition by rounds.case_id
    order by
        case rounds.status
            when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2 else 3
        end,
        rounds.run_index,
        rounds.round_id
) <= {{rounds}}
order by rounds.case_id, rounds.run_index, rounds.round_id
"""

SCOPES = """
select
    case_id, round_id, scope, step_id, status, checks_total, checks_failed,
    checks_unevaluated, actual_source, details
from marts.fct_match_results
where task_id = $task_id and case_id in (select unnest($cases))
qualify row_number() over (
    partition by case_id, round_id
    order by
        case scope when 'intermediate' then 0 when 'aggregation' then 1 else 2 end,
        step_id
) <= {checks}
order by
    case_id, round_id,
    case scope when 'intermediate' then 0 when 'aggregation' then 1 else 2 end, step_id
"""

DIFFERENCES = """
select
    case_id, round_id, scope, step_id, field, pointer, matcher, status, reason,
    left(expected, 500) as expected, actual,
    count(*) over (partition by case_id) as n_differences
from marts.fct_check_results
where
    task_id = $task_id
    and case_id in (select unnest($cases))
    and status <> 'pass'
qualify row_number() over (
    partition by case_id order by round_id, check_no
) <= {checks}
order by case_id, round_id, check_no
"""

# Failed checks of the testset are already in the differences.
ASSERTIONS = """
select
    case_id, round_id, assertion_source as source, assertion_name as name,
    assertion_type as type, status, parent_no is not null as is_member, score, weight,
    threshold, left(expected, 500) as expected, left(reason, 500) as reason
from marts.fct_assertions
where
    task_id = $task_id
    and case_id in (select unnest($cases))
    and (assertion_source = 'tool' or status = 'pass')
qualify row_number() over (
    partition by case_id, round_id
    order by status = 'pass', assertion_source, assertion_no
) <= {checks}
order by case_id, round_id, assertion_source, assertion_no
"""

# Also those that only the baseline has.
_ERRORS = """
select
    coalesce(candidate.category, before.category) as category,
    coalesce(candidate.n_rounds, 0) as n_rounds,
    case when $baseline is not null then coalesce(before.n_rounds, 0) end
        as baseline_n_rounds,
    candidate.example
from (from marts.fct_error_categories where task_id = $task_id) as candidate
full join (from marts.fct_error_categories where task_id = $baseline) as before
    on candidate.category = before.category
order by n_rounds desc, baseline_n_rounds desc, category
"""

_ALL_ROUNDS = """
select
    (select n_rounds from marts.fct_task_summaries where task_id = $task_id) as n,
    (select n_rounds from marts.fct_task_summaries where task_id = $baseline) as before
"""

MOST_RUNS = 30

RUNS = f"""
select
    tasks.task_id, tasks.prompt_version, tasks.created_at,
    summaries.overall_score, summaries.ci_low, summaries.ci_high,
    row_number() over (order by tasks.run_number, tasks.task_id) as number
from marts.dim_tasks as tasks
inner join marts.fct_task_summaries as summaries
    on tasks.task_id = summaries.task_id
inner join marts.dim_tasks as this_task
    on
        tasks.title = this_task.title
        and tasks.variant = this_task.variant
        and (tasks.run_number, tasks.task_id)
        <= (this_task.run_number, this_task.task_id)
where this_task.task_id = $task_id and tasks.role = 'full'
order by tasks.run_number desc, tasks.task_id desc
limit {MOST_RUNS}
"""


def prompt_text(value: Any) -> str | None:
    """Return a prompt as one text: each message below its role, with blank lines."""
    if value is None or value == "":
        return None
    if isinstance(value, list):
        return "\n\n".join(_message(message) for message in value)
    return text_of(value)


def _message(message: Any) -> str:
    if not isinstance(message, dict) or "content" not in message:
        return text_of(message)
    return f"{text_of(message.get('role', 'user'))}:\n{text_of(message['content'])}"


# ---------- the result


_CASES = TypeAdapter(list[CaseResult])


def analysis_result(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    options: ReportOptions,
    *,
    limits: ListLimits = NO_LIMITS,
    baseline: str | None = None,
) -> AnalysisResult:
    """Return the AnalysisResult of one task.

    *baseline* is compared with instead of the task's own; the comparison must be in the
    marts.

    Raises:
        UsageError: the language is unknown.
        NothingToDo: the task is not in the marts.
    """
    catalogue(options.lang)  # an unknown language is reported before anything is read
    before = baseline or baseline_of(con, task_id)
    reader = _Reader(con, task_id, before, limits)
    task = reader.one(
        "dim_tasks",
        "is not in the warehouse; `promptlab runs` lists the tasks that are",
    )
    speech = Speech.for_language(options.lang, task["source_kind"])
    summary = reader.one(SUMMARY, "has no summary yet; run `promptlab build`")
    alerts = [
        _alert(row, speech) for row in reader.of_task("fct_alerts", "alert_position")
    ]
    dimension_rows = reader.of_task(
        "fct_dimension_scores", "dimension_position, dimension_id"
    )
    histograms = reader.histograms([row["dimension_id"] for row in dimension_rows])
    evidence = [
        _evidence(row, speech)
        for row in reader.of_task(
            "fct_evidence", "dimension_id, evidence_rank, case_id, round_id"
        )
    ]
    gate = options.gates_of(con, [task_id])[task_id] if baseline is None else None
    errors = reader.all(_ERRORS)
    return AnalysisResult(
        task=of_contract(ResultTask, task, title=task["given_title"]),
        summary=of_contract(
            ResultSummary,
            summary,
            alerts=alerts,
            conclusion=sentences.conclusion(speech, summary),
        ),
        dimensions=[
            _dimension(row, alerts, evidence, histograms, speech)
            for row in dimension_rows
        ],
        case_results=_cases(reader, gate, evidence, speech),
        generated_at=options.generated_at,
        version=FORMAT_VERSION,
        extras=_extras(task, dimension_rows, options),
        comparison=None
        if before is None
        else comparison(
            con,
            before,
            task_id,
            lang=options.lang,
            cases=limits.changes,
            only_changed=True,
        ),
        gate=gate,
        judges=[
            of_contract(JudgeResult, row, text=sentences.judge(speech, row))
            for row in reader.all(JUDGES, tasks=[task_id])
        ],
        prompt=_prompts(con, task_id, before),
        runs=[PastRun(**row) for row in reversed(reader.all(RUNS))],
        errors=[ErrorCategory(**row) for row in errors],
        errors_text=sentences.errors(speech, errors, *reader.all(_ALL_ROUNDS)),
    )


class _Reader:
    """The queries of one task."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        task_id: str,
        baseline: str | None,
        limits: ListLimits,
    ) -> None:
        self._con = con
        self._task_id = task_id
        self._baseline = baseline
        self._limits = {
            name: EVERYTHING if limit is None else limit
            for name, limit in vars(limits).items()
        }

    def all(self, sql: str, **values: Any) -> list[Row]:
        """Return the rows of *sql*; its limits and parameters are filled in."""
        values |= {"task_id": self._task_id, "baseline": self._baseline}
        return rows(self._con, sql.format(**self._limits), values)

    def histograms(self, dimension_ids: Sequence[str]) -> dict[str, list[int]]:
        """Return ten counts for each of these dimensions with a score."""
        histograms: dict[str, list[int]] = defaultdict(lambda: [0] * 10)
        pointers = [pointer([name]) for name in dimension_ids]
        for row in self.all(HISTOGRAMS, dimensions=dimension_ids, pointers=pointers):
            histograms[row["dimension_id"]][row["tenth"]] = row["n_cases"]
        return histograms

    def of_task(self, mart: str, order: str) -> list[Row]:
        """Return the rows of a mart for the task."""
        return select(self._con, mart, order=order, task_id=self._task_id)

    def by_case(self, source: str, case_ids: Sequence[str]) -> dict[str, list[Row]]:
        """Return the rows of a query or a mart for these cases by case."""
        if source.isidentifier():
            source = (
                f"select * exclude (task_id) from marts.{source}"
                " where task_id = $task_id and case_id in (select unnest($cases))"
            )
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in self.all(source, cases=case_ids):
            groups[row.pop("case_id")].append(row)
        return groups

    def one(self, source: str, otherwise: str) -> Row:
        """Return the only row of a query or a mart; else the message *otherwise*."""
        is_mart = source.isidentifier()
        selected = self.of_task(source, "task_id") if is_mart else self.all(source)
        if not selected:
            raise NothingToDo(f"task {self._task_id!r} {otherwise}")
        return selected[0]


def _prompts(
    con: duckdb.DuckDBPyConnection, task_id: str, baseline: str | None
) -> Prompt | None:
    """Return the prompts of a task and its baseline, if any."""
    prompts = {
        row["task_id"]: prompt_text(row["prompt"])
        for row in select(
            con, "dim_task_prompts", order="task_id", task_id=[task_id, baseline]
        )
    }
    texts = {"text": prompts.get(task_id), "baseline_text": prompts.get(baseline)}
    return Prompt(**texts) if any(texts.values()) else None


def _alert(row: Row, speech: Speech) -> AlertItem:
    return of_contract(AlertItem, row, message=sentences.alert(speech, row))


def _evidence(row: Row, speech: Speech) -> EvidenceLink:
    payload = row["payload"]
    summary = sentences.evidence(speech, row)
    payload["actual"] = sentences.measured(speech, row) or payload["actual"]
    known = {name: value for name, value in payload.items() if value not in (None, [])}
    return of_contract(EvidenceLink, row, summary=summary, payload=known)


def _dimension(
    row: Row,
    alerts: Sequence[AlertItem],
    evidence: Sequence[EvidenceLink],
    histograms: Mapping[str, list[int]],
    speech: Speech,
) -> DimensionResult:
    dimension_id = row["dimension_id"]
    for column in ("raw_metrics", "target", "diagnosis"):
        row[column] = row[column] or {}
    codes = {alert.code for alert in alerts if dimension_id in alert.dimension_ids}
    return of_contract(
        DimensionResult,
        row,
        name=speech.dimension(dimension_id, row["name"]),
        weight=row["weight_used"],
        contributions=[e for e in evidence if e.dimension_id == dimension_id],
        diagnosis=sentences.diagnosis(speech, row),
        target_status=_target_status(row["target"], row["score"], codes),
        histogram=histograms.get(dimension_id, []),
    )


_MISSED = frozenset(
    {
        "below_min_score",
        "above_max_score",
        "below_min_target",
        "above_max_target",
        "max_variance_exceeded",
    }
)
"""Codes of the alerts about a missed target."""
_UNKNOWN = frozenset({"invalid_target", "invalid_parameters"})


def _target_status(
    target: dict[str, Any], score: float | None, codes: AbstractSet[str]
) -> TargetStatus:
    """Return the status of a target.

    *codes* are those of the alerts of the dimension.
    """
    if not target:
        return "none"
    if codes & _MISSED:
        return "missed"
    if score is None or codes & _UNKNOWN:
        return "unknown"
    return "met"


def _cases(
    reader: _Reader,
    gate: GateResult | None,
    evidence: Iterable[EvidenceLink],
    speech: Speech,
) -> list[CaseResult]:
    named = [case.case_id for case in gate.cases] if gate else []
    cases = reader.all(CASES, named=named)
    by_case = partial(reader.by_case, case_ids=[case["case_id"] for case in cases])
    rounds = by_case(ROUNDS)
    scopes = by_case(SCOPES)
    differences = by_case(DIFFERENCES)
    assertions = by_case(ASSERTIONS)
    evidence_of: dict[str, list[EvidenceLink]] = defaultdict(list)
    for link in evidence:
        evidence_of[link.case_id].append(link)
    for case in cases:
        case_id = case["case_id"]
        of_case = differences.get(case_id, [])
        counts = [row.pop("n_differences") for row in of_case]
        case.update(
            dimension_scores={
                dimension_id: score
                for dimension_id, score in case["dimension_scores"].items()
                if score is not None
            },
            notes={
                name: value
                for name, value in (case["notes"] or {}).items()
                if value not in (None, [], {})
            },
            tags=case["tags"] or [],
            context=case["context"] or {},
            evidences=evidence_of.get(case_id, []),
            rounds=[round_row(row) for row in rounds.get(case_id, [])],
            scopes=[_scope(row, speech) for row in scopes.get(case_id, [])],
            n_differences=counts[0] if counts else 0,
            differences=of_case,
            assertions=assertions.get(case_id, []),
        )
    add_contents(cases, by_case)
    # All at once: many times faster than one object at a time.
    return _CASES.validate_python(cases)


def _scope(row: Row, speech: Speech) -> Row:
    return row | {"details": sentences.details(speech, row)}


def _extras(
    task: Row, dimensions: Iterable[Row], options: ReportOptions
) -> dict[str, Any]:
    extras: dict[str, Any] = dict(task["extras"] or {})
    provenance = of_contract(
        Provenance,
        task,
        commit=task["commit_sha"],
        format_version=FORMAT_VERSION,
        package_version=options.package_version,
        lang=options.lang,
        load_ids=[task["load_id"]],
        scorers=[
            of_contract(
                ScorerUsed,
                row,
                parameters=row["parameters"] or {},
                versions=row["scorer_versions"],
            )
            for row in dimensions
        ],
        given=extras.pop("promptlab", None),
    )
    return extras | {"promptlab": from_json(provenance.as_json())}
