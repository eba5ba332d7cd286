"""Read the numbers for a gate from marts: the only SQL of the gate.

All tasks are read at once, so an index of hundreds of tasks needs ten queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptlab.contracts.comparison import ScoreComparison
from promptlab.contracts.gate import CaseList
from promptlab.errors import NothingToDo
from promptlab.reports.comparisons import score_comparisons
from promptlab.reports.queries import ASKED, MISSED, Row, from_json, rows
from promptlab.reports.sentences import Speech

if TYPE_CHECKING:
    import duckdb


MOST_CASES = 1_000
"""Maximum number of cases in a list; all are counted."""

KINDS = (
    "lost",
    "only_errors",
    "newly_failing",
    "must_have_lost",
    "fixed",
    "not_compared",
    "removed",
)
"""The change of a case of the baseline."""

_TASKS = """
select
    tasks.task_id, tasks.run_id, tasks.title, tasks.variant, tasks.prompt_version,
    tasks.model,
    tasks.testset_id, tasks.source_kind, epoch_us(tasks.created_at) as created_at,
    summaries.n_cases, summaries.n_pass,
    summaries.n_pass + summaries.n_fail + summaries.n_error as n_judged,
    sizes.n_cases as n_sized, sizes.n_clusters as n_clusters_sized,
    sizes.n_rounds as n_rounds_sized, sizes.within_variance,
    tasks.task_id in (
        select named.task_id from marts.dim_named_baselines as named
    ) as is_named_baseline,
    replaced.variant as replaced_variant,
    (
        select count(distinct siblings.variant)
        from marts.dim_tasks as siblings
        where siblings.run_id = tasks.run_id and siblings.title = tasks.title
    ) as n_variants
from marts.dim_tasks as tasks
inner join marts.fct_task_summaries as summaries on tasks.task_id = summaries.task_id
left join marts.fct_power as sizes on tasks.task_id = sizes.task_id
left join marts.dim_task_baselines as baselines
    on tasks.task_id = baselines.task_id and baselines.matched_by = 'title'
left join marts.dim_tasks as replaced on baselines.baseline_task_id = replaced.task_id
where tasks.task_id in (select unnest($tasks))
"""

_MEASURES = """
select task_id, measure, value, n
from marts.fct_trends
where task_id in (select unnest($tasks)) and subject is null
"""

JUDGES = """
select
    rates.task_id, rates.dimension_id, rates.judge, rates.method, rates.reason,
    rates.n_cases, rates.n_rounds, rates.n_passed, rates.raw_rate,
    rates.corrected_rate, rates.ci_low, rates.ci_high,
    rates.n_labels_fail, rates.n_labels_pass, rates.n_labels_own,
    rates.tnr, rates.tnr_low, rates.tnr_high, rates.tpr, rates.tpr_low, rates.tpr_high,
    rates.judge_reason as agreement_reason, names.name
from marts.fct_corrected_pass_rates as rates
left join marts.fct_dimension_scores as names
    on rates.task_id = names.task_id and rates.dimension_id = names.dimension_id
where rates.task_id in (select unnest($tasks)) and rates.measure = 'pass_rate'
order by rates.dimension_id, rates.judge
"""
"""Judges of tasks that have labels: the pass rate that they give, raw and corrected."""

_DIMENSIONS = """
select
    task_id, dimension_id, name, scorer, score, weight_used, is_judged, parameters,
    weight_configured > 0 as is_weighed,
    weight_used > 0 or json_exists(parameters, '$.pass_score') as decides,
    exists (
        select 1 from marts.fct_judge_verdicts as verdicts
        where
            verdicts.task_id = scores.task_id
            and verdicts.dimension_id = scores.dimension_id
            and verdicts.is_used
            and verdicts.judge not in (
                select rates.judge
                from marts.fct_corrected_pass_rates as rates
                where
                    rates.task_id = scores.task_id
                    and rates.dimension_id = scores.dimension_id
                    and rates.measure = 'pass_rate'
            )
    ) as has_unlabelled_judge
from marts.fct_dimension_scores as scores
where task_id in (select unnest($tasks))
order by weight_used desc, dimension_position, dimension_id
"""

# The task's cases, and those of the baseline that it does not have with this tag.
_TAGGED = f"""
with {ASKED},

