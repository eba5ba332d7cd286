"""MLflow: output of ``mlflow.genai.evaluate`` and ``mlflow.models.evaluate``.

Tried on 3.17.2. An evaluation is written as its table (``result_df``) as
JSONL or CSV, as traces in JSONL, the classic ``eval_results_table.json``, and metrics
as JSON. A task is one run; table, CSV and traces of a run are copies. Metrics belong to
the table with the same start of the name, or to the only table in their folder.

A case is identified by its request. MLflow writes all arguments of the function that
answers, so one that has the same value in every row of a run is a setting of the run,
and not part of the question. There is no pass rule; scorers return numbers, booleans,
or ``yes`` and ``no``, of which MLflow takes means as of 1 and 0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from promptlab.ingest.files.dates import base_of
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_object,
    as_share,
    as_time,
    joined_texts,
)
from promptlab.ingest.foreign.constant_settings import ConstantSettings
from promptlab.ingest.foreign.documents import ToolFiles, decode, lines
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
)
from promptlab.ingest.foreign.names import plain_name
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.runs_of_files import Files, Run, by_folder
from promptlab.ingest.foreign.scorings import error_text, write_score
from promptlab.ingest.foreign.table.opening import rows_of
from promptlab.ingest.foreign.writing import Record, RoundWriter, TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("traces", "rows", "csv", "classic", "metrics")

_FILES = ToolFiles("MLflow", "3.17.2")
_CLASSIC = re.compile(
    rb'\s*\{\s*"columns"\s*:\s*\[([^\[\]{}]*)\]\s*,\s*"data"\s*:\s*\['
)
_METRIC = re.compile(r"[^{}\[\]]+/(?:mean|variance|p90|v\d+(?:/\w+)?)")


def recognise(head: Head) -> str | None:
    """Recognise traces with assessments, a split table, or ``<name>/mean``."""
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


def gather(files: Files) -> Iterator[Run]:
    """Group metrics with the first form of the run with the same file name."""
    for folder in by_folder(files):
        leads = [file for file in folder if file.form != "metrics"]
        leads.sort(key=lambda file: FORMS.index(str(file.form)))
        metrics: dict[Path, list[FoundFile]] = {lead.path: [] for lead in leads}
        for file in (file for file in folder if file.form == "metrics"):
            begins = file.path.stem.removesuffix("metrics")
            named = [
                lead for lead in leads if begins and lead.path.name.startswith(begins)
            ]
            lead = next(iter(named or (leads if len(leads) == 1 else ())), None)
            if lead is None or metrics[lead.path]:
                yield file, ()
            else:
                metrics[lead.path].append(file)
        yield from ((lead, metrics[lead.path]) for lead in leads)


class Assessment(msgspec.Struct):
    """A scorer's feedback on a trace, or an expectation."""

    assessment_name: str
    feedback: dict[str, Any] | None = None
    expectation: dict[str, Any] | None = None
    rationale: str | None = None
    source: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    span_id: str | None = None
    valid: bool | None = True
    create_time: Any = None
    """Milliseconds since 1970, or ISO 8601, like the next one."""
    last_update_time: Any = None

    @property
    def raw_value(self) -> Any:
        """Return the scorer's value as it is in the file: number, boolean or text."""
        return (self.feedback or {}).get("value")

    @property
    def error(self) -> str | None:
        """Return the error of a scorer that broke; its feedback then has no value."""
        return error_text((self.feedback or {}).get("error"))

    @property
    def value(self) -> float | None:
        """Return the number that MLflow counts in means."""
        if self.error:
            return None
        if isinstance(self.raw_value, str):
            return {"yes": 1.0, "no": 0.0}.get(self.raw_value.lower())
        return as_float(self.raw_value)

    @property
    def updated_at(self) -> datetime:
        """Return the time of the value, or the earliest possible time without one."""
        moment = _moment(self.last_update_time) or _moment(self.create_time)
        return moment or datetime.min.replace(tzinfo=UTC)

    @property
    def is_human(self) -> bool:
        """Return true for feedback of a person."""
        return (self.source or {}).get("source_type") == "HUMAN"

    @property
    def judge(self) -> str | None:
        """Return the model that gave it; ``AI_JUDGE`` is the older name."""
        about = self.source or {}
        is_model = about.get("source_type") in ("LLM_JUDGE", "AI_JUDGE")
        model = about.get("source_id")
        return model if is_model and isinstance(model, str) else None

    @property
    def group(self) -> Any:
        """Return the run that it was given in; outside of one, the judged chunk."""
        about = self.metadata or {}
        run, chunk = (
            about.get("mlflow.assessment.sourceRunId"),
            about.get("chunk_index"),
        )
        if run and isinstance(run, str):
            return run, None
        return None, None if chunk is None else (self.span_id, str(chunk))


