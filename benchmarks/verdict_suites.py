"""Run the SQL of the verdict on suites that were made up: counts instead of files.

The models are those that a build runs, from the histories to ``fct_verdicts``; what
they read is filled with counts, for many suites at once.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.stored_steps import plan_with_stored_steps
from promptlab.build import plan

MODELS = (
    "int_known_outages", "int_title_runs", "int_replaced_variants",
    "int_variant_histories", "int_run_histories", "int_task_histories", "int_rechecks",
    "int_last_runs", "int_task_baselines", "int_missing_variants",
    "int_accepted_cases", "int_case_counts", "int_reference_cases",
    "int_case_comparability",
    "int_edited_cases", "int_changes_since_last_run",
    "int_odds_series", "int_odds_tasks", "int_odds_counts", "int_odds_cells",
    "int_score_cells", "int_odds_windows", "int_odds_effects",
    "int_odds_priors", "int_odds_evidence", "int_odds_cases", "int_run_odds",
    "int_rate_changes", "int_overall_rate_tests", "int_case_records", "fct_case_odds",
    "fct_gaps", "fct_verdicts",
)  # fmt: skip

Counts = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Variant = tuple[Counts, Counts]
"""Passes and rounds with a verdict, arrays of (suite, case, run); no round: 0."""

KEYS = ", ".join(f"cast(split_part(task_id, '-', {n}) as int)" for n in (1, 2, 3))
"""Suite, run and variant of a task."""

_INPUTS = """
create schema staging; create schema intermediate; create schema marts;
create schema policy;
create table intermediate.int_task_variants (
    task_id varchar, run_id varchar, prompt_hash varchar, recheck_of varchar,
    title varchar, variant varchar, provider varchar, prompt_name varchar,
    branch varchar, run_number bigint, is_base_branch boolean, is_given boolean,
    created_at timestamptz
);
create table intermediate.int_titles (task_id varchar, title varchar);
create table intermediate.int_case_rounds (
    task_id varchar, case_id varchar, n_run bigint, n_rounds bigint, n_passed bigint,
    n_cached bigint, n_errors bigint, n_unjudged bigint
);
create table intermediate.int_case_yardsticks (
    task_id varchar, case_id varchar, question_hash varchar, assertions_hash varchar,
    judge_hash varchar, yardstick varchar
);
create table intermediate.int_scored_rounds (
    task_id varchar, case_id varchar, round_id varchar, dimensions_hash varchar,
    score double
);
create table intermediate.int_task_contents (task_id varchar, settings_hash varchar);
create table intermediate.int_comparisons_to_build (candidate_task_id varchar);
create table staging.stg_tasks__cases (
    task_id varchar, case_id varchar, cluster_id varchar
);
create table staging.stg_tasks__tasks (
    task_id varchar, run_id varchar, load_id bigint, model varchar
);
create table staging.stg_loads__rejects (
    load_id bigint, record_id varchar, severity varchar
);
create table staging.stg_builds__settings (
    setting varchar, setting_name varchar, setting_value varchar, ends_on date
);
create table staging.stg_tasks__accepts (
    task_id varchar, reason varchar, cases json, accepted_at timestamptz
);
"""


@dataclass(frozen=True)
class Odds:
    """What the SQL says of the asked runs; keys are (suite, run), both from 0."""

    odds: dict[tuple[int, int], float | None]
    """Odds of the run."""
    p: dict[tuple[int, int], float]
    """Smallest p of the whole pass rate of its variants; 1 if not tested."""
    is_refused: dict[tuple[int, int], bool]


def warehouse() -> duckdb.DuckDBPyConnection:
    """Return an empty warehouse in memory with what the models of the verdict read."""
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
    con.execute(_INPUTS)
    for node in _nodes():
        if node.name == "promptlab_verdict_policy":
            con.execute(f"create table {node.relation} as {node.query}")
    return con


def fill(
    con: duckdb.DuckDBPyConnection,
    variants: Sequence[Variant],
    runs: Sequence[int],
    *,
    rechecks: Sequence[Variant] = (),
    scores: Sequence[Scores] = (),
    yardsticks: Counts | None = None,
    branches: Counts | None = None,
    clusters: Sequence[int] | None = None,
    accepted: Sequence[tuple[int, int, Sequence[int]]] = (),
    known_flaky: Sequence[tuple[int, int]] = (),
    known_outages: Sequence[tuple[int, int]] = (),
) -> None:
    """Put suites into the inputs; a task is called ``<suite>-<run>-<variant>``.

    Args:
        con: of :func:`warehouse`.
        variants: counts of each variant; all have the same suites, cases and runs.
        runs: the runs to judge.
        rechecks: further rounds of each variant, in files of their own.
        scores: of each variant, the score of the one round of a case, which has no
            verdict; nan: not asked. All or none of the variants have scores.
        yardsticks: numbers, arrays of (suite, case, run); equal where none are given.
        branches: numbers, arrays of (suite, run); 0 is the base branch.
        clusters: of each case.
        accepted: suite, run and the cases whose history a person starts there.
        known_flaky: suite and case.
        known_outages: suite and run.
    """
    parts = [
        *_counted(variants, ""),
        *_counted(rechecks, "-again"),
        *(
            _columns(np.nonzero(~np.isnan(score)), number, "", score=score)
            for number, score in enumerate(scores)
        ),
    ]
    shape = variants[0][0].shape if variants else scores[0].shape
    for name, made in {
        "rounds": {
            key: np.concatenate([part[key] for part in parts]) for key in parts[0]
        },
        "measures": _cells(np.zeros(shape, int) if yardsticks is None else yardsticks),
        "pushes": _cells(
            np.zeros((shape[0], shape[2]), int) if branches is None else branches
        ),
        "groups": {
            "case_no": np.arange(shape[1]),
            "cluster_id": np.arange(shape[1])
            if clusters is None
            else np.array(clusters),
        },
    }.items():
        con.register("made", made)
        con.execute(f"create or replace temp table {name} as select * from made")
    con.execute(_FILL)
    con.execute(
        "insert into intermediate.int_comparisons_to_build"
        " select distinct task_id from counts"
        " where list_contains($runs, run) and suffix = ''",
        {"runs": list(runs)},
    )
    for suite, run, cases in accepted:
        con.execute(
            "insert into staging.stg_tasks__accepts"
            " select task_id, 'as it should be', $cases, timestamptz '2026-12-01'"
            " from intermediate.int_task_variants"
            " where run_id = $run and recheck_of is null",
            {"run": f"{suite}-{run}", "cases": json.dumps([f"c{c}" for c in cases])},
        )
    for setting, found in (("known_flaky", "c"), ("known_outage", "")):
        for suite, number in known_flaky if found else known_outages:
            value = f"c{number}" if found else f"{suite}-{number}"
            con.execute(
                "insert into staging.stg_builds__settings values (?, ?, ?, null)",
                [setting, f"s{suite}", value],
            )


def _counted(
    variants: Sequence[Variant], suffix: str
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    for number, (passes, rounds) in enumerate(variants):
        yield _columns(np.nonzero(rounds), number, suffix, x=passes, n=rounds)


def _columns(
    place: tuple[npt.NDArray[np.int64], ...],
    variant: int,
    suffix: str,
    **values: npt.NDArray[Any],
) -> dict[str, npt.NDArray[Any]]:
    many = len(place[0])
    nothing = np.zeros(many, int), np.full(many, np.nan)
    return {
        **dict(zip(("suite", "case_no", "run"), place, strict=True)),
        "variant": np.full(many, variant),
        "suffix": np.full(many, suffix, object),
        "x": values["x"][place] if "x" in values else nothing[0],
        "n": values["n"][place] if "n" in values else nothing[0],
        "score": values["score"][place] if "score" in values else nothing[1],
    }


def _cells(numbers: Counts) -> dict[str, npt.NDArray[np.int64]]:
    names = ("suite", "case_no", "run") if numbers.ndim == 3 else ("suite", "run")
    place = np.indices(numbers.shape).reshape(numbers.ndim, -1)
    return {**dict(zip(names, place, strict=True)), "number": numbers.ravel()}


_FILL = """
create or replace temp table counts as
select
    concat_ws('-', suite, run, variant) || suffix as task_id,
    suite, run, variant, suffix, case_no, 'c' || case_no as case_id,
    x, n, case when not isnan(score) then score end as score
