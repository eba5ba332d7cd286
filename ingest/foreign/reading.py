"""Convert records of any tool to rows of the raw tables, in bounded batches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from promptlab.contracts.base import LARGEST, SMALLEST
from promptlab.ingest.foreign.casts import first_line
from promptlab.ingest.foreign.documents import UNREADABLE, Refused, ToolFiles
from promptlab.ingest.foreign.identity import SameRun
from promptlab.ingest.foreign.registry import tool
from promptlab.ingest.foreign.writing import TABLES, Case, Record, Round, Score
from promptlab.ingest.raw.rows import Reading, height
from promptlab.ingest.reading.odd_values import (
    NEGATIVE_COST,
    without_negative_cost,
)
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Limits, Source, no_garbage_collection

if TYPE_CHECKING:
    from datetime import datetime


BATCH_RECORDS = 50_000

BATCH_CHARACTERS = 64 << 20
"""Bytes of long texts in a batch; with more, it is yielded before it is full."""

_LONG: dict[type[Any], dict[str, str | None]] = {
    Case: {"context": "{}", "categories": "{}"},
    Round: {"raw_output": None, "parsed_output": None, "metadata": "{}", "error": None},
    Score: {"summary": None, "payload": "{}"},
}
"""Fields that may be very long → replacement of a text that is too long."""

_UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Errors that an unexpected value may raise: only this file is rejected."""

_WHOLE: dict[str, dict[str, int | None]] = {
    "cases": {"position": 0},
    "baselines": {"position": 0},
    "dimension_configs": {"position": 0},
    "rounds": {
        "position": 0,
        "run_index": 1,
        "input_tokens": None,
        "output_tokens": None,
    },
    "reported_checks": {"position": 0, "parent_position": None},
}
"""Table → column of whole numbers → replacement of a number beyond 64 bits."""

_TEXTS = {kind: attrgetter(*names) for kind, names in _LONG.items()}

_CONTENT: dict[str, tuple[str, ...]] = {
    "rounds": ("case_id", "round_id", "raw_output", "reported_status"),
    "reported_scores": ("case_id", "round_id", "dimension_id", "value", "summary"),
    "reported_checks": (
        *("case_id", "round_id", "position", "name", "passed", "score", "reason"),
    ),
}
"""Fields of answers and verdicts, which differ between two versions of a run. Error
texts are left out because not all forms of a run contain them."""

_encode_lines = msgspec.json.Encoder().encode_lines

_Columns = dict[str, Sequence[Any]]
_Rows = dict[str, _Columns]


def read(name: str, source: Source) -> Iterator[Reading]:
    """Read one run of a tool.

    Yields:
        Batches of rows, at least one; the last has the hashes of the runs.
    """
    module = tool(name)
    batch = _Batch(source.limits, hashes=not hasattr(module, "HASHES_ANSWERS"))
    records = module.translate(source)
    is_over = False
    while not is_over:
        with no_garbage_collection():
            try:
                is_over = batch.fill(records)
            except Refused as refused:
                batch.refuse(refused.problem)
                is_over = True
            except UNREADABLE as error:
                batch.refuse(ToolFiles(name, "other files").problem(error))
                is_over = True
            except _UNEXPECTED as error:
                why = ValueError(f"{type(error).__name__}: {first_line(str(error))}")
                batch.refuse(ToolFiles(name, "other files").problem(why))
                is_over = True
            reading = batch.reading()
        yield reading


