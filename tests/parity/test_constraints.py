"""What a contract says of single rows, on an engine that does not enforce it."""

from __future__ import annotations

import json

import pytest

from tests.parity.conftest import Engines


def node(*expressions: str, materialized: str = "table") -> dict[str, object]:
    """As much of dbt's node as the check looks at: of ``marts.dim_tasks``."""
    return {
        "constraints": [
            {"type": "check", "name": "", "expression": expression}
            for expression in expressions
        ],
        "columns": {
            "task_id": {"name": "task_id", "constraints": [{"type": "not_null"}]}
        },
        "config": {
            "materialized": materialized,
            "unique_key": "task_id",
            "meta": {"batch": "tasks"},
        },
    }


def check(engines: Engines, of: dict[str, object]) -> str | None:
    """What the check says; ``None`` when every row is sound."""
    arguments = json.dumps({"relation": "marts.dim_tasks", "node": of})
    done = engines.dbt(
        "spark", "run-operation", "check_constraints", "--args", arguments
    )
    return None if done.success else str(done.exception or done.result)


@pytest.mark.parametrize("materialized", ["table", "incremental"])
def test_rows_that_keep_the_contract_pass(
    engines: Engines, first_load: object, materialized: str
) -> None:
    sound = node("task_id <> ''", "null > 1", materialized=materialized)
    assert check(engines, sound) is None


def test_a_row_that_breaks_the_contract_stops_the_build(
    engines: Engines, first_load: object
) -> None:
    said = check(engines, node("task_id <> ''", "task_id = 'x'"))
    assert said is not None
    assert "does not hold: task_id = 'x'" in said