cases as (

    select
        tags.task_id, tags.tag, results.case_id, results.status,
        2 * results.n_rounds_passed < results.n_rounds as is_mostly_failing
    from marts.dim_case_tags as tags
    inner join marts.fct_case_results as results
        on tags.task_id = results.task_id and tags.case_id = results.case_id
    where
        tags.task_id in (select unnest($tasks))
        and tags.tag in (select unnest($tags))

    union all

    select changes.candidate_task_id, tags.tag, tags.case_id, 'missing', null
    from marts.fct_case_changes as changes
    inner join asked using (candidate_task_id, baseline_task_id)
    inner join marts.dim_case_tags as tags
        on changes.baseline_task_id = tags.task_id and changes.case_id = tags.case_id
    anti join marts.dim_case_tags as kept
        on
            changes.candidate_task_id = kept.task_id
            and changes.case_id = kept.case_id
            and tags.tag = kept.tag
    where tags.tag in (select unnest($tags))

)

select
    task_id, tag, count(*) as n_cases,
    count(*) filter (status = 'pass') as n_pass,
    list(case_id order by case_id) filter (status in ('fail', 'error')) as not_passed,
    list(case_id order by case_id) filter (
        status in ('fail', 'error') and is_mostly_failing
    ) as mostly_failing,
    list(case_id order by case_id) filter (status = 'unevaluated') as unevaluated,
    list(case_id order by case_id) filter (status = 'missing') as missing
from cases
group by task_id, tag
"""

_ALERTS = """
select task_id, code, severity, dimension_ids
from marts.fct_alerts
where task_id in (select unnest($tasks))
order by alert_position
"""

_PARTIAL = """
with asked as (

    select unnest($tasks) as task_id
    union
    select unnest($baselines)

),

-- a run that was not shipped with all of its variants hides what it lost
hiding as (

    select distinct tasks.title, tasks.run_id
    from marts.dim_tasks as tasks
    inner join marts.fct_decisions as decisions using (task_id)
    where decisions.is_newest and decisions.decision not in ('ship', 'first_run')

),

-- the runs before, of any variant: first that of the named baseline or the newest one
-- that hides nothing, else the newest
runs_before as (

    select
        tasks.task_id,
        tasks.run_id,
        tasks.title,
        earlier.run_id as run_before,
        earlier.run_number as number_before,
        row_number() over (
            partition by tasks.task_id
            order by
                hiding.run_id is null
                or coalesce(earlier.task_id = baselines.named_task_id, false) desc,
                earlier.run_number desc
        ) as place,
        max(earlier.run_number) filter (
            where earlier.task_id = baselines.named_task_id
        ) over (partition by tasks.task_id) as number_named
    from marts.dim_tasks as tasks
    inner join marts.dim_tasks as siblings using (run_id, title)
    inner join marts.dim_task_baselines as baselines
        on siblings.task_id = baselines.task_id
    inner join marts.dim_tasks as earlier
        on earlier.task_id in (baselines.baseline_task_id, baselines.previous_task_id)
    left join hiding
        on earlier.run_id = hiding.run_id and earlier.title = hiding.title
    where
        tasks.task_id in (select unnest($tasks))
        and baselines.baseline_source in ('named', 'previous')

),

-- the results of that run, and those of the others since the named one that were
-- shipped for themselves, such as of a variant that joined
expected as (

    select distinct
        runs_before.task_id,
        runs_before.run_id,
        earlier.title,
        earlier.variant,
        earlier.title = runs_before.title as is_own_title
    from runs_before
    inner join marts.dim_tasks as earlier
        on
            (
                runs_before.run_before = earlier.run_id
                or (
                    runs_before.number_before = earlier.run_number
                    and runs_before.title = earlier.title
                )
            )
            and earlier.role = 'full'
    left join marts.fct_decisions as decisions
        on earlier.task_id = decisions.task_id and decisions.is_newest
    where
        runs_before.place = 1
        or (
            decisions.decision in ('ship', 'first_run')
            and (runs_before.number_before < runs_before.number_named) is not true
        )

)

select
    task_id,
    case when n_rows_held = 0 then 'totals_only' else 'partial' end as why,
    n_rows_held as n,
    n_rows_claimed as n_total,
    cast(null as varchar[]) as names
