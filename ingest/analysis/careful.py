"""Reads a faulty analysis input: every fault is named, good cases are loaded."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from json import JSONDecodeError
from typing import Any

import msgspec

from ingest.analysis.head import AnalysisHead, HeadFaults, read_head
from ingest.analysis.rows import DoubtfulCases, task_reading
from ingest.analysis.warnings import UnknownTaskKeys, placed, placed_references
from ingest.raw.rows import Reading
from ingest.reading.contract_faults import Fault, judge, shown, text_member
from ingest.reading.json_messages import printable
from ingest.reading.json_places import (
    Key,
    Lines,
    Span,
    after_space,
    locate,
    pointer,
    spans,
    value_end,
)
from ingest.reading.json_syntax import syntax_problem
from ingest.reading.jsonl import shortened
from ingest.reading.limits import DEFAULT, Limits
from ingest.reading.problems import Problem
from ingest.reading.structs import struct_of
from promptlab.contracts.analysis_input import TestCaseBundle

_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_carefully(data: bytes, limits: Limits = DEFAULT) -> Reading:
    """Read an analysis input case by case.

    Args:
        data: The file, without byte order mark.
        limits: How large what is in it may be.
    """
    document = _Document(data.decode("utf-8", "surrogateescape"))
    try:
        document.split()
        head = read_head(document.parts(), limits)
    except JSONDecodeError as error:
        return _rejected([syntax_problem(error, document.text)])
    except HeadFaults as error:
        problems = [document.problem(each, error.task_id) for each in error.faults]
        problems += _Cases(document, limits).problems()
        return _rejected(problems, len(document.cases))
    return _Cases(document, limits).reading(head)


def _rejected(problems: list[Problem], cases: int = 0) -> Reading:
    return Reading(rows={}, problems=problems, records_rejected=cases, rejected=True)


class _Document:
    """The file's text, and where each part stands in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.top: dict[Key, Span] = {}
        self.cases: list[Span] = []

    def split(self) -> None:
        """Find the members of the file and its cases.

        Raises:
            JSONDecodeError: The file is not JSON.
            HeadFaults: It is, but no object.
        """
        start = after_space(self.text, 0)
        found, end = spans(self.text, start, self._end_of)
        end = after_space(self.text, end)
        if end < len(self.text):
            raise JSONDecodeError("Extra data", self.text, end)
        if not self.text.startswith("{", start):
            message = "expected an object with `task` and `cases`"
            raise HeadFaults([Fault((), "wrong_type", message)], None)
        self.top = {span.key: span for span in found}

    def _end_of(self, key: Key, start: int) -> int:
        if key != "cases" or not self.text.startswith("[", start):
            return value_end(self.text, start)
        self.cases, end = spans(self.text, start)
        return end

    def parts(self) -> dict[str, str]:
        """Return the JSON text of each member but the cases."""
        parts = {str(key): self.written(span) for key, span in self.top.items()}
        if parts.get("cases", "").startswith("["):
            parts["cases"] = "[]"
        return parts

    def written(self, span: Span) -> str:
        """Return a value as the file has it."""
        return self.text[span.start : span.end]

    def problem(
        self, fault: Fault, record_id: str | None, record: Span | None = None
    ) -> Problem:
        """Place a fault; its keys start at the top of the file."""
        first, *rest = fault.keys or ("",)
        place = after_space(self.text, 0)
        if record is not None:
            place = locate(self.text, record.start, fault.keys[2:])
        elif first in self.top:
            place = locate(self.text, self.top[first].start, rest)
        line, column = self.lines.place(place)
        record = record or self.top.get(first)
        return Problem(
            code=fault.code,
            message=printable(fault.message),
            line=line,
            column=column,
            record_id=record_id and printable(record_id),
            pointer=printable(pointer(fault.keys)),
            raw_text=shortened(printable(self.written(record))) if record else None,
        )


