"""MLflow: what ``mlflow.genai.evaluate`` and ``mlflow.models.evaluate`` leave.

Tried on 3.17.2. What people write of an evaluation is its table (``result_df``) as
JSONL or CSV, its traces as JSONL, the classic ``eval_results_table.json``, and metrics
as JSON. A task is one run; table, CSV and traces of a run are copies. Metrics belong to
the table whose name begins like theirs, or that alone lies in their folder.

A case is known by its request. MLflow writes all arguments of the function that
answers, so one that has the same value in every row of a run is a setting of the run,
and no part of the question. There is no pass rule; scorers say numbers, truth values,
or ``yes`` and ``no``, of which MLflow takes means as of 1 and 0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.ingest.foreign.copies import OwnIds
from promptlab.ingest.foreign.documents import text
from promptlab.ingest.foreign.files import lines
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.mlflow.classic import classic_records, totals_alone
from promptlab.ingest.foreign.mlflow.evaluation import run_records
from promptlab.ingest.foreign.mlflow.structs import Table, Trace, Written
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.runs import Part, Run, by_folder
from promptlab.ingest.foreign.tool_files import ToolFiles
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("traces", "rows", "csv", "classic", "metrics")

_FILES = ToolFiles("MLflow", "3.17.2")
_CLASSIC = re.compile(
    rb'\s*\{\s*"columns"\s*:\s*\[([^\[\]{}]*)\]\s*,\s*"data"\s*:\s*\['
)
_METRIC = re.compile(r"[^{}\[\]]+/(?:mean|variance|p90|v\d+(?:/\w+)?)")


def recognise(head: Head) -> str | None:
    """Traces by id with assessments; a split table with outputs; ``<name>/mean``."""
    if {"trace_id", "assessments", "trace_metadata"} <= head.keys:
        return "rows"
    if {"info", "data"} <= head.keys and "trace_id" in head.keys_below("info"):
        return "traces"
    if {"trace_id", "trace", "assessments"} <= head.columns:
        return "csv"
    table = _CLASSIC.match(head.data)
    if table and re.search(rb'"outputs"|/score"', table[1]):
        return "classic"
    if head.keys and all(map(_METRIC.fullmatch, head.keys)):
        return "metrics"
    return None


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """Metrics belong to the first form of the run whose file is named like theirs."""
    for files in by_folder(parts):
        leads = [part for part in files if part.form != "metrics"]
        leads.sort(key=lambda part: FORMS.index(part.form))
        own: dict[Path, list[Part]] = defaultdict(list)
        for part in files:
            if part.form != "metrics":
                continue
            begins = part.path.stem.removesuffix("metrics")
            named = [
                lead for lead in leads if begins and lead.path.name.startswith(begins)
            ]
            lead = named[0] if named else leads[0] if len(leads) == 1 else None
            if lead is None or own[lead.path]:
                yield part, ()
            else:
                own[lead.path].append(part)
        for lead in leads:
            yield lead, tuple(own[lead.path])


def translate(source: Source) -> Iterator[Record | Problem]:
    """Each run of the file as records."""
    if source.form == "metrics":
        yield from totals_alone(_FILES.document(source, dict[str, Any]), source)
        return
    metrics: dict[str, Any] = {}
    for path in source.companions:
        metrics |= _FILES.document(source, dict[str, Any], path)
    if source.form == "classic":
        table = _FILES.document(source, Table)
        yield from classic_records(table, metrics, source)
        return
    runs: dict[str, list[Trace]] = defaultdict(list)
    ids = OwnIds("trace id")
    for trace in _traces(source):
        if isinstance(trace, Problem):
            yield trace
        elif not ids.again(trace.trace_id):
            runs[trace.run or f"mlflow-{source.name}"].append(trace)
    for run_id, traces in runs.items():
        claimed = metrics if len(runs) == 1 else {}
        yield from run_records(run_id, traces, claimed, source)
    yield from ids.problems()


def _traces(source: Source) -> Iterator[Trace | Problem]:
    """Each trace; one of another shape is rejected alone."""
    for place, written in _written(source):
        if isinstance(written, Problem):
            yield written
        elif source.form == "rows":
            yield _FILES.record(written, Trace, line=place)
        else:
            trace = _FILES.record(written, Written, line=place)
            yield trace if isinstance(trace, Problem) else trace.trace()


def _written(source: Source) -> Iterator[tuple[int, bytes | Problem]]:
    """Each trace as JSON, and the number of its line or row."""
    if source.form == "csv":
        for number, row in enumerate(_FILES.csv(source), start=1):
            if isinstance(row, Problem):
                yield number, row
            else:
                yield number, (row.get("trace") or "null").encode()
        return
    for number, line in lines(source):
        if line.lstrip()[:1] == b"[":  # a list, all in one line
            rows = _FILES.decoded(line, list[Any])
            yield from ((number, text(row).encode()) for row in rows)
        else:
            yield number, line
