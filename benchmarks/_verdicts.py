"""The SQL of the verdict on runs that were made up: many suites at once, no files.

The models are those that a build runs, from the reference runs to the marts; what they read
is filled with counts instead of texts.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from promptlab.build import plan

MODELS = (
    "int_reference_runs", "int_drift_runs", "int_verdict_contents", "int_verdict_scores",
    "int_verdict_rounds", "int_round_correlations",
    "int_rounds_counted", "int_verdict_runs", "int_verdict_cases", "int_verdict_powers", "int_run_tests", "int_drift_contents", "int_drift_cases",
    "int_drift_trends", "int_test_strata", "int_test_evidence",
    "int_test_sums", "int_test_waves", "int_rank_tests", "int_exact_tests", "int_test_levels",
    "int_run_shifts", "int_cluster_sums", "int_cluster_points", "int_cluster_tests", "int_verdict_p_values", "int_run_p_values", "int_verdict_cases_tested",
    "int_verdict_assumptions", "fct_verdict_cases", "fct_verdicts", "fct_drift",
)  # fmt: skip

_INPUTS = """
create schema staging;
create schema intermediate;
create table staging.stg_tasks__cases (task_id varchar, case_id varchar, cluster_id varchar);
create schema marts;
create schema policy;
create table intermediate.int_task_variants (
    task_id varchar, title varchar, variant varchar, run_id varchar, prompt_hash varchar,
    run_number bigint,
    is_eligible boolean, is_accepted boolean, recheck_of varchar, created_at timestamptz
);
create table intermediate.int_task_baselines (
    task_id varchar, baseline_task_id varchar, baseline_source varchar
);
create table intermediate.int_case_rounds (
    task_id varchar, case_id varchar, n_rounds bigint, n_passed bigint, n_errors bigint,
    is_first_passed boolean, has_copies boolean
);
create table intermediate.int_case_results (
    task_id varchar, case_id varchar, aggregated_score double, n_rounds bigint,
    n_rounds_in_error bigint
);
create table intermediate.int_scored_rounds (
    task_id varchar, case_id varchar, dimensions_hash varchar, place bigint, score double
);
create table intermediate.int_case_contents (
    task_id varchar, case_id varchar, contents_hash varchar, assertions_hash varchar
);
create table intermediate.int_task_contents (task_id varchar, yardstick_hash varchar);
create table intermediate.int_comparisons_to_build (candidate_task_id varchar);
create table intermediate.int_recheck_cases (
    task_id varchar, case_id varchar, reference varchar, k bigint, x bigint,
    n_errors bigint, n_must_haves_lost bigint, n_copies bigint, k_before bigint, x_before bigint
);
create table intermediate.int_cases_compared (
    baseline_task_id varchar, candidate_task_id varchar, case_id varchar,
    status_change varchar, must_have_lost boolean
);
"""


@dataclass(frozen=True)
class Suites:
    """Counts of many suites over all their runs; arrays of (suite, case, run).

    The last run is the candidate, the one before it the baseline.
    """

    rounds: npt.NDArray[np.int64]
    """Rounds that were judged."""
    passes: npt.NDArray[np.int64]
    """Number of passed rounds."""
    first: npt.NDArray[np.bool_]
    """True if the first of them passed."""
    errors: npt.NDArray[np.int64]
    """Rounds in error, in addition to the others."""


def warehouse() -> duckdb.DuckDBPyConnection:
    """An empty warehouse in memory with what the models of the verdict read."""
    con = duckdb.connect()
    con.execute("set threads = 1; set TimeZone = 'UTC'")
    con.execute(_INPUTS)
    for node in _nodes():
        if node.name in ("verdict_policy", "recheck_policy", "verdict_power"):
            con.execute(f"create table {node.relation} as {node.query}")
    return con


def fill(
    con: duckdb.DuckDBPyConnection,
    suites: Suites,
    versions: Sequence[int] = (),
    variants: int = 1,
    changed: int = 0,
    cluster_size: int = 1,
    refused: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Put suites into the inputs, in the place of those that are there.

    Args:
        con: of :func:`warehouse`.
        suites: what their rounds gave; task ids are ``<suite>-<run>``.
        versions: number of the prompt version of each run; all the same by default.
        variants: how many suites in a row are the variants of one run.
        changed: how many of these have a new prompt in the last run.
        cluster_size: number of consecutive cases in a cluster.
        refused: runs that are not a reference, (suite, run).
    """
    n_suites, _, n_runs = suites.rounds.shape
    for table in (
        "intermediate.int_task_variants", "intermediate.int_task_baselines",
        "intermediate.int_case_rounds", "intermediate.int_case_contents",
        "intermediate.int_task_contents",
        "intermediate.int_case_results", "staging.stg_tasks__cases",
        "intermediate.int_comparisons_to_build", "intermediate.int_scored_rounds",
        "intermediate.int_recheck_cases",
    ):  # fmt: skip
        con.execute(f"truncate table {table}")
    con.execute(
        """
        insert into intermediate.int_task_variants
        select
            suite || '-' || run, 'suite ' || suite // $variants, 'm' || suite % $variants,
            suite // $variants || '-' || run,
            'v' || list_extract($versions::bigint[], run + 1)
            || case
                when run = $runs - 1 and suite % $variants < $changed then ' changed'
                else ''
            end,
            run + 1, true, true, null,
            '2026-01-01'::timestamptz + to_days(run::integer)
        from range($suites) as suites (suite), range($runs) as runs (run)
        """,
        {
            "versions": list(versions) or [1] * n_runs,
            "suites": n_suites,
            "runs": n_runs,
            "variants": variants,
            "changed": changed,
        },
    )
    con.execute(
        "insert into intermediate.int_task_baselines"
        " select suite || '-' || (? - 1), suite || '-' || (? - 2), 'previous'"
        " from range(?) as t (suite)",
        [n_runs, n_runs, n_suites],
    )
    if refused is not None:
        suite, run = np.nonzero(refused)
        gone = {"suite": suite, "run": run}  # noqa: F841  (DuckDB reads it by its name)
        con.execute(
            """
            update intermediate.int_task_variants set is_accepted = false
            where task_id in (select suite || '-' || run from gone);

            update intermediate.int_task_baselines as baselines set baseline_task_id = (
                select max_by(runs.task_id, runs.run_number)
                from intermediate.int_task_variants as runs
                where
                    runs.title = tasks.title
                    and runs.is_accepted
                    and runs.run_number < tasks.run_number
            )
            from intermediate.int_task_variants as tasks
            where baselines.task_id = tasks.task_id
            """
        )
    con.execute(
        "insert into intermediate.int_comparisons_to_build"
        " select task_id from intermediate.int_task_baselines"
    )
    index = np.indices(suites.rounds.shape).reshape(3, -1)
    counts = {  # noqa: F841  (DuckDB reads it by its name)
        "suite": index[0],
        "case_no": index[1],
        "run": index[2],
        "n_rounds": suites.rounds.ravel(),
        "n_passed": suites.passes.ravel(),
        "n_errors": suites.errors.ravel(),
        "is_first_passed": suites.first.ravel(),
    }
    con.execute(
        """
        insert into intermediate.int_case_rounds
        select
            suite || '-' || run, 'c' || case_no, n_rounds, n_passed, n_errors, is_first_passed, false
        from counts
        where n_rounds + n_errors > 0
        """
    )
    con.execute(
        "insert into staging.stg_tasks__cases"
        " select task_id, case_id, substr(case_id, 2)::bigint // ?"
        " from intermediate.int_case_rounds",
        [cluster_size],
    )
    con.execute(
        """
        insert into intermediate.int_case_contents
        select task_id, case_id, 'same', null from intermediate.int_case_rounds;

        insert into intermediate.int_case_results
        select task_id, case_id, null, n_rounds + n_errors, n_errors
        from intermediate.int_case_rounds;

        insert into intermediate.int_task_contents
        select task_id, 'same' from intermediate.int_task_variants
        """
    )


