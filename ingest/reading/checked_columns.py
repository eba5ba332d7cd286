"""Build and check whole columns: JSON slices, times, numbers.

A column with an unusual value raises `Doubtful` with its rows; the reader then checks
their records with the contract.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import polars as pl

from promptlab.contracts.base import in_utc, read_time

# Times that polars and the contract read alike, the fastest and most common first;
# others are read one by one.
_SECONDS = r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
_NO_ZONE = "%Y-%m-%dT%H:%M:%S%.f"
_TIMES = (
    (_SECONDS + "Z$", "%Y-%m-%dT%H:%M:%SZ"),
    (_SECONDS + r"(\.[0-9]{1,6})?(Z|[+-][01][0-9]:[0-5][0-9])$", "%+"),
    (_SECONDS + r"(\.[0-9]{1,6})?$", _NO_ZONE),
)
_UTC = pl.Datetime("us", "UTC")


class Doubtful(Exception):
    """Some rows of a column must be checked by the contract."""

    def __init__(
        self, rows: Sequence[int], reason: str = "a value that cannot be stored"
    ) -> None:
        super().__init__(f"{len(rows)} rows need a closer look")
        self.rows = rows
        self.reason = reason
        """The error to report if their contract finds none."""


def texts(values: Sequence[str | None]) -> pl.Series:
    """Return a text column."""
    return pl.Series(values, dtype=pl.String)


def names(values: Sequence[str | None]) -> pl.Series:
    """Return a column of texts that are null or not blank.

    Raises:
        Doubtful: A blank one.
    """
    column = texts(values)
    # The contract's own pattern, in the same dialect.
    has_text = column.str.contains(r"\S")
    if not has_text.all():
        raise Doubtful((~has_text).arg_true().to_list())
    return column


def integers(values: Sequence[int | None]) -> pl.Series:
    """Return a column of 64-bit integers."""
    return pl.Series(values, dtype=pl.Int64)


def doubles(values: Sequence[float | None]) -> pl.Series:
    """Return a column of doubles; integers become doubles."""
    return pl.Series(values, dtype=pl.Float64, strict=False)


def booleans(values: Sequence[bool | None]) -> pl.Series:
    """Return a column of booleans."""
    return pl.Series(values, dtype=pl.Boolean)


def json_values_or_null(raws: Sequence[msgspec.Raw]) -> pl.Series:
    """Return JSON as text, null for JSON null.

    Raises:
        Doubtful: Bytes that are not UTF-8.
    """
    slices = pl.Series(list(map(bytes, raws)), dtype=pl.Binary)
    try:
        column = slices.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise Doubtful(_not_utf8(slices)) from None
    return column.set(column == "null", None)


def json_objects(
    raws: Sequence[msgspec.Raw], *, may_be_null: bool = False
) -> pl.Series:
    """Return JSON objects as text.

    Raises:
        Doubtful: Bytes that are not UTF-8, or a value that is not an object.
    """
    column = json_values_or_null(raws)
    objects = column.str.starts_with("{")  # null is left out by `all`
    if not may_be_null:
        objects = objects.fill_null(value=False)
    if not objects.all():
        raise Doubtful((~objects).arg_true().to_list())
    return column


_COST = re.compile(r'"(cost(?:_usd)?)"\s*:\s*-')
NEGATIVE_COST = (
    "is negative, expected a number from 0, such as 0.0012: the round is loaded without"
    " a cost"
)


def without_negative_costs(
    metadata: pl.Series,
) -> tuple[pl.Series, list[tuple[int, str]]]:
    """Return the metadata of rounds without negative costs, and their rows and keys."""
    found: list[tuple[int, str]] = []
    kept: dict[int, str] = {}
    for row in metadata.str.contains(_COST.pattern).arg_true():
        kept[row], keys = without_negative_cost(metadata[row])
        found += [(row, key) for key in keys]
    if kept:
        metadata = metadata.scatter(list(kept), list(kept.values()))
    return metadata, found


def without_negative_cost(metadata: str) -> tuple[str, list[str]]:
    """Return the metadata of one round without negative costs, and their keys."""
    if _COST.search(metadata) is None:
        return metadata, []
    members = msgspec.json.decode(metadata, type=dict[str, msgspec.Raw])
    written = {key: bytes(members.get(key, b"")) for key in ("cost", "cost_usd")}
    negative = [k for k, v in written.items() if v[:1] == b"-" and float(v) < 0]
    if not negative:
        return metadata, []
    rest = {key: members[key] for key in members if key not in negative}
    return msgspec.json.encode(rest).decode(), negative


def times(values: Sequence[str | None]) -> tuple[pl.Series, list[int]]:
    """Return a column of times in UTC, and the rows whose time has no zone.

    Raises:
        Doubtful: A text that is not a time.
    """
    written = texts(values)
    column = pl.Series([None], dtype=_UTC).new_from_index(0, len(written))
    zoneless: list[int] = []
    rest = written.is_not_null()
    for shape, form in _TIMES:
        if not rest.any():
            return column, zoneless
        plain = written.set(~written.str.contains(shape), None)
        read = plain.str.to_datetime(form, time_unit="us", strict=False, cache=False)
        if read.dtype != _UTC:
            read = read.dt.replace_time_zone("UTC")
        column = column.fill_null(read)
        if form == _NO_ZONE:
            zoneless += (rest & read.is_not_null()).arg_true().to_list()
        rest = column.is_null() & written.is_not_null()
    # Not a plain time, or a day that does not exist.
    moments, wrong = {}, []
    for row in rest.arg_true():
        try:
            moment = read_time(written[row])
        except ValueError:
            wrong.append(row)
            continue
        moments[row] = in_utc(moment)
        if moment.tzinfo is None:
            zoneless.append(row)
    if wrong:
        raise Doubtful(wrong)
    column = column.scatter(
        list(moments), pl.Series(list(moments.values()), dtype=_UTC)
    )
    return column, sorted(zoneless)


def zone_message(count: int) -> str:
    """Return a warning about *count* times without a zone, at the first of them."""
    what = "a time" if count == 1 else f"{count} times, this one first,"
    return f"{what} without a zone, read as UTC: write 2024-10-24T12:30:00Z"


def _not_utf8(slices: pl.Series) -> list[int]:
    wrong = []
    for row, each in enumerate(slices):
        try:
            each.decode()
        except UnicodeDecodeError:
            wrong.append(row)
    return wrong
