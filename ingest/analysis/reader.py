"""Analysis inputs (analysis-contract.md section 3): one task per JSON file.

A file without a fault is decoded in one go into structs derived from the contract,
and checked by column. Anything unusual sends it down the careful road: its cases are
decoded one by one, and the contract says what is wrong with those that are refused. A
fault in the task or its dimensions rejects the file, one in a case that case alone
(semantics section 4).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from ingest.analysis.careful import read_carefully
from ingest.analysis.head import AnalysisHead, HeadFaults, read_head
from ingest.analysis.rows import DoubtfulCases, Twins, task_reading
from ingest.analysis.warnings import Members, UnknownTaskKeys, placed, placed_references
from ingest.raw.rows import Reading
from ingest.reading.garbage import no_garbage_collection
from ingest.reading.limits import DEFAULT, Limits
from ingest.reading.problems import Problem
from ingest.reading.structs import EMPTY, struct_of
from promptlab.contracts.analysis_input import AnalysisInput, TestCaseBundle

_BOM = b"\xef\xbb\xbf"


def read_analysis(data: bytes, *, limits: Limits = DEFAULT) -> Reading:
    """Read one analysis input.

    Args:
        data: The file: JSON, UTF-8, with or without a byte order mark.
        limits: How large what is in it may be.

    Returns:
        Rows of ``tasks``, ``cases``, ``rounds``, ``baselines``, ``golden_checks``,
        ``dimension_configs``, in columns; every fault with JSON Pointer, line and
        column.
    """
    data = data.removeprefix(_BOM)
    with no_garbage_collection():
        try:
            return _read_at_once(data, limits)
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
            RecursionError,
            HeadFaults,
            DoubtfulCases,
            Twins,
        ):
            return read_carefully(data, limits)


def _read_at_once(data: bytes, limits: Limits) -> Reading:
    is_closed = True
    try:
        file = _decoder(closed=True).decode(data)
    except msgspec.ValidationError:
        # Perhaps only for a key that the contract does not know.
        file = _decoder(closed=False).decode(data)
        is_closed = False
    parts = {
        "task": str(file.task, "utf-8"),
        "cases": "[]",
        "dimensions": str(file.dimensions, "utf-8"),
        "extras": str(file.extras, "utf-8"),
    }
    head = read_head(parts, limits)
    reading = task_reading(head, file.cases, range(len(file.cases)), limits)
    reading.problems = [
        *_unknown_keys(head, None if is_closed else data),
        *reading.problems,
    ]
    if reading.problems or reading.references:
        text = data.decode("utf-8", "surrogateescape")
        reading.problems = placed(reading.problems, text)
        reading.references = placed_references(reading.references, text)
    return reading


def _unknown_keys(head: AnalysisHead, data: bytes | None) -> list[Problem]:
    """Return the warnings of the head and, unless there are none, of the cases."""
    unknown = UnknownTaskKeys()
    top = {} if data is None else msgspec.json.decode(data, type=Members)
    unknown.see_head(top, head)
    cases = msgspec.json.decode(top.get("cases", b"[]"), type=list[msgspec.Raw])
    for position, case in enumerate(cases):
        unknown.see_case(position, case)
    return unknown.problems()


@cache
def _decoder(*, closed: bool) -> msgspec.json.Decoder[Any]:
    case = struct_of(TestCaseBundle, closed=closed)
    kinds = {"cases": list[case]}  # type: ignore[valid-type]  # built from the contract
    defaults = {"dimensions": msgspec.Raw(b"[]"), "extras": EMPTY}
    fields = [
        (name, kinds.get(name, msgspec.Raw), defaults.get(name, msgspec.NODEFAULT))
        for name in AnalysisInput.model_fields
    ]
    file = msgspec.defstruct("AnalysisFile", fields, forbid_unknown_fields=closed)
    return msgspec.json.Decoder(file)
