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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from promptlab.ingest.files.dates import base_of
from promptlab.ingest.files.finding import FoundFile
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_milliseconds,
    as_object,
    as_share,
    as_time,
)
from promptlab.ingest.foreign.documents import (
    ToolFiles,
    decode,
    lines,
)
from promptlab.ingest.foreign.identity import (
    OwnIds,
    SameRun,
    case_name,
    content_id,
    first_text,
    joined_texts,
)
from promptlab.ingest.foreign.names import plain_name
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.registry import Files, Head, Run, by_folder
from promptlab.ingest.foreign.results import error_text, write_score
from promptlab.ingest.foreign.table.opening import rows_of
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Record,
    RoundWriter,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import SaidOfScorers, yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

_NO_DEFINITION = (
    *(f"mlflow.assessment.{name}" for name in ("sourceRunId", "scorerName")),
    *(f"mlflow.assessment.judge{name}" for name in ("Cost", "InputTokens")),
    *(f"mlflow.assessment.{name}" for name in ("judgeOutputTokens", "scorerTraceId")),
    *(f"mlflow.assessment.scorerResource{name}" for name in ("Name", "NameType")),
    *("mlflow.assessment.onlineScoringSessionId", "mlflow.trace.session"),
    "mlflow.ensemble.sub_feedbacks",  # results
)
"""Keys of MLflow in the metadata of feedback that do not define its scorer."""
_DEFINES = re.compile(
    r"\b(threshold|guidelines?|instructions|rubrics?|criteria|prompt|template|model"
    r"|version|framework|legend|strict|config|settings|options)$"
)
"""How names of settings end in the metadata of other scorers' feedback."""


class Feedback(msgspec.Struct):
    """The result of a scorer."""

    value: Any = None
    error: Any = None
    """Why the scorer broke: what it gave then is no value."""


class Assessment(msgspec.Struct):
    """A scorer's feedback on a trace, or an expectation."""

    assessment_name: str
    feedback: Feedback | None = None
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
    def given_at(self) -> datetime:
        """Return the time of its value; the earliest there is, if it has none."""
        moment = _moment(self.last_update_time) or _moment(self.create_time)
        return moment or datetime.min.replace(tzinfo=UTC)

    @property
    def is_human(self) -> bool:
        """Return true for feedback of a person."""
        return (self.source or {}).get("source_type") == "HUMAN"

    @property
    def run(self) -> Any:
        """Return the run that it was given in; ``None``: outside of one."""
        return as_object(self.metadata).get("mlflow.assessment.sourceRunId")

    @property
    def definition(self) -> dict[str, Any]:
        """Return what MLflow says of its scorer, such as the hash of its definition.

        In names that others chose, only usual names of settings: the rest is results.
        """
        said = yardstick(as_object(self.metadata), *_NO_DEFINITION)
        return {
            name.removeprefix("mlflow.assessment."): each
            for name, each in said.items()
            if name.startswith("mlflow.") or _DEFINES.search(plain_name(name))
        }

    @property
    def chunk(self) -> tuple[str | None, str] | None:
        """Return the step and the chunk that it judges; ``None``: the whole answer."""
        chunk = as_object(self.metadata).get("chunk_index")
        return None if chunk is None else (self.span_id, str(chunk))


class Trace(msgspec.Struct):
    """One question and its answer, common to all forms."""

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
    def run(self) -> str | None:
        """The run of the trace."""
        run = self.trace_metadata.get("mlflow.sourceRun")
        return run if isinstance(run, str) and run.strip() else None

    def judged(self) -> Iterator[list[Assessment]]:
        """Return the results of each scorer: the newest valid one, or one per chunk.

        A run asks each scorer once, so what it said in the newest run is one result:
        MLflow writes the root span for all of it, and not every version the chunk. A
        person counts only where no scorer of that name does. Of equal times the last in
        the list counts.
        """
        said: dict[str, list[Assessment]] = {}
        for each in self.assessments:
            if each.feedback is not None and each.valid is not False:
                said.setdefault(each.assessment_name, []).append(each)
        for given in said.values():
            results = [each for each in given if not each.is_human] or given
            if len(results) > 1:  # a server lists them in any order
                results.sort(key=lambda each: each.given_at)
            newest = results[-1]
            if newest.run is not None:
                yield [each for each in results if each.run == newest.run]
            elif newest.chunk is None:
                yield [newest]
            else:
                by_chunk = {each.chunk: each for each in results if each.chunk}
                yield list(by_chunk.values())

    def expected(self) -> dict[str, Any]:
        """Return the expectations of the answer, by name."""
        return {
            each.assessment_name: each.expectation.get("value")
            for each in self.assessments
            if each.expectation is not None and each.valid is not False
        }


