"""Read a Comparison from marts: the only SQL of comparisons.

Everything comes from ``marts``; no number is computed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from promptlab.contracts.comparison import (
    COMPARISON_FORMAT_VERSION,
    CaseChange,
    CaseCounts,
    ComparedTask,
    Comparison,
    MeasureComparison,
    ScoreComparison,
)
from promptlab.errors import NothingToDo
from promptlab.reports import sentences
from promptlab.reports.queries import ASKED, EVERYTHING, Row, from_json, rows
from promptlab.reports.sentences import Speech
from promptlab.reports.texts import catalogue

if TYPE_CHECKING:
    import duckdb


_PAIR = """
select
    pairs.*,
    (
        select count(distinct others.run_number)
        from marts.dim_tasks as candidates
        inner join marts.dim_tasks as earlier
            on
                candidates.title = earlier.title
                and earlier.task_id = $baseline
        inner join marts.dim_tasks as others
            on
                candidates.title = others.title
                and candidates.variant = others.variant
                and others.role = 'full'
                and others.run_number > earlier.run_number
                and others.run_number < candidates.run_number
        where candidates.task_id = $candidate and candidates.role = 'full'
    ) as n_runs_between
from marts.fct_task_pairs as pairs
where
    pairs.baseline_task_id = $baseline and pairs.candidate_task_id = $candidate
"""

_TASK = """
select
    task_id, title, variant, prompt_version, model, testset_id, source_kind,
    epoch_us(created_at) as created_at
from marts.dim_tasks
where task_id = $task_id
"""

_NUMBERS = """
    verdict, reason, n_pairs, n_better, n_worse, n_same, baseline_score,
    candidate_score, delta, ci_low, ci_high, p_value, p_adjusted,
    smallest_detectable, n_judged, n_lost, n_gained, mcnemar_p, margin
"""

# What dimensions other than shares measured: time, tokens, cost. Over the pairs, as the
# scores next to it.
_UNITS = """
left join (
    select task_id, dimension_id, diagnosis ->> 'unit' as unit
    from marts.fct_dimension_scores
    where diagnosis ->> 'unit' in ('ms', 'tokens', 'cost', 'characters')
) as units
    on
        scores.level = 'dimension'
        and scores.candidate_task_id = units.task_id
        and scores.dimension_id = units.dimension_id
"""

_SUBJECT = """
    scores.level, scores.dimension_id as subject, scores.name,
    units.unit, scores.baseline_metric, scores.candidate_metric
"""

# Many pairs at once; the overall score of each comes first.
_SCORES = f"""
with {ASKED}

select scores.candidate_task_id, {_SUBJECT}, {_NUMBERS}
from marts.fct_task_comparisons as scores
inner join asked using (candidate_task_id, baseline_task_id)
{_UNITS}
order by
    scores.candidate_task_id, scores.level = 'overall' desc, dimension_position, subject
"""

_TAGS = f"""
select 'tag' as level, tag as subject, tag as name, {_NUMBERS}
from marts.fct_tag_comparisons
where baseline_task_id = $baseline and candidate_task_id = $candidate
order by delta nulls last, tag
"""

_MEASURES = """
select
    dimension_id, name, direction, verdict, n_pairs, n_higher, n_lower, n_same,
    baseline_value, candidate_value, delta, ci_low, ci_high, p_value, p_adjusted
from marts.fct_measure_comparisons
where baseline_task_id = $baseline and candidate_task_id = $candidate
order by name, dimension_id
"""

_NOTES = """
select baseline_task_id, note, n, facts
from marts.fct_comparison_notes
where baseline_task_id = $baseline and candidate_task_id = $candidate
order by note_position
"""

_CASES = """
select
    case_id, change, severity, reason, status_change, baseline_status,
    candidate_status, baseline_score, candidate_score, delta, must_have_lost,
    must_have_gained
from marts.fct_case_changes
where
    baseline_task_id = $baseline and candidate_task_id = $candidate
    and (
        not $only_changed
        or change <> 'same'
        or must_have_lost
        or must_have_gained
        or status_change in ('newly_failing', 'newly_fixed')
    )
order by
    must_have_lost desc,
    case change
        when 'worse' then 1 when 'not_comparable' then 2 when 'removed' then 3
        when 'added' then 4 when 'better' then 5 else 6
    end,
    case when change = 'better' then -delta else delta end,
    case_id
limit $most
"""

_DIFFERENCES = """
select list(n_cases order by step) as counts
from (
    select steps.step, count(changes.case_id) as n_cases
    from range(-10, 11) as steps (step)
    left join marts.fct_case_changes as changes
        on
            changes.baseline_task_id = $baseline
            and changes.candidate_task_id = $candidate
            and round(10 * changes.delta) = steps.step
    group by steps.step
)
"""

_CASE_SCORES = """
select
    changes.case_id, changes.dimension_id, changes.baseline_score,
    changes.candidate_score, changes.delta
from marts.fct_case_score_changes as changes
inner join marts.fct_task_comparisons as dimensions
    on
        changes.baseline_task_id = dimensions.baseline_task_id
        and changes.candidate_task_id = dimensions.candidate_task_id
        and dimensions.level = 'dimension'
        and changes.dimension_id = dimensions.dimension_id
