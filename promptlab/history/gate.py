"""The gate of one task, where the comparison it needs may have to be built first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo
from promptlab.history.comparisons import compare
from promptlab.task_ids import resolve_task
from reports.gate.policy import Policy
from reports.gate.verdict import gate_result

if TYPE_CHECKING:
    from promptlab.contracts.gate import GateResult
    from promptlab.warehouse_file import WarehouseFile


def judge(
    warehouse: WarehouseFile,
    task: str,
    policy: Policy,
    *,
    lang: str,
) -> GateResult:
    """Hold a task against a policy.

    Args:
        warehouse: the warehouse of the task.
        task: an id, a unique prefix, ``latest`` or ``previous``.
        policy: the rules, and where they come from.
        lang: language of the notes, ``zh`` or ``en``.

    Raises:
        UsageError: no such task, or the policy asks for nothing.
        NothingToDo: nothing is built.
    """
    with warehouse.built() as con:
        task_id = resolve_task(con, task)
        result = gate_result(con, task_id, policy, lang=lang)
    if result.baseline_task_id is not None:
        return result
    try:
        baseline = policy.rules.regression.baseline
        compare(warehouse, baseline, task_id, lang=lang, cases=0)
    except NothingToDo:
        return result
    with warehouse.built() as con:
        return gate_result(con, task_id, policy, lang=lang)
