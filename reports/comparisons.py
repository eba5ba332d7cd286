"""Read a Comparison from marts: the only SQL of comparisons.

Everything comes from ``marts``; only the runs between, and differences in bins of a
chart, are counted here.
"""

from __future__ import annotations

from collections import defaultdict
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
from promptlab.reports.queries import (
    EVERYTHING,
    Row,
    of_contract,
    rows,
    select,
)
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

# The overall score comes first. Dimensions that measure time, tokens or cost have their
# unit; their means are over the pairs, as the scores next to them.
_SCORES = """
select
    scores.*, scores.dimension_id as subject,
    case when units.unit in ('ms', 'tokens', 'cost', 'characters') then units.unit end
        as unit
from marts.fct_task_comparisons as scores
left join (
    select task_id, dimension_id, diagnosis ->> 'unit' as unit
    from marts.fct_dimension_scores
) as units
    on
        scores.level = 'dimension'
        and scores.candidate_task_id = units.task_id
        and scores.dimension_id = units.dimension_id
where
    scores.baseline_task_id = $baseline and scores.candidate_task_id = $candidate
order by scores.level = 'overall' desc, dimension_position, subject
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
    pair: dict[str, Any] = {"baseline": baseline, "candidate": candidate}
    listed = {
        "most": EVERYTHING if cases is None else cases,
        "only_changed": only_changed,
    }

    def every(sql: str, **values: Any) -> list[Row]:
        return rows(con, sql, pair | values)

    def of_pair(mart: str, order: str) -> list[Row]:
        return select(
            con,
            mart,
            order=order,
            baseline_task_id=baseline,
            candidate_task_id=candidate,
        )

    pairs = every(_PAIR)
    if not pairs:
        raise NothingToDo(
            f"{baseline} and {candidate} have not been compared;"
            f" `promptlab compare {baseline} {candidate}` does"
        )
    before, after = (
        select(con, "dim_tasks", order="task_id", task_id=task_id)[0]
        for task_id in (baseline, candidate)
    )
    speech = Speech.for_language(language, after["source_kind"])
    overall, *dimensions = (_score(row, speech) for row in every(_SCORES))
    # a report has the conclusions of its dimensions, a terminal has only the notes
    conclusions = {
        score.conclusion.rstrip(".。") for score in dimensions if only_changed
    }
    notes = [
        sentences.note(speech, row)
        for row in of_pair("fct_comparison_notes", "note_position")
    ]
    changed = every(_CASES, **listed)
    return Comparison(
        baseline=of_contract(ComparedTask, before),
        candidate=of_contract(ComparedTask, after),
        pair_source=pairs[0]["pair_source"],
        n_runs_between=pairs[0]["n_runs_between"],
        verdict=overall.verdict,
        conclusion=overall.conclusion,
        notes=[note for note in notes if note not in conclusions],
        counts=CaseCounts(
            **{name: pairs[0][f"n_{name}"] for name in CaseCounts.model_fields}
        ),
        overall=overall,
        differences=every(_DIFFERENCES)[0]["counts"],
        dimensions=dimensions,
        tags=[
            _score(row | {"level": "tag", "subject": row["tag"]}, speech)
            for row in of_pair("fct_tag_comparisons", "delta nulls last, tag")
        ],
        measures=[
            of_contract(MeasureComparison, row)
            for row in of_pair("fct_measure_comparisons", "name, dimension_id")
        ],
        cases=_cases(
            changed,
            every(_CASE_SCORES, cases=[row["case_id"] for row in changed]),
            speech,
        ),
        lang=language,
        version=COMPARISON_FORMAT_VERSION,
    )


def baseline_of(con: duckdb.DuckDBPyConnection, task_id: str) -> str | None:
    """Return the whole id of the task's baseline, if any."""
    baselines = select(con, "dim_task_baselines", order="task_id", task_id=task_id)
    return baselines[0]["baseline_task_id"] if baselines else None


def is_compared(con: duckdb.DuckDBPyConnection, baseline: str, candidate: str) -> bool:
    """Return true if the marts contain this pair of tasks."""
    return bool(rows(con, _PAIR, {"baseline": baseline, "candidate": candidate}))


def _score(row: Row, speech: Speech) -> ScoreComparison:
    row.setdefault("name", row["subject"])
    return of_contract(
        ScoreComparison,
        row,
        name=speech.dimension(row["subject"], row["name"])
        if row["level"] == "dimension"
        else row["name"],
        conclusion=sentences.comparison(speech, row),
        measured=sentences.from_to(speech, row),
    )


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
