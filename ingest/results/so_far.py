"""What is remembered between the batches of a results file: tasks, cases, round ids.

A file of any size is read batch by batch; this is all that stays of a batch. A task
and a case is kept as such, a round only as a digest of its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from promptlab.ingest.raw.rows import Reference
from promptlab.ingest.reading.checked_columns import zone_message
from promptlab.ingest.reading.problems import CountedProblems, Problem
from promptlab.ingest.reading.records import Id, SeenIds


@dataclass
class TaskSoFar:
    """The common fields of one task's results, as far as the file was read."""

    fields: dict[str, str | None]
    created_at: datetime | None
    executed_at: datetime | None
    testset: Problem | None = None
    """Where a testset is named first."""
    warned: set[str] = field(default_factory=set)
    """Fields with more than one value, which were already warned about."""


class ResultsSoFar:
    """Everything kept of the batches before."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskSoFar] = {}
        self.rounds = SeenIds()
        self._counts: dict[str, dict[str, int]] = {}
        self._tags: dict[Id, dict[str, None]] = {}
        self._inputs: dict[Id, str] = {}
        self.zoneless = CountedProblems(
            lambda _name, _first, count: zone_message(count)
        )
        """Times without a zone, by their field."""

    def count(self, task_id: str, case_id: str) -> int:
        """Return how many results of a case there were."""
        return self._counts.get(task_id, {}).get(case_id, 0)

    def add_case(self, task_id: str, case_id: str, results: int) -> None:
        """Count results of a case."""
        counts = self._counts.setdefault(task_id, {})
        counts[case_id] = counts.get(case_id, 0) + results

    def add_tags(self, task_id: str, case_id: str, tags: list[str]) -> None:
        """Add tags of one result to its case."""
        known = self._tags.setdefault((task_id, case_id), {})
        known.update(dict.fromkeys(tags))

    def add_inputs(self, task_id: str, case_id: str, inputs: str) -> None:
        """Take what one result was asked as what its case asks, if it is the first."""
        self._inputs.setdefault((task_id, case_id), inputs)

    def cases(self) -> Iterator[tuple[str, str, int, str, list[str]]]:
        """Yield task, case, the case's place in the task, its inputs and its tags."""
        for task_id, counts in self._counts.items():
            for position, case_id in enumerate(counts):
                key = (task_id, case_id)
                inputs, tags = self._inputs.get(key, "{}"), self._tags.get(key, ())
                yield *key, position, inputs, list(tags)

    def references(self) -> list[Reference]:
        """The testset that each task names."""
        return [
            Reference("testset", str(each.fields["testset"]), task_id, each.testset)
            for task_id, each in self.tasks.items()
            if each.testset is not None
        ]

    def closing_problems(self) -> list[Problem]:
        """Problems that are known only at the end of the file."""
        return list(self.zoneless.problems())
