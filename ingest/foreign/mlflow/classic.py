"""A run of ``mlflow.models.evaluate``: its table, whose columns anybody named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from promptlab.ingest.foreign.documents import milliseconds, number, on_scale, text
from promptlab.ingest.foreign.identity import SameRun, content_id, first_text
from promptlab.ingest.foreign.mlflow.evaluation import write_totals
from promptlab.ingest.foreign.mlflow.structs import Table
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

_OUTPUTS = "outputs"
_MEASURES = frozenset({"latency", "token_count"})
"""Columns that MLflow's own metrics add under a plain name."""
_TARGETS = frozenset(
    {
        "answer",
        "expected",
        "expected_output",
        "ground_truth",
        "label",
        "labels",
        "reference",
        "target",
        "targets",
        "truth",
    }
)
"""What people call the column of expected answers, which the table does not say."""


def classic_records(
    table: Table, metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """The records of the run.

    Args:
        table: Its rows.
        metrics: What it claims of them.
        source: Its file.
    """
    same_run = SameRun("mlflow")
    for cells in table.data:
        same_run.add(text(cells))
    name = source.path.name.split(".", 1)[0]
    # the table has no id: a run is known by what it says
    task_id = content_id(same_run.hash(), name)
    task = TaskWriter("mlflow", task_id, source, same_run)
    for cells in table.data:
        _write(dict(zip(table.columns, cells, strict=False)), task)
        yield from task.written()
    task.describe()
    task.grade(directions={"latency": "lower_better"})
    write_totals(metrics, task)
    yield from task.written()


def _write(row: dict[str, Any], task: TaskWriter) -> None:
    measured = {key: row.pop(key) for key in list(row) if _is_measured(key)}
    output = row.pop(_OUTPUTS, None)
    expected = [row.pop(key) for key in list(row) if key.lower() in _TARGETS]
    case = task.case(
        task.distinct(content_id(row, first_text(row.values()))),
        row,
        golden=expected[0] if expected else None,
        golden_id="target",
    )
    seconds = number(measured.get("latency"))
    answer = case.round(output, latency_ms=milliseconds(seconds))
    for key, given in measured.items():
        if key.endswith("/justification"):
            continue
        value = number(given)
        why = measured.get(f"{key.removesuffix('/score')}/justification")
        summary = why if isinstance(why, str) else None
        odd = {"given": given} if value is None and given is not None else None
        answer.score(key, value, on_scale(value), summary=summary, payload=odd)


def totals_alone(
    metrics: Mapping[str, Any], source: Source
) -> Iterable[Record | Problem]:
    """A run of which only the metrics are there."""
    name = source.path.name.split(".", 1)[0]
    task = TaskWriter("mlflow", content_id(metrics, name), source)
    task.describe()
    write_totals(metrics, task)
    task.warn(
        "totals_only",
        f"{source.path.name} holds metrics and no rows, so nothing can be compared by"
        " case. Write the table of the evaluation beside it, with the same beginning of"
        " its name",
    )
    return task.written()


def _is_measured(column: str) -> bool:
    return column in _MEASURES or column.endswith(("/score", "/justification"))