class _Cases:
    """The cases of a document, each loaded or refused."""

    def __init__(self, document: _Document, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self.good: dict[int, Any] = {}
        self.refused: dict[int, list[Problem]] = {}
        self.warnings: list[Problem] = []
        self.unknown = UnknownTaskKeys()

    def problems(self) -> list[Problem]:
        """Name all that is wrong with the cases of a file that is rejected anyway."""
        self._decode_all()
        for position in list(self.good):
            if judge(TestCaseBundle, self._text(position)):
                self._refuse(position, "")
        self._refuse_twins()
        return self._refusals()

    def reading(self, head: AnalysisHead) -> Reading:
        """Decode, judge, and build the rows of what is good."""
        self.unknown.see_head(map(str, self.document.top), head)
        self._decode_all()
        self._refuse_twins()
        for position in self.good:
            self._drop_twin_rounds(position)
        reading = self._rows(head)
        found = [*self.unknown.problems(), *reading.problems]
        reading.problems = [
            *self._refusals(),
            *self.warnings,
            *placed(found, self.document.text),
        ]
        text = self.document.text
        reading.references = placed_references(reading.references, text)
        reading.records_rejected = len(self.refused)
        return reading

    def _refusals(self) -> list[Problem]:
        return [each for _, found in sorted(self.refused.items()) for each in found]

    def _text(self, position: int) -> str:
        return self.document.written(self.document.cases[position])

    def _decode_all(self) -> None:
        for position, span in enumerate(self.document.cases):
            self._decode(position, span)

    def _decode(self, position: int, span: Span) -> None:
        text = self.document.written(span)
        excess = self.limits.excess(text)
        if excess is not None:
            fault = Fault((), excess.code, excess.message)
            case_id = text_member(text, "case_id")
            problem = self._problem(position, fault, case_id)
            line, column = self.document.lines.place(span.start + excess.place)
            self.refused[position] = [replace(problem, line=line, column=column)]
            return
        written = text.encode("utf-8", "surrogateescape")
        try:
            self.good[position] = _closed_case().decode(written)
        except _REFUSALS:
            try:
                self.good[position] = _open_case().decode(written)
                self.unknown.see_case(position, written)
            except _REFUSALS as error:
                self._refuse(position, str(error))

    def _refuse(self, position: int, reason: str) -> None:
        """Name every fault of a case that did not pass; *reason* is the last resort."""
        self.good.pop(position, None)
        text = self._text(position)
        found = judge(TestCaseBundle, text)
        self.refused[position] = [
            self._problem(position, fault, text_member(text, "case_id"))
            for fault in found or [Fault((), "unreadable", reason)]
        ]

    def _problem(self, position: int, fault: Fault, case_id: str | None) -> Problem:
        below = Fault(("cases", position, *fault.keys), fault.code, fault.message)
        return self.document.problem(below, case_id, self.document.cases[position])

    def _refuse_twins(self) -> None:
        first: dict[str, int] = {}
        for position, case in list(self.good.items()):
            other = first.setdefault(case.case_id, position)
            if other != position:
                del self.good[position]
                message = (
                    f"case_id {shown(case.case_id)} stands twice, first at"
                    f" /cases/{other}: rounds of one case belong into one `rounds`"
                )
                fault = Fault(("case_id",), "duplicate_case", message)
                self.refused[position] = [self._problem(position, fault, case.case_id)]

    def _drop_twin_rounds(self, position: int) -> None:
        """Keep the first of several rounds with one id, and report the others."""
        case = self.good[position]
        kept: dict[str, Any] = {}
        for place, one in enumerate(case.rounds):
            if one.round_id in kept:
                message = (
                    f"round_id {shown(one.round_id)} stands twice in the case:"
                    " the first is kept, this one is left out"
                )
                fault = Fault(("rounds", place, "round_id"), "duplicate_round", message)
                problem = self._problem(position, fault, case.case_id)
                self.warnings.append(
                    replace(problem, severity="warning", raw_text=None)
                )
            kept.setdefault(one.round_id, one)
        case.rounds = list(kept.values())

    def _rows(self, head: AnalysisHead) -> Reading:
        while True:
            positions = list(self.good)
            try:
                return task_reading(
                    head, list(self.good.values()), positions, self.limits
                )
            except DoubtfulCases as error:
                for place in error.places:
                    self._refuse(positions[place], error.reason)


@cache
def _closed_case() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(struct_of(TestCaseBundle, closed=True))


@cache
def _open_case() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(struct_of(TestCaseBundle))