from rounds;
delete from intermediate.int_titles;
delete from intermediate.int_task_variants;
delete from intermediate.int_case_rounds;
delete from intermediate.int_scored_rounds;
delete from intermediate.int_case_yardsticks;
delete from intermediate.int_comparisons_to_build;
delete from staging.stg_tasks__cases;
delete from staging.stg_tasks__tasks;
delete from staging.stg_tasks__accepts;
delete from staging.stg_builds__settings;
insert into intermediate.int_task_variants
select distinct
    task_id,
    concat_ws('-', suite, run) || suffix,
    'p',
    -- some name the task, some the run
    case
        when suffix = '' then null
        when run % 2 = 0 then concat_ws('-', suite, run, variant)
        else concat_ws('-', suite, run)
    end,
    's' || suite,
    'v' || variant,
    'm' || variant,
    null,
    case when number = 0 then 'main' else 'branch ' || number end,
    run + 1,
    number = 0,
    true,
    timestamptz '2026-01-01 00:00:00+00' + run * interval 1 day
from counts
inner join pushes using (suite, run);
insert into intermediate.int_case_rounds
select
    task_id, case_id, case when score is null then n else 1 end, n, x, 0, 0,
    case when score is null then 0 else 1 end
from counts;
insert into intermediate.int_scored_rounds
select task_id, case_id, case_id, 'd', score from counts where score is not null;
insert into intermediate.int_case_yardsticks
select task_id, case_id, 'q', 'a' || number, 'j', 'y' || number
from counts
inner join measures using (suite, case_no, run);
insert into staging.stg_tasks__cases
select task_id, case_id, 'g' || cluster_id
from counts
inner join groups using (case_no);
insert into staging.stg_tasks__tasks
select task_id, run_id, 1, 'm' from intermediate.int_task_variants;
insert into intermediate.int_titles
select task_id, title from intermediate.int_task_variants;
"""


def judge(con: duckdb.DuckDBPyConnection, refuse_odds: float = 10.0) -> Odds:
    """Run the models on what :func:`fill` put in."""
    by_name = {node.name: node for node in _nodes()}
    for name in MODELS:
        node = by_name[name]
        kind = "view" if node.kind == "view" else "table"
        con.execute(f"drop {kind} if exists {node.relation}")
        con.execute(f"create {kind} {node.relation} as {node.query}")
    found = con.execute(
        """
        select
            cast(split_part(run_id, '-', 1) as int),
            cast(split_part(run_id, '-', 2) as int),
            max(odds),
            coalesce(min(p_whole), 1),
            coalesce(max(odds) >= $refuse_odds, false)
            or coalesce(bool_or(p_whole <= p_whole_limit), false)
        from marts.fct_verdicts
        group by run_id
        """,
        {"refuse_odds": refuse_odds},
    ).fetchall()
    keys = [(suite, run) for suite, run, *_ in found]
    return Odds(
        odds=dict(zip(keys, (row[2] for row in found), strict=True)),
        p=dict(zip(keys, (row[3] for row in found), strict=True)),
        is_refused=dict(zip(keys, (row[4] for row in found), strict=True)),
    )


@functools.cache
def _nodes() -> tuple[plan.Node, ...]:
    return tuple(plan_with_stored_steps().nodes)
