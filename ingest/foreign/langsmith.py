"""LangSmith: the rows of an experiment, as CSV, JSON or JSONL with dotted columns.

Tried on 0.15.0 (``ExperimentResults.to_pandas``), whose columns the service's export
has too. A file is an experiment and one task. It names no model, no prompt and no
experiment: the file's name is the title. A case is an example, by ``example_id``; runs
of the same example are its rounds, in the order they stand.

There is no pass rule. Feedback is a score; a text is kept and has no value. Where the
run broke nobody gave feedback; where an evaluator broke its cell is empty.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ingest.foreign.csv_rows import csv_rows
from ingest.foreign.documents import (
    answer,
    decode,
    decode_file,
    number,
    on_scale,
    shape_problem,
    text,
    time,
)
from ingest.foreign.files import file_bytes, lines
from ingest.foreign.grading import Dimensions
from ingest.foreign.heads import Head
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.records import Baseline, Case, Record, Round, Score, Task
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

FORMS = ("jsonl", "json", "csv")
VERSIONS = "0.15.0"

_WORDS = {"true": 1.0, "false": 0.0}

Row = Mapping[str, Any]


def recognise(head: Head) -> str | None:
    """Examples and runs by id, with inputs and with feedback or a time."""
    for names, form in ((head.keys, "json"), (head.columns, "csv")):
        if {"example_id", "id"} <= names:
            has_inputs = any(name.startswith("inputs.") for name in names)
            judged = any(name.startswith("feedback.") for name in names)
            if has_inputs and (judged or "execution_time" in names):
                is_list = head.data.lstrip().startswith(b"[")
                return "jsonl" if form == "json" and not is_list else form
    return None


def translate(source: Source) -> Iterator[Record | Problem]:
    """The experiment as records."""
    experiment: _Experiment | None = None
    for row in _rows(source):
        if isinstance(row, Problem):
            yield row
            continue
        if experiment is None:
            experiment = _Experiment(row, source)
        yield from experiment.add(row)
    if experiment is not None:
        yield from experiment.closing()


def _rows(source: Source) -> Iterator[Row | Problem]:
    if source.form == "csv":
        yield from csv_rows(source, "LangSmith", VERSIONS)
    elif source.form == "json":
        data = source.redact(file_bytes(source))
        yield from decode_file(data, list[dict[str, Any]], "LangSmith", VERSIONS)
    else:
        for line, written in lines(source):
            try:
                yield decode(written, dict[str, Any])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                yield shape_problem(
                    error, "LangSmith", VERSIONS, line=line, raw=written
                )


class _Experiment:
    """Turns rows into records.

    Args:
        first: The first row; the experiment is known by its id.
        source: The file.
    """

    def __init__(self, first: Row, source: Source) -> None:
        run = str(first.get("id") or content_id(first))
        self._source = source
        self._task_id = f"langsmith-{run}"
        self._created_at = _born(run)
        self._dimensions = Dimensions(self._task_id)
        self._same_run = SameRun("langsmith")
        self._seen = Occurrences()
        self._cases = 0

    def add(self, row: Row) -> Iterator[Record]:
        """The records of one run of an example."""
        task_id, inputs = self._task_id, _below(row, "inputs")
        example = row.get("example_id")
        said = next((each for each in inputs.values() if isinstance(each, str)), None)
        case_id = str(example) if example else content_id(inputs, said)
        n = self._seen.next(case_id)
        if n == 1:
            yield Case(task_id, case_id, self._cases, text({"inputs": inputs}))
            self._cases += 1
            reference = _below(row, "reference")
            if reference:
                golden = text({"answer": _one_of(reference)})
                yield Baseline(task_id, case_id, "reference", 0, golden)
        run = row.get("id")
        self._same_run.add(str(run) if run else text(row))
        error = row.get("error")
        seconds = number(_value(row.get("execution_time")))
        output, parsed = answer(_one_of(_below(row, "outputs")))
        round_id = f"{case_id}-{n}"
        yield Round(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            position=n - 1,
            run_index=n,
            raw_output=output,
            parsed_output=parsed,
            latency_ms=None if seconds is None else round(seconds * 1000, 6),
            metadata=text({"run_id": run} if run else {}),
            executed_at=_born(run),
            error=str(error) if error else None,
            reported_status="error" if error else None,
        )
        for key, given in row.items():
            if not key.startswith("feedback."):
                continue
            name, value = key.removeprefix("feedback."), _value(given)
            self._dimensions.see(name, value)
            if given is None and error:
                continue  # there was nothing to judge
            is_label = value is None and given is not None
            yield Score(
                task_id=task_id,
                case_id=case_id,
                round_id=round_id,
                dimension_id=name,
                value=value,
                score=on_scale(value),
                payload=text({"given": given} if is_label else {}),
            )

    def closing(self) -> Iterator[Record]:
        """The task and its dimensions, when all rows are read."""
        yield Task(
            task_id=self._task_id,
            source_kind="langsmith",
            title=self._source.path.name.split(".", 1)[0],
            prompt_version="unknown",
            model="unknown",
            created_at=self._created_at or self._source.modified_at,
            run_id=self._task_id,
            run_hash=self._same_run.hash(),
        )
        yield from self._dimensions.records()


def _below(row: Row, prefix: str) -> dict[str, Any]:
    """What stands in the columns of a prefix, without what is empty."""
    start = f"{prefix}."
    return {
        key.removeprefix(start): value
        for key, value in row.items()
        if key.startswith(start) and value is not None
    }


def _one_of(values: dict[str, Any]) -> Any:
    """The value of a single key, or all of them; null for none."""
    if len(values) == 1:
        return next(iter(values.values()))
    return values or None


def _value(given: Any) -> float | None:
    """A number or a truth value, also as a cell of a CSV file writes it."""
    if not isinstance(given, str):
        return number(given)
    word = _WORDS.get(given.lower())
    if word is not None:
        return word
    try:
        return number(float(given))
    except ValueError:
        return None


def _born(run_id: Any) -> datetime | None:
    """When a run began: ids of version 7 begin with the time."""
    try:
        run = uuid.UUID(str(run_id))
    except ValueError:
        return None
    return time((run.int >> 80) / 1000) if run.version == 7 else None