class Trace(msgspec.Struct):
    """One question and its answer: a row of the table, or a trace as it is written."""

    trace_id: str
    state: str | None = None
    request: Any = None
    request_preview: str | None = None
    response: Any = None
    response_preview: str | None = None
    request_time: Any = None
    """Milliseconds since 1970, or ISO 8601."""
    execution_duration: float | None = None
    """Milliseconds, like the next one."""
    execution_duration_ms: float | None = None
    trace_metadata: dict[str, Any] = {}
    tags: dict[str, Any] = {}
    assessments: list[Assessment] = []
    error: str | None = None
    model: str | None = None

    @property
    def run(self) -> str:
        """Return the run of the trace; empty without one."""
        run = self.trace_metadata.get("mlflow.sourceRun")
        return run if isinstance(run, str) and run.strip() else ""

    @property
    def order(self) -> tuple[datetime, str]:
        """Return its place among traces: by time, the same in all forms."""
        latest = datetime.max.replace(tzinfo=UTC)
        return _moment(self.request_time) or latest, self.trace_id

    @property
    def judged(self) -> list[list[Assessment]]:
        """Return the results of each scorer: the newest valid one, or one per chunk.

        A run asks each scorer once, so its feedback in the newest run is one result:
        MLflow writes the root span for all of it, and not every version the chunk. A
        person counts only where no scorer of that name does. Of equal times the last in
        the list counts.
        """
        by_name: dict[str, list[Assessment]] = defaultdict(list)
        for assessment in self.assessments:
            if assessment.feedback is not None and assessment.valid is not False:
                by_name[assessment.assessment_name].append(assessment)
        judged = []
        for same_scorer in by_name.values():
            results = [
                result for result in same_scorer if not result.is_human
            ] or same_scorer
            results.sort(
                key=lambda result: result.updated_at
            )  # a server lists them in any order
            run = results[-1].group[0]
            same = [result for result in results if result.group[0] == run]
            judged.append(
                same if run else [*{result.group: result for result in same}.values()]
            )
        return judged

    @property
    def expected(self) -> Any:
        """Return the expected answer; several expectations by name."""
        known = {
            assessment.assessment_name: assessment.expectation.get("value")
            for assessment in self.assessments
            if assessment.expectation is not None and assessment.valid is not False
        }
        is_answer = [*known] == ["expected_response"]
        return known["expected_response"] if is_answer else known or None


class Span(msgspec.Struct):
    """One step of a trace."""

    parent_span_id: str | None = None
    attributes: dict[str, Any] = {}
    status: Any = None


class Spans(msgspec.Struct):
    """The steps of a trace."""

    spans: list[Span] = []


class Written(msgspec.Struct):
    """A trace as MLflow serialises it."""

    info: Trace
    data: Spans = msgspec.field(default_factory=Spans)

    def trace(self) -> Trace:
        """Return the trace as a row of an MLflow table."""
        trace, spans = self.info, self.data.spans
        root = next((span for span in spans if span.parent_span_id is None), Span())
        about, attributes = trace.trace_metadata, root.attributes
        request = attributes.get("mlflow.spanInputs") or about.get("mlflow.traceInputs")
        response = attributes.get("mlflow.spanOutputs") or about.get(
            "mlflow.traceOutputs"
        )
        models = (_json(span.attributes.get("mlflow.llm.model")) for span in spans)
        trace.request = _json(request or trace.request_preview)
        trace.response = _json(response or trace.response_preview)
        trace.execution_duration = trace.execution_duration_ms
        trace.error = error_text(as_object(root.status).get("message"))
        trace.model = next((model for model in models if isinstance(model, str)), None)
        return trace