class Span(msgspec.Struct):
    """One step of a trace."""

    parent_span_id: str | None = None
    attributes: dict[str, Any] = {}
    status: Any = None

    @property
    def message(self) -> str | None:
        """Return its error."""
        message = as_object(self.status).get("message")
        return message if isinstance(message, str) else None


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
        root = next((each for each in spans if each.parent_span_id is None), Span())
        about, own = trace.trace_metadata, root.attributes
        asked = own.get("mlflow.spanInputs") or about.get("mlflow.traceInputs")
        given = own.get("mlflow.spanOutputs") or about.get("mlflow.traceOutputs")
        models = (_json(each.attributes.get("mlflow.llm.model")) for each in spans)
        trace.request = _json(asked or trace.request_preview)
        trace.response = _json(given or trace.response_preview)
        trace.execution_duration = trace.execution_duration_ms
        trace.error = root.message or None
        trace.model = next((each for each in models if isinstance(each, str)), None)
        return trace


class Table(msgspec.Struct):
    """A table of the classic evaluation."""

    columns: list[str]
    data: list[list[Any]]


def _json(written: Any) -> Any:
    """Return the value of JSON in a text; other text unchanged."""
    if not isinstance(written, str):
        return written
    try:
        return decode(written.encode(), Any) if written else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return written


_WORDS = {"yes": 1.0, "no": 0.0}
_JUDGES = ("LLM_JUDGE", "AI_JUDGE")
"""Sources that are models; the second is the older name."""
"""Words that MLflow counts as numbers in means."""
_SAID = (0, 1, None)
_BROKEN = ("ERROR", "IN_PROGRESS")
"""States of a trace without a whole answer."""
_ANSWER = "expected_response"


