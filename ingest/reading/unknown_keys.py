"""Keys that a contract does not know, each told once for a whole file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ingest.reading.contract_faults import Fault, shown
from ingest.reading.problems import Problem
from ingest.reading.struct_records import StructRecords


@dataclass
class _Found:
    first: Problem
    count: int = 0


class UnknownKeys:
    """Counts unknown keys over the batches of a file.

    Args:
        advice: Says of a key, given the record that has it, where it goes or what was
            meant; nothing: not worth telling.
    """

    def __init__(self, advice: Callable[[str, Any], str]) -> None:
        self._advice = advice
        self._found: dict[tuple[str, str], _Found] = {}

    def count(self, records: StructRecords) -> None:
        """Count those of a batch."""
        for row, unknown in enumerate(records.unknown):
            for key in unknown:
                advice = self._advice(key, records.structs[row])
                if not advice:
                    continue
                if (key, advice) not in self._found:
                    first = records.problem(row, Fault((key,), "unknown_key", ""))
                    self._found[key, advice] = _Found(first)
                self._found[key, advice].count += 1

    def problems(self) -> list[Problem]:
        """Return a warning for each, at its first place, with how often it is there."""
        return [
            replace(
                each.first,
                message=f"unknown key {shown(key)}{_often(each.count)} {advice}",
            )
            for (key, advice), each in self._found.items()
        ]


def _often(count: int) -> str:
    return "" if count == 1 else f" (here and in {count - 1} more)"