def _json(written: Any) -> Any:
    """Return the value of JSON in a text; other text unchanged."""
    if not isinstance(written, str):
        return written
    try:
        return decode(written.encode(), Any) if written else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return written


def _moment(written: Any) -> datetime | None:
    milliseconds = as_float(written)
    return as_time(written if milliseconds is None else milliseconds / 1000)


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield each run of the file as records."""
    metrics: dict[str, Any] = {}
    for path in source.companions:
        metrics |= _FILES.document(source, dict[str, Any], path)
    if source.form == "metrics":
        yield from _totals_alone(_FILES.document(source, dict[str, Any]), source)
    elif source.form == "classic":
        yield from _classic(_FILES.document(source, Table), metrics, source)
    else:
        yield from _runs(metrics, source)


def _runs(metrics: Mapping[str, Any], source: Source) -> Iterator[Record | Problem]:
    """Yield the runs of a file of traces."""
    runs: dict[str, list[Trace]] = defaultdict(list)
    ids = OwnIds("trace id")
    for trace in _traces(source):
        if isinstance(trace, Problem):
            yield trace
        elif not ids.again(trace.trace_id):
            runs[trace.run].append(trace)
    for own_id, traces in runs.items():
        # by time, so that duplicates are numbered alike in all forms
        traces.sort(key=lambda trace: trace.order)
        # a log without a run keeps its first trace while it grows
        run_id = own_id or f"mlflow-{traces[0].trace_id}"
        yield from _records(run_id, traces, metrics if len(runs) == 1 else {}, source)
    yield from ids.problems()
    if metrics and len(runs) > 1:
        names = ", ".join(path.name for path in source.companions)
        yield warning(
            "metrics_of_several_runs",
            f"the metrics of {names} are not loaded: this file has {len(runs)} runs,"
            " and nothing says whose they are. Write each run to a separate file",
        )


def _traces(source: Source) -> Iterator[Trace | Problem]:
    kind: Any = Trace if source.form == "rows" else Written
    for line, written in _written(source):
        trace: Any = written
        if not isinstance(written, Problem):
            trace = _FILES.record(written, kind, line=line)
        yield trace.trace() if isinstance(trace, Written) else trace


def _written(source: Source) -> Iterator[tuple[int, bytes | Problem]]:
    """Yield each trace as JSON, and the number of its line."""
    if source.form == "csv":
        for row in rows_of(source, "csv"):
            if isinstance(row, Problem):
                yield 0, row
            else:
                yield row[0], row[1].get("trace", "null").encode()
        return
    for place, line in lines(source):
        if line.lstrip()[:1] == b"[":  # a list, all in one line
            rows = _FILES.decoded(line, list[Any])
            yield from ((place, compact(row).encode()) for row in rows)
        else:
            yield place, line


def _records(
    run_id: str, traces: Sequence[Trace], metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """Yield the records of one run."""
    settings = _settings(traces)
    results = [result for trace in traces for result in trace.judged]
    shares = _of_chunks(results)
    task = TaskWriter("mlflow", run_id, source, is_share=shares.__contains__)
    for trace in traces:
        task.same_run.add(trace.trace_id)
        request = trace.request
        if isinstance(request, dict):
            request = {
                name: value for name, value in request.items() if name not in settings
            }
        case = task.case(
            task.distinct(case_name(request, _words(request))),
            {"request": request},
            golden=trace.expected,
        )
        about = {name: _json(value) for name, value in trace.trace_metadata.items()}
        usage = as_object(about.get("mlflow.trace.tokenUsage"))
        cost = as_object(about.get("mlflow.trace.cost")).get("total_cost")
        error = trace.error or f"the trace has the state {trace.state}"
        answer = case.round(
            trace.response,
            input_tokens=usage.get("input_tokens"),
            output_tokens=usage.get("output_tokens"),
            latency_ms=trace.execution_duration,
            metadata={"trace_id": trace.trace_id, "cost": as_float(cost)},
            executed_at=_moment(trace.request_time),
            error=error if trace.state in ("ERROR", "IN_PROGRESS") else None,
        )
        for feedback in trace.judged:
            _write_score(feedback, answer)
        yield from task.written()
    judged = (assessment for trace in traces for assessment in trace.assessments)
    updates = (_moment(assessment.last_update_time) for assessment in judged)
    task.describe(
        written_at=max(filter(None, updates), default=None),
        prompt_version=setting(settings, "prompt version", "prompt")
        or joined_texts(_prompts(traces), ", "),
        model=next((trace.model for trace in traces if trace.model), None)
        or setting(settings, "model", "llm", "model name"),
        env=env_of(settings),
        settings=model_settings(settings),
        branch=_first(traces, "mlflow.source.git.branch"),
        commit_sha=_first(traces, "mlflow.source.git.commit"),
        extras=prompts.about(prompts.in_settings(settings)),
    )
    # a trace lists its feedback in the order in which the scorers finished
    scorers = {e[0].assessment_name for e in results if not e[0].is_human}
    frequent = task.dimensions.frequent(task.dimensions.graded())
    frequent.sort(
        key=lambda name: (name not in scorers, name in shares, name.casefold(), name)
    )
    task.grade(order=frequent, parameters=_definitions(results))
    # MLflow's mean over chunks weighs a trace with more of them more
    _claim(metrics, task, shares)
    yield from task.written()


def _settings(traces: Sequence[Trace]) -> dict[str, Any]:
    """Return arguments with one value in every row, if others have several."""
    first, *others = (trace.request for trace in traces)
    if not others or not isinstance(first, dict):
        return {}
    absent = object()
    same = {
        name: value
        for name, value in first.items()
        if all(as_object(request).get(name, absent) == value for request in others)
    }
    return same if len(same) < len(first) else {}


def _words(request: Any) -> str | None:
    """Return a readable part of a request."""
    if isinstance(request, dict):
        messages = request.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            request = {"content": messages[-1].get("content")}
        return first_text(request.values())
    return request if isinstance(request, str) else None


def _prompts(traces: Sequence[Trace]) -> list[str]:
    """Return the prompts of the registry that the traces used: ``ask/3``."""
    linked = (_json(trace.tags.get("mlflow.linkedPrompts")) for trace in traces)
    listed = (link for links in linked if isinstance(links, list) for link in links)
    used = {f"{p.get('name')}/{p.get('version')}" for p in map(as_object, listed)}
    return sorted(used)


def _first(traces: Sequence[Trace], name: str) -> str | None:
    """Return the first text of the traces' metadata that is not empty."""
    values = (trace.trace_metadata.get(name) for trace in traces)
    return next((value for value in values if isinstance(value, str) and value), None)


