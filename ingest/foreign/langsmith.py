"""LangSmith: the rows of an experiment, as CSV, JSON or JSONL with dotted columns.

Tried on 0.15.0 (``ExperimentResults.to_pandas``), whose columns are also
those of the service's export. A file is an experiment and one task. Model, prompt and
experiment are not in the file: its name is the title. A case is an example, by
``example_id``; runs of the same example are its rounds, in file order.

The tool has no pass rule. Feedback is a score; a text is kept and has no value. A run
that failed has no feedback; the cell of an evaluator that failed is empty.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from promptlab.ingest.foreign.casts import (
    as_float,
    as_time,
    parse_float,
)
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
)
from promptlab.ingest.foreign.scorings import write_score
from promptlab.ingest.foreign.table.opening import Rows
from promptlab.ingest.foreign.writing import Record, TaskWriter
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("jsonl", "json", "csv")

_RATINGS = ("score_string:", "labeled_score_string:")
"""Prefixes of LangChain's evaluators that rate from 1 to 10."""
_WORDS = {"true": 1.0, "false": 0.0}

Row = Mapping[str, Any]


def recognise(head: Head) -> str | None:
    """Recognise examples and runs by id, with inputs and with feedback or a time."""
    for names, form in ((head.keys, "json"), (head.columns, "csv")):
        if {"example_id", "id"} <= names:
            has_inputs = any(name.startswith("inputs.") for name in names)
            judged = any(name.startswith("feedback.") for name in names)
            if has_inputs and (judged or "execution_time" in names):
                is_list = head.data.lstrip().startswith(b"[")
                return "jsonl" if form == "json" and not is_list else form
    return None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the experiment as records; its id is that of its earliest run."""
    task: TaskWriter | None = None
    rows = Rows(source, source.form or "csv")
    # rows are read twice, since an export may have them in any order
    read = (item[1] for item in rows if not isinstance(item, Problem))
    earliest = min(map(_order, read), default=None)
    ids = OwnIds("run id")
    for item in rows:
        if isinstance(item, Problem):
            yield item
            continue
        line, row = item
        if source.form == "csv":
            if "id" not in row:
                yield Problem("cut_row", "the row has no cell for its `id`", line=line)
                continue
            row = {name: cell if cell != "" else None for name, cell in row.items()}
        own_id = row.get("id")
        if ids.again(str(own_id) if own_id else None, str(row.get("example_id"))):
            continue
        if task is None:
            assert earliest is not None
            same_run = SameRun("langsmith")
            task_id = f"langsmith-{earliest[-1]}"
            task = TaskWriter("langsmith", task_id, source, same_run)
        _write(row, task)
        yield from task.written()
    if task is not None:
        task.describe()
        names = task.dimensions
        names.ratings = {name for name in names if name.startswith(_RATINGS)}
        task.grade()
        yield from (*task.written(), *ids.problems())


def _order(row: Row) -> tuple[bool, str]:
    """Return the place of a run: ids begin with their time. Those without are last."""
    own_id = row.get("id")
    return not own_id, str(own_id or content_id(row))


def _write(row: Row, task: TaskWriter) -> None:
    """One run of an example."""
    inputs, reference = _below(row, "inputs"), _below(row, "reference")
    example, run, error = (row.get(key) for key in ("example_id", "id", "error"))
    case = task.case(
        str(example) if example else case_name(inputs, first_text(inputs.values())),
        {"inputs": inputs},
        golden=_one_of(reference),
    )
    task.same_run.add(str(run) if run else compact(row))
    answer = case.round(
        _one_of(_below(row, "outputs")),
        seconds=_value(row.get("execution_time")),
        metadata={"run_id": run} if run else None,
        executed_at=_born(run),
        error=str(error) if error else None,
    )
    for name, value in _below(row, "feedback", keep_empty=True).items():
        number = _value(value)
        if value is None and error:  # no answer to judge
            task.dimensions.see(name, None)
            continue
        write_score(answer, name, value if number is None else number)


def _below(row: Row, prefix: str, *, keep_empty: bool = False) -> dict[str, Any]:
    """Return the values of the columns with a prefix."""
    start = f"{prefix}."
    return {
        key.removeprefix(start): value
        for key, value in row.items()
        if key.startswith(start) and (keep_empty or value is not None)
    }


def _one_of(values: dict[str, Any]) -> Any:
    """Return the value of a single key, or all values; null without keys."""
    if len(values) == 1:
        return next(iter(values.values()))
    return values or None


def _value(value: Any) -> float | None:
    """Return a number or a boolean, also from the text of a CSV cell."""
    if not isinstance(value, str):
        return as_float(value)
    word = _WORDS.get(value.lower())
    return parse_float(value) if word is None else word


def _born(run_id: Any) -> datetime | None:
    """Return the start of a run: ids of version 7 begin with the time."""
    try:
        run = uuid.UUID(str(run_id))
    except ValueError:
        return None
    return as_time((run.int >> 80) / 1000) if run.version == 7 else None
