"""The hook of the wheel's build: it puts the compiled plan into the wheel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlanHook(BuildHookInterface):
    """Have dbt compile the models, so that an installed promptlab need not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the plan to a wheel; an editable install compiles when it is used."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from promptlab.build import plan

        path = Path(self.directory) / plan.SHIPPED
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(plan.encode(plan.load()))
        build_data["force_include"][str(path)] = (
            f"promptlab/_dbt_project/{plan.SHIPPED}"
        )
        self._plan = path

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        """Delete the copy that was put into the wheel."""
        if version != "editable":
            self._plan.unlink()
