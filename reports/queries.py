"""Marts to AnalysisResult: the only SQL of the task report.

Everything comes from ``marts``; no number is made here. With limits, only what the
page will list is read, so a report of a huge task stays small and quick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from promptlab import __version__
from promptlab.contracts.analysis_result import (
    FORMAT_VERSION,
    AlertItem,
    AnalysisResult,
    CaseResult,
    CheckDifference,
    DimensionResult,
    EvidenceLink,
    Provenance,
    ResultSummary,
    ResultTask,
    RoundOutcome,
    ScopeOutcome,
    ScorerUsed,
    TargetStatus,
)
from promptlab.errors import NothingToDo
from reports.catalogue import Lang, catalogue
from reports.limits import WHOLE, Limits
from reports.rows import Row, from_json, moment, rows

if TYPE_CHECKING:
    import duckdb

_TASK = """
select
    task_id, load_id, source_kind, title, prompt_version, model, triggered_by,
    testset_id, testset_source, pipeline_id, env, extras,
    epoch_us(created_at) as created_at
from marts.dim_tasks
where task_id = $task_id
"""

_SUMMARY = """
select
    overall_score, grade, ci_low, ci_high, coverage, pass_rate, n_cases, n_pass,
    n_fail, n_error, n_unevaluated, n_rounds, n_scored_rounds,
    case $lang when 'en' then conclusion_en else conclusion end as conclusion
from marts.fct_task_summaries
where task_id = $task_id
"""

_ALERTS = """
select
    code, severity, dimension_ids, case_ids, n_cases,
    case $lang when 'en' then message_en else message end as message
from marts.fct_alerts
where task_id = $task_id
order by alert_position
"""

_DIMENSIONS = """
select
    dimension_id, name, scorer, scoring_mode, score, weight_configured, weight_used,
    ci_low, ci_high, ci_method, ci_reason, n_cases, n_rounds, raw_metrics, target,
    parameters,
    case $lang when 'en' then diagnosis_en else diagnosis end as diagnosis
from marts.fct_dimension_scores
where task_id = $task_id
order by dimension_position, dimension_id
"""

_EVIDENCE = """
select
    dimension_id, case_id, round_id, payload,
    case $lang when 'en' then summary_en else summary end as summary
from marts.fct_evidence
where task_id = $task_id
order by dimension_id, evidence_rank, case_id, round_id
"""

# The cases that a report lists. The order by which the worst are chosen is that of
# reports.view.worst_first; they come back in the order of the input.
_LISTED = """
with listed as (

    select
        results.*,
        cases.case_position,
        cases.in_testset,
        cases.tags,
        cases.context
    from marts.fct_case_results as results
    inner join marts.dim_cases as cases
        on results.task_id = cases.task_id and results.case_id = cases.case_id
    where results.task_id = $task_id
    order by
        case results.status
            when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2 else 3
        end,
        coalesce(results.aggregated_score, -1),
        cases.case_position
    limit {cases}

)
"""

_CASES = (
    _LISTED
    + """
select
    case_id, status, must_have_pass, reported_must_have_pass, aggregated_score,
    dimension_scores, notes, n_rounds, n_rounds_passed, in_testset, tags, context
from listed
order by case_position, case_id
"""
)

_ROUNDS = (
    _LISTED
    + """
, numbered as (

    select
        rounds.*,
        row_number() over (
            partition by rounds.case_id
            order by
                case rounds.status
                    when 'fail' then 0 when 'error' then 1 when 'unevaluated' then 2
                    else 3
                end,
                rounds.run_index,
                rounds.round_id
        ) as badness
    from marts.fct_rounds as rounds
    inner join listed
        on rounds.task_id = listed.task_id and rounds.case_id = listed.case_id

)

select
    case_id, round_id, run_index, status, must_have_pass, error_code, failed_steps,
    answer, answer_chars, latency_ms, input_tokens, output_tokens,
    epoch_us(executed_at) as executed_at
from numbered
where badness <= {rounds}
order by case_id, run_index, round_id
"""
)

_SCOPES = (
    _LISTED
    + """
, numbered as (

    select
        matches.*,
        row_number() over (
            partition by matches.case_id, matches.round_id
            order by
                case matches.scope
                    when 'intermediate' then 0 when 'aggregation' then 1 else 2
                end,
                matches.step_id
        ) as scope_no
    from marts.fct_match_results as matches
    inner join listed
        on matches.task_id = listed.task_id and matches.case_id = listed.case_id

)

