"""Rows of a table into records, as a mapping says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ingest.foreign import prompts
from ingest.foreign.documents import integer, number, text, time
from ingest.foreign.identity import SameRun, content_id, first_text
from ingest.foreign.records import Direction, Record, Status
from ingest.foreign.table.cells import (
    content,
    is_nothing,
    number_of,
    said,
    same,
    verdict_of,
)
from ingest.foreign.table.opening import Row
from ingest.foreign.writing import CaseWriter, RoundWriter, TaskWriter
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source
    from promptlab.contracts.table_mapping import TableMapping

Reader = Callable[[], Iterable[tuple[int, Row] | Problem]]
"""Begins to read a table's rows, each with its line."""

_DUST = 1e-9

_Name = tuple[str, str, str]
"""Title, model, prompt version."""


def _share(value: float | None) -> float | None:
    """A score on the scale 0 to 1; what a sum of doubles adds to an end is none."""
    if value is None or not -_DUST <= value <= 1 + _DUST:
        return None
    return min(max(value, 0.0), 1.0)


def _off_scale(column: str, value: float, kind: str) -> Problem:
    fix = ". Name it under `values`, or write shares" if kind == "table" else ""
    return Problem(
        "off_scale",
        f"`{column}` holds {value:g}, and scores lie from 0 to 1: it is compared, but"
        f" not graded{fix}",
        severity="warning",
    )


