"""The gate of tasks; builds missing comparisons first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.errors import (
    NothingToDo,
    SettingsError,
    StorageError,
    WarehouseError,
)
from promptlab.history.comparisons import compare
from promptlab.messages import say
from promptlab.reports.gate.policy import Policy
from promptlab.reports.gate.verdict import gate_result
from promptlab.task_ids import left_out_files, require_built, selected_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptlab.contracts.gate import GateResult
    from promptlab.warehouse_file import WarehouseFile

EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 4, "check": 3}


def judge(
    warehouse: WarehouseFile,
    task: str,
    policy: Policy,
    *,
    lang: str,
) -> list[GateResult]:
    """Check the selected tasks against a policy.

    Args:
        warehouse: the warehouse of the task.
        task: as `selected_tasks` takes it.
        policy: the rules, and their source.
        lang: language of the notes, ``zh`` or ``en``.

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
    return [
        _judged(warehouse, task_id, policy, lang=lang, left_out=left_out)
        for task_id in task_ids
    ]


def _judged(
    warehouse: WarehouseFile,
    task_id: str,
    policy: Policy,
    *,
    lang: str,
    left_out: Sequence[str],
) -> GateResult:
    with warehouse.built() as con:
        result = gate_result(con, task_id, policy, lang=lang, left_out=left_out)
    if result.baseline_task_id is not None:
        return result
    try:
        baseline = policy.rules.regression.baseline
        compare(warehouse, baseline, task_id, lang=lang, cases=0)
    except NothingToDo:
        return result
    with warehouse.built() as con:
        return gate_result(con, task_id, policy, lang=lang, left_out=left_out)


def record(
    warehouse: WarehouseFile, results: Sequence[GateResult], policy: Policy
) -> None:
    """Append the decisions to `raw.decisions`; warn if the file is read-only.

    Args:
        warehouse: The warehouse of the tasks.
        results: Results of the gate.
        policy: The policy of the results.
    """
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


def exit_code(results: Iterable[GateResult], *, allow_inconclusive: bool) -> int:
    """Return the worst exit code, in the order 1, 4, 3, 0.

    Args:
        results: Results of the gate.
        allow_inconclusive: Return 0 instead of 4, but only if at least one case was
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