where
    changes.baseline_task_id = $baseline
    and changes.candidate_task_id = $candidate
    and changes.case_id in (select unnest($cases))
    and changes.delta <> 0
order by
    abs(changes.delta) desc, dimensions.dimension_position, changes.dimension_id
"""

_BASELINE = """
select baseline_task_id from marts.dim_task_baselines where task_id = $task_id
"""

_CHANGES = TypeAdapter(list[CaseChange])


def comparison(
    con: duckdb.DuckDBPyConnection,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
    only_changed: bool = False,
) -> Comparison:
    """Return the comparison of *candidate* with *baseline*.

    *cases* is the number of listed cases, the worst first; all by default.

    Raises:
        UsageError: the language is unknown.
        NothingToDo: the pair is not in the marts.
    """
    language = catalogue(lang).lang
    values: dict[str, Any] = {
        "baseline": baseline,
        "candidate": candidate,
        "most": EVERYTHING if cases is None else cases,
        "only_changed": only_changed,
    }

    def every(sql: str) -> list[Row]:
        return rows(con, sql, values)

    pairs = every(_PAIR)
    if not pairs:
        raise NothingToDo(
            f"{baseline} and {candidate} have not been compared;"
            f" `promptlab compare {baseline} {candidate}` does"
        )
    pair = pairs[0]
    tasks = {
        task_id: rows(con, _TASK, {"task_id": task_id})[0]
        for task_id in (baseline, candidate)
    }
    speech = Speech.of(language, tasks[candidate].pop("source_kind"))
    tasks[baseline].pop("source_kind")
    overall, *dimensions = score_comparisons(
        con, [(candidate, baseline)], speech={candidate: speech}
    )[candidate]
    listed = every(_CASES)
    # a report has the conclusions of its dimensions, a terminal has only the notes
    told = {score.conclusion.rstrip(".。") for score in dimensions if only_changed}
    values["cases"] = [row["case_id"] for row in listed]
    return Comparison(
        baseline=ComparedTask(**tasks[baseline]),
        candidate=ComparedTask(**tasks[candidate]),
        pair_source=pair["pair_source"],
        n_runs_between=pair["n_runs_between"],
        verdict=overall.verdict,
        conclusion=overall.conclusion,
        notes=[
            note
            for row in every(_NOTES)
            if (
                note := sentences.note(speech, row | {"facts": from_json(row["facts"])})
            )
            not in told
        ],
        counts=CaseCounts(
            **{name: pair[f"n_{name}"] for name in CaseCounts.model_fields}
        ),
        overall=overall,
        differences=every(_DIFFERENCES)[0]["counts"],
        dimensions=dimensions,
        tags=[_score(row, speech) for row in every(_TAGS)],
        measures=[MeasureComparison(**row) for row in every(_MEASURES)],
        cases=_cases(listed, every(_CASE_SCORES), speech),
        lang=language,
        version=COMPARISON_FORMAT_VERSION,
    )


def baseline_of(con: duckdb.DuckDBPyConnection, task_id: str) -> str | None:
    """Return the whole id of the task's baseline, if any."""
    found = rows(con, _BASELINE, {"task_id": task_id})
    return found[0]["baseline_task_id"] if found else None


def score_comparisons(
    con: duckdb.DuckDBPyConnection,
    pairs: Sequence[tuple[str, str]],
    *,
    speech: Mapping[str, Speech],
) -> dict[str, list[ScoreComparison]]:
    """Return the scores of many comparisons, by candidate, the overall one first.

    *pairs* are candidate and baseline; a candidate has one baseline.
    """
    scores: dict[str, list[ScoreComparison]] = defaultdict(list)
    values = {
        "candidates": [candidate for candidate, _ in pairs],
        "baselines": [baseline for _, baseline in pairs],
    }
    for row in rows(con, _SCORES, values) if pairs else []:
        candidate = row.pop("candidate_task_id")
        scores[candidate].append(_score(row, speech[candidate]))
    return scores


def is_compared(con: duckdb.DuckDBPyConnection, baseline: str, candidate: str) -> bool:
    """Return true if the marts contain this pair of tasks."""
    return bool(rows(con, _PAIR, {"baseline": baseline, "candidate": candidate}))


def _score(row: Row, speech: Speech) -> ScoreComparison:
    conclusion = sentences.comparison(speech, row)
    measured = sentences.from_to(speech, row)
    if row["level"] == "dimension":
        row["name"] = speech.dimension(row["subject"], row["name"])
    del row["level"], row["margin"]
    return ScoreComparison(**row, conclusion=conclusion, measured=measured)


def _cases(
    listed: list[Row], score_rows: list[Row], speech: Speech
) -> list[CaseChange]:
    scores: dict[str, list[Row]] = defaultdict(list)
    for row in score_rows:
        scores[row.pop("case_id")].append(row)
    for case in listed:
        case["dimensions"] = scores[case["case_id"]]
        case["reason_text"] = speech.label("comparison_reason", case["reason"])
    # All at once: many times faster than one object at a time.
    return _CHANGES.validate_python(listed)