class Tasks:
    """The tasks of one table.

    Args:
        title: Where no column and no fixed value says it.
        mapping: What the columns mean.
        source: The file.
        kind: Whose file it is, as in the registry.
    """

    def __init__(
        self, title: str, mapping: TableMapping, source: Source, kind: str = "table"
    ) -> None:
        self._title = title
        self._mapping = mapping
        self._source = source
        self._kind = kind
        self._columns = (*mapping.scores, *mapping.values)
        self._graded = mapping.scores
        self._named = mapping.columns

    def read(self, rows: Reader) -> Iterator[Record | Problem]:
        """Every task of the table; its rows are read twice, to know the run first."""
        same_run = SameRun(self._kind)
        found: dict[_Name, None] = {}
        off_scale: dict[str, float] = {}
        for found_row in rows():
            if not isinstance(found_row, Problem):
                _, row = found_row
                # names too: two formats may order the columns in two ways
                same_run.add(*(f"{k}\x1e{same(row[k])}" for k in sorted(row)))
                found[self._name(row)] = None
                for column in self._mapping.scores:
                    value = number_of(row.get(column))
                    if value is not None and _share(value) is None:
                        off_scale.setdefault(column, value)
        # a part of a column's values is no score of its rows
        self._graded = tuple(c for c in self._mapping.scores if c not in off_scale)
        for column, value in off_scale.items():
            yield _off_scale(column, value, self._kind)
        run_id = f"{self._kind}-{same_run.hash()[:12]}"
        tasks = {
            name: self._opened(
                run_id if len(found) == 1 else f"{run_id}/{content_id(name, name[1])}"
            )
            for name in found
        }
        for found_row in rows():
            if isinstance(found_row, Problem):
                yield found_row
            else:
                line, row = found_row
                task = tasks[self._name(row)]
                task.line = line
                self._write(row, task)
                yield from task.written()
        for name, task in tasks.items():
            self._close(name, task, run_id, same_run.hash())
            yield from task.written()

    def _opened(self, task_id: str) -> TaskWriter:
        task = TaskWriter(self._kind, task_id, self._source)
        for name in self._columns:
            task.dimensions.see(name, None)
        return task

    def _name(self, row: Row) -> _Name:
        mapping, stem = self._mapping, self._source.path.stem
        return (
            self._cell(row, mapping.title) or mapping.fixed.get("title", self._title),
            self._cell(row, mapping.model) or mapping.fixed.get("model", "unknown"),
            self._cell(row, mapping.prompt_version)
            or mapping.fixed.get("prompt_version", stem),
        )

    @staticmethod
    def _cell(row: Row, column: str | None) -> str | None:
        return None if column is None else said(row.get(column))

    def _write(self, row: Row, task: TaskWriter) -> None:
        mapping = self._mapping
        inputs = {name: content(row.get(name)) for name in mapping.inputs}
        case_id = self._case_id(row, inputs, task)
        if case_id is None:
            task.write(
                Problem(
                    "no_case",
                    f"`{mapping.case}` is empty, and no `inputs` are mapped that would"
                    " tell what the row asks",
                    raw_text=text({k: said(v) for k, v in row.items()}),
                )
            )
            return
        case = task.known(case_id) or self._case(case_id, row, inputs, task)
        error = self._cell(row, mapping.error)
        status = self._status(row, error)
        if status is None and mapping.verdict is not None:
            task.warn(
                "odd_verdict",
                f"`{mapping.verdict}` is {row.get(mapping.verdict)!r}, which is neither"
                " pass nor fail: the row is loaded without a verdict",
                case_id,
            )
        latency_ms = self._latency(row)
        if latency_ms is not None and latency_ms < 0:
            task.warn(
                "odd_latency",
                f"a latency of {latency_ms:g} ms is none: the row is loaded without it",
                case_id,
            )
            latency_ms = None
        rest = {k: _plain(content(row[k])) for k in row if k not in self._named}
        answer = case.round(
            self._cell(row, mapping.output),
            n=self._integer(row, mapping.round),
            name=task.n_rounds[case_id] + 1,
            input_tokens=self._integer(row, mapping.input_tokens),
            output_tokens=self._integer(row, mapping.output_tokens),
            latency_ms=latency_ms,
            metadata={k: v for k, v in rest.items() if v not in (None, "")},
            executed_at=time(self._cell(row, mapping.time)),
            error=error,
            status=status,
        )
        for name in self._columns:
            self._write_score(name, row.get(name), answer)

    def _case(
        self, case_id: str, row: Row, inputs: Row, task: TaskWriter
    ) -> CaseWriter:
        expected = self._mapping.expected
        return task.case(
            case_id,
            {k: _plain(v) for k, v in inputs.items()},
            golden=None if expected is None else _plain(content(row.get(expected))),
            tags=_tags(self._cell(row, self._mapping.tags)),
        )

    def _case_id(self, row: Row, inputs: Row, task: TaskWriter) -> str | None:
        named = self._cell(row, self._mapping.case)
        if named is not None or not inputs:
            return named
        same_inputs = {k: same(v) for k, v in inputs.items()}
        case_id = content_id(same_inputs, first_text(inputs.values()))
        return case_id if self._mapping.round is not None else task.distinct(case_id)

    def _status(self, row: Row, error: str | None) -> Status | None:
        if error is not None:
            return "error"
        column = self._mapping.verdict
        return None if column is None else verdict_of(row.get(column))

    def _integer(self, row: Row, column: str | None) -> int | None:
        return None if column is None else integer(number_of(row.get(column)))

    def _latency(self, row: Row) -> float | None:
        in_ms, in_s = self._mapping.latency_ms, self._mapping.latency_s
        if in_ms is not None:
            return number_of(row.get(in_ms))
        seconds = None if in_s is None else number_of(row.get(in_s))
        return None if seconds is None else number(seconds * 1000)

    def _write_score(self, name: str, cell: Any, answer: RoundWriter) -> None:
        value = number_of(cell)
        is_odd = value is None and not is_nothing(cell)
        answer.score(
            name,
            value,
            _share(value) if name in self._graded else None,
            payload={"given": said(cell)} if is_odd else None,
        )

    def _direction(self, name: str) -> Direction | None:
        if name in self._mapping.scores:
            return "higher_better"
        return "lower_better" if name in self._mapping.lower_is_better else None

    def _close(self, name: _Name, task: TaskWriter, run_id: str, run_hash: str) -> None:
        title, model, version = name
        task.describe(
            title,
            prompt_version=version,
            model=model,
            run_id=run_id,
            run_hash=f"{run_hash}/{task.task_id}",
            extras=prompts.about(self._mapping.fixed.get("prompt")),
        )
        task.grade(
            self._graded,
            {each: self._direction(each) for each in self._columns},
            numbers=self._columns,
        )


def _plain(value: Any) -> Any:
    """A value that JSON can hold: others as their text."""
    if isinstance(value, str | int | float | list | dict | None):
        return value
    return said(value)


def _tags(cell: str | None) -> list[str]:
    if cell is None:
        return []
    held = content(cell)
    parts = held if isinstance(held, list) else cell.split(",")
    return [word for each in parts if (word := str(each).strip())]