class _Batch:
    """Records of the next batch."""

    def __init__(self, limits: Limits, *, hashes: bool = True) -> None:
        self._limits = limits
        self._hashes = hashes
        self._seen: set[str] = set()
        # of all batches: the last one has them
        self._runs: dict[str, str] = {}
        self._versions: set[str] = set()
        self._written: dict[str, datetime] = {}
        self._contents: dict[str, SameRun] = defaultdict(SameRun)
        self._rejected = False
        self._problems: list[Problem] = []
        self._rows: dict[type[Any], list[tuple[Any, ...]]] = defaultdict(list)

    def fill(self, records: Iterator[Record | Problem]) -> bool:
        """Add records until the batch is full; return true after the last record."""
        count = size = 0
        longest = self._limits.max_string // 4  # characters
        for record in islice(records, BATCH_RECORDS):
            kind = type(record)
            texts_of = _TEXTS.get(kind)
            if texts_of is not None:
                length = 0
                for text in texts_of(record):
                    if text is not None:
                        length += len(text)
                if length > longest:
                    length = self._cut(record, _LONG[kind])
                size += length
            count += 1
            if isinstance(record, Problem):
                size += self._add_problem(record)
            else:  # the record itself is released before the next one is made
                self._rows[kind].append(astuple(record))
            if size > BATCH_CHARACTERS:
                break
        return count < BATCH_RECORDS and size <= BATCH_CHARACTERS

    def _add_problem(self, problem: Problem) -> int:
        """Keep a problem with the start of its text; return its characters."""
        text = problem.raw_text
        if text:
            text = text[: self._limits.max_string]
            problem = replace(problem, raw_text=text)
        self._problems.append(problem)
        return len(text or "")

    def refuse(self, problem: Problem) -> None:
        """Discard the file, with a warning that it is not a run."""
        self._rows.clear()
        self._problems = [problem]
        self._runs = {}
        self._rejected = problem.severity == "reject"

    def reading(self) -> Reading:
        """Return the records so far, and begin a new batch."""
        problems, self._problems = self._problems, []
        rows: _Rows = {
            TABLES[kind]: dict(
                zip(kind.__struct_fields__, zip(*tuples, strict=True), strict=True)
            )
            for kind, tuples in self._rows.items()
        }
        self._rows.clear()
        if self._hashes:
            self._hash(rows)
        for table, of_table in _WHOLE.items():
            for name, instead in of_table.items() if table in rows else ():
                problems += _outside(rows[table], name, SMALLEST, LARGEST, instead)
        if "rounds" in rows:
            for name in ("latency_ms", "input_tokens", "output_tokens"):
                problems += _outside(rows["rounds"], name, 0)
            problems += _negative_costs(rows["rounds"])
        tasks = rows.get("tasks", {})
        # a run's hash is the load's
        hashes = tasks.pop("run_hash", ())
        times = tasks.pop("written_at", ())
        are_versions = tasks.pop("is_version", ())
        for task_id, run_hash, is_version, moment in zip(
            tasks.get("task_id", ()), hashes, are_versions, times, strict=True
        ):
            self._runs[task_id] = run_hash
            if is_version:
                self._versions.add(task_id)
            if moment is not None:
                self._written[task_id] = moment
        return Reading(
            rows=dict(rows),
            problems=problems,
            records_loaded=height(rows.get("rounds", {})),
            records_rejected=sum(problem.severity == "reject" for problem in problems)
            - self._rejected,  # a file is not a record
            rejected=self._rejected,
            keys=[("task", task_id) for task_id in self._new_tasks(rows)],
            runs={
                task_id: run_hash
                if task_id in self._versions
                else f"{run_hash}+{self._contents[task_id].hash()}"
                for task_id, run_hash in self._runs.items()
            },
            written=dict(self._written),
        )

    def _hash(self, rows: _Rows) -> None:
        """Add the answers and verdicts of the batch to the hash of each task.

        Each row is a line of JSON, so the order of rows does not matter.
        """
        for table, names in _CONTENT.items():
            if table not in rows:
                continue
            columns = [rows[table][name] for name in names]
            for place, name in enumerate(names):
                if name in ("value", "score"):  # CSV may round the last digits
                    columns[place] = [
                        f"{value:.12g}" if type(value) is float else value
                        for value in columns[place]
                    ]
            written = _encode_lines(list(zip(*columns, strict=True))).split(b"\n")
            for task_id, line in zip(rows[table]["task_id"], written, strict=False):
                self._contents[task_id].add_written(line)

    def _new_tasks(self, rows: _Rows) -> list[str]:
        """Return the ids of tasks that are not in earlier batches."""
        tasks = set[str]().union(*(columns["task_id"] for columns in rows.values()))
        new = sorted(tasks - self._seen)
        self._seen |= tasks
        return new

    def _cut(self, record: Any, names: Mapping[str, str | None]) -> int:
        """Leave out texts above the limit, with a warning.

        Such a text is released before the next record is read, to save memory.

        Returns:
            The number of characters left in it.
        """
        most, left = self._limits.max_string, 0
        for name, instead in names.items():
            written: str | None = getattr(record, name)
            if written is None:
                continue
            if len(written) > most // 4:  # characters
                size = len(written.encode("utf-8", "replace"))
                if size > most:
                    setattr(record, name, instead)
                    self._problems.append(
                        warning(
                            "string_too_long",
                            f"{self._limits.too_long(size)}: it is left out",
                            record_id=record.case_id,
                            pointer=f"/{name}",
                        )
                    )
                    continue
            left += len(written)
        return left


def _outside(
    columns: _Columns,
    name: str,
    low: int,
    high: float = math.inf,
    instead: int | None = None,
) -> Iterator[Problem]:
    """Leave out numbers outside of a range, with a warning: negative, or too large."""
    written = columns[name]
    known = [number for number in written if number is not None]
    if not known or (min(known) >= low and max(known) <= high):
        return
    columns[name] = kept = list(written)
    for row, value in enumerate(written):
        if value is None or low <= value <= high:
            continue
        kept[row] = instead
        code = "number_negative" if low == 0 else "number_too_large"
        outcome = f"{value}, expected a number from 0"
        if low:
            digits = len(str(abs(value)))
            outcome = f"a number of {digits} digits, too large to be meant"
        yield warning(
            code,
            f"{name} is {outcome}: it is left out",
            record_id=columns["case_id"][row] if "case_id" in columns else None,
            pointer=f"/{name}",
        )


def _negative_costs(columns: _Columns) -> Iterator[Problem]:
    """Leave out negative costs, with a warning."""
    kept = []
    for case_id, written in zip(columns["case_id"], columns["metadata"], strict=True):
        if ":-" not in written:
            kept.append(written)
            continue
        metadata, keys = without_negative_cost(written)
        kept.append(metadata)
        for key in keys:
            yield warning(
                "odd_cost",
                NEGATIVE_COST,
                record_id=case_id,
                pointer=f"/metadata/{key}",
            )
    columns["metadata"] = kept