def run_records(
    run_id: str, traces: Sequence[Trace], metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """The records of one run."""
    # by time, so that duplicates are numbered alike in all forms
    traces = sorted(traces, key=_order)
    settings = _settings(traces)
    shares = _of_chunks(traces)
    task = TaskWriter("mlflow", run_id, source, is_share=shares.__contains__)
    for trace in traces:
        task.same_run.add(trace.trace_id)
        asked, expected = trace.request, trace.expected()
        if isinstance(asked, dict):
            asked = {name: each for name, each in asked.items() if name not in settings}
        case = task.case(
            task.distinct(case_name(asked, _words(asked))),
            {"request": asked},
            golden=expected[_ANSWER] if [*expected] == [_ANSWER] else expected or None,
        )
        answer = _round(trace, case)
        for assessments in trace.judged():
            _write_score(assessments, answer)
        yield from task.written()
    judged = (each for trace in traces for each in trace.assessments)
    updates = (_moment(each.last_update_time) for each in judged)
    task.describe(
        written_at=max(filter(None, updates), default=None),
        prompt_version=setting(settings, "prompt version", "prompt")
        or joined_texts(_prompts(traces), ", "),
        model=next((trace.model for trace in traces if trace.model), None)
        or setting(settings, "model", "llm", "model name"),
        env=env_of(settings),
        settings=model_settings(settings),
        branch=_said(traces, "mlflow.source.git.branch"),
        commit_sha=_said(traces, "mlflow.source.git.commit"),
        extras=prompts.about(prompts.in_settings(settings)),
    )
    # a trace lists its feedback in the order in which the scorers finished
    frequent = task.dimensions.frequent(task.dimensions.graded())
    people = _of_people(traces)
    frequent.sort(
        key=lambda name: (name in people, name in shares, name.casefold(), name)
    )
    task.grade(order=frequent, parameters=_definitions(traces))
    _claim(metrics, task, _uneven(traces))
    yield from task.written()


def _of_people(traces: Sequence[Trace]) -> set[str]:
    """Return the names of feedback that no scorer gives."""
    results = [each for trace in traces for found in trace.judged() for each in found]
    scorers = {each.assessment_name for each in results if not each.is_human}
    return {each.assessment_name for each in results} - scorers


def _definitions(traces: Sequence[Trace]) -> dict[str, dict[str, Any]]:
    """Return how each scorer is defined as parameters; of several hashes all."""
    digests: dict[str, set[str]] = defaultdict(set)
    said = SaidOfScorers()
    for given in (each for trace in traces for each in trace.judged()):
        for assessment in given:
            name, definition = assessment.assessment_name, assessment.definition
            digest = definition.pop("scorerDigest", None)
            if isinstance(digest, str):
                digests[name].add(digest)
            said.see(name, definition)
    metadata = said.parameters("metadata")
    hashes = {name: {"scorerDigest": sorted(each)} for name, each in digests.items()}
    return {
        name: {**hashes.get(name, {}), **metadata.get(name, {})}
        for name in {**hashes, **metadata}
    }


def _of_chunks(traces: Sequence[Trace]) -> set[str]:
    """Return the scorers that say of each retrieved chunk whether it is good."""
    results = [
        each
        for trace in traces
        for assessments in trace.judged()
        for each in assessments
        if each.chunk is not None or len(assessments) > 1
    ]
    others = {each.assessment_name for each in results if _value(each) not in _SAID}
    return {each.assessment_name for each in results} - others


def _uneven(traces: Sequence[Trace]) -> set[str]:
    """Return the scorers with more results on some traces than on others.

    MLflow takes the mean of all of them, in which a trace with more weighs more.
    """
    counts: dict[str, set[int]] = defaultdict(set)
    for assessments in (found for trace in traces for found in trace.judged()):
        n = sum(_value(each) is not None for each in assessments)
        if n:
            counts[assessments[0].assessment_name].add(n)
    return {name for name, found in counts.items() if len(found) > 1}


def _order(trace: Trace) -> tuple[datetime, str]:
    latest = datetime.max.replace(tzinfo=UTC)
    return _moment(trace.request_time) or latest, trace.trace_id


def _prompts(traces: Sequence[Trace]) -> list[str]:
    """Return the prompts of the registry that the traces used: ``ask/3``."""
    linked = (_json(trace.tags.get("mlflow.linkedPrompts")) for trace in traces)
    listed = (each for links in linked if isinstance(links, list) for each in links)
    used = {f"{p.get('name')}/{p.get('version')}" for p in map(as_object, listed)}
    return sorted(used)


def _said(traces: Sequence[Trace], name: str) -> str | None:
    """Return the first text of the traces' metadata that is not empty."""
    found = (trace.trace_metadata.get(name) for trace in traces)
    return next((each for each in found if isinstance(each, str) and each), None)


def _claim(
    metrics: Mapping[str, Any], task: TaskWriter, uneven: Collection[str] = ()
) -> None:
    """Hand over the means of a run, which skip rows without a result.

    Args:
        metrics: ``<scorer>/<aggregation>`` → value.
        task: The task.
        uneven: Dimensions of which a row may stand for several results.
    """
    means = {}
    for name, value in metrics.items():
        of, _, aggregation = name.rpartition("/")
        known = next((n for n in (of, f"{of}/score") if n in task.dimensions), None)
        if aggregation == "mean" and known is not None and known not in uneven:
            means[known] = value
    if metrics:
        task.claim(means)


def _settings(traces: Sequence[Trace]) -> dict[str, Any]:
    """Return arguments with one value in every row, if others have several."""
    first = traces[0].request
    if len(traces) == 1 or not isinstance(first, dict):
        return {}
    same = {
        name: value
        for name, value in first.items()
        if all(
            isinstance(trace.request, dict)
            and name in trace.request
            and trace.request[name] == value
            for trace in traces
        )
    }
    return same if len(same) < len(first) else {}


def _words(asked: Any) -> str | None:
    """Return a readable part of a request."""
    if isinstance(asked, dict):
        messages = asked.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            asked = {"content": messages[-1].get("content")}
        return first_text(asked.values())
    return asked if isinstance(asked, str) else None


def _round(trace: Trace, case: CaseWriter) -> RoundWriter:
    broke = trace.state in _BROKEN
    usage = as_object(_json(trace.trace_metadata.get("mlflow.trace.tokenUsage")))
    cost = as_object(_json(trace.trace_metadata.get("mlflow.trace.cost")))
    about = {"trace_id": trace.trace_id, "cost": as_float(cost.get("total_cost"))}
    return case.round(
        trace.response,
        input_tokens=as_int(usage.get("input_tokens")),
        output_tokens=as_int(usage.get("output_tokens")),
        latency_ms=as_float(trace.execution_duration),
        metadata=about,
        executed_at=_moment(trace.request_time),
        error=(trace.error or f"the trace has the state {trace.state}")
        if broke
        else None,
    )


def _moment(written: Any) -> datetime | None:
    milliseconds = as_float(written)
    return as_time(written if milliseconds is None else milliseconds / 1000)


def _value(assessment: Assessment) -> float | None:
    feedback = assessment.feedback or Feedback()
    given = None if feedback.error else feedback.value
    return _WORDS.get(given.lower()) if isinstance(given, str) else as_float(given)


def _write_score(assessments: Sequence[Assessment], answer: RoundWriter) -> None:
    """Write the result of a scorer; of several chunks their mean."""
    *_, assessment = assessments
    feedback = assessment.feedback or Feedback()
    given = feedback.value
    values = [value for each in assessments if (value := _value(each)) is not None]
    value = sum(values) / len(values) if values else None
    for each in assessments:
        source = each.source or {}
        model = source.get("source_id")
        if source.get("source_type") in _JUDGES and isinstance(model, str):
            answer.task.judge(assessment.assessment_name, model)
    about: dict[str, Any] = {}
    if len(assessments) > 1:
        about["given"] = [
            each.feedback.value if each.feedback else None for each in assessments
        ]
    elif given is not None and (value is None or isinstance(given, str)):
        about["given"] = given
    if feedback.error:
        about["error"] = error_text(feedback.error)
    answer.score(
        assessment.assessment_name,
        value,
        as_share(value),
        summary=assessment.rationale,
        payload=about,
    )


_OUTPUTS = "outputs"
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


def classic_records(
    table: Table, metrics: Mapping[str, Any], source: Source
) -> Iterator[Record | Problem]:
    """The records of the run."""
    same_run = SameRun("mlflow", source=source)
    for cells in table.data:
        same_run.add(compact(cells))
    name = base_of(source.path.name)
    # the table has no id: a run is identified by its content
    task_id = content_id(same_run.hash_of_night(), name)
    task = TaskWriter("mlflow", task_id, source, same_run)
    for cells in table.data:
        _write(dict(zip(table.columns, cells, strict=False)), task)
        yield from task.written()
    task.describe()
    names = task.dimensions
    names.ratings = {name for name in names if name.partition("/")[0] in _RATINGS}
    task.grade(directions={"latency": "lower_better"})
    _claim(metrics, task)
    yield from task.written()


def _write(row: dict[str, Any], task: TaskWriter) -> None:
    measured = {
        key: row.pop(key)
        for key in list(row)
        if key in _MEASURES or key.endswith(("/score", "/justification"))
    }
    output = row.pop(_OUTPUTS, None)
    expected = {key: row.pop(key) for key in list(row) if key.lower() in _TARGETS}
    golden: Any = expected or None
    if len(expected) == 1:
        (golden,) = expected.values()
    case = task.case(
        task.distinct(case_name(row, first_text(row.values()))),
        row,
        golden=golden,
    )
    seconds = as_float(measured.get("latency"))
    answer = case.round(output, latency_ms=as_milliseconds(seconds))
    for key, given in measured.items():
        if key.endswith("/justification"):
            continue
        why = measured.get(f"{key.removesuffix('/score')}/justification")
        write_score(answer, key, given, why=why)


def totals_alone(
    metrics: Mapping[str, Any], source: Source
) -> Iterable[Record | Problem]:
    """Write a run of which only the metrics exist."""
    name = base_of(source.path.name)
    task = TaskWriter("mlflow", content_id(metrics, name), source)
    task.describe()
    _claim(metrics, task)
    task.warn(
        "totals_only",
        f"{source.path.name} holds metrics and no rows, so nothing can be compared by"
        " case. Write the table of the evaluation beside it, with the same beginning of"
        " its name",
    )
    return task.written()


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
        own: dict[Path, list[FoundFile]] = defaultdict(list)
        for file in folder:
            if file.form != "metrics":
                continue
            begins = file.path.stem.removesuffix("metrics")
            named = [
                lead for lead in leads if begins and lead.path.name.startswith(begins)
            ]
            lead = named[0] if named else leads[0] if len(leads) == 1 else None
            if lead is None or own[lead.path]:
                yield file, ()
            else:
                own[lead.path].append(file)
        for lead in leads:
            yield lead, own[lead.path]


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield each run of the file as records."""
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
    kind: Any = Trace if source.form == "rows" else Written
    for place, written in _written(source):
        trace: Any = written
        if not isinstance(written, Problem):
            trace = _FILES.record(written, kind, line=place)
        trace = trace.trace() if isinstance(trace, Written) else trace
        if isinstance(trace, Problem):
            yield trace
        elif not ids.again(trace.trace_id):
            runs[trace.run or ""].append(trace)
    for own_id, traces in runs.items():
        # a log without a run keeps its first trace while it grows
        run_id = own_id or f"mlflow-{min(traces, key=_order).trace_id}"
        claimed = metrics if len(runs) == 1 else {}
        yield from run_records(run_id, traces, claimed, source)
    yield from ids.problems()
    if metrics and len(runs) > 1:
        names = ", ".join(path.name for path in source.companions)
        yield warning(
            "metrics_of_several_runs",
            f"the metrics of {names} are not loaded: this file has {len(runs)} runs,"
            " and nothing says whose they are. Write each run to a separate file",
        )


def _written(source: Source) -> Iterator[tuple[int, bytes | Problem]]:
    """Yield each trace as JSON, and the number of its line."""
    if source.form == "csv":
        for each in rows_of(source, "csv"):
            if isinstance(each, Problem):
                yield 0, each
            else:
                yield each[0], each[1].get("trace", "null").encode()
        return
    for place, line in lines(source):
        if line.lstrip()[:1] == b"[":  # a list, all in one line
            rows = _FILES.decoded(line, list[Any])
            yield from ((place, compact(row).encode()) for row in rows)
        else:
            yield place, line
