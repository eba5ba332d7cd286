"""Records of any tool into rows of the raw tables, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign.documents import Refused, shape_problem
from ingest.foreign.records import TABLES, Case, Record, Round, Score, Task
from ingest.foreign.registry import tool
from ingest.raw.rows import Reading, Rows, columns_of
from ingest.reading.garbage import no_garbage_collection
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.limits import Limits
    from ingest.reading.source import Source

BATCH_RECORDS = 50_000

_LONG: dict[type[Any], tuple[str, ...]] = {
    Case: ("context",),
    Round: ("raw_output", "parsed_output", "metadata", "error"),
    Score: ("summary", "payload"),
}
"""What a model, or a person, may have written at length."""


def foreign_batches(name: str, source: Source) -> Iterator[Reading]:
    """Read one run of a tool.

    Args:
        name: The tool, as in the registry.
        source: The file that leads the run.

    Yields:
        Batches of rows, at least one; the last has the hashes of the runs.
    """
    batch = _Batch(source.limits)
    records = tool(name).translate(source)
    is_over = False
    while not is_over:
        with no_garbage_collection():
            try:
                is_over = batch.fill(records)
            except Refused as refused:
                batch.refuse(refused.problem)
                is_over = True
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                batch.refuse(shape_problem(error, name, "other files"))
                is_over = True
        yield batch.reading()


class _Batch:
    """Records that wait to be handed on."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._harmless = limits.max_string // 4  # characters
        self._seen: set[str] = set()
        self._runs: dict[str, str] = {}  # of all batches: the last one tells them
        self._rejected = False
        self._clear()

    def _clear(self) -> None:
        self._records: dict[type[Any], list[Any]] = {}
        self._problems: list[Problem] = []
        self._keys: list[tuple[str, ...]] = []
        self._count = self._rejects = self._rounds = 0

    def fill(self, records: Iterator[Record | Problem]) -> bool:
        """Take records until there are enough; whether there are no more."""
        for record in records:
            if isinstance(record, Problem):
                self._problems.append(record)
                self._rejects += record.severity == "reject"
            else:
                self._add(record)
                if self._count >= BATCH_RECORDS:
                    return False
        return True

    def _add(self, record: Record) -> None:
        kind = type(record)
        if kind in _LONG:
            self._see_length(record, kind)
        self._records.setdefault(kind, []).append(record)
        self._count += 1
        if record.task_id not in self._seen:
            self._seen.add(record.task_id)
            self._keys.append(("task", record.task_id))
        if kind is Task:
            self._runs[record.task_id] = record.run_hash  # type: ignore[union-attr]  # it is a Task
        self._rounds += kind is Round

    def refuse(self, problem: Problem) -> None:
        """Nothing of the file counts; a warning says that it is no run at all."""
        self._clear()
        self._runs = {}
        self._problems.append(problem)
        self._rejected = problem.severity == "reject"

    def reading(self) -> Reading:
        """Hand on what is there, and begin anew."""
        rows: Rows = {
            TABLES[kind]: columns_of(
                kind.__struct_fields__, map(msgspec.structs.astuple, records)
            )
            for kind, records in self._records.items()
        }
        if "tasks" in rows:  # a run's hash is the load's
            rows["tasks"] = {k: v for k, v in rows["tasks"].items() if k != "run_hash"}
        reading = Reading(
            rows=rows,
            problems=self._problems,
            records_loaded=self._rounds,
            records_rejected=self._rejects,
            rejected=self._rejected,
            keys=self._keys,
            runs=dict(self._runs),
        )
        self._clear()
        return reading

    def _see_length(self, record: Any, kind: type[Any]) -> None:
        """Cut a text that is longer than one may be, and say so."""
        for name in _LONG[kind]:
            written = getattr(record, name)
            if written is None or len(written) <= self._harmless:
                continue
            size = len(written.encode("utf-8", "replace"))
            if size > self._limits.max_string:
                setattr(record, name, None if name != "context" else "{}")
                self._problems.append(
                    Problem(
                        "string_too_long",
                        f"{self._limits.too_long(size)}: it is left out",
                        severity="warning",
                        record_id=record.case_id,
                        pointer=f"/{name}",
                    )
                )
