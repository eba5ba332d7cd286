"""Row constraints of contracts on an engine that does not enforce them."""

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


def holds(engines: Engines, of: dict[str, object]) -> bool:
    arguments = json.dumps({"relation": "marts.dim_tasks", "node": of})
    return bool(
        engines.dbt(
            "spark", "run-operation", "check_constraints", "--args", arguments
        ).success
    )


@pytest.mark.parametrize("materialized", ["table", "incremental"])
def test_rows_that_keep_the_contract_pass(
    engines: Engines, first_load: object, materialized: str
) -> None:
    assert holds(engines, node("task_id <> ''", "null > 1", materialized=materialized))


@pytest.mark.parametrize("materialized", ["table", "incremental"])
def test_a_row_that_breaks_the_contract_stops_the_build(
    engines: Engines,
    first_load: object,
    capsys: pytest.CaptureFixture[str],
    materialized: str,
) -> None:
    broken = node("task_id <> ''", "task_id = 'x'", materialized=materialized)
    assert not holds(engines, broken)
    said = capsys.readouterr().out
    assert (
        "marts.dim_tasks has a row in which this does not hold: task_id = 'x'" in said
    )
