"""A problem of one record: what `validate` prints and `raw.rejects` keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["reject", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with one record of a file.

    A record with a ``reject`` is left out and kept as ``raw_text``; a ``warning``
    leaves it in. ``line`` and ``column`` count from 1 (column in characters);
    ``pointer`` is a JSON Pointer (RFC 6901) inside the record of a JSONL file, or
    inside a JSON file.
    """

    code: str
    message: str
    severity: Severity = "reject"
    line: int | None = None
    column: int | None = None
    record_id: str | None = None
    pointer: str | None = None
    raw_text: str | None = None
