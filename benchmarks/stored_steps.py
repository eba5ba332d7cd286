"""The plan as dbt builds it: steps are tables and views in the schema `intermediate`."""

from __future__ import annotations

import msgspec

from promptlab.build import plan


def plan_with_stored_steps() -> plan.Plan:
    """Return the plan of a warehouse whose steps can be queried after a build."""
    text = plan.encode(plan.load()).decode()
    text = text.replace(rf"\"{plan.STEPS}\".", r"\"intermediate\".")
    text = text.replace(f'"schema": "{plan.STEPS}"', '"schema": "intermediate"')
    return msgspec.json.decode(text, type=plan.Plan)
