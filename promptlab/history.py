"""Tasks over time: comparisons, baselines, the gate, re-checks, written reports.

The marts compute the numbers. A request, such as a comparison or a named baseline, is a
row in ``raw``; then only the models that depend on it are rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.build import build
from promptlab.database import dictionaries, has_relation
from promptlab.errors import (
    NothingToDo,
    SettingsError,
    StorageError,
    UsageError,
    WarehouseError,
    did_you_mean,
)
from promptlab.ingest.raw.requests import request_comparison
from promptlab.messages import say
from promptlab.reports.comparisons import comparison, is_compared
from promptlab.reports.gate.policy import Policy
from promptlab.reports.gate.verdict import gate_result, gate_results
from promptlab.task_ids import (
    left_out_files,
    require_built,
    resolve_task,
    selected_pairs,
    selected_tasks,
)

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.comparison import Comparison
    from promptlab.contracts.gate import GateResult
    from promptlab.warehouse_file import WarehouseFile


# ---------- trends


def trend_unit(con: duckdb.DuckDBPyConnection, measure: str) -> str:
    """Return the unit of a measure of ``marts.fct_trends``.

    Raises:
        UsageError: There is no such measure; the message has the nearest.
    """
    found = con.execute(
        "from policy.promptlab_trend_measures select measure, unit order by measure"
    ).fetchall()
    units: dict[str, str] = dict(found)
    if measure not in units:
        hint = did_you_mean(measure, units) or f"; there are {', '.join(units)}"
        raise UsageError(f"trends: there is no measure {measure!r}{hint}")
    return units[measure]


# ---------- comparisons


def compare(
    warehouse: WarehouseFile,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
) -> Comparison:
    """Compare two tasks; a pair that is not in the marts yet is built and stored.

    Args:
        warehouse: the warehouse of both.
        baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
            ``previous`` are those of the candidate.
        candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
        lang: language of the sentences, ``zh`` or ``en``.
        cases: number of listed cases, the worst first; all by default.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or the candidate has no baseline.
    """
    with warehouse.built() as con:
        after = _resolved(con, candidate)
        before = _resolved(con, baseline, of=after)
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
        if is_compared(con, before, after):
            return comparison(con, before, after, lang=lang, cases=cases)
    _compare_now(warehouse, [(before, after)])
    with warehouse.built() as con:
        return comparison(con, before, after, lang=lang, cases=cases)


def compare_selected(
    warehouse: WarehouseFile,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
) -> list[Comparison]:
    """Compare what two selections name; pairs that are not in the marts are built.

    The pairs are those of `selected_pairs`; *lang* and *cases* are as for `compare`.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or a candidate has no baseline.
    """
    with warehouse.built() as con:
        _require_pairs(con)
        require_built(con)
        pairs = selected_pairs(con, baseline, candidate)
        new = [pair for pair in pairs if not is_compared(con, *pair)]
    for before, after in pairs:
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
    _compare_now(warehouse, new)
    with warehouse.built() as con:
        return [comparison(con, *pair, lang=lang, cases=cases) for pair in pairs]


def _compare_now(warehouse: WarehouseFile, pairs: Sequence[tuple[str, str]]) -> None:
    """Build comparisons that are not in the marts, all at once."""
    if not pairs:
        return
    before, after = pairs[0]
    more = f", and {len(pairs) - 1} more pairs" if pairs[1:] else ""
    say(f"{before} and {after}{more} have not been compared yet; building …")

    def request(con: duckdb.DuckDBPyConnection) -> None:
        for pair in pairs:
            request_comparison(con, *pair)

    build(warehouse, request=request)


def _resolved(
    con: duckdb.DuckDBPyConnection, wanted: str, *, of: str | None = None
) -> str:
    _require_pairs(con)
    return resolve_task(con, wanted, of=of)


def _require_pairs(con: duckdb.DuckDBPyConnection) -> None:
    if not has_relation(con, "marts.fct_task_pairs"):
        raise NothingToDo(
            "this warehouse was built before tasks could be compared; `promptlab build`"
        )


# ---------- the gate of tasks; builds missing comparisons first


EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 4, "check": 3}


def judge(
    warehouse: WarehouseFile,
    task: str,
    policy: Policy,
    *,
    lang: str,
) -> list[GateResult]:
    """Check the selected tasks against a policy.

    *task* is as `selected_tasks` takes it.

    Returns:
        A result per task.

    Raises:
        UsageError: no such task, or the policy has no rules.
        NothingToDo: nothing is built, or files were loaded since.
    """
    with warehouse.built() as con:
        require_built(con)
        task_ids = selected_tasks(con, task)
        left_out = left_out_files(con, task, task_ids)
        judged = gate_results(con, task_ids, policy, lang=lang, left_out=left_out)
    for task_id, result in judged.items():
        if result.baseline_task_id is None and _is_now_compared(
            warehouse, task_id, policy, lang=lang
        ):
            with warehouse.built() as con:
                judged[task_id] = gate_result(
                    con, task_id, policy, lang=lang, left_out=left_out
                )
    return list(judged.values())


def _is_now_compared(
    warehouse: WarehouseFile, task_id: str, policy: Policy, *, lang: str
) -> bool:
    """Compare a task with the baseline of the policy, if there is one."""
    baseline = policy.rules.regression.baseline
    try:
        compare(warehouse, baseline, task_id, lang=lang, cases=0)
    except NothingToDo:
        return False
    return True


def record(
    warehouse: WarehouseFile, results: Sequence[GateResult], policy: Policy
) -> None:
    """Append the decisions to `raw.decisions`; warn if the file is read-only."""
    from promptlab.ingest.raw.requests import record_decisions

    if not results:
        return
    try:
        with warehouse.writable() as con:
            record_decisions(
                con,
                [(result.task_id, result.decision) for result in results],
                policy.hash,
            )
    except (SettingsError, StorageError, WarehouseError, OSError) as error:
        say(f"the decision was not recorded: {error}", "not_recorded")


# Tasks before the newest run of each title, of those loaded since the decision on them.
_WAITING = """
select title, variant, task_id
from (
    select
        title,
        variant,
        task_id,
        run_number,
        run_number < max(run_number) over (partition by title) as is_earlier
    from marts.dim_tasks
    where task_id in (select unnest($tasks)) and role = 'full'
    qualify row_number() over (
        partition by title, variant order by run_number desc, task_id desc
    ) <= 31
)
where is_earlier and task_id in (select unnest($loaded))
order by run_number, task_id
"""


def judge_in_order(
    warehouse: WarehouseFile, tasks: Sequence[str], policy: Policy, *, lang: str
) -> list[GateResult]:
    """Judge and record runs that were loaded together, but for the newest ones.

    A run waits until it is known whether its baseline is one. Later runs are compared
    again after each run that was not shipped, as it is none, and after one that was
    loaded again, as it is one now: the decisions are those of runs that were loaded one
    by one.

    Args:
        warehouse: the warehouse, built.
        tasks: whole ids; of each variant the newest 31, but for the newest run, are
            judged.
        policy: rules of the gate.
        lang: language of the notes, which are not kept.

    Returns:
        A result for each run that was judged.
    """
    from promptlab.ingest.raw.requests import loaded_since_decided

    with warehouse.built() as con:
        judged, loaded = to_judge(con, tasks), loaded_since_decided(con, tasks)
        waiting = dictionaries(con, _WAITING, {"tasks": judged, "loaded": loaded})
        again = dictionaries(
            con,
            "select distinct task_id from raw.decisions"
            " where task_id in (select unnest($tasks))",
            {"tasks": loaded},
        )
        stale = {row["task_id"] for row in again}
        named = dictionaries(
            con,
            "select named_task_id from marts.dim_task_baselines"
            " where named_task_id is not null",
        )
        accepted = {row["named_task_id"] for row in named}
    all_decided: list[GateResult] = []
    while waiting:
        with warehouse.built() as con:
            results = gate_results(
                con,
                [row["task_id"] for row in waiting],
                policy,
                lang=lang,
                with_smallest_drop=False,
            )
        decided: list[GateResult] = []
        unsure = {row["task_id"] for row in waiting} - accepted  # as baselines
        stopped: set[tuple[str, str]] = set()  # variants with one that is unsure
        left = []
        for row in waiting:
            result, variant = results[row["task_id"]], (row["title"], row["variant"])
            is_unsure = variant in stopped or result.baseline_task_id in unsure
            if is_unsure and decided:  # the first one waits for none
                stopped.add(variant)
                left.append(row)
                continue
            decided.append(result)
            if result.decision in _SETTLED and result.task_id not in stale:
                unsure.discard(result.task_id)
            else:
                stopped.add(variant)
        record(warehouse, decided, policy)
        all_decided += decided
        waiting = left
        if stopped:
            build(warehouse)
    return all_decided


_SETTLED = frozenset({"ship", "first_run"})
"""Decisions after which a run is the baseline of the next one."""


def exit_code(results: Iterable[GateResult], *, allow_inconclusive: bool) -> int:
    """Return the worst exit code, in the order 1, 4, 3, 0.

    *allow_inconclusive* returns 0 instead of 4, but only if at least one case was
    compared and no file was left out.
    """
    codes = set()
    for result in results:
        code = EXIT_CODES[result.verdict]
        before, missing = result.n_cases_before, result.not_compared.n
        is_whole = all(rule.rule != "all_files" for rule in result.rules)
        if code == 4 and allow_inconclusive and before > missing and is_whole:
            code = 0
        codes.add(code)
    return next(code for code in (1, 4, 3, 0) if code in codes)


# ---------- tasks built since the last ``promptlab run`` wrote its reports


# A time that is still to come is of a clock that was put back: it says nothing.
_NOT_REPORTED = """
    built_at >= coalesce(
        (
            select max(began_at)
            from raw.reported_runs
            where began_at <= current_timestamp
        ),
        '-infinity'::timestamptz
    )