select
    case_id, round_id, scope, step_id, status, checks_total, checks_failed,
    checks_unevaluated, actual_source,
    case $lang when 'en' then details_en else details end as details
from numbered
where scope_no <= {checks}
order by case_id, round_id, scope_no
"""
)

_DIFFERENCES = (
    _LISTED
    + """
, numbered as (

    select
        checks.*,
        row_number() over (
            partition by checks.case_id order by checks.round_id, checks.check_no
        ) as difference_no,
        count(*) over (partition by checks.case_id) as n_differences
    from marts.fct_check_results as checks
    inner join listed
        on checks.task_id = listed.task_id and checks.case_id = listed.case_id
    where checks.status <> 'pass'

)

select
    case_id, round_id, scope, step_id, field, pointer, matcher, status, reason,
    left(expected, 500) as expected, actual, n_differences
from numbered
where difference_no <= {checks}
order by case_id, difference_no
"""
)

_EVERYTHING = 2**62  # a limit that no table reaches

# Alerts that say whether the target of a dimension was reached.
_MISSED = frozenset(
    {
        "below_min_score",
        "above_max_score",
        "below_min_target",
        "above_max_target",
        "max_variance_exceeded",
    }
)
_UNKNOWN = frozenset({"invalid_target", "invalid_parameters"})


def analysis_result(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    *,
    lang: str,
    generated_at: datetime,
    package_version: str = __version__,
    limits: Limits = WHOLE,
) -> AnalysisResult:
    """Return what the warehouse knows of one task.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        lang: Language of the sentences, ``zh`` or ``en``.
        generated_at: When the analysis is made, with its zone.
        package_version: Version of promptlab, for ``extras.promptlab``.
        limits: How many cases, rounds and checks are read; all by default.

    Raises:
        UsageError: there is no such language.
        NothingToDo: the marts hold no such task.
    """
    language = catalogue(lang).lang
    reader = _Reader(con, task_id, language, limits)
    task = reader.task()
    alerts = [_alert(row) for row in reader.all(_ALERTS)]
    dimension_rows = reader.all(_DIMENSIONS)
    evidence = [_evidence(row) for row in reader.all(_EVIDENCE)]
    return AnalysisResult(
        task=ResultTask(
            task_id=task["task_id"],
            title=task["title"],
            prompt_version=task["prompt_version"],
            model=task["model"],
            triggered_by=task["triggered_by"],
            env=from_json(task["env"]),
            created_at=moment(task["created_at"]),
        ),
        summary=ResultSummary(alerts=alerts, **reader.summary()),
        dimensions=[_dimension(row, alerts, evidence) for row in dimension_rows],
        case_results=_cases(reader, evidence),
        generated_at=generated_at,
        version=FORMAT_VERSION,
        extras=_extras(task, dimension_rows, language, package_version),
    )


class _Reader:
    """The queries of one task."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        task_id: str,
        lang: Lang,
        limits: Limits,
    ) -> None:
        self._con = con
        self._values = {"task_id": task_id, "lang": lang}
        self._limits = {
            name: _EVERYTHING if limit is None else limit
            for name, limit in vars(limits).items()
        }

    def all(self, sql: str) -> list[Row]:
        """Return the rows of *sql*; its limits and parameters are filled in."""
        text = sql.format(**self._limits)
        used = {k: v for k, v in self._values.items() if f"${k}" in text}
        return rows(self._con, text, used)

    def by_case(self, sql: str) -> dict[str, list[Row]]:
        """Return the rows of *sql* by their case, each without its ``case_id``."""
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in self.all(sql):
            groups[row.pop("case_id")].append(row)
        return groups

    def task(self) -> Row:
        found = self.all(_TASK)
        if not found:
            raise NothingToDo(
                f"task {self._values['task_id']!r} is not in the warehouse; "
                "`promptlab runs` lists the tasks that are"
            )
        return found[0]

    def summary(self) -> Row:
        found = self.all(_SUMMARY)
        if not found:
            raise NothingToDo(
                f"task {self._values['task_id']!r} has no summary yet; "
                "run `promptlab build`"
            )
        return found[0]


def _alert(row: Row) -> AlertItem:
    return AlertItem(
        severity=row["severity"],
        message=row["message"],
        dimension_ids=from_json(row["dimension_ids"]) or [],
        case_ids=from_json(row["case_ids"]) or [],
        code=row["code"],
        n_cases=row["n_cases"],
    )