from marts.dim_tasks
semi join asked using (task_id)
where is_partial

union all

select
    task_id,
    case code when 'rejected_case' then 'rejected' else code end,
    n_cases,
    cast(facts ->> 'n_total' as bigint),
    null
from marts.fct_alerts
semi join asked using (task_id)
where code in ('rejected_case', 'duplicate_round')

union all

-- variants of the runs before that this run neither has nor compares with, whichever of
-- their runs is the baseline
select
    expected.task_id,
    'variants_gone',
    count(*) filter (where kept.title is null),
    count(*),
    list(expected.variant order by expected.variant) filter (where kept.title is null)
from expected
left join (
    select
        run_id,
        title,
        variant
    from marts.dim_tasks
    union
    select
        tasks.run_id,
        earlier.title,
        earlier.variant
    from marts.dim_task_baselines as baselines
    inner join marts.dim_tasks as tasks using (task_id)
    inner join marts.dim_tasks as earlier
        on baselines.baseline_task_id = earlier.task_id
) as kept
    on
        expected.run_id = kept.run_id
        and expected.title = kept.title
        and expected.variant = kept.variant
where expected.is_own_title
group by expected.task_id
having count(*) filter (where kept.title is null) > 0

union all

-- titles of the runs before that this run does not have
select
    titles.task_id,
    'titles_gone',
    count(*) filter (where kept.title is null),
    count(*),
    list(titles.title order by titles.title) filter (where kept.title is null)
from (select distinct task_id, run_id, title from expected) as titles
left join (select distinct run_id, title from marts.dim_tasks) as kept
    on titles.run_id = kept.run_id and titles.title = kept.title
group by titles.task_id
having count(*) filter (where kept.title is null) > 0
"""

# Lost are passing cases that no longer pass, and lost must-haves: one list, so that the
# count always matches the cases named next to it; without those whose rounds all ended
# in an error, which gave no answer. A case that was judged or scored in the
# baseline is not compared if it is gone, has lost its verdict (whatever still scores
# it) or its score, or was asked or expected something else; and if it fails, and gave
# no answer there: it may have broken since.
_CHANGES = f"""
with {ASKED},

kinds as (select unnest($kinds) as kind)

select
    changes.candidate_task_id as task_id, kinds.kind, changes.case_id,
    count(*) over (partition by changes.candidate_task_id, kinds.kind) as n
from marts.fct_case_changes as changes
inner join asked using (candidate_task_id, baseline_task_id)
inner join kinds
    on
        case kinds.kind
            when 'fixed' then changes.status_change = 'newly_fixed'
            when 'removed' then changes.change = 'removed'
            when 'must_have_lost' then changes.must_have_lost
            when 'newly_failing' then changes.status_change = 'newly_failing'
            when 'not_compared'
                then
                    changes.status_change is null
                    and (
                        changes.baseline_status in ('pass', 'fail', 'error')
                        or changes.is_baseline_scored and changes.delta is null
                    )
                    or (
                        changes.baseline_status = 'error'
                        and changes.candidate_status = 'fail'
                    )
            when 'only_errors'
                then
                    changes.candidate_status = 'error'
                    and (
                        changes.must_have_lost
                        or changes.status_change = 'newly_failing'
                    )
            else
                changes.candidate_status is distinct from 'error'
                and (
                    changes.must_have_lost
                    or changes.status_change = 'newly_failing'
                )
        end
qualify row_number() over (
    partition by changes.candidate_task_id, kinds.kind
    order by changes.must_have_lost desc, changes.delta nulls last, changes.case_id
) <= $most
order by
    changes.candidate_task_id, kinds.kind, changes.must_have_lost desc,
    changes.delta nulls last, changes.case_id
"""

_CASES_OF_BASELINES = f"""
with {ASKED}

select candidate_task_id as task_id, count(*) as n
from marts.fct_case_changes as changes
inner join asked using (candidate_task_id, baseline_task_id)
where
    changes.is_baseline_scored
    or changes.baseline_status in ('pass', 'fail', 'error')
group by candidate_task_id
"""


_GAPS = f"""
with {ASKED}

