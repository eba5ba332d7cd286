"""Tasks over time: trends, comparisons, the gate, written reports.

The marts compute the numbers. A requested comparison is a row in ``raw``; then only the
models that depend on it are rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from promptlab.build import build
from promptlab.errors import (
    NothingToDo,
    UsageError,
    did_you_mean,
)
from promptlab.ingest.raw.requests import request_comparison
from promptlab.messages import say
from promptlab.relations import has_relation
from promptlab.reports.comparisons import comparison, is_compared
from promptlab.reports.gate.policy import Policy
from promptlab.reports.gate.verdict import badness, gate_results
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
    rows = con.execute(
        "from policy.promptlab_trend_measures select measure, unit order by measure"
    ).fetchall()
    units: dict[str, str] = dict(rows)
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
        after = _resolve(con, candidate)
        before = _resolve(con, baseline, relative_to=after)
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
        for before, after in pairs:
            if before == after:
                raise UsageError(f"{before}: a task cannot be compared with itself")
        new = [pair for pair in pairs if not is_compared(con, *pair)]
        if not new:
            return [comparison(con, *pair, lang=lang, cases=cases) for pair in pairs]
    _compare_now(warehouse, new)
    with warehouse.built() as con:
        return [comparison(con, *pair, lang=lang, cases=cases) for pair in pairs]


def _compare_now(warehouse: WarehouseFile, pairs: Sequence[tuple[str, str]]) -> None:
    """Build comparisons that are not in the marts, all at once."""
    before, after = pairs[0]
    more = f", and {len(pairs) - 1} more pairs" if pairs[1:] else ""
    say(f"{before} and {after}{more} have not been compared yet; building …")

    def request(con: duckdb.DuckDBPyConnection) -> None:
        for pair in pairs:
            request_comparison(con, *pair)

    build(warehouse, request=request)


def _resolve(
    con: duckdb.DuckDBPyConnection, reference: str, *, relative_to: str | None = None
) -> str:
    _require_pairs(con)
    return resolve_task(con, reference, relative_to=relative_to)


def _require_pairs(con: duckdb.DuckDBPyConnection) -> None:
    if not has_relation(con, "marts.fct_task_pairs"):
        raise NothingToDo(
            "this warehouse was built before tasks could be compared; `promptlab build`"
        )


# ---------- the gate


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
        A result per task, the worst first.

    Raises:
        UsageError: no such task.
        NothingToDo: nothing is built, or files were loaded since.
    """
    with warehouse.built() as con:
        require_built(con)
        task_ids = selected_tasks(con, task)
        left_out = left_out_files(con, task, task_ids)
        results = gate_results(con, task_ids, policy, lang=lang, left_out=left_out)
    return sorted(results.values(), key=badness)


def exit_code(results: Iterable[GateResult], *, allow_inconclusive: bool) -> int:
    """Return the exit code of the worst result, in the order 1, 4, 3, 0.

    *allow_inconclusive* returns 0 instead of 4, but only if at least one case was
    compared, enough rounds have a score and no file was left out.
    """
    codes = set()
    for result in results:
        code = result.exit_code
        has_compared = result.n_cases_before > result.n_not_compared
        unknown = {rule.rule for rule in result.rules if rule.verdict == "inconclusive"}
        is_whole = unknown.isdisjoint({"all_files", "min_coverage"})
        if code == 4 and allow_inconclusive and has_compared and is_whole:
            code = 0
        codes.add(code)
    return next(code for code in (1, 4, 3, 0) if code in codes)


# ---------- tasks built since the last ``promptlab run`` wrote its reports


# A time in the future was written before the clock was put back: it is ignored.
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
    """Return tasks without a report; arguments as of ``Warehouse.to_report``."""
    condition = "true"
    if not everything:
        condition = f"""
            task_id in (
                select candidate_task_id
                from raw.comparison_builds
                where
                    {_NOT_REPORTED}
                    and built_at >= coalesce($since, '-infinity'::timestamptz)
            )
        """
    tasks = con.execute(
        f"select task_id from marts.dim_tasks where role = 'full' and {condition}"
        " order by created_at, task_id",
        None if everything else {"since": built_since},
    ).fetchall()
    return [row[0] for row in tasks]
