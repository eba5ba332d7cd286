"""The page and the JSON of one memory run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.contracts.memory import (
    MEMORY_FORMAT_VERSION,
    ForgottenQuestion,
    InvalidReason,
    MemoryAnswer,
    MemoryCategory,
    MemoryResult,
    MemoryRetention,
    MemoryRun,
    MemoryScore,
    MemoryTask,
    MemoryTiming,
)
from promptlab.errors import NothingToDo
from promptlab.reports.charts import Curve, curve
from promptlab.reports.pages import NOWHERE, Links, environment, render
from promptlab.reports.queries import Row, from_json, of_contract, rows
from promptlab.reports.sentences import Speech, category_name
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb

    from promptlab.reports.edition import Edition


# ---------- from marts


MOST_LISTED = 200
"""Maximum number of wrong answers, and of forgotten questions, in a result."""

_RUN = """
select
    run_id, dataset, run_timestamp, memory_system,
    epoch_us(started_at) as started_at,
    previous_run_id, right_metric, score_metric, right_threshold, n_tasks, n_rounds,
    total_sessions, total_dialogs, n_questions, n_valid, n_invalid, n_asked,
    n_never_asked, n_answers, n_failed
from marts.dim_memory_runs
where run_id = $run_id
"""

_CATEGORIES = """
select category, kind
from marts.dim_memory_categories
where run_id = $run_id
order by case kind when 'all' then 0 when 'group' then 1 else 2 end, category
"""

_SCORES = """
select
    scores."view", scores.test_index, scores.failed_calls, scores.category,
    scores.average, scores.metric, scores.n_questions, scores.n_failed,
    scores.n_tasks, scores.mean_dialogs_inserted, scores.score, scores.ci_low,
    scores.ci_high, scores.is_headline
from marts.fct_memory_scores as scores
left join marts.fct_dimension_scores as dimensions
    on
        scores.run_id = dimensions.task_id
        and scores.metric = dimensions.dimension_id
where scores.run_id = $run_id
order by
    case scores."view" when 'last_round' then 0 when 'by_round' then 1 else 2 end,
    scores.test_index nulls first, scores.failed_calls, scores.average desc,
    case scores.category when 'all' then 0 else 1 end, scores.category,
    dimensions.dimension_position, scores.metric
"""

_RETENTION = """
select
    "lag", metric, threshold, failed_calls, n_right_before, n_still_right,
    n_failed, retention
from marts.fct_memory_retention
where run_id = $run_id
order by "lag"
"""

_TASKS = """
select
    task_id, n_rounds, total_dialogs, n_questions, n_asked, n_never_asked,
    n_answers, n_failed
from marts.dim_memory_tasks
where run_id = $run_id
order by task_id
"""

_WRONG = f"""
select
    task_id, question_index, category, question_text, predicted_answer,
    reference_answer, status, error, right_score as score, count(*) over () as n_found
from marts.fct_memory_answers
where run_id = $run_id and is_last_round and status <> 'pass'
order by
    case status when 'error' then 0 when 'fail' then 1 else 2 end,
    right_score, task_id, question_index
limit {MOST_LISTED}
"""

_FORGOTTEN = f"""
select
    task_id, question_index, category, question_text, right_test_index,
    forgotten_test_index, answer_before, answer_after, reference_answer,
    last_status, count(*) over () as n_found
from marts.fct_memory_forgotten
where run_id = $run_id
order by
    case last_status when 'pass' then 1 else 0 end,
    forgotten_test_index desc, task_id, question_index
limit {MOST_LISTED}
"""

_INVALID = """
select reason, n_questions, n_tasks
from marts.fct_memory_invalid_reasons
where run_id = $run_id
order by n_questions desc, reason
"""

_TIMINGS = """
select
    operation, stage, n_tasks, n_calls, mean_ms, min_ms, p50_ms, p90_ms, p95_ms,
    p99_ms, max_ms
