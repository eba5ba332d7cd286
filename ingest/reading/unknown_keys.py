"""Keys that a contract does not know: a warning for each, once a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel

from promptlab.ingest.reading.contract_faults import Fault
from promptlab.ingest.reading.json_messages import shown
from promptlab.ingest.reading.notes import SaidOnce
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.struct_records import StructRecords

Advice = Callable[[type[BaseModel], str, Any], str]
"""Says of a key where it goes or what was meant, given the contract that does not know
it and the record that has it; nothing: not worth telling."""


class UnknownKeys:
    """Counts unknown keys over the parts of a file."""

    def __init__(self, advice: Advice) -> None:
        self._advice = advice
        self._found = SaidOnce(_message)

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
        if advice:
            self._found.see((model, key, advice), place)

    def problems(self) -> list[Problem]:
        """Return a warning for each, at its first place, with how often it is there."""
        return self._found.problems()


def _message(
    kind: tuple[type[BaseModel], str, str], _first: Problem, count: int
) -> str:
    _, key, advice = kind
    often = "" if count == 1 else f" (here and in {count - 1} more)"
    return f"unknown key {shown(key)}{often} {advice}"
