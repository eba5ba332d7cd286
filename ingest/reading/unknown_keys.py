"""Keys that a contract does not know: a warning for each, once a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from ingest.reading.contract_faults import Fault
from ingest.reading.json_messages import shown
from ingest.reading.problems import Problem
from ingest.reading.struct_records import StructRecords

Advice = Callable[[type[BaseModel], str, Any], str]
"""Says of a key where it goes or what was meant, given the contract that does not know
it and the record that has it; nothing: not worth telling."""


@dataclass
class _FirstSeen:
    first: Problem
    count: int = 0


class UnknownKeys:
    """Counts unknown keys over the parts of a file."""

    def __init__(self, advice: Advice) -> None:
        self._advice = advice
        self._found: dict[tuple[type[BaseModel], str, str], _FirstSeen] = {}

    def count(self, records: StructRecords) -> None:
        """Count those of a batch of records."""
        for row, unknown in records.unknown():
            for way, model, _ in unknown:
                place = partial(records.problem, row, Fault(way, "unknown_key", ""))
                self.see(model, str(way[-1]), place, records.structs[row])

    def see(
        self,
        model: type[BaseModel],
        key: str,
        place: Callable[[], Problem],
        record: Any = None,
    ) -> None:
        """Count one key; *place* says where it stands, if it is the first."""
        advice = self._advice(model, key, record)
        if not advice:
            return
        if (model, key, advice) not in self._found:
            self._found[model, key, advice] = _FirstSeen(place())
        self._found[model, key, advice].count += 1

    def problems(self) -> list[Problem]:
        """Return a warning for each, at its first place, with how often it is there."""
        return [
            replace(
                each.first,
                message=f"unknown key {shown(key)}{_often(each.count)} {advice}",
            )
            for (_, key, advice), each in self._found.items()
        ]


def _often(count: int) -> str:
    return "" if count == 1 else f" (here and in {count - 1} more)"
