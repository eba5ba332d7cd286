"""Check whole columns of decoded records: JSON slices, times, names.

Columns are plain lists: a frame of a few rows costs more than to read them. A column
with an unusual value raises `Doubtful` with its rows; the reader then checks their
records with the contract.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from promptlab.contracts.base import BLANKS, in_utc

Text = TypeVar("Text", bound="str | None")


class Doubtful(Exception):
    """Some rows of a column must be checked by the contract."""

    def __init__(
        self, rows: Sequence[int], reason: str = "a value that cannot be stored"
    ) -> None:
        super().__init__(f"{len(rows)} rows need a closer look")
        self.rows = rows
        self.reason = reason
        """The error to report if their contract finds none."""


def names(values: list[Text]) -> list[Text]:
    """Return texts that are null or not blank.

    Raises:
        Doubtful: A blank one.
    """
    blank = [
        row
        for row, each in enumerate(values)
        if each is not None and not each.strip(BLANKS)
    ]
    if blank:
        raise Doubtful(blank)
    return values


def json_values_or_null(raws: Sequence[msgspec.Raw]) -> list[str | None]:
    """Return JSON as text, null for JSON null.

    Raises:
        Doubtful: Bytes that are not UTF-8.
    """
    try:
        written = [str(each, "utf-8") for each in raws]
    except UnicodeDecodeError:
        raise Doubtful(_not_utf8(raws)) from None
    return [None if each == "null" else each for each in written]


def json_objects(
    raws: Sequence[msgspec.Raw], *, may_be_null: bool = False
) -> list[str | None]:
    """Return JSON objects as text.

    Raises:
        Doubtful: Bytes that are not UTF-8, or a value that is not an object.
    """
    column = json_values_or_null(raws)
    others = [
        row
        for row, each in enumerate(column)
        if not (may_be_null if each is None else each.startswith("{"))
    ]
    if others:
        raise Doubtful(others)
    return column


_COST = re.compile(r'"(cost(?:_usd)?)"\s*:\s*-')
NEGATIVE_COST = (
    "is negative, expected a number from 0, such as 0.0012: the round is loaded without"
    " a cost"
)


def without_negative_costs(
    metadata: Sequence[str | None],
) -> tuple[list[str | None], list[tuple[int, str]]]:
    """Return the metadata of rounds without negative costs, and their rows and keys."""
    found: list[tuple[int, str]] = []
    kept = list(metadata)
    for row, each in enumerate(metadata):
        if each is not None and '"cost' in each:
            kept[row], keys = without_negative_cost(each)
            found += [(row, key) for key in keys]
    return kept, found


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


def times(
    values: Sequence[str | None],
) -> tuple[list[datetime | None], list[int]]:
    """Return times in UTC, and the rows whose time has no zone.

    Raises:
        Doubtful: A text that is not a time.
    """
    moments: list[datetime | None] = []
    zoneless: list[int] = []
    wrong: list[int] = []
    for row, each in enumerate(values):
        moment = None
        if each is not None:
            try:
                moment = datetime.fromisoformat(each)
                if moment.tzinfo is None:
                    zoneless.append(row)
                if moment.tzinfo is not UTC:
                    moment = in_utc(moment)
            except (ValueError, OverflowError):
                wrong.append(row)
        moments.append(moment)
    if wrong:
        raise Doubtful(wrong)
    return moments, zoneless


def zone_message(count: int) -> str:
    """Return a warning about *count* times without a zone, at the first of them."""
    what = "a time" if count == 1 else f"{count} times, this one first,"
    return f"{what} without a zone, read as UTC: write 2024-10-24T12:30:00Z"


def _not_utf8(raws: Sequence[msgspec.Raw]) -> list[int]:
    wrong = []
    for row, each in enumerate(raws):
        try:
            str(each, "utf-8")
        except UnicodeDecodeError:
            wrong.append(row)
    return wrong
