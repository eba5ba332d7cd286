"""Reading rows of the marts."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows(
    con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[Row]:
    """Run *sql* and return its rows as dictionaries, in the order of the query."""
    cursor = con.execute(sql, parameters or {})
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def moment(microseconds: int) -> datetime:
    """Return the UTC time of ``epoch_us(…)``, whatever zone the connection has."""
    return _EPOCH + timedelta(microseconds=microseconds)


def from_json(text: str | None) -> Any:
    """Read a JSON column; SQL NULL is ``None``.

    A number that no double holds stays the text it was written as: the report must
    be able to write it again as JSON.
    """
    if text is None:
        return None
    return _JSON.decode(text)


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_JSON = json.JSONDecoder(parse_float=_number, parse_constant=str)
