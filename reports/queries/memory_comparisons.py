"""Marts to MemoryComparison: two memory runs, question by question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlab.contracts.memory_result import (
    ComparedQuestion,
    MemoryComparison,
    MemoryScoreComparison,
    QuestionCounts,
)
from promptlab.reports import sentences
from promptlab.reports.queries.rows import Row, from_json, rows
from promptlab.reports.sentences import Speech, category_name

if TYPE_CHECKING:
    import duckdb

MOST_CHANGED = 200
"""Changed questions that a comparison lists."""

_PAIRS = """
select
    pairs.*,
    baselines.memory_system as baseline_memory_system,
    candidates.memory_system as candidate_memory_system
from marts.fct_memory_pairs as pairs
inner join marts.dim_memory_runs as baselines
    on pairs.baseline_run_id = baselines.run_id
inner join marts.dim_memory_runs as candidates
    on pairs.candidate_run_id = candidates.run_id
where
    pairs.candidate_run_id = $candidate
    and pairs.baseline_run_id = coalesce($baseline, pairs.baseline_run_id)
    and pairs.verdict is not null
order by pairs.pair_source desc
"""

_SCORES = """
select
    scores.metric, scores.category as subject, scores.n_tasks, scores.is_right_metric,
    categories.kind, runs.dataset,
    scores.verdict, scores.reason, scores.n_pairs, scores.n_better, scores.n_worse,
    scores.n_same, scores.baseline_score, scores.candidate_score, scores.delta,
    scores.ci_low, scores.ci_high, scores.p_value, scores.p_adjusted,
    scores.smallest_detectable, scores.n_judged, scores.n_lost, scores.n_gained,
    scores.mcnemar_p, scores.margin
from marts.fct_memory_comparisons as scores
inner join marts.dim_memory_runs as runs on scores.candidate_run_id = runs.run_id
inner join marts.dim_memory_categories as categories
    on
        scores.candidate_run_id = categories.run_id
        and scores.category = categories.category
where
    scores.baseline_run_id = $baseline and scores.candidate_run_id = $candidate
order by
    scores.is_right_metric desc, scores.metric,
    case categories.kind when 'all' then 0 when 'group' then 1 else 2 end,
    scores.category
"""

_QUESTIONS = f"""
with changes as (

    select * from marts.fct_memory_question_changes
    where
        baseline_run_id = $baseline and candidate_run_id = $candidate
        and change <> 'same'

),

answers as (

    select * from marts.fct_memory_answers
    where run_id in ($baseline, $candidate) and is_last_round

)

select
    changes.task_id, changes.category, changes.change, changes.status_change,
    changes.baseline_status, changes.candidate_status, changes.baseline_score,
    changes.candidate_score, changes.delta, changes.reason,
    coalesce(after.question_index, before.question_index) as question_index,
    coalesce(after.question_text, before.question_text) as question_text,
    coalesce(after.reference_answer, before.reference_answer) as reference_answer,
    before.predicted_answer as baseline_answer,
    after.predicted_answer as candidate_answer
from changes
left join answers as before
    on
        before.run_id = $baseline
        and changes.task_id = before.task_id
        and changes.question_key = before.question_key
left join answers as after
    on
        after.run_id = $candidate
        and changes.task_id = after.task_id
        and changes.question_key = after.question_key
order by
    case changes.change
        when 'worse' then 1 when 'not_comparable' then 2 when 'removed' then 3
        when 'added' then 4 else 5
    end,
    case when changes.change = 'better' then -changes.delta else changes.delta end,
    changes.task_id, question_index, changes.question_key
limit {MOST_CHANGED}
"""


def memory_comparisons(
    con: duckdb.DuckDBPyConnection,
    candidate: str,
    *,
    lang: str,
    baseline: str | None = None,
) -> list[MemoryComparison]:
    """Return how a run did against the earlier ones that it is compared with.

    Args:
        con: An open connection to a built warehouse.
        candidate: The whole id of the run.
        lang: Language of the sentences, ``zh`` or ``en``.
        baseline: Only against this run; nothing where the pair is not kept.

    Raises:
        UsageError: there is no such language.
    """
    speech = Speech.of(lang)
    pairs = rows(con, _PAIRS, {"candidate": candidate, "baseline": baseline})
    return [_comparison(con, pair, speech) for pair in pairs]


def _comparison(
    con: duckdb.DuckDBPyConnection, pair: Row, speech: Speech
) -> MemoryComparison:
    values: dict[str, Any] = {
        "baseline": pair["baseline_run_id"],
        "candidate": pair["candidate_run_id"],
    }
    scores = [_score(row, speech) for row in rows(con, _SCORES, values)]
    overall = next(s for s in scores if s.subject == "all" and s.is_right_metric)
    return MemoryComparison(
        baseline_run_id=pair["baseline_run_id"],
        candidate_run_id=pair["candidate_run_id"],
        pair_source=pair["pair_source"],
        baseline_memory_system=pair["baseline_memory_system"],
        candidate_memory_system=pair["candidate_memory_system"],
        metric=pair["metric"],
        verdict=overall.verdict,
        conclusion=overall.conclusion,
        counts=QuestionCounts(
            **{name: pair[f"n_{name}"] for name in QuestionCounts.model_fields}
        ),
        scores=scores,
        questions=[_question(row, speech) for row in rows(con, _QUESTIONS, values)],
    )


def _score(row: Row, speech: Speech) -> MemoryScoreComparison:
    kind, margin, dataset = (row.pop(name) for name in ("kind", "margin", "dataset"))
    name = category_name(speech, dataset, row["subject"])
    facts = row | {"margin": margin, "kind": kind, "name": name}
    conclusion = sentences.memory_comparison(speech, facts)
    return MemoryScoreComparison(**row, name=name, conclusion=conclusion)


def _question(row: Row, speech: Speech) -> ComparedQuestion:
    row["reason_text"] = speech.label("comparison_reason", row.pop("reason"))
    row["reference_answer"] = from_json(row["reference_answer"])
    return ComparedQuestion(**row)
