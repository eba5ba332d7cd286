"""Run the SQL of the verdict on suites that were made up: counts instead of files.

The models are those that a build runs, from the histories to ``fct_verdicts``; what they
read is filled with counts, for many suites at once.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from promptlab.build import plan

MODELS = (
    "int_run_histories", "int_rechecks", "int_last_runs", "int_task_baselines",
    "int_missing_variants", "int_case_comparability", "int_changes",
    "int_odds_series", "int_odds_tasks", "int_odds_counts", "int_odds_cells", "int_score_cells", "int_odds_windows",
    "int_odds_effects", "int_odds_priors", "int_odds_evidence", "int_odds_cases",
    "int_run_odds", "int_rate_changes", "int_whole_rates", "int_case_records",
    "fct_case_odds", "fct_gaps", "fct_verdicts",
)  # fmt: skip

Counts = npt.NDArray[np.int64]
Variant = tuple[Counts, Counts]
"""Passes and rounds with a verdict, arrays of (suite, case, run); no round: 0."""

_INPUTS = """
create schema staging; create schema intermediate; create schema marts;
create schema policy;
create table intermediate.int_task_variants (
    task_id varchar, run_id varchar, prompt_hash varchar, recheck_of varchar,
    title varchar, variant varchar, provider varchar, prompt_name varchar,
    branch varchar, run_number bigint, is_base_branch boolean, created_at timestamptz
);
create table intermediate.int_case_rounds (
    task_id varchar, case_id varchar, n_run bigint, n_rounds bigint, n_passed bigint,
    n_copies bigint, n_cached bigint, n_errors bigint, n_unjudged bigint
);
create table intermediate.int_case_yardsticks (
    task_id varchar, case_id varchar, assertions_hash varchar, judge_hash varchar,
    yardstick varchar
);
create table intermediate.int_scored_rounds (
    task_id varchar, case_id varchar, round_id varchar, dimensions_hash varchar,
    place bigint, score double
);
create table intermediate.int_task_contents (task_id varchar, settings_hash varchar);
create table intermediate.int_comparisons_to_build (candidate_task_id varchar);
create table staging.stg_tasks__cases (
    task_id varchar, case_id varchar, cluster_id varchar
);
create table staging.stg_tasks__tasks (
    task_id varchar, load_id bigint, model varchar
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
    con.execute("set TimeZone = 'UTC'")
    con.execute(_INPUTS)
    for node in _nodes():
        if node.name == "promptlab_verdict_policy":
            con.execute(f"create table {node.relation} as {node.query}")
    return con


def fill(
    con: duckdb.DuckDBPyConnection, variants: Sequence[Variant], runs: Sequence[int]
) -> None:
    """Put suites into the inputs; a task is called ``<suite>-<run>-<variant>``.

    Args:
        con: of :func:`warehouse`.
        variants: counts of each variant; all have the same suites, cases and runs.
        runs: the runs to judge.
    """
    columns: dict[str, list[npt.NDArray[np.int64]]] = defaultdict(list)
    for number, (passes, rounds) in enumerate(variants):
        place = np.nonzero(rounds)
        for name, values in (
            *zip(("suite", "case_no", "run"), place, strict=True),
            ("variant", np.full(len(place[0]), number)),
            ("x", passes[place]),
            ("n", rounds[place]),
        ):
            columns[name].append(values)
    made = {name: np.concatenate(parts) for name, parts in columns.items()}
    con.register("made", made)
    con.execute(
        """
        create or replace temp table counts as
        select
            concat_ws('-', suite, run, variant) as task_id, suite, run, variant,
            'c' || case_no as case_id, x, n
        from made;
        delete from intermediate.int_task_variants;
        delete from intermediate.int_case_rounds;
        delete from intermediate.int_case_yardsticks;
        delete from intermediate.int_comparisons_to_build;
        delete from staging.stg_tasks__cases;
        delete from staging.stg_tasks__tasks;
        insert into intermediate.int_task_variants
        select distinct
            task_id, concat_ws('-', suite, run), 'p', null, 's' || suite,
            'v' || variant, 'm', null, null, run + 1, true,
            timestamptz '2026-01-01 00:00:00+00' + run * interval 1 day
        from counts;
        insert into intermediate.int_case_rounds
        select task_id, case_id, n, n, x, 0, 0, 0, 0 from counts;
        insert into intermediate.int_case_yardsticks
        select task_id, case_id, 'a', 'j', 'y' from counts;
        insert into staging.stg_tasks__cases
        select task_id, case_id, null from counts;
        insert into staging.stg_tasks__tasks
        select task_id, 1, 'm' from intermediate.int_task_variants;
        """
    )
    con.execute(
        "insert into intermediate.int_comparisons_to_build"
        " select distinct task_id from counts where list_contains($runs, run)",
        {"runs": list(runs)},
    )


def judge(con: duckdb.DuckDBPyConnection) -> Odds:
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
            coalesce(max(odds) >= 10, false)
            or coalesce(bool_or(p_whole <= p_whole_limit), false)
        from marts.fct_verdicts
        group by run_id
        """
    ).fetchall()
    keys = [(suite, run) for suite, run, *_ in found]
    return Odds(
        odds=dict(zip(keys, (row[2] for row in found), strict=True)),
        p=dict(zip(keys, (row[3] for row in found), strict=True)),
        is_refused=dict(zip(keys, (row[4] for row in found), strict=True)),
    )


@functools.cache
def _nodes() -> tuple[plan.Node, ...]:
    return tuple(plan.load().nodes)
