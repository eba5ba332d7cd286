"""The options that reports written together share, and the limits of their lists."""

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
class ListLimits:
    """The maximum length of each list that is read; ``None`` lists all."""

    cases: int | None = None
    """The worst cases."""
    rounds: int | None = None
    """Rounds per case, those that did not pass first."""
    checks: int | None = None
    """Scopes, and differences, per case; other assertions per round."""
    changes: int = 1_000
    """Changed cases of the comparison with the baseline; `compare` lists all."""


NO_LIMITS = ListLimits()
"""Limits of a file for programs: everything."""
PAGE_LIMITS = ListLimits(cases=200, rounds=5, checks=20, changes=50)
"""Limits of a page for people."""


@dataclass(frozen=True)
class ReportOptions:
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
    """Verdicts of tasks, each computed once: `gates_of`."""

    def gates_of(
        self, con: duckdb.DuckDBPyConnection, task_ids: Sequence[str]
    ) -> dict[str, GateResult]:
        """Return the verdicts of tasks by the policy, each computed once."""
        missing = [task_id for task_id in task_ids if task_id not in self.gates]
        if missing:
            computed = gate_results(con, missing, self.policy, lang=self.lang)
            self.gates.update(computed)
        return {task_id: self.gates[task_id] for task_id in task_ids}
