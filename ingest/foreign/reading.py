"""Records of any tool into rows of the raw tables, in batches of bounded size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign.documents import Refused, shape_problem
from ingest.foreign.records import TABLES, Case, Record, Round, Score, Task
from ingest.foreign.registry import tool
from ingest.raw.rows import Reading, Rows
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
        self._seen: set[str] = set()
        self._runs: dict[str, str] = {}  # of all batches: the last one tells them
        self._rejected = False
        self._records: dict[type[Any], list[Any]] = defaultdict(list)

    def fill(self, records: Iterator[Record | Problem]) -> bool:
        """Take records until the batch is full; say whether they came to an end."""
        count = 0
        for record in islice(records, BATCH_RECORDS):
            self._records[type(record)].append(record)
            count += 1
        return count < BATCH_RECORDS

    def refuse(self, problem: Problem) -> None:
        """Nothing of the file counts; a warning says that it is no run at all."""
        self._records.clear()
        self._records[Problem].append(problem)
        self._runs = {}
        self._rejected = problem.severity == "reject"

    def reading(self) -> Reading:
        """Hand on the records so far, and begin a new batch."""
        problems: list[Problem] = self._records.pop(Problem, [])
        for kind, names in _LONG.items():
            for name in names:
                problems += self._cut(self._records[kind], name)
        self._runs |= {each.task_id: each.run_hash for each in self._records[Task]}
        reading = Reading(
            rows=self._rows(),
            problems=problems,
            records_loaded=len(self._records[Round]),
            records_rejected=sum(each.severity == "reject" for each in problems)
            - self._rejected,  # a file is no record
            rejected=self._rejected,
            keys=[("task", task_id) for task_id in self._new_tasks()],
            runs=dict(self._runs),
        )
        self._records.clear()
        return reading

    def _rows(self) -> Rows:
        rows: Rows = {
            TABLES[kind]: {
                name: list(map(attrgetter(name), records))
                for name in kind.__struct_fields__
                if name != "run_hash"  # a run's hash is the load's
            }
            for kind, records in self._records.items()
            if records
        }
        return rows

    def _new_tasks(self) -> list[str]:
        """Tasks that no earlier batch had anything of."""
        tasks = {each.task_id for kind in self._records.values() for each in kind}
        new = sorted(tasks - self._seen)
        self._seen |= tasks
        return new

    def _cut(self, records: list[Any], name: str) -> Iterator[Problem]:
        """Leave out texts that are longer than one may be, and say so."""
        harmless = self._limits.max_string // 4  # characters
        for record in records:
            written = getattr(record, name)
            if written is None or len(written) <= harmless:
                continue
            size = len(written.encode("utf-8", "replace"))
            if size > self._limits.max_string:
                setattr(record, name, None if name != "context" else "{}")
                yield Problem(
                    "string_too_long",
                    f"{self._limits.too_long(size)}: it is left out",
                    severity="warning",
                    record_id=record.case_id,
                    pointer=f"/{name}",
                )