"""


def to_report(
    con: duckdb.DuckDBPyConnection,
    *,
    everything: bool = False,
    built_since: datetime | None = None,
) -> list[str]:
    """Tasks without a report; ``Warehouse.to_report`` says more."""
    of_task = "true"
    if not everything:
        of_task = f"""
            task_id in (
                select candidate_task_id
                from raw.comparison_builds
                where
                    {_NOT_REPORTED}
                    and built_at >= coalesce($since, '-infinity'::timestamptz)
            )
        """
    tasks = con.execute(
        f"select task_id from marts.dim_tasks where role = 'full' and {of_task}"
        " order by created_at, task_id",
        None if everything else {"since": built_since},
    ).fetchall()
    return [row[0] for row in tasks]


def to_judge(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> list[str]:
    """Return those of the tasks that ``run`` judges, the oldest first.

    These are what was loaded since the newest decision on it, and the newest run of a
    title, with the variants that the same call loaded. Other runs were only compared
    again: the decisions on them stay.
    """
    from promptlab.ingest.raw.requests import loaded_since_decided

    wanted = set(loaded_since_decided(con, tasks))
    newest = con.execute(
        "select newest_task_id from marts.dim_variants where is_current"
    ).fetchall()
    wanted.update(str(row[0]) for row in newest)
    return [task_id for task_id in tasks if task_id in wanted]