def _evidence(row: Row) -> EvidenceLink:
    return EvidenceLink(**row | {"payload": from_json(row["payload"]) or {}})


def _dimension(
    row: Row, alerts: Sequence[AlertItem], evidence: Sequence[EvidenceLink]
) -> DimensionResult:
    dimension_id = row["dimension_id"]
    target = from_json(row["target"]) or {}
    return DimensionResult(
        dimension_id=dimension_id,
        name=row["name"],
        score=row["score"],
        raw_metrics=from_json(row["raw_metrics"]) or {},
        weight=row["weight_used"],
        contributions=[e for e in evidence if e.dimension_id == dimension_id],
        diagnosis=row["diagnosis"],
        weight_configured=row["weight_configured"],
        ci_low=row["ci_low"],
        ci_high=row["ci_high"],
        ci_method=row["ci_method"],
        ci_reason=row["ci_reason"],
        n_cases=row["n_cases"],
        n_rounds=row["n_rounds"],
        scorer=row["scorer"],
        scoring_mode=row["scoring_mode"],
        target=target,
        target_status=_target_status(dimension_id, target, row["score"], alerts),
    )


def _target_status(
    dimension_id: str,
    target: dict[str, Any],
    score: float | None,
    alerts: Sequence[AlertItem],
) -> TargetStatus:
    """Say what the alerts say: the rule that judges a target is theirs."""
    if not target:
        return "none"
    codes = {alert.code for alert in alerts if dimension_id in alert.dimension_ids}
    if codes & _MISSED:
        return "missed"
    if score is None or codes & _UNKNOWN:
        return "unknown"
    return "met"


def _cases(reader: _Reader, evidence: Iterable[EvidenceLink]) -> list[CaseResult]:
    rounds = reader.by_case(_ROUNDS)
    scopes = reader.by_case(_SCOPES)
    differences = reader.by_case(_DIFFERENCES)
    evidence_of: dict[str, list[EvidenceLink]] = defaultdict(list)
    for link in evidence:
        evidence_of[link.case_id].append(link)
    results = []
    for row in reader.all(_CASES):
        case_id = row["case_id"]
        found = differences.get(case_id, [])
        row["dimension_scores"] = from_json(row["dimension_scores"]) or {}
        row["notes"] = from_json(row["notes"]) or {}
        row["tags"] = from_json(row["tags"]) or []
        row["context"] = from_json(row["context"]) or {}
        results.append(
            CaseResult(
                **row,
                evidences=evidence_of.get(case_id, []),
                rounds=[_round(r) for r in rounds.get(case_id, [])],
                scopes=[ScopeOutcome(**scope) for scope in scopes.get(case_id, [])],
                n_differences=found[0]["n_differences"] if found else 0,
                differences=[_difference(d) for d in found],
            )
        )
    return results


def _round(row: Row) -> RoundOutcome:
    executed_at = row["executed_at"]
    return RoundOutcome(
        **row
        | {
            "failed_steps": _texts(from_json(row["failed_steps"])),
            "executed_at": None if executed_at is None else moment(executed_at),
        }
    )


def _difference(row: Row) -> CheckDifference:
    return CheckDifference(**{k: v for k, v in row.items() if k != "n_differences"})


def _texts(value: object) -> list[str]:
    """A list of texts from what a file called its list of steps."""
    return [str(item) for item in value] if isinstance(value, list) else []


def _extras(
    task: Row, dimensions: Iterable[Row], lang: Lang, package_version: str
) -> dict[str, Any]:
    extras: dict[str, Any] = dict(from_json(task["extras"]) or {})
    own = Provenance(
        format_version=FORMAT_VERSION,
        package_version=package_version,
        lang=lang,
        load_ids=[task["load_id"]],
        source_kind=task["source_kind"],
        testset_id=task["testset_id"],
        testset_source=task["testset_source"],
        pipeline_id=task["pipeline_id"],
        scorers=[
            ScorerUsed(
                dimension_id=row["dimension_id"],
                scorer=row["scorer"],
                scoring_mode=row["scoring_mode"],
                parameters=from_json(row["parameters"]) or {},
                target=from_json(row["target"]) or {},
            )
            for row in dimensions
        ],
        given=extras.pop("promptlab", None),
    )
    return extras | {"promptlab": own.model_dump(mode="json")}