def _of_chunks(results: Sequence[Sequence[Assessment]]) -> set[str]:
    """Return the names of scorers that grade retrieved chunks one by one."""
    several = {
        assessments[0].assessment_name
        for assessments in results
        if len(assessments) > 1
    }
    others = {
        assessment.assessment_name
        for assessments in results
        for assessment in assessments
        if assessment.value not in (0, 1, None)
    }
    return several - others


_DEFINES = re.compile(
    r"\b(digest|threshold|guidelines?|instructions|rubrics?|criteria|prompt|template"
    r"|model|version|framework|legend|strict|config|settings|options)$"
)
"""Endings of names of settings in the metadata of feedback; the rest is results."""


def _definitions(
    results: Sequence[Sequence[Assessment]],
) -> dict[str, dict[str, Any]]:
    """Return the definition of each scorer, such as its hash.

    A hash is never a result: of a scorer that changed on the way, all hashes count.
    """
    settings = ConstantSettings()
    digests: dict[str, set[str]] = defaultdict(set)
    for assessment in (
        assessment for assessments in results for assessment in assessments
    ):
        about = yardstick(as_object(assessment.metadata))
        defined = {
            name.removeprefix("mlflow.assessment."): value
            for name, value in about.items()
            if _DEFINES.search(plain_name(name))
        }
        digest = defined.pop("scorerDigest", None)
        if isinstance(digest, str):
            digests[assessment.assessment_name].add(digest)
        settings.add(assessment.assessment_name, defined)
    for name, known in digests.items():
        hashes = sorted(known)
        settings.add(name, {"scorerDigest": hashes if hashes[1:] else hashes[0]})
    return settings.parameters("metadata")


