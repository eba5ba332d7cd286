"""The options that reports written together share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.reports.gate.policy import Policy
from promptlab.reports.gate.verdict import gate_results
from promptlab.version import __version__

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.gate import GateResult


@dataclass(frozen=True)
class Edition:
    """Time, language and policy of reports."""

    generated_at: datetime
    """Time of the reports, with its zone."""
    lang: str = "en"
    """``zh`` or ``en``."""
    templates: Path | None = None
    """Folder whose files replace the built-in templates of the same name."""
    policy: Policy | None = None
    """The gate's policy; the built-in policy by default."""
    report_url: str | None = None
    """URL at which the output folder is served."""
    package_version: str = __version__
    """Version of promptlab, written into the results."""
    gates: dict[str, GateResult] = field(default_factory=dict, compare=False)
    """Verdicts of tasks for these reports, each computed once: `gates_of`."""


def gates_of(
    con: duckdb.DuckDBPyConnection, task_ids: Sequence[str], edition: Edition
) -> dict[str, GateResult]:
    """Return the verdicts of tasks by the policy of their reports, computed once."""
    missing = [task_id for task_id in task_ids if task_id not in edition.gates]
    if missing:
        found = gate_results(con, missing, edition.policy, lang=edition.lang)
        edition.gates.update(found)
    return {task_id: edition.gates[task_id] for task_id in task_ids}