select candidate_task_id as task_id, gap, subject, name, n_before, n_now, has_judged
from marts.fct_yardstick_gaps
inner join asked using (candidate_task_id, baseline_task_id)
order by gap, subject
"""


# The test uses the reference runs of the task's own baseline.
_CHANCE = f"""
with {ASKED}

select
    verdicts.task_id, verdicts.p_in_run as p, verdicts.p as p_alone,
    verdicts.p_unchanged,
    verdicts.p_recheck_in_run as p_recheck,
    verdicts.p_errors_as_passes, verdicts.attained_level, verdicts.power_of_one_break,
    verdicts.n_to_recheck, verdicts.n_rechecked, verdicts.n_broken_alone,
    verdicts.n_rounds_per_case, verdicts.n_rounds_run_per_case, verdicts.n_cases,
    verdicts.n_newly_failing, verdicts.n_newly_failing_by_chance,
    verdicts.n_newly_passing, verdicts.n_errors_now, verdicts.n_errors_before,
    verdicts.n_reference_runs,
    verdicts.assumptions, verdicts.n_clusters,
    verdicts.p_scores, verdicts.n_scores_listed,
    (
        select count(*)
        from marts.dim_tasks as own
        inner join marts.dim_tasks as rechecks
            on
                rechecks.recheck_of = own.task_id
                or (
                    rechecks.recheck_of = own.run_id
                    and rechecks.variant = own.variant
                )
        where own.task_id = verdicts.task_id
    ) as n_rechecks,
    verdicts.p_few <= verdicts.p_broad and verdicts.p_clusters is null
        as is_in_few_cases,
    (
        select count(*)
        from marts.fct_verdict_cases as cases
        where
            cases.task_id = verdicts.task_id
            and cases.is_rechecked is not true
            and (cases.is_listed or cases.recheck_place is not null)
    ) as n_not_asked_again,
    (
        select list(cases.case_id order by cases.p, cases.case_id)
        from marts.fct_verdict_cases as cases
        where cases.task_id = verdicts.task_id and cases.is_newly_failing
    ) as newly_failing,
    (
        select list(cases.case_id order by cases.case_id)
        from marts.fct_verdict_cases as cases
        where
            cases.task_id = verdicts.task_id
            and 2 * cases.n_passed_now >= cases.n_rounds_now
            and cases.case_id not in (
                select rounds.case_id
                from marts.fct_rounds as rounds
                where
                    rounds.task_id = verdicts.task_id
                    and rounds.status not in ('error', 'unevaluated')
                group by rounds.case_id
                having 2 * count(*) filter (not rounds.must_have_pass) > count(*)
            )
    ) as mostly_passing
from marts.fct_verdicts as verdicts
inner join asked
    on
        verdicts.task_id = asked.candidate_task_id
        and verdicts.baseline_task_id = asked.baseline_task_id
where verdicts.n_cases > 0 or verdicts.n_cases_scored > 0
"""

_RECORDS = """
select
    task_id, case_id, n_rounds_run_now as n_rounds, n_passed_run_now as n_passed,
    n_errors_now as n_errors, cases.n_rounds_run_before as n_rounds_before,
    n_passed_run_before as n_passed_before, n_rounds_now as n_rounds_counted,
    cases.n_rounds_before as n_rounds_counted_before,
    n_rounds_to_recheck as to_recheck, n_rounds_rechecked, n_passed_rechecked,
    n_errors_rechecked, n_must_haves_lost_rechecked, n_copies_rechecked,
    n_rounds_rechecked_before, n_passed_rechecked_before, recheck_reference,
    is_rechecked
from marts.fct_verdict_cases as cases
where
    task_id in (select unnest($candidates))
    and (is_listed or recheck_place is not null)
qualify row_number() over (
    partition by task_id order by recheck_place nulls last, p nulls last, case_id
) <= $most
order by task_id, recheck_place nulls last, p nulls last, case_id
"""

# Simes over the cases with a tag: few cases, each with its exact p.
_CHANCE_OF_TAGS = """
with ranked as (

    select
        verdicts.task_id, tags.tag, verdicts.p,
        count(*) over (partition by verdicts.task_id, tags.tag) as n,
        row_number() over (
            partition by verdicts.task_id, tags.tag order by verdicts.p, case_id
        ) as place
    from marts.fct_verdict_cases as verdicts
    inner join marts.dim_case_tags as tags using (task_id, case_id)
    where
        verdicts.p is not null
        and verdicts.task_id in (select unnest($candidates))
        and tags.tag in (select unnest($tags))

)