def _write_score(results: Sequence[Assessment], answer: RoundWriter) -> None:
    """Write the result of a scorer; of several chunks their mean."""
    last = results[-1]
    for assessment in results:
        answer.task.judge(assessment.assessment_name, assessment.judge)
    if len(results) == 1:
        raw_value = (
            last.raw_value
            if last.value is None or isinstance(last.raw_value, str)
            else None
        )
    else:
        raw_value = [assessment.raw_value for assessment in results]
    values = [
        assessment.value for assessment in results if assessment.value is not None
    ]
    value = sum(values) / len(values) if values else None
    about = {"given": raw_value, "error": last.error}
    answer.score(
        last.assessment_name,
        value,
        as_share(value),
        summary=last.rationale,
        payload={name: value for name, value in about.items() if value is not None},
    )


def _claim(
    metrics: Mapping[str, Any], task: TaskWriter, left_out: Collection[str] = ()
) -> None:
    """Hand over the means of a run, ``<scorer>/mean``, which skip missing results."""
    means = {}
    for name, value in metrics.items():
        scorer, _, aggregation = name.rpartition("/")
        known = next(
            (n for n in (scorer, f"{scorer}/score") if n in task.dimensions), None
        )
        if aggregation == "mean" and known is not None and known not in left_out:
            means[known] = value
    if metrics:
        task.claim(means)


class Table(msgspec.Struct):
    """A table of the classic evaluation: questions, outputs, targets and measures."""

    columns: list[str]
    data: list[list[Any]]


_MEASURES = frozenset({"latency", "token_count"})
"""Columns that MLflow's built-in metrics add without a prefix."""
_RATINGS = frozenset(
    {
        *("answer_correctness", "answer_relevance", "answer_similarity"),
        *("faithfulness", "relevance"),
    }
)
"""The classic metrics with which a model judges from 1 to 5."""
_TARGETS = frozenset(
    {
        *("answer", "expected", "expected_output", "ground_truth", "label", "labels"),
        *("reference", "target", "targets", "truth"),
    }
)
"""Usual names of the column of expected answers; the table does not declare it."""


def _classic(
    table: Table, metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """Yield the records of the run; it has no id, and is identified by its content."""
    same_run = SameRun("mlflow", source=source)
    for cells in table.data:
        same_run.add(compact(cells))
    task_id = content_id(same_run.hash_with_run_key(), base_of(source.path.name))
    task = TaskWriter("mlflow", task_id, source, same_run)
    for cells in table.data:
        row = dict(zip(table.columns, cells, strict=False))
        output = row.pop("outputs", None)
        reasons = _taken(row, lambda name: name.endswith("/justification"))
        measured = _taken(
            row, lambda name: name in _MEASURES or name.endswith("/score")
        )
        expected = _taken(row, lambda name: name.lower() in _TARGETS)
        case = task.case(
            task.distinct(case_name(row, first_text(row.values()))),
            row,
            golden=_only(expected),
        )
        answer = case.round(output, seconds=measured.get("latency"))
        for name, measure in measured.items():
            why = reasons.get(f"{name.removesuffix('/score')}/justification")
            write_score(answer, name, measure, why=why)
        yield from task.written()
    task.describe()
    names = task.dimensions
    names.ratings = {name for name in names if name.partition("/")[0] in _RATINGS}
    task.grade(directions={"latency": "lower_better"})
    _claim(metrics, task)
    yield from task.written()


def _only(expected: dict[str, Any]) -> Any:
    """Return the expected answer; of several columns all by name."""
    return next(iter(expected.values()), None) if len(expected) < 2 else expected


def _taken(row: dict[str, Any], is_wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Take the columns of some names out of a row."""
    return {name: row.pop(name) for name in [*filter(is_wanted, row)]}


def _totals_alone(
    metrics: Mapping[str, Any], source: Source
) -> Iterable[Record | Problem]:
    """Write a run of which only the metrics exist."""
    task_id = content_id(metrics, base_of(source.path.name))
    task = TaskWriter("mlflow", task_id, source)
    task.describe()
    _claim(metrics, task)
    task.warn(
        "totals_only",
        f"{source.path.name} holds metrics and no rows, so nothing can be compared by"
        " case. Write the table of the evaluation beside it, with the same beginning of"
        " its name",
    )
    return task.written()