from marts.fct_memory_timings
where run_id = $run_id
order by operation, sum_ms desc, stage
"""


def memory_result(
    con: duckdb.DuckDBPyConnection, run_id: str, edition: Edition
) -> MemoryResult:
    """Return the result of one memory run.

    Raises:
        UsageError: the language is unknown.
        NothingToDo: the run is not in the marts.
    """
    language = catalogue(edition.lang).lang
    speech = Speech.of(language)

    def found(sql: str, of: str | None = run_id) -> list[Row]:
        return rows(con, sql, {"run_id": of})

    runs = found(_RUN)
    if not runs:
        raise NothingToDo(
            f"memory run {run_id!r} is not in the warehouse; "
            "`promptlab runs` lists the runs that are"
        )
    run = MemoryRun(**runs[0])
    wrong, forgotten = found(_WRONG), found(_FORGOTTEN)
    return MemoryResult(
        run=run,
        categories=[
            MemoryCategory(
                **row, name=category_name(speech, run.dataset, row["category"])
            )
            for row in found(_CATEGORIES)
        ],
        scores=[MemoryScore(**row) for row in found(_SCORES)],
        previous_headline=sorted(
            (
                MemoryScore(**row)
                for row in found(_SCORES, run.previous_run_id)
                if row["is_headline"] and row["category"] == "all"
            ),
            key=lambda score: score.metric,
        ),
        retention=[MemoryRetention(**row) for row in found(_RETENTION)],
        tasks=[MemoryTask(**row) for row in found(_TASKS)],
        n_wrong=_n_found(wrong),
        wrong=[
            of_contract(
                MemoryAnswer, row, reference_answer=from_json(row["reference_answer"])
            )
            for row in wrong
        ],
        n_forgotten=_n_found(forgotten),
        forgotten=[
            of_contract(
                ForgottenQuestion,
                row,
                reference_answer=from_json(row["reference_answer"]),
            )
            for row in forgotten
        ],
        invalid_reasons=[InvalidReason(**row) for row in found(_INVALID)],
        timings=[MemoryTiming(**row) for row in found(_TIMINGS)],
        lang=language,
        generated_at=edition.generated_at,
        version=MEMORY_FORMAT_VERSION,
        package_version=edition.package_version,
    )


def memory_runs(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the ids of all memory runs."""
    return {
        row["run_id"] for row in rows(con, "select run_id from marts.dim_memory_runs")
    }


def _n_found(found: list[Row]) -> int:
    return found[0]["n_found"] if found else 0


# ---------- the view


@dataclass(frozen=True)
class MemoryView:
    """What the page of a memory run selects of its result."""

    headline: MemoryScore | None
    previous: MemoryScore | None
    metrics: list[str]
    """Scored metrics, the run's own first."""
    categories: list[tuple[MemoryCategory, list[MemoryScore | None]]]
    """Each with its headline figures, in the order of ``metrics``."""
    rounds: list[MemoryScore]
    learning: Curve | None
    """The score of ``rounds`` over the number of inserted dialogs."""
    others: list[MemoryScore]
    """The headline metric over all questions under the other rules."""
    forgetting: Curve | None
    """The share still right, by the number of rounds later."""
    names: dict[str, str]
    """Category to its name, if any."""


def arrange_memory(result: MemoryResult) -> MemoryView:
    """Return the view of *result*."""
    own = result.run.score_metric
    headline = {(s.category, s.metric): s for s in result.scores if s.is_headline}
    scored = {s.metric: None for s in headline.values() if s.score is not None}
    metrics = sorted(scored, key=lambda metric: metric != own)
    of_all = [s for s in result.scores if s.metric == own and s.category == "all"]
    rounds = [
        score
        for score in of_all
        if score.view == "by_round"
        and score.failed_calls == "as_zero"
        and score.average == "micro"
    ]
    return MemoryView(
        headline=headline.get(("all", own or "")),
        previous=next((s for s in result.previous_headline if s.metric == own), None),
        metrics=metrics,
        categories=[
            (each, [headline.get((each.category, metric)) for metric in metrics])
            for each in result.categories
        ],
        rounds=rounds,
        learning=curve([(r.mean_dialogs_inserted, r.score) for r in rounds]),
        others=[s for s in of_all if s.view != "by_round" and not s.is_headline],
        forgetting=curve([(r.lag, r.retention) for r in result.retention]),
        names={c.category: c.name for c in result.categories if c.name is not None},
    )


# ---------- files


def to_memory_html(
    result: MemoryResult, *, templates: Path | None = None, links: Links = NOWHERE
) -> str:
    """Return the report of a memory run as one self-contained page."""
    env = environment(result.lang, templates)
    view = arrange_memory(result)
    return render(env, "memory.html.j2", result=result, view=view, links=links)


def to_memory_json(result: MemoryResult) -> str:
    """Return *result* as JSON: keys in the contract's order, letters unescaped."""
    return result.as_json() + "\n"
