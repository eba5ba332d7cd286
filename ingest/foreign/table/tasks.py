"""Convert the rows of a table to records, according to a mapping."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from promptlab.contracts.base import plain_name
from promptlab.contracts.sources import evaluator_of
from promptlab.ingest.files.dates import without_date
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import as_float, first_line
from promptlab.ingest.foreign.identity import (
    AskedOfIds,
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
)
from promptlab.ingest.foreign.table.cells import (
    cell_key,
    cell_text,
    content,
    count_of,
    error_of,
    is_nothing,
    is_share_or_truth,
    moment,
    number_of,
    text_key,
    verdict_of,
)
from promptlab.ingest.foreign.table.dialect import Row
from promptlab.ingest.foreign.table.guessing import toml_key
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Direction,
    Record,
    RoundWriter,
    Status,
    TaskWriter,
)
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

if TYPE_CHECKING:
    from promptlab.contracts.sources import TableMapping

T = TypeVar("T")

_REASON = re.compile(
    r"(.+?)[ _.-]?(reason|reasoning|rationale|explanation|comment|理由|原因|说明|评语)"
)
"""A score, and the name of the column with its reason."""
_ROUNDING_ERROR = 1e-9
_VERDICT = "verdict"

_Name = tuple[str, str, str]
"""Title, model, prompt version."""


def _share(value: float | None) -> float | None:
    """Return a score from 0 to 1; rounding errors beyond the ends are removed."""
    if value is None or not -_ROUNDING_ERROR <= value <= 1 + _ROUNDING_ERROR:
        return None
    return min(max(value, 0.0), 1.0)


def _off_scale(column: str, value: float, kind: str) -> Problem:
    fix = (
        f". If it has a scale, write scales = {{ {toml_key(column)} = [worst, best] }};"
        " else name it under `values`"
        if kind == "table"
        else ""
    )
    return warning(
        "off_scale",
        f"`{column}` holds {value:g}, and scores lie from 0 to 1: it is compared, but"
        f" not graded{fix}",
    )


_OddCells = dict[tuple[str, str, str], tuple[str, str, list[int]]]
"""Code, column and expected type → the first cell of another type, its case, and the
lines of all."""


def _problems_of(odd_cells: _OddCells) -> Iterator[Problem]:
    """Return one warning for all odd cells of a column."""
    for (code, column, expected), (cell, case_id, lines) in odd_cells.items():
        shown = ", ".join(map(str, lines[:3])) + ", …" * bool(lines[3:])
        rows = f"{len(lines)} rows, rows {shown}" if lines[1:] else f"row {shown}"
        yield warning(
            code,
            f"`{column}` is {first_line(cell, 80)!r} in {rows}, and that is not"
            f" {expected}: it is left out there, and the rest of the row is loaded",
            line=lines[0],
            record_id=case_id,
        )


_COUNT = "a whole number from 0, such as 1200"
_EXPECTED = {
    "odd_latency": "a number from 0, such as 1.5",
    "odd_cost": "a number from 0, such as 0.0012",
    "odd_tokens": _COUNT,
    "odd_round": _COUNT,
    "odd_time": "a time such as 2025-07-01T08:00:00Z",
}


class _Survey(NamedTuple):
    """Facts of all rows of a table: their run, names and scales."""

    same_run: SameRun
    names: list[_Name]
    """Each is a task."""
    off_scale: dict[str, float]
    """Column of scores → its first value outside of its scale."""
    is_timed: bool
    """True if the rows have times or latencies, which no other run repeats."""


class Tasks:
    """The tasks of one table.

    Args:
        title: The title, if no column has it.
        mapping: The meaning of its columns.
        source: Its file.
        kind: The tool that wrote it.
        as_meant: Returns a row with the columns of the mapping, for tools whose
            columns mean more than their names.
    """

    def __init__(
        self,
        title: str,
        mapping: TableMapping,
        source: Source,
        kind: str = "table",
        as_meant: Callable[[Row], Row] = lambda row: row,
    ) -> None:
        self._mapping = mapping
        self._as_meant = as_meant
        self._source = source
        self._kind = kind
        self._columns = (*mapping.scores, *mapping.values)
        self._dimension_of = _names_without_version(self._columns)
        self._versions: dict[str, set[str]] = {}
        self._renamed: dict[tuple[str, ...], dict[str, str]] = {}
        self._graded = mapping.scores
        self._named = mapping.columns
        self._reasons: dict[tuple[str, ...], dict[str, str]] = {}
        self._keys_of_cells: dict[str, Callable[[Any], str]] = dict.fromkeys(
            mapping.texts, text_key
        )
        if mapping.time is not None:
            self._keys_of_cells[mapping.time] = lambda cell: str(
                moment(cell) or text_key(cell)
            )
        fixed = mapping.fixed
        version = without_date(source.path.stem) or "unknown"
        self._names = (
            (mapping.title, fixed.get("title", title)),
            (mapping.model, fixed.get("model", "unknown")),
            (mapping.prompt_version, fixed.get("prompt_version", version)),
        )
        self._odd: _OddCells = {}
        self._repeated = OwnIds("case, round and cells")
        self._ids = AskedOfIds()
        expected = () if mapping.expected is None else (mapping.expected,)
        self._question_columns = (*mapping.inputs, *expected)

    def read(
        self, rows: Iterable[tuple[int, Row] | Problem]
    ) -> Iterator[Record | Problem]:
        """Yield every task of the table.

        Args:
            rows: Iterated twice: first for the facts of the whole run.
        """
        run = self._surveyed(rows)
        # a part of a column's values is not a score of its rows
        self._graded = tuple(c for c in self._mapping.scores if c not in run.off_scale)
        for column, value in run.off_scale.items():
            yield _off_scale(column, value, self._kind)
        # answers may be the same in another run, times and latencies are not
        same_run = run.same_run
        own_id = same_run.hash() if run.is_timed else same_run.hash_with_run_key()
        run_id = f"{self._kind}-{own_id[:12]}"
        parts = {
            name: f"/{content_id(name, name[1])}" if len(run.names) > 1 else ""
            for name in run.names
        }
        tasks = {name: self._new_task(run_id + part) for name, part in parts.items()}
        for item in rows:
            if isinstance(item, Problem):
                yield item
            else:
                line, row = item[0], self._with_evaluators(item[1])
                task = tasks[self._name(row)]
                task.line = line
                self._write(row, task)
                yield from task.written()
        yield from (*_problems_of(self._odd), *self._repeated.problems())
        yield from self._ids.problems(self._mapping.case or "")
        for name, task in tasks.items():
            self._describe(name, task, run_id, same_run.hash() + parts[name])
            yield from task.written()

    def _surveyed(self, rows: Iterable[tuple[int, Row] | Problem]) -> _Survey:
        """Read all rows for what has to be known before the first is written."""
        same_run = SameRun(self._kind, source=self._source)
        names: dict[_Name, None] = {}
        off_scale: dict[str, float] = {}
        times, latencies = set[str](), set[str]()
        key_of = self._keys_of_cells.get
        for item in rows:
            if isinstance(item, Problem):
                continue
            row = self._with_evaluators(item[1])
            # names too: the order of columns may differ between formats
            same_run.add(
                *(f"{k}\x1e{key_of(k, cell_key)(row[k])}" for k in sorted(row))
            )
            names[self._name(row)] = None
            if not times and len(latencies) < 2:
                times |= self._texts(row, self._mapping.time)
                latencies |= self._texts(row, self._mapping.latency_ms)
                latencies |= self._texts(row, self._mapping.latency_s)
            for column in self._mapping.scores:
                value = self._number(column, row.get(column))
                if value is not None and self._share(column, value) is None:
                    off_scale.setdefault(column, value)
        is_timed = bool(times) or len(latencies) > 1
        return _Survey(same_run, list(names), off_scale, is_timed)

    def _with_evaluators(self, row: Row) -> Row:
        """Return a row with the columns of the mapping, whatever their versions.

        An evaluator of another version is the same dimension, judged in another way.
        """
        if not self._dimension_of:
            return row
        names = self._renamed.get(tuple(row))
        if names is None:
            mapped = {base: column for column, base in self._dimension_of.items()}
            names = {}
            for name in row:
                base, version = evaluator_of(name)
                if version is None or base not in mapped:
                    continue
                column = name if name in self._dimension_of else mapped[base]
                if column == name or column not in row:
                    names[name] = column
                    self._versions.setdefault(column, set()).add(version)
            self._renamed[tuple(row)] = names
        return {names.get(name, name): cell for name, cell in row.items()}

    @staticmethod
    def _texts(row: Row, column: str | None) -> set[str]:
        """Return the text of a cell; nothing for an empty one."""
        cell = None if column is None else row.get(column)
        return set() if is_nothing(cell) else {text_key(cell)}

    def _number(self, column: str, cell: Any) -> float | None:
        return None if self._is_off(column, cell) else number_of(cell)

    def _is_off(self, column: str, cell: Any) -> bool:
        """Return true for ``80%`` and ``true`` on a scale such as 0 to 10."""
        scale = self._mapping.scales.get(column, (0, 1))
        return {*scale} != {0, 1} and is_share_or_truth(cell)

    def _share(self, column: str, value: float | None) -> float | None:
        worst, best = self._mapping.scales.get(column, (0.0, 1.0))
        return None if value is None else _share((value - worst) / (best - worst))

    def _new_task(self, task_id: str) -> TaskWriter:
        task = TaskWriter(self._kind, task_id, self._source)
        for name in self._columns:
            task.dimensions.see(self._dimension_of.get(name, name), None)
        return task

    def _name(self, row: Row) -> _Name:
        title, model, version = (
            other if column is None else self._cell(row, column) or other
            for column, other in self._names
        )
        return title, model, version

    @staticmethod
    def _cell(row: Row, column: str | None) -> str | None:
        return None if column is None else cell_text(row.get(column))

    def _write(self, row: Row, task: TaskWriter) -> None:
        mapping, row = self._mapping, self._as_meant(row)
        inputs = {name: content(row.get(name)) for name in mapping.inputs}
        case_id = self._case_id(row, inputs, task)
        if case_id is None:
            task.write(
                Problem(
                    "no_case",
                    f"`{mapping.case}` is empty, so the row has no id. Write the id of"
                    " its case into every row; merged cells export only the first",
                    line=task.line,
                    raw_text=compact({k: cell_text(v) for k, v in row.items()}),
                )
            )
            return
        if mapping.round is not None and self._is_repeated(row, case_id, task):
            return
        case = task.known(case_id) or self._case(case_id, row, inputs, task)
        error = None if mapping.error is None else error_of(row.get(mapping.error))
        verdict = row.get(mapping.verdict or "")
        status: Status | None = None if error is None else "error"
        if error is None and mapping.verdict is not None:
            status = verdict_of(verdict)
        if status is None and mapping.verdict is not None:
            task.warn(
                "odd_verdict",
                f"`{mapping.verdict}` is {verdict!r}, which is neither"
                " pass nor fail: the row is loaded without a verdict",
                case_id,
            )

        def cell(
            column: str | None, read: Callable[[Any], T | None], code: str
        ) -> T | None:
            """Read a cell; record it if it does not match its column."""
            held = None if column is None else row.get(column)
            if column is None or held is None:
                return None
            value = read(held)
            if value is None and not is_nothing(held):
                self._see_odd(code, column, _EXPECTED[code], held, case_id, task)
            return value

        reasons = self._reasons_in(row)
        apart = {*self._named, *reasons.values()}
        rest = {k: _plain(content(row[k])) for k in row if k not in apart}
        if mapping.cost is not None:
            rest["cost"] = cell(mapping.cost, _from_zero, "odd_cost")
        answer = case.round(
            self._cell(row, mapping.output),
            n=cell(mapping.round, count_of, "odd_round"),
            name=task.n_rounds[case_id] + 1,
            input_tokens=cell(mapping.input_tokens, count_of, "odd_tokens"),
            output_tokens=cell(mapping.output_tokens, count_of, "odd_tokens"),
            latency_ms=(
                cell(mapping.latency_ms, _from_zero, "odd_latency")
                if mapping.latency_ms is not None
                else cell(mapping.latency_s, _seconds, "odd_latency")
            ),
            metadata={k: v for k, v in rest.items() if v not in (None, "")},
            executed_at=cell(mapping.time, moment, "odd_time"),
            error=error,
            status=status,
        )
        for name in self._columns:
            why = self._cell(row, reasons.get(name))
            self._write_score(name, row.get(name), why, answer)

    def _reasons_in(self, row: Row) -> dict[str, str]:
        """Return the column with the reason of each score that has one."""
        columns = tuple(row)
        if columns not in self._reasons:
            bases = {base: column for column, base in self._dimension_of.items()}
            reasons = {}
            for column in set(columns) - {*self._named}:
                named = _REASON.fullmatch(column)
                score = named[1] if named else ""
                score = bases.get(evaluator_of(score)[0], score)
                if score in self._columns:
                    reasons[score] = column
            self._reasons[columns] = reasons
        return self._reasons[columns]

    def _is_repeated(self, row: Row, case_id: str, task: TaskWriter) -> bool:
        """Return true if the same whole row, with its number of the round, was seen."""
        n = cell_text(row.get(self._mapping.round or ""))
        cells = tuple((name, cell_text(row[name])) for name in sorted(row))
        return self._repeated.again(n, task.task_id, case_id, cells)

    def _case(
        self, case_id: str, row: Row, inputs: Row, task: TaskWriter
    ) -> CaseWriter:
        expected = self._mapping.expected
        return task.case(
            case_id,
            {k: _plain(v) for k, v in inputs.items()},
            golden=None if expected is None else _plain(content(row.get(expected))),
            tags=_tags(self._cell(row, self._mapping.tags)),
            cluster=self._cell(row, self._mapping.cluster),
        )

    def _case_id(self, row: Row, inputs: Row, task: TaskWriter) -> str | None:
        if self._mapping.case is not None:
            own_id = plain_name(self._cell(row, self._mapping.case) or "")
            question = tuple(
                [text_key(row.get(column)) or None for column in self._question_columns]
            )
            return self._ids.named(own_id, question, task.task_id) if own_id else None
        same_inputs = {k: text_key(v) for k, v in inputs.items()}
        case_id = case_name(same_inputs, first_text(inputs.values()))
        return case_id if self._mapping.round is not None else task.distinct(case_id)

    def _see_odd(
        self,
        code: str,
        column: str,
        expected: str,
        cell: Any,
        case_id: str,
        task: TaskWriter,
    ) -> None:
        first: tuple[str, str, list[int]] = (cell_text(cell) or "", case_id, [])
        *_, lines = self._odd.setdefault((code, column, expected), first)
        lines.append(task.line or 0)

    def _write_score(
        self, name: str, cell: Any, why: str | None, answer: RoundWriter
    ) -> None:
        value = self._number(name, cell)
        is_off = self._is_off(name, cell)
        if is_off:
            worst, best = self._mapping.scales[name]
            expected = f"a number on its scale, {worst:g} to {best:g}"
            task, case_id = answer.task, answer.case_id
            self._see_odd("odd_score", name, expected, cell, case_id, task)
        is_odd = value is None and not is_off and not is_nothing(cell)
        answer.score(
            self._dimension_of.get(name, name),
            value,
            self._share(name, value) if name in self._graded else None,
            summary=why,
            payload={"given": cell_text(cell)} if is_odd else None,
        )

    def _direction(self, name: str) -> Direction | None:
        if name in self._mapping.scores:
            worst, best = self._mapping.scales.get(name, (0.0, 1.0))
            return "higher_better" if worst < best else "lower_better"
        return "lower_better" if name in self._mapping.lower_is_better else None

    def _describe(
        self, name: _Name, task: TaskWriter, run_id: str, run_hash: str
    ) -> None:
        title, model, version = name
        task.describe(
            title,
            prompt_version=version,
            model=model,
            run_id=run_id,
            run_hash=run_hash,
            extras=prompts.about(self._mapping.fixed.get("prompt")),
        )
        dimensions = {
            column: self._dimension_of.get(column, column) for column in self._columns
        }
        graded = [dimensions[column] for column in self._graded]
        if self._kind == "table":  # in files of tools a column is always the same
            for judged, template in self._judged_by().items():
                task.judge(judged, template=template)
        task.grade(
            graded,
            {dimensions[column]: self._direction(column) for column in self._columns},
            order=graded,
            numbers=[*dimensions.values()],
        )

    def _judged_by(self) -> dict[str, str]:
        """Return the scale, version or column that the mapping judges by."""
        mapping = self._mapping
        judged_by = {}
        for name in mapping.scores:
            worst, best = mapping.scales.get(name, (0.0, 1.0))
            judged_by[self._dimension_of.get(name, name)] = (
                f"scale from {worst:g} to {best:g}"
            )
        for name, versions in self._versions.items():
            scale = judged_by.get(self._dimension_of[name])
            version = f"version {', '.join(sorted(versions))}"
            judged_by[self._dimension_of[name]] = (
                f"{scale}, {version}" if scale else version
            )
        if mapping.verdict is not None:
            also = judged_by.get(_VERDICT)
            column = f"column {mapping.verdict}"
            judged_by[_VERDICT] = f"{column}, {also}" if also else column
        return judged_by


def _names_without_version(columns: Collection[str]) -> dict[str, str]:
    """Return column → name without a version, for evaluators with one version."""
    bases = Counter(evaluator_of(column)[0] for column in columns)
    named = {column: evaluator_of(column) for column in columns}
    return {
        column: base
        for column, (base, version) in named.items()
        if version is not None and bases[base] == 1
    }


def _from_zero(cell: Any) -> float | None:
    value = number_of(cell)
    return value if value is not None and value >= 0 else None


def _seconds(cell: Any) -> float | None:
    seconds = _from_zero(cell)
    return None if seconds is None else as_float(seconds * 1000)


def _plain(value: Any) -> Any:
    """Return a JSON value; other values as their text."""
    if isinstance(value, str | int | float | list | dict | None):
        return value
    return cell_text(value)


def _tags(cell: str | None) -> list[str]:
    if cell is None:
        return []
    held = content(cell)
    parts = held if isinstance(held, list) else cell.split(",")
    return [word for part in parts if part is not None and (word := str(part).strip())]
