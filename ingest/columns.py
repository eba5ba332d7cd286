"""Whole columns at once: JSON slices, times, numbers, checked as they are built.

A column that holds anything unusual raises `Doubtful`; the reader then goes through
its records one by one, asks the contract and names what is wrong.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import polars as pl

from ingest.json_places import flaws
from promptlab.contracts.times import in_utc, read_time

# A number beyond a double needs three digits of exponent, or very many digits.
_PERHAPS_TOO_LARGE = r"[0-9][eE]\+?[0-9]{3}|[0-9]{200}"

# Times that polars and the contract read alike; any other is read one by one.
_PLAIN_TIME = (
    r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,6})?(Z|[+-][01][0-9]:[0-5][0-9])$"
)


class Doubtful(Exception):
    """Something in the column needs a closer look, record by record."""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Hold the collector while very many objects are made that hold no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def texts(values: Sequence[str | None]) -> pl.Series:
    """Return a text column."""
    return pl.Series(values, dtype=pl.String)


def integers(values: Sequence[int | None]) -> pl.Series:
    """Return a column of 64-bit integers."""
    return pl.Series(values, dtype=pl.Int64)


def doubles(values: Sequence[float | None]) -> pl.Series:
    """Return a column of doubles; integers become doubles."""
    return pl.Series(values, dtype=pl.Float64, strict=False)


def json_values(raws: Sequence[msgspec.Raw]) -> pl.Series:
    """Return JSON as text, null for JSON null.

    Raises:
        Doubtful: Bytes that are not UTF-8, or a number too large for a double.
    """
    column = pl.Series(list(map(bytes, raws)), dtype=pl.Binary)
    try:
        column = column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise Doubtful(str(error)) from error
    for value in column.filter(column.str.contains(_PERHAPS_TOO_LARGE)):
        for _place, code, message in flaws(value):
            raise Doubtful(f"{code}: {message}")
    return column.set(column == "null", None)


def json_objects(raws: Sequence[msgspec.Raw], *, nullable: bool = False) -> pl.Series:
    """Return JSON objects as text, null for JSON null where that is allowed.

    Raises:
        Doubtful: As `json_values`, or something that is no object.
    """
    column = json_values(raws)
    if not column.str.starts_with("{").all() or (column.has_nulls() and not nullable):
        raise Doubtful("not an object")
    return column


def times(values: Sequence[str | None]) -> tuple[pl.Series, list[int]]:
    """Return a column of times in UTC, and the places of those without a zone.

    Raises:
        Doubtful: A text that is no time.
    """
    written = texts(values)
    plain = written.str.contains(_PLAIN_TIME).fill_null(value=True)
    column = written.set(~plain, None).str.to_datetime(
        "%+", time_unit="us", time_zone="UTC", strict=False
    )
    zoneless: list[int] = []
    # What polars did not read: no plain time, or a day that does not exist.
    rest = (column.is_null() & written.is_not_null()).arg_true()
    if not rest.is_empty():
        moments = []
        for place in rest:
            try:
                moment = read_time(written[place])
            except ValueError as error:
                raise Doubtful(str(error)) from error
            if moment.tzinfo is None:
                zoneless.append(place)
            moments.append(in_utc(moment))
        column = column.scatter(rest, pl.Series(moments, dtype=column.dtype))
    return column, zoneless
