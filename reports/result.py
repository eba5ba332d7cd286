"""Read an AnalysisResult from ``marts``; no score is computed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from promptlab.contracts.analysis_result import (
    FORMAT_VERSION,
    AlertItem,
    AnalysisResult,
    CaseResult,
    DimensionResult,
    EvidenceLink,
    JudgeResult,
    Provenance,
    ReportedTotal,
    ReportedTotals,
    ResultSummary,
    ResultTask,
    ScorerUsed,
)
from promptlab.errors import NothingToDo
from promptlab.json_text.places import pointer
from promptlab.reports import sentences
from promptlab.reports.edition import Edition, gates_of
from promptlab.reports.gate.verdict import gate_result
from promptlab.reports.limits import WHOLE, ListLimits
from promptlab.reports.queries import tasks
from promptlab.reports.queries.cases import PROMPT, add_contents, prompt_of, round_row
from promptlab.reports.queries.comparisons import baseline_of, comparison
from promptlab.reports.queries.gate import JUDGES
from promptlab.reports.queries.rows import Row, from_json, rows
from promptlab.reports.queries.targets import target_status
from promptlab.reports.sentences import Speech
from promptlab.reports.texts.catalogue import catalogue

if TYPE_CHECKING:
    import duckdb

_CASES = TypeAdapter(list[CaseResult])
_EVERYTHING = 2**62  # a limit above the size of any table


def analysis_result(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    edition: Edition,
    *,
    limits: ListLimits = WHOLE,
    baseline: str | None = None,
) -> AnalysisResult:
    """Return the AnalysisResult of one task.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        edition: Time, language and the policy of the gate.
        limits: Maximum number of cases, rounds, checks and changes; default: all.
        baseline: The whole id of the task to compare with, instead of the baseline;
            the comparison must be in the marts.

    Raises:
        UsageError: the language is unknown.
        NothingToDo: the task is not in the marts.
    """
    catalogue(edition.lang)  # an unknown language is reported before anything is read
    before = baseline or baseline_of(con, task_id)
    reader = _Reader(con, task_id, before, limits)
    task = reader.task()
    speech = Speech.of(edition.lang, task["source_kind"])
    summary = _summary(reader.summary(), speech)
    alerts = [_alert(row, speech) for row in reader.all(tasks.ALERTS)]
    dimension_rows = reader.all(tasks.DIMENSIONS)
    histograms = reader.histograms([row["dimension_id"] for row in dimension_rows])
    evidence = [_evidence(row, speech) for row in reader.all(tasks.EVIDENCE)]
    return AnalysisResult(
        task=ResultTask(
            task_id=task["task_id"],
            title=task["title"],
            prompt_version=task["prompt_version"],
            model=task["model"],
            triggered_by=task["triggered_by"],
            env=from_json(task["env"]),
            created_at=task["created_at"],
            run_id=task["run_id"],
            variant=task["variant"],
            branch=task["branch"],
            commit=task["commit_sha"],
        ),
        summary=ResultSummary(alerts=alerts, **summary),
        dimensions=[
            _dimension(row, alerts, evidence, histograms, speech)
            for row in dimension_rows
        ],
        case_results=_cases(reader, evidence, speech),
        generated_at=edition.generated_at,
        version=FORMAT_VERSION,
        extras=_extras(task, dimension_rows, edition),
        comparison=None
        if before is None
        else comparison(con, before, task_id, lang=edition.lang, cases=limits.changes),
        gate=gates_of(con, [task_id], edition)[task_id]
        if baseline is None
        else gate_result(
            con, task_id, edition.policy, lang=edition.lang, baseline=baseline
        ),
        totals=_totals(reader.all(tasks.TOTALS)),
        judges=[_judge(row, speech) for row in reader.all(JUDGES, tasks=[task_id])],
        prompt=prompt_of(reader.all(PROMPT)),
    )


def _judge(row: Row, speech: Speech) -> JudgeResult:
    kept = {k: v for k, v in row.items() if k in JudgeResult.model_fields}
    return JudgeResult(**kept, text=sentences.judge(speech, row))


def _totals(rows: list[Row]) -> ReportedTotals | None:
    if not rows:
        return None
    agree = [row.pop("agrees") for row in rows]
    others = [
        ReportedTotal(**row)
        for row, agrees in zip(rows, agree, strict=True)
        if not agrees
    ]
    n = sum(row["reported"] is not None for row in rows)
    return ReportedTotals(n=n, n_agree=sum(agree), others=others)


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
            name: _EVERYTHING if limit is None else limit
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
        for row in self.all(
            tasks.HISTOGRAMS, dimensions=dimension_ids, pointers=pointers
        ):
            histograms[row["dimension_id"]][row["tenth"]] = row["n_cases"]
        return histograms

    def by_case(self, sql: str, case_ids: Sequence[str]) -> dict[str, list[Row]]:
        """Return the rows of *sql* for these cases by case, without the ``case_id``."""
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in self.all(sql, cases=case_ids):
            groups[row.pop("case_id")].append(row)
        return groups

    def task(self) -> Row:
        found = self.all(tasks.TASK)
        if not found:
            raise NothingToDo(
                f"task {self._task_id!r} is not in the warehouse; "
                "`promptlab runs` lists the tasks that are"
            )
        return found[0]

    def summary(self) -> Row:
        found = self.all(tasks.SUMMARY)
        if not found:
            raise NothingToDo(
                f"task {self._task_id!r} has no summary yet; run `promptlab build`"
            )
        return found[0]


def _alert(row: Row, speech: Speech) -> AlertItem:
    for column in ("dimension_ids", "case_ids", "facts"):
        row[column] = from_json(row[column])
    return AlertItem(
        severity=row["severity"],
        message=sentences.alert(speech, row),
        dimension_ids=row["dimension_ids"],
        case_ids=row["case_ids"],
        code=row["code"],
        n_cases=row["n_cases"],
    )


def _summary(row: Row, speech: Speech) -> Row:
    kept = {k: v for k, v in row.items() if k in ResultSummary.model_fields}
    return kept | {"conclusion": sentences.conclusion(speech, row)}


def _evidence(row: Row, speech: Speech) -> EvidenceLink:
    payload = from_json(row["payload"])
    row |= {"payload": payload, "facts": from_json(row["facts"])}
    summary = sentences.evidence(speech, row)
    payload["actual"] = sentences.measured(speech, row) or payload["actual"]
    return EvidenceLink(
        dimension_id=row["dimension_id"],
        case_id=row["case_id"],
        round_id=row["round_id"],
        summary=summary,
        payload=payload,
    )


def _dimension(
    row: Row,
    alerts: Sequence[AlertItem],
    evidence: Sequence[EvidenceLink],
    histograms: Mapping[str, list[int]],
    speech: Speech,
) -> DimensionResult:
    dimension_id = row["dimension_id"]
    for column in ("raw_metrics", "target", "diagnosis"):
        row[column] = from_json(row[column]) or {}
    target = row["target"]
    codes = {alert.code for alert in alerts if dimension_id in alert.dimension_ids}
    return DimensionResult(
        dimension_id=dimension_id,
        name=speech.dimension(dimension_id, row["name"]),
        score=row["score"],
        raw_metrics=row["raw_metrics"],
        weight=row["weight_used"],
        contributions=[e for e in evidence if e.dimension_id == dimension_id],
        diagnosis=sentences.diagnosis(speech, row),
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
        target_status=target_status(target, row["score"], codes),
        histogram=histograms.get(dimension_id, []),
    )


def _cases(
    reader: _Reader, evidence: Iterable[EvidenceLink], speech: Speech
) -> list[CaseResult]:
    cases = reader.all(tasks.CASES)
    by_case = partial(reader.by_case, case_ids=[case["case_id"] for case in cases])
    rounds = by_case(tasks.ROUNDS)
    scopes = by_case(tasks.SCOPES)
    differences = by_case(tasks.DIFFERENCES)
    assertions = by_case(tasks.ASSERTIONS)
    evidence_of: dict[str, list[EvidenceLink]] = defaultdict(list)
    for link in evidence:
        evidence_of[link.case_id].append(link)
    for case in cases:
        case_id = case["case_id"]
        found = differences.get(case_id, [])
        counts = [row.pop("n_differences") for row in found]
        case.update(
            dimension_scores=from_json(case["dimension_scores"]) or {},
            notes=from_json(case["notes"]) or {},
            tags=from_json(case["tags"]) or [],
            context=from_json(case["context"]) or {},
            evidences=evidence_of.get(case_id, []),
            rounds=[round_row(row) for row in rounds.get(case_id, [])],
            scopes=[_scope(row, speech) for row in scopes.get(case_id, [])],
            n_differences=counts[0] if counts else 0,
            differences=found,
            assertions=assertions.get(case_id, []),
        )
    add_contents(cases, by_case)
    # All at once: many times faster than one object at a time.
    return _CASES.validate_python(cases)


def _scope(row: Row, speech: Speech) -> Row:
    row["details"] = from_json(row["details"])
    return row | {"details": sentences.details(speech, row)}


def _extras(task: Row, dimensions: Iterable[Row], edition: Edition) -> dict[str, Any]:
    extras: dict[str, Any] = dict(from_json(task["extras"]) or {})
    own = Provenance(
        format_version=FORMAT_VERSION,
        package_version=edition.package_version,
        lang=edition.lang,
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
                target=row["target"],
            )
            for row in dimensions
        ],
        given=extras.pop("promptlab", None),
    )
    return extras | {"promptlab": from_json(own.as_json())}