def fill_recheck(
    con: duckdb.DuckDBPyConnection,
    run: int,
    suite: npt.NDArray[np.int64],
    case: npt.NDArray[np.int64],
    rounds: npt.NDArray[np.int64],
    passes: npt.NDArray[np.int64],
    passes_before: npt.NDArray[np.int64],
) -> None:
    """Put new rounds of both sides of run number *run* into the inputs, a case each."""
    new = {  # noqa: F841  (DuckDB reads it by its name)
        "suite": suite,
        "case_no": case,
        "k": rounds,
        "x": passes,
        "x_before": passes_before,
    }
    con.execute(
        """
        insert into intermediate.int_recheck_cases
        select
            suite || '-' || $run, 'c' || case_no, 'rechecked', k, x, 0, 0, 0, k, x_before
        from new
        """,
        {"run": run},
    )


def fill_scores(
    con: duckdb.DuckDBPyConnection, scores: npt.NDArray[np.float64]
) -> None:
    """Put scores without verdicts into the inputs: (suite, case, run, round)."""
    none = np.zeros(scores.shape[:3], int)
    fill(con, Suites(none, none, none > 0, none))
    index = np.indices(scores.shape).reshape(4, -1)
    rounds = {  # noqa: F841  (DuckDB reads it by its name)
        "suite": index[0],
        "case_no": index[1],
        "run": index[2],
        "place": index[3] + 1,
        "score": scores.ravel(),
    }
    con.execute(
        """
        insert into intermediate.int_scored_rounds
        select suite || '-' || run, 'c' || case_no, 'same', place, score from rounds;

        insert into intermediate.int_case_contents
        select distinct task_id, case_id, 'same', null from intermediate.int_scored_rounds
        """
    )


def run(con: duckdb.DuckDBPyConnection, *, drift: bool = False) -> None:
    """Run the models over what is filled in, each into the table that the next one reads.

    Args:
        con: of :func:`warehouse`.
        drift: whether the falls over all runs are looked for, too.
    """
    for node in _nodes():
        if node.name in MODELS:
            query = node.query
            if node.name == "int_drift_runs" and not drift:
                query = f"from ({query}) limit 0"
            con.execute(f"create or replace table {node.relation} as {query}")


@functools.cache
def _nodes() -> list[plan.Node]:
    return plan.load().nodes
