"""Warnings about an analysis input that loads: unknown keys, times without a zone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from pydantic import BaseModel

from ingest.raw.rows import Reference
from ingest.reading.checked_columns import zone_message
from ingest.reading.contract_faults import nearest, shown
from ingest.reading.json_places import Key, keys, line_column, locate, pointer
from ingest.reading.problems import Problem
from promptlab.contracts.analysis_input import (
    AnalysisInput,
    BaselineSpec,
    DimensionConfig,
    RoundRun,
    TestCaseBundle,
    TestTaskMeta,
)
from promptlab.seeds import builtin_scorers

if TYPE_CHECKING:
    from ingest.analysis.head import AnalysisHead

Members = dict[str, msgspec.Raw]
"""An object whose values stay as they are written."""

_ROOM: dict[type[BaseModel], str] = {
    AnalysisInput: "`extras`",
    TestTaskMeta: "`env`",
    DimensionConfig: "`parameters`",
    TestCaseBundle: "`context`",
    RoundRun: "`metadata`",
    BaselineSpec: "`payload`",
}

_KNOWN = {model: frozenset(model.model_fields) for model in _ROOM}
_MEMBERS = msgspec.json.Decoder(Members)
_LIST = msgspec.json.Decoder(list[Members])


class UnknownTaskKeys:
    """Counts the keys that the contract does not know, and where each stood first."""

    def __init__(self) -> None:
        self._found: dict[tuple[type[BaseModel], str], tuple[str, int]] = {}

    def see(self, model: type[BaseModel], keys: Iterable[str], *way: Key) -> None:
        """Note the keys of one object of *model* that stands at *way*."""
        for key in keys:
            if key not in _KNOWN[model]:
                first, count = self._found.get((model, key), ("", 0))
                first = first or pointer((*way, key))
                self._found[model, key] = first, count + 1

    def see_head(self, top: Iterable[str], head: AnalysisHead) -> None:
        """Note unknown keys of the file itself, its task and its dimensions."""
        self.see(AnalysisInput, top)
        task = head.contract.task
        self.see(type(task), task.model_extra or (), "task")
        for place, each in enumerate(head.contract.dimensions):
            self.see(type(each), each.model_extra or (), "dimensions", place)

    def see_case(self, position: int, case: bytes | msgspec.Raw) -> None:
        """Note unknown keys of a case, its rounds and its baselines."""
        members = _MEMBERS.decode(case)
        self.see(TestCaseBundle, members, "cases", position)
        for name, model in (("rounds", RoundRun), ("baselines", BaselineSpec)):
            known = _KNOWN[model]
            parts = _LIST.decode(members.get(name, b"[]"))
            for place, part in enumerate(parts):
                if not known.issuperset(part):
                    self.see(model, part, "cases", position, name, place)

    def problems(self) -> list[Problem]:
        """One warning for each key, with how often it was there."""
        return [
            Problem(
                code="unknown_key",
                severity="warning",
                pointer=first,
                message=_say(model, key, count),
            )
            for (model, key), (first, count) in self._found.items()
        ]


def dimension_warnings(head: AnalysisHead) -> list[Problem]:
    """One warning for each dimension whose scorer is almost that of another name."""
    found = []
    known = builtin_scorers()
    for place, each in enumerate(head.contract.dimensions):
        scorer = each.parameters.get("scorer", each.dimension_id)
        near = nearest(scorer, known, cutoff=0.8) if isinstance(scorer, str) else ""
        if near and scorer not in known:
            is_named = "scorer" in each.parameters
            way = ("parameters", "scorer") if is_named else ("dimension_id",)
            found.append(
                Problem(
                    code="unknown_scorer",
                    severity="warning",
                    record_id=head.task_id,
                    pointer=pointer(("dimensions", place, *way)),
                    message=f"no scorer is called {shown(scorer)}, so only scores from"
                    f" outside count here{near}",
                )
            )
    return found


def testset_references(head: AnalysisHead) -> list[Reference]:
    """The testsets that a task names; ``env.dataset`` may be the name of anything."""
    extras, env = head.contract.extras, head.contract.task.env
    return [
        Reference(
            "testset",
            name,
            head.task_id,
            Problem(
                code="unknown_testset",
                message="",
                severity="warning",
                record_id=head.task_id,
                pointer=pointer(way),
            ),
        )
        for name, way in (
            (extras.get("testset"), ("extras", "testset")),
            (env.get("testset"), ("task", "env", "testset")),
        )
        if isinstance(name, str) and name.strip()
    ]


def _say(model: type[BaseModel], key: str, count: int) -> str:
    often = "" if count == 1 else f" (here and in {count - 1} more)"
    near = nearest(key, list(model.model_fields))
    room = _ROOM[model]
    advice = near or f"; put it into {room}"
    return f"unknown key {shown(key)}{often} is not stored{advice}"


def placed(problems: Sequence[Problem], text: str) -> list[Problem]:
    """Add line and column to problems that have a pointer only."""
    places = (locate(text, 0, keys(each.pointer or "")) for each in problems)
    lines = (line_column(text, place) for place in places)
    return [
        replace(each, line=line, column=column)
        for each, (line, column) in zip(problems, lines, strict=True)
    ]


def placed_references(references: Sequence[Reference], text: str) -> list[Reference]:
    """Add line and column to where names stand."""
    places = placed([each.place for each in references], text)
    return [
        replace(each, place=place)
        for each, place in zip(references, places, strict=True)
    ]


def zone_warnings(
    head: AnalysisHead, rounds: int, first_round: str | None
) -> list[Problem]:
    """One warning for the task's time, one for all rounds without a zone.

    Args:
        head: The file's head.
        rounds: How many rounds have a time without a zone.
        first_round: Pointer to the time of the first of them.
    """
    found: Mapping[str, int] = {
        "/task/created_at": int(head.zoneless),
        first_round or "": rounds,
    }
    return [
        zone_warning(where, count, head.task_id)
        for where, count in found.items()
        if count
    ]


def zone_warning(where: str, count: int, record_id: str | None) -> Problem:
    """Tell of *count* times without a zone, the first of them at *where*."""
    return Problem(
        code="time_without_zone",
        severity="warning",
        record_id=record_id,
        pointer=where,
        message=zone_message(count),
    )