select task_id, tag, least(1, min(p * n / place)) as p
from ranked
group by task_id, tag
"""


@dataclass(frozen=True)
class Changes:
    """The comparison of a task with its baseline, for the gate."""

    baseline_task_id: str
    overall: ScoreComparison
    dimensions: Mapping[str, ScoreComparison]
    cases: Mapping[str, CaseList]
    """Cases by :data:`KINDS`."""
    n_cases: int
    """Cases of the baseline that have a verdict or a score there."""
    chance: Row | None
    """The row of ``fct_verdicts``, with lists of the newly failing cases and of those
    of which at least half of the rounds pass; ``None`` without verdicts."""
    scores: Row | None
    """The same row where rounds have scores and no verdicts."""
    records: list[Row]
    """Rows of ``fct_verdict_cases``: cases to run again or listed, the worst first."""
    tag_p: dict[str, float]
    """Chance of so many failures among the cases with a tag, by tag."""
    gaps: list[Row]
    """Parts of the baseline's evaluation that the task lacks: ``gap``, ``subject``,
    ``name``, ``n_before``, ``n_now``, ``has_judged`` of ``fct_yardstick_gaps``."""


@dataclass(frozen=True)
class GateNumbers:
    """The values of a task; shares and scores 0–1, ``None`` if unknown."""

    task: Row
    """The names and the counts of the task, the number of variants of its run
    (``n_variants``), and the size of its results: ``n_sized``
    cases that passed or failed, their ``n_rounds_sized`` on average, and
    ``within_variance``, that of the rounds of a case, known with repeats only."""
    measures: dict[str, float | None]
    """By measure of ``fct_trends``: milliseconds, tokens, cost, shares."""
    measured: dict[str, int]
    """Number of cases or rounds behind a measure."""
    dimensions: dict[str, Row]
    """Name, scorer, score and parameters by dimension."""
    tags: dict[str, Row]
    """The requested tags that at least one case has: ``n_cases`` and ``n_pass``, and
    lists of cases, ``None`` if empty: ``not_passed`` (failed, or ended in an error), of
    these ``mostly_failing`` (fewer than half of the rounds passed), ``unevaluated``,
    and ``missing``, those of the baseline that the task does not have."""
    critical_alerts: list[str]
    """Codes of the critical alerts."""
    missed_targets: list[str]
    """Names of the dimensions that missed their target."""
    judges: list[Row]
    """Those with labels: rows of :data:`JUDGES`."""
    changes: Changes | None
    """The comparison with the requested baseline, if it is in the marts."""
    partial: list[Row]
    """Evidence of missing rows of the task or its baseline: ``task_id``; the reason:
    its file holds fewer than it claims (``partial``, ``totals_only``), or some were
    faulty (``rejected``, ``duplicate_round``), or variants of the run before it are not
    in its run (``variants_gone``), or titles (``titles_gone``); ``n`` of ``n_total``
    (``None``: unknown)."""


_TaskRows = dict[str, list[Row]]
"""The rows of one task, by query."""


def gate_numbers(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    *,
    baselines: Mapping[str, str],
    tags: Sequence[str],
    lang: str,
) -> dict[str, GateNumbers]:
    """Return the numbers of these tasks.

    Args:
        con: An open connection to a built warehouse.
        task_ids: The whole ids of the tasks.
        baselines: Baselines by task id; tasks may have no baseline.
        tags: Tags whose cases to read.
        lang: Language of the sentences, ``zh`` or ``en``.

    Raises:
        NothingToDo: a task is not in the marts.
    """
    pairs = [(task, baselines[task]) for task in task_ids if task in baselines]
    values: dict[str, Any] = {
        "tasks": list(task_ids),
        "tags": list(tags),
        "candidates": [candidate for candidate, _ in pairs],
        "baselines": [baseline for _, baseline in pairs],
        "kinds": list(KINDS),
        "most": MOST_CASES,
    }
    found: dict[str, _TaskRows] = {task: defaultdict(list) for task in task_ids}
    for name, sql, wanted in (
        ("task", _TASKS, True),
        ("measures", _MEASURES, True),
        ("dimensions", _DIMENSIONS, True),
        ("judges", JUDGES, True),
        ("tags", _TAGGED, bool(tags)),
        ("alerts", _ALERTS, True),
        ("changes", _CHANGES, bool(pairs)),
        ("baseline", _CASES_OF_BASELINES, bool(pairs)),
        ("gaps", _GAPS, bool(pairs)),
        ("chance", _CHANCE, bool(pairs)),
        ("records", _RECORDS, bool(pairs)),
        ("tag_p", _CHANCE_OF_TAGS, bool(pairs and tags)),
    ):
        for row in rows(con, sql, values) if wanted else []:
            found[row["task_id"]][name].append(row)
    missing = [task for task in task_ids if not found[task]["task"]]
    if missing:
        raise NothingToDo(f"{missing[0]}: there is no such task; `promptlab runs`")
    speech = {
        task: Speech.of(lang, each["task"][0]["source_kind"])
        for task, each in found.items()
    }
    scores = score_comparisons(con, pairs, speech=speech)
    partial = rows(con, _PARTIAL, values)
    return {
        task: _numbers(
            each,
            speech[task],
            baselines.get(task),
            scores.get(task),
            [
                row
                for row in partial
                if row["task_id"] == task
                or (
                    row["task_id"] == baselines.get(task)
                    and row["why"] not in ("variants_gone", "titles_gone")
                )
            ],
        )
        for task, each in found.items()
    }


def _numbers(
    found: _TaskRows,
    speech: Speech,
    baseline: str | None,
    scores: Sequence[ScoreComparison] | None,
    partial: list[Row],
) -> GateNumbers:
    dimensions = {
        row["dimension_id"]: row
        | {
            "name": speech.dimension(row["dimension_id"], row["name"]),
            "parameters": from_json(row["parameters"]) or {},
        }
        for row in found["dimensions"]
    }
    missed = {
        dimension_id
        for row in found["alerts"]
        if row["code"] in MISSED
        for dimension_id in from_json(row["dimension_ids"]) or []
    }
    return GateNumbers(
        task=found["task"][0],
        measures={row["measure"]: row["value"] for row in found["measures"]},
        measured={row["measure"]: row["n"] for row in found["measures"]},
        dimensions=dimensions,
        tags={row["tag"]: row for row in found["tags"]},
        critical_alerts=[
            row["code"] for row in found["alerts"] if row["severity"] == "critical"
        ],
        judges=found["judges"],
        missed_targets=[d["name"] for i, d in dimensions.items() if i in missed],
        changes=None
        if baseline is None or not scores
        else _changes(found, baseline, scores, speech),
        partial=partial,
    )


_OF_DIMENSIONS = frozenset(
    {
        "baseline_unscored",
        "dimension_changed",
        "dimension_removed",
        "dimension_unscored",
        "dimension_unweighted",
        "judge_changed",
        "target_loosened",
        "verdict_removed",
    }
)
"""Gaps whose subject is a dimension."""


def _changes(
    found: _TaskRows,
    baseline: str,
    scores: Sequence[ScoreComparison],
    speech: Speech,
) -> Changes:
    cases: dict[str, list[Row]] = defaultdict(list)
    for row in found["changes"]:
        cases[row["kind"]].append(row)
    tested = next(iter(found["chance"]), None)
    chance = tested if tested and tested["n_cases"] else None
    return Changes(
        baseline_task_id=baseline,
        overall=scores[0],
        dimensions={score.subject: score for score in scores[1:]},
        cases={
            kind: CaseList(
                n=cases[kind][0]["n"] if cases[kind] else 0,
                case_ids=[row["case_id"] for row in cases[kind]],
            )
            for kind in KINDS
        },
        n_cases=sum(row["n"] for row in found["baseline"]),
        chance=chance,
        scores=tested if tested and chance is None else None,
        records=found["records"] if chance else [],
        tag_p={row["tag"]: row["p"] for row in found["tag_p"]} if chance else {},
        gaps=[
            row | {"name": speech.dimension(row["subject"], row["name"])}
            if row["gap"] in _OF_DIMENSIONS
            else row
            for row in found["gaps"]
        ],
    )
