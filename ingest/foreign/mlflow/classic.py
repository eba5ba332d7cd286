"""A run of ``mlflow.models.evaluate``: its table, whose columns anybody named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ingest.foreign.documents import answer, number, on_scale, text
from ingest.foreign.grading import Dimensions
from ingest.foreign.identity import Occurrences, SameRun, content_id
from ingest.foreign.mlflow.evaluation import totals
from ingest.foreign.mlflow.structs import Table
from ingest.foreign.records import Baseline, Case, Record, Round, Score, Task
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

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
    dimensions, seen = Dimensions(task_id), Occurrences()
    for position, cells in enumerate(table.data):
        row = dict(zip(table.columns, cells, strict=False))
        measured = {key: row.pop(key) for key in list(row) if _is_measured(key)}
        output, parsed = answer(row.pop(_OUTPUTS, None))
        expected = [row.pop(key) for key in list(row) if key.lower() in _TARGETS]
        said = next((each for each in row.values() if isinstance(each, str)), None)
        case_id = content_id(row, said)
        case_id = seen.named(case_id, seen.next(case_id))
        yield Case(task_id, case_id, position, text(row))
        if expected:
            golden = text({"answer": expected[0]})
            yield Baseline(task_id, case_id, "target", 0, golden)
        seconds = number(measured.get("latency"))
        yield Round(
            task_id=task_id,
            case_id=case_id,
            round_id=f"{case_id}-1",
            position=0,
            run_index=1,
            raw_output=output,
            parsed_output=parsed,
            latency_ms=None if seconds is None else round(seconds * 1000, 6),
        )
        for key, given in measured.items():
            if key.endswith("/justification"):
                continue
            value = number(given)
            dimensions.see(key, value)
            why = measured.get(f"{key.removesuffix('/score')}/justification")
            yield Score(
                task_id=task_id,
                case_id=case_id,
                round_id=f"{case_id}-1",
                dimension_id=key,
                value=value,
                score=on_scale(value),
                summary=why if isinstance(why, str) else None,
            )
    yield _task(task_id, name, same_run, source)
    yield from dimensions.records(directions={"latency": "lower_better"})
    yield from totals(task_id, metrics, dimensions)


def totals_alone(
    metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """A run of which only the metrics are there."""
    name = source.path.name.split(".", 1)[0]
    task_id = content_id(metrics, name)
    yield _task(task_id, name, SameRun("mlflow", task_id), source)
    yield from totals(task_id, metrics, Dimensions(task_id))
    yield Problem(
        "totals_only",
        f"{source.path.name} holds metrics and no rows, so nothing can be compared by"
        " case. Write the table of the evaluation beside it, with the same beginning of"
        " its name",
        severity="warning",
        record_id=task_id,
    )


def _task(task_id: str, name: str, same_run: SameRun, source: Source) -> Task:
    return Task(
        task_id=task_id,
        source_kind="mlflow",
        title=name,
        prompt_version="unknown",
        model="unknown",
        created_at=source.modified_at,
        run_id=task_id,
        run_hash=same_run.hash(),
    )


def _is_measured(column: str) -> bool:
    return column in _MEASURES or column.endswith(("/score", "/justification"))
