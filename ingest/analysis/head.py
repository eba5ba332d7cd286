"""The head of an analysis input: task, dimensions, extras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from promptlab.contracts.analysis_input import AnalysisInput
from promptlab.contracts.base import read_time
from promptlab.ingest.analysis.dimensions import dimension_rows
from promptlab.ingest.raw.rows import Columns, Rows
from promptlab.ingest.reading.problems import faults
from promptlab.ingest.reading.source import DEFAULT, Limits
from promptlab.json_text.reading import Fault, parse_all
from promptlab.json_text.writing import compact


class HeadFaults(Exception):
    """The file's task, dimensions or extras violate the contract."""

    def __init__(self, head_faults: list[Fault], task_id: str | None) -> None:
        super().__init__("; ".join(fault.message for fault in head_faults))
        self.faults = head_faults
        self.task_id = task_id


@dataclass(frozen=True)
class AnalysisHead:
    """The task, dimensions and extras of a file."""

    task_id: str
    rows: Rows
    """The row of ``tasks`` and the rows of ``dimension_configs``."""
    zoneless: bool
    """True if ``created_at`` has no zone."""
    contract: AnalysisInput
    """The checked file, without its cases."""
    warnings: list[Fault]
    """Invalid parameters and targets."""


def read_head(parts: Mapping[str, str], limits: Limits = DEFAULT) -> AnalysisHead:
    """Check the file's head and turn it into rows.

    Args:
        parts: Member of the file → its JSON text. ``cases`` is a marker: it is
            ``[]`` where the cases are a list.
        limits: Limits of their sizes.

    Raises:
        HeadFaults: All errors.
    """
    head_faults: list[Fault] = []
    values: dict[str, Any] = {}
    for key, text in parts.items():
        is_stored = key in AnalysisInput.model_fields
        too_large = limits.fault(text)
        if too_large is not None:
            head_faults.append(Fault((key,), too_large.code, too_large.message))
            continue
        value, errors = parse_all(text)
        values[key] = value if is_stored else None
        head_faults += [
            Fault((key, *error.keys), error.code, error.message)
            for error in errors
            if is_stored or error.code != "bad_utf8"
        ]
    try:
        contract = AnalysisInput.model_validate(values)
    except ValidationError as error:
        reported = {fault.keys for fault in head_faults}
        head_faults += [
            fault
            for fault in faults(error, values, AnalysisInput)
            if fault.keys not in reported
        ]
    if head_faults:
        task = values.get("task")
        task_id = task.get("task_id") if isinstance(task, dict) else None
        raise HeadFaults(head_faults, task_id if isinstance(task_id, str) else None)
    task = contract.task
    dimensions, warnings = dimension_rows(contract)
    return AnalysisHead(
        task.task_id,
        {
            "tasks": _task_rows(contract, parts.get("extras", "{}")),
            "dimension_configs": dimensions,
        },
        zoneless=read_time(values["task"]["created_at"]).tzinfo is None,
        contract=contract,
        warnings=warnings,
    )


def _task_rows(contract: AnalysisInput, extras: str) -> Columns:
    task = contract.task
    return {
        "task_id": [task.task_id],
        "source_kind": ["analysis"],
        "title": [task.title],
        "prompt_version": [task.prompt_version],
        "model": [task.model],
        "triggered_by": [task.triggered_by],
        "env": [compact(task.env)],
        "created_at": [task.created_at],
        "extras": [extras],
        "testset_ref": [
            _first_text(
                contract.extras.get("testset"),
                task.env.get("testset"),
                task.env.get("dataset"),
            )
        ],
        "pipeline_ref": [
            _first_text(contract.extras.get("pipeline"), task.env.get("pipeline"))
        ],
        "run_id": [task.run_id],
        "variant": [task.variant],
        "branch": [_first_text(task.branch, task.env.get("branch"))],
        "commit_sha": [_first_text(task.commit, task.env.get("commit"))],
    }


def _first_text(*values: Any) -> str | None:
    return next((v for v in values if isinstance(v, str) and v.strip()), None)
