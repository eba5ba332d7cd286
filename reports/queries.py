"""Read rows of the marts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from promptlab.relations import Row as Row

if TYPE_CHECKING:
    import duckdb


ModelT = TypeVar("ModelT", bound=BaseModel)

JUDGES = """
select rates.*, rates.judge_reason as agreement_reason, names.name
from marts.fct_corrected_pass_rates as rates
left join marts.fct_dimension_scores as names using (task_id, dimension_id)
where rates.task_id in (select unnest($tasks)) and rates.measure = 'pass_rate'
order by rates.dimension_id, rates.judge
"""
"""Judges of tasks that have labels: the pass rate that they give, raw and corrected."""

EVERYTHING = 2**62
"""A limit above the size of any table."""


def rows(
    con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[Row]:
    """Run *sql* and return its rows as dictionaries, in the order of the query.

    Times are UTC, whatever zone the connection has; JSON is read. Parameters that *sql*
    does not use are left out.
    """
    named = set(re.findall(r"\$(\w+)", sql))
    values = {k: v for k, v in (parameters or {}).items() if k in named}
    cursor = con.execute(sql, values)
    columns = [
        (column[0], _READERS.get(str(column[1]))) for column in cursor.description or ()
    ]
    return [
        {
            name: value if read is None or value is None else read(value)
            for (name, read), value in zip(columns, row, strict=True)
        }
        for row in cursor.fetchall()
    ]


def select(
    con: duckdb.DuckDBPyConnection,
    mart: str,
    *,
    order: str,
    limit: int = EVERYTHING,
    **where: object,
) -> list[Row]:
    """Return the rows of a mart with these values; ``n_found`` is their number.

    A list stands for any of its values.
    """
    conditions = " and ".join(
        f"{name} in (select unnest(${name}))"
        if isinstance(value, list)
        else f"{name} = ${name}"
        for name, value in where.items()
    )
    sql = (
        f"select *, count(*) over () as n_found from marts.{mart}"
        f" where {conditions} order by {order} limit {limit}"
    )
    return rows(con, sql, where)


def of_contract(contract: type[ModelT], row: Row, **others: Any) -> ModelT:
    """Return a contract from those columns that it has, and *others*."""
    kept = {name: row[name] for name in row if name in contract.model_fields}
    return contract(**kept | others)


def from_json(text: str) -> Any:
    """Read JSON.

    A number beyond a double stays a text, so that the report can write it again as
    JSON.
    """
    return _JSON.decode(text)


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_JSON = json.JSONDecoder(parse_float=_number, parse_constant=str)
_READERS: dict[str, Callable[[Any], Any]] = {
    "TIMESTAMP WITH TIME ZONE": lambda time: time.astimezone(UTC),
    "JSON": from_json,
}
