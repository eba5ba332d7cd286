"""Read rows of the marts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from promptlab.contracts.analysis_result import TargetStatus
from promptlab.database import Row as Row
from promptlab.database import dictionaries

if TYPE_CHECKING:
    import duckdb


ModelT = TypeVar("ModelT", bound=BaseModel)

ASKED = """
asked as (

    select
        unnest($candidates) as candidate_task_id,
        unnest($baselines) as baseline_task_id

)
"""
"""The first part of a query about many pairs of tasks at once."""

JUDGES = """
select
    rates.task_id, rates.dimension_id, rates.judge, rates.method, rates.reason,
    rates.n_cases, rates.n_rounds, rates.n_passed, rates.raw_rate,
    rates.corrected_rate, rates.ci_low, rates.ci_high,
    rates.n_labels_fail, rates.n_labels_pass, rates.n_labels_own,
    rates.tnr, rates.tnr_low, rates.tnr_high, rates.tpr, rates.tpr_low, rates.tpr_high,
    rates.judge_reason as agreement_reason, names.name
from marts.fct_corrected_pass_rates as rates
left join marts.fct_dimension_scores as names
    on rates.task_id = names.task_id and rates.dimension_id = names.dimension_id
where rates.task_id in (select unnest($tasks)) and rates.measure = 'pass_rate'
order by rates.dimension_id, rates.judge
"""
"""Judges of tasks that have labels: the pass rate that they give, raw and corrected."""

EVERYTHING = 2**62
"""A limit above the size of any table."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows(
    con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[Row]:
    """Run *sql* and return its rows as dictionaries, in the order of the query.

    A column called ``…_at`` is read as ``epoch_us(…)``; it becomes a UTC time, whatever
    zone the connection has. Parameters that *sql* does not use are left out.
    """
    named = set(re.findall(r"\$(\w+)", sql))
    values = {k: v for k, v in (parameters or {}).items() if k in named}
    found = dictionaries(con, sql, values)
    for row in found:
        for name in row:
            if name.endswith("_at"):
                row[name] = _moment(row[name])
    return found


def of_contract(contract: type[ModelT], row: Row, **others: Any) -> ModelT:
    """Return a contract from those columns that it has, and *others*."""
    kept = {name: row[name] for name in row if name in contract.model_fields}
    return contract(**kept | others)


def _moment(microseconds: int | None) -> datetime | None:
    return (
        None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
    )


def from_json(text: str | None) -> Any:
    """Read a JSON column; SQL NULL is ``None``.

    A number beyond a double stays a text, so that the report can write it again as
    JSON.
    """
    if text is None:
        return None
    return _JSON.decode(text)


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_JSON = json.JSONDecoder(parse_float=_number, parse_constant=str)


MISSED = frozenset(
    {
        "below_min_score",
        "above_max_score",
        "below_min_target",
        "above_max_target",
        "max_variance_exceeded",
    }
)
"""Codes of the alerts about a missed target."""
_UNKNOWN = frozenset({"invalid_target", "invalid_parameters"})


def target_status(
    target: dict[str, Any], score: float | None, codes: AbstractSet[str]
) -> TargetStatus:
    """Return the status of a target.

    *codes* are those of the alerts of the dimension.
    """
    if not target:
        return "none"
    if codes & MISSED:
        return "missed"
    if score is None or codes & _UNKNOWN:
        return "unknown"
    return "met"
