"""Odd values of records that load: negative costs, times without a zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from promptlab.contracts.base import in_utc

_COST = re.compile(r'"(cost(?:_usd)?)"\s*:\s*-')
NEGATIVE_COST = (
    "is negative, expected a number from 0, such as 0.0012: the round is loaded without"
    " a cost"
)


def without_negative_costs(
    metadata: Sequence[str | None],
) -> tuple[list[str | None], list[tuple[int, str]]]:
    """Return the metadata of rounds without negative costs, and their rows and keys."""
    negative: list[tuple[int, str]] = []
    kept = list(metadata)
    for row, text in enumerate(metadata):
        if text is not None and '"cost' in text:
            kept[row], keys = without_negative_cost(text)
            negative += [(row, key) for key in keys]
    return kept, negative


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


def in_utc_or_none(
    moments: Sequence[datetime | None],
) -> tuple[list[datetime | None], list[int]]:
    """Return times in UTC, and the rows whose time has no zone."""
    zoneless = [
        row
        for row, moment in enumerate(moments)
        if moment is not None and moment.tzinfo is None
    ]
    return [
        moment if moment is None or moment.tzinfo is UTC else in_utc(moment)
        for moment in moments
    ], zoneless


def zone_message(count: int) -> str:
    """Return a warning about *count* times without a zone, at the first of them."""
    subject = "a time" if count == 1 else f"{count} times, this one first,"
    return f"{subject} without a zone, read as UTC: write 2024-10-24T12:30:00Z"
