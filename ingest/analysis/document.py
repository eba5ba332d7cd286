"""An analysis input before validation: its members and its cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from json import JSONDecodeError
from typing import Any

import msgspec

from promptlab.contracts.analysis_input import AnalysisInput, TestCaseBundle
from promptlab.ingest.analysis.head import HeadFaults
from promptlab.ingest.reading.problems import Problem, Severity, kept, problem_at
from promptlab.ingest.reading.records import RecordPlace, StructRecords, list_places
from promptlab.ingest.reading.structs import EMPTY, struct_of
from promptlab.json_text.places import Key, Span, SpanIndex, after_space
from promptlab.json_text.reading import Fault

_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class AnalysisDocument:
    """The text of a file, and the positions of its parts.

    Args:
        data: The file, without byte order mark.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, cases: StructRecords) -> Mapping[str, str]:
        """Read the cases, and return the JSON text of every other member.

        A file without a fault is decoded in one go, and so is one whose contract lacks
        some of its keys. In any other the cases are read one by one.

        Args:
            cases: Receives the cases.

        Returns:
            Member of the file → its text; ``cases`` is ``[]`` if it is a list.

        Raises:
            JSONDecodeError: The file is not JSON.
            HeadFaults: It is JSON, but not an object.
        """
        try:
            return self._read_at_once(cases)
        except _REFUSALS:
            parts = self._parts()
            if parts.get("cases") == "[]":
                cases.take_list(self._index.text, self._cases, ("cases",))
            return parts

    def _read_at_once(self, cases: StructRecords) -> Mapping[str, str]:
        try:
            file = _decoder(closed=True).decode(self._data)
        except msgspec.ValidationError:  # perhaps only for a key
            self._data.decode()  # msgspec does not check that skipped values are UTF-8
            file = _decoder(closed=False).decode(self._data)
            parts, is_open = self._parts(), True
        else:
            parts, is_open = {"cases": "[]"}, False
            for name in ("task", "dimensions", "extras"):
                parts[name] = str(getattr(file, name), "utf-8")
        places = range(len(file.cases))
        cases.take(file.cases, places, self._place_of_case, is_open=is_open)
        return parts

    def _parts(self) -> dict[str, str]:
        parts = {}
        for key, span in self._top.items():
            is_list = key == "cases" and self._index.text[span.start] == "["
            parts[str(key)] = "[]" if is_list else self._written(span)
        return parts

    def problem(
        self, fault: Fault, record_id: str | None, severity: Severity = "reject"
    ) -> Problem:
        """Return an error with its place; its keys start at the top of the file."""
        raw_text = None
        if severity == "reject" and fault.keys and fault.keys[0] in self._top:
            raw_text = kept(self._written(self._top[fault.keys[0]]))
        index = self._index
        return problem_at(
            lambda keys: index.line_column(index.find(keys)),
            fault,
            severity,
            record_id=record_id,
            raw_text=raw_text,
        )

    @cached_property
    def _index(self) -> SpanIndex:
        return SpanIndex(self._data.decode("utf-8", "surrogateescape"))

    @cached_property
    def _top(self) -> dict[Key, Span]:
        index = self._index
        end = after_space(index.text, index.walk(index.start, also="cases"))
        if end < len(index.text):
            raise JSONDecodeError("Extra data", index.text, end)
        if not index.text.startswith("{", index.start):
            message = "expected an object with `task` and `cases`"
            raise HeadFaults([Fault((), "wrong_type", message)], None)
        return {span.key: span for span in index.inside(index.start)}

    @property
    def _cases(self) -> list[Span]:
        return self._index.inside(self._top["cases"].start)

    @cached_property
    def _case_places(self) -> list[RecordPlace]:
        return list(list_places(self._index.text, self._cases, ("cases",)))

    def _place_of_case(self, position: int) -> RecordPlace:
        return self._case_places[position]

    def _written(self, span: Span) -> str:
        return self._index.text[span.start : span.end]


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
