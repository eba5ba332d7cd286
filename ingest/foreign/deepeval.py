"""DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json``, ``test_run_*.json``.

Tried on 4.3.1, on files of 4.x with traces, and on one of February 2024. A file is a
run and one task. The folder that DeepEval fills has a run up to three times: bare,
wrapped in ``testRunData``, and partial, as written during a run
(``.temp_test_run_data.json``): it is loaded once.

A metric is a check with DeepEval's verdict, and a score. Its direction is not in the
file: a metric that succeeds below its threshold and fails above it is better the lower
it is. Version 4.3 turned some metrics round, so another direction is another yardstick.
All other settings of a metric in the file are what its check expects; some of them,
such as the criteria of G-Eval, are in its log.
A metric with an error is not a verdict, although DeepEval fails the test case.
Expectations are a metric with a check for each. Equal test cases, judged by the same
metrics, are rounds of a case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import as_float, as_object, as_share
from promptlab.ingest.foreign.documents import ABSENT, ToolFiles, is_there
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    Occurrences,
    SameRun,
    case_name,
    content_id,
    copy_problem,
)
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.runs_of_files import Files, Run, by_folder
from promptlab.ingest.foreign.scorings import verdict
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Direction,
    Record,
    RoundWriter,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact

FORMS = ("bare", "wrapped")

_FILES = ToolFiles("DeepEval", "4.3.1 and files of 2024")
_PARTIAL = ".temp_test_run_data.json"
_KEYS = frozenset({"metricsScores", "metricScores", "hyperparameters", "testFile"})


def recognise(head: Head) -> str | None:
    """Recognise test cases with results of metrics, bare or wrapped."""
    if "testRunData" in head.keys:
        return "wrapped" if "testCases" in head.keys_below("testRunData") else None
    if "testCases" not in head.keys:
        return None
    judged = head.has(b'"metricsData"') or head.has(b'"metricsMetadata"')
    return "bare" if judged or head.keys & _KEYS else None


def gather(files: Files) -> Iterator[Run]:
    """Add files of an unfinished run to the run of their folder."""
    for folder in by_folder(files):
        partial = [file for file in folder if file.path.name == _PARTIAL]
        ended = [file for file in folder if file not in partial]
        ended.sort(key=lambda file: FORMS.index(str(file.form)))
        for place, file in enumerate(ended or partial):
            yield file, partial if ended and place == 0 else ()


class Verdict(msgspec.Struct):
    """The verdict on one expectation: what an answer must do, or must not."""

    condition: str
    kind: str = "MUST"
    status: str | None = None
    """``pass``, ``fail``, or ``unable_to_evaluate``."""
    reason: str | None = None

    @property
    def title(self) -> str:
        """Return the expectation as a sentence, without its subject."""
        return f"{self.kind.lower().replace('_', ' ')} {self.condition}"

    @property
    def passed(self) -> bool | None:
        """Return true or false; ``None`` if it could not be judged."""
        return {"pass": True, "fail": False}.get(self.status or "")


class Metric(msgspec.Struct):
    """The result of one metric for one test case, or for a span of it."""

    name: str
    score: float | None = None
    threshold: float | None = None
    success: bool | None = None
    reason: str | None = None
    error: str | None = None
    flaky: bool = False
    strictMode: bool | None = None  # DeepEval's names
    evaluationModel: str | None = None
    evaluationCost: float | None = None
    verdicts: list[Verdict] = []
    """The results of expectations; empty if the judge broke, or judged all at once."""
    expected: str | None = None
    """Its other settings as JSON, from `_metric`."""

    @property
    def kind(self) -> str:
        """Return what it is: a flaky metric decides otherwise than another."""
        kinds = {"strict": self.strictMode, "flaky": self.flaky}
        return " ".join([*(name for name, is_so in kinds.items() if is_so), "metric"])

    @property
    def is_broken(self) -> bool:
        """Return true if it could not judge, which DeepEval counts as a failure."""
        return self.error is not None or (self.score is None and not self.success)

    @property
    def passed(self) -> bool | None:
        """Return whether it succeeded; ``None``: it broke, or has no threshold."""
        return None if self.is_broken else self.success


_NO_SETTINGS = (
    *("name", "metric", "score", "success", "reason", "error", "confidence"),
    *("score breakdown", "evaluation cost", "input token count", "output token count"),
    *("run duration", "latency", "completion time", "verbose logs", "verdicts"),
    "expectations data",
    # these are read separately
    *("threshold", "strict mode", "flaky", "evaluation model"),
)
"""Members of a metric's result that are not settings."""
_IN_LOG = re.compile(
    r"(criteria|evaluation steps|rubric|(?:chatbot )?role|expected json schema|pattern"
    r"|prompt instructions|(?:allowed|denied|available) tools):\s*(.*)",
    re.DOTALL | re.IGNORECASE,
)
"""A part of a metric's log with a setting of its author."""


def _metric(result: dict[str, Any]) -> Metric:
    """Return the result of a metric, with the settings that it judged by."""
    named = {key: value for key, value in result.items() if value is not None}
    names = (result.get("name"), result.get("metric"), "metric")  # the second in 2024
    named["name"] = next(name for name in names if str(name or "").strip())
    metric = msgspec.convert({**named, "expected": None}, Metric)
    parts = str(result.get("verboseLogs") or "").split(" \n \n")
    logged = {
        part[1].lower(): part[2].strip()
        for part in map(_IN_LOG.fullmatch, parts)
        if part
    }
    logged = {
        name: value for name, value in logged.items() if value not in ("None", "[]")
    }
    if logged.get("criteria"):
        logged.pop("evaluation steps", None)  # a model wrote them, others each time
    settings = yardstick({**result, **logged}, *_NO_SETTINGS)
    metric.expected = compact(settings) if settings else None
    return metric


class Span(msgspec.Struct):
    """One step of a trace."""

    metricsData: list[dict[str, Any]] | None = None


class TestCase(msgspec.Struct):
    """One test case, of a single turn or of a conversation."""

    name: str | None = None
    input: Any = None
    actualOutput: Any = None
    expectedOutput: Any = None
    scenario: str | None = None
    userDescription: Any = None
    expectedOutcome: Any = None
    turns: list[Any] | None = None
    user_messages: list[Any] | None = None
    """The user's turns of a conversation, if no scenario wrote them."""
    context: Any = None
    retrievalContext: Any = None
    toolsCalled: Any = None
    expectedTools: Any = None
    tags: list[Any] | None = None
    metadata: Any = None
    additionalMetadata: Any = None
    success: bool | None = None
    metricsData: list[dict[str, Any]] | None = None
    metricsMetadata: list[dict[str, Any]] | None = None
    expectationsData: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    tokenCost: float | None = None
    inputTokenCount: Any = None
    outputTokenCount: Any = None
    cost: float | None = None
    completionTime: float | None = None
    latency: float | None = None
    runDuration: float | None = None
    evaluationCost: float | None = None
    order: int | None = None
    metrics: list[Metric] = []
    """Results of its metrics, from any of the above; its expectations are the last."""
    of_spans: list[Metric] = []
    """Results of metrics for spans of its trace."""

    def __post_init__(self) -> None:
        """Read the results of metrics; the second of a name is ``name~2``."""
        results = list(self.metricsData or self.metricsMetadata or [])
        if self.expectationsData is not None:
            results.append({"name": "Expectations", **self.expectationsData})
        self.metrics = [_metric(result) for result in results]
        names = Occurrences()
        for metric in self.metrics:
            metric.name = Occurrences.named(metric.name, names.next(metric.name))
        self.of_spans = [
            _metric(result)
            for kind, spans in (self.trace or {}).items()
            if kind.endswith("Spans")
            for span in msgspec.convert(spans or [], list[Span])
            for result in span.metricsData or []
        ]

    @property
    def question(self) -> list[Any]:
        """Return the content that identifies the test case."""
        return [self.scenario or self.user_messages or self.input, self.expectedOutput]

    @property
    def about(self) -> dict[str, Any]:
        """Return the description by its author."""
        return as_object(self.metadata or self.additionalMetadata)

    @property
    def status(self) -> Status:
        """Return DeepEval's verdict; unknown where only broken metrics failed it.

        Flaky metrics decide nothing, unless all are flaky.
        """
        metrics = self.metrics + self.of_spans
        judged = verdict(
            metric.passed for metric in [m for m in metrics if not m.flaky] or metrics
        )
        if judged is None:
            return "unevaluated"
        if self.success:
            return "pass"
        return "fail" if judged == "pass" and self.success is False else judged


class Conversation(TestCase, kw_only=True):
    """A test case of several turns; before 3.1 they had another form."""

    turns: list[Any]

    def __post_init__(self) -> None:
        """Answer with the last turn of the model."""
        super().__post_init__()
        by: dict[Any, list[Any]] = {"user": [], "assistant": [None]}
        for turn in map(as_object, self.turns):
            by.setdefault(turn.get("role"), []).append(turn.get("content"))
        self.user_messages = None if self.scenario else by["user"]
        self.actualOutput = by["assistant"][-1]
        self.expectedOutput = self.expectedOutcome


class Prompt(msgspec.Struct):
    """A prompt of a run: its name or its text."""

    version: str | None = None
    model_settings: Any = None
    text_template: str | None = None
    messages_template: list[Any] | None = None


class MetricScores(msgspec.Struct):
    """The scores of one metric, which a run lists again."""

    metric: str
    scores: list[float | None] = []


class TestRun(msgspec.Struct):
    """One run; test cases are decoded one by one."""

    testCases: list[msgspec.Raw] = []
    conversationalTestCases: list[msgspec.Raw] | None = None
    metricsScores: list[MetricScores] | None = None
    identifier: str | None = None
    testFile: str | None = None
    datasetAlias: str | None = None
    hyperparameters: dict[str, Any] | None = None
    prompts: list[Prompt] | None = None
    testPassed: int | None = None
    testFailed: int | None = None
    testRunData: msgspec.Raw = ABSENT
    """The run itself, if it is wrapped."""


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the run, and test cases of partial files that it lacks."""
    known: set[str] = set()
    for path in (None, *source.companions):
        run = _FILES.document(source, TestRun, path)
        if is_there(run.testRunData):
            run = _FILES.decoded(bytes(run.testRunData), TestRun)
        of_talks = run.conversationalTestCases or []
        cases = [
            *_FILES.items(run.testCases, TestCase, "/testCases"),
            *_FILES.items(of_talks, Conversation, "/conversationalTestCases"),
        ]
        rows = {_row_id(case) for case in cases if isinstance(case, TestCase)}
        known = known if path else rows
        if path is not None and rows <= known:
            yield copy_problem(path.resolve().as_posix(), source.uri)
        else:
            yield from _records(run, cases, source)


def _records(
    run: TestRun, read: Sequence[TestCase | Problem], source: Source
) -> Iterator[Record | Problem]:
    """Yield all records of a run, and problems of test cases that cannot be read."""
    cases = [case for case in read if isinstance(case, TestCase)]
    # the durations of answers differ between runs, and stay the same when a run is
    # judged again; without durations, verdicts identify the run too
    is_timed = all(case.runDuration for case in cases)
    same_run = SameRun("deepeval", run.identifier or "", source=source)
    for row in {_row_id(case, judged=not is_timed) for case in cases}:
        same_run.add(row)
    # the file has no id and no time: a run is identified by its content
    own_id = same_run.hash() if is_timed else same_run.hash_with_run_key()
    task_id = content_id(own_id, run.identifier or "deepeval")
    task = TaskWriter("deepeval", task_id, source, same_run, is_share=_is_share)
    settings = run.hyperparameters or {}
    (prompt,) = run.prompts if run.prompts and len(run.prompts) == 1 else [Prompt()]
    of_prompt = as_object(prompt.model_settings)
    task.describe(
        run.datasetAlias or run.testFile or run.identifier or "deepeval",
        prompt_version=setting(settings, "prompt version", "prompt") or prompt.version,
        model=setting(settings, "model", "llm", "model name")
        or setting(of_prompt, "name"),
        env=env_of(settings),
        settings=model_settings(of_prompt, settings),
        extras=prompts.about(
            prompt.messages_template
            or prompt.text_template
            or prompts.in_settings(settings),
            identifier=run.identifier,
        ),
    )
    yield from task.written()
    yield from (item for item in read if isinstance(item, Problem))
    directions, task.dimensions.doubted = _directions(cases)
    lower = {
        name for name, direction in directions.items() if direction == "lower_better"
    }
    known: dict[str, str] = {}
    for case in cases:
        _write(case, _case(case, task, known), lower)
        yield from task.written()
    task.grade(
        directions=directions,
        parameters={name: {"higher_is_better": False} for name in lower},
    )
    _claim(run, task)
    yield from task.written()


def _row_id(case: TestCase, *, judged: bool = True) -> str:
    row = [case.order, case.question, case.actualOutput, case.runDuration]
    verdicts = [(metric.name, metric.score, metric.success) for metric in case.metrics]
    return content_id([*row, verdicts] if judged else row)


def _case(case: TestCase, task: TaskWriter, known: dict[str, str]) -> CaseWriter:
    """Write the case of a test case, unless an equal one is *known*.

    ``--repeat`` writes no number: test cases with the same question and the same
    metrics are rounds. With other metrics, they are tests of another name.
    """
    context = {
        "input": case.input,
        "scenario": case.scenario,
        "turns": case.user_messages,
        "user_description": case.userDescription,
        "context": case.context,
        "expected_tools": case.expectedTools,
    }
    case_id, question = case.about.get("id"), case.question
    if not isinstance(case_id, str | int) or not str(case_id).strip():
        text = question[0] if isinstance(question[0], str) else case.scenario
        case_id = case_name(question, text)
    metrics = sorted(metric.name for metric in case.metrics)
    content = content_id([str(case_id), question, context, metrics])
    if content not in known or not any(question):
        known[content] = task.distinct(str(case_id))
    return task.case(
        known[content],
        {key: value for key, value in context.items() if value is not None},
        golden=case.expectedOutput,
        tags=[tag for tag in case.tags or [] if isinstance(tag, str)],
        categories={k: v for k, v in case.about.items() if k != "id"},
    )


def _write(case: TestCase, writer: CaseWriter, lower: set[str]) -> None:
    """Write the answer of a test case, and the results of its metrics."""
    about = {
        "name": case.name,
        "cost": case.cost if case.tokenCost is None else case.tokenCost,
        "judge_cost": case.evaluationCost,
        "judge_seconds": case.runDuration,
        "retrieval_context": case.retrievalContext,
        "tools_called": case.toolsCalled,
        "metadata": case.about,
        "turns": case.turns,
    }
    answer = writer.round(
        case.actualOutput,
        seconds=case.latency if case.completionTime is None else case.completionTime,
        input_tokens=case.inputTokenCount,
        output_tokens=case.outputTokenCount,
        metadata={key: value for key, value in about.items() if value},
        status=case.status,
    )
    for metric in case.metrics:
        _score(metric, answer, is_lower=metric.name in lower)
        for judgement in metric.verdicts:
            error = metric.error if judgement.passed is None else None
            answer.check(
                judgement.title,
                "expectation",
                judgement.passed,
                reason=judgement.reason,
                error=error,
            )
        if not metric.verdicts:
            _check(metric.name, metric.kind, metric, answer)
    # all spans of a test case have to succeed, so the worst of them is the verdict
    for name in sorted({metric.name for metric in case.of_spans}):
        spans = [span for span in case.of_spans if span.name == name]
        worst = min(spans, key=lambda span: (False, None, True).index(span.passed))
        _check(f"{name} (spans)", f"{worst.kind} of spans", worst, answer)


def _check(name: str, kind: str, metric: Metric, answer: RoundWriter) -> None:
    _judge(name, metric, answer)
    answer.check(
        name,
        kind,
        metric.passed,
        score=as_float(metric.score),
        threshold=metric.threshold,
        expected=metric.expected,
        reason=metric.reason,
        error=metric.error,
    )


def _judge(name: str, metric: Metric, answer: RoundWriter) -> None:
    if metric.evaluationModel:
        answer.task.judge(name, metric.evaluationModel, rubric=metric.expected)


def _score(metric: Metric, answer: RoundWriter, *, is_lower: bool) -> None:
    _judge(metric.name, metric, answer)
    value = as_float(metric.score)
    share = as_share(value)
    judge = {"judge": metric.evaluationModel, "judge_cost": metric.evaluationCost}
    answer.score(
        metric.name,
        value,
        1 - share if is_lower and share is not None else share,
        summary=metric.reason,
        payload={key: value for key, value in judge.items() if value},
    )


_SHARES = frozenset(
    {
        *("Answer Relevancy", "Argument Correctness", "Bias", "Citation Faithfulness"),
        *("Contextual Precision", "Contextual Recall", "Contextual Relevancy"),
        *("Conversation Completeness", "Exact Match", "Expectations", "Faithfulness"),
        *("Goal Accuracy", "Hallucination", "Json Correctness", "Knowledge Retention"),
        *("Misuse", "Non-Advice", "PII Leakage", "Pattern Match", "Plan Adherence"),
        *("Plan Quality", "Prompt Alignment", "RAGAS", "Role Adherence"),
        *("Role Violation", "Step Efficiency", "Summarization", "Task Completion"),
        *("Tool Correctness", "Tool Use", "Topic Adherence", "Toxicity"),
        *("Turn Contextual Precision", "Turn Contextual Recall"),
        *("Turn Contextual Relevancy", "Turn Faithfulness", "Turn Relevancy"),
    }
)
"""DeepEval's built-in metrics, with values from 0 to 1."""
_FAULTS = frozenset({"Bias", "Hallucination", "Misuse", "Toxicity"})
"""Metrics that count faults before 4.3: ``strict_mode`` has a threshold of 0."""
_SHARE_ENDING = re.compile(r"[\[(][^\[\]()]*(Eval|DAG|ragas)[\])]$")
"""The ending of G-Eval and its relatives, such as ``[Conversational GEval]``."""
_NUMBER = re.compile(r"~\d+$")
"""The ending of the second metric of one name."""


def _is_share(name: str) -> bool:
    name = _NUMBER.sub("", name)
    return name in _SHARES or bool(_SHARE_ENDING.search(name))


def _directions(cases: list[TestCase]) -> tuple[dict[str, Direction], set[str]]:
    """Metric → direction, if success and threshold determine it; metrics in doubt.

    Where all scores equal their threshold, only a threshold of 0 decides, and only for
    a metric that counts faults, where every case above it fails. Any other metric
    passes at 0 anyway: DeepEval's own are best at 1, those of users are in doubt.
    """
    may_be: dict[str, set[Direction]] = {}
    at_zero: set[str] = set()
    for metric in (metric for case in cases for metric in case.metrics):
        score, threshold, passed = metric.score, metric.threshold, metric.passed
        if score is None or threshold is None or passed is None:
            continue
        left = may_be.setdefault(metric.name, {"higher_better", "lower_better"})
        if passed != (score >= threshold):
            left.discard("higher_better")
        if passed != (score <= threshold):
            left.discard("lower_better")
        if score == threshold == 0 and passed:
            at_zero.add(metric.name)
    at_zero = {name for name in at_zero if len(may_be[name]) > 1}
    for name in at_zero:
        if _NUMBER.sub("", name) in _FAULTS:
            may_be[name] = {"lower_better"}
    known = {name: left.pop() for name, left in may_be.items() if len(left) == 1}
    return known, at_zero - known.keys()


def _claim(run: TestRun, task: TaskWriter) -> None:
    """Hand over the number of test cases, and the means of the metrics."""
    means, counts = {}, [(run.testPassed or 0) + (run.testFailed or 0)]
    for claimed in run.metricsScores or []:
        scores = [score for score in claimed.scores if score is not None]
        # a total over two metrics of one name is that of neither
        if scores and f"{claimed.metric}~2" not in task.dimensions:
            means[claimed.metric] = sum(scores) / len(scores)
        counts.append(len(scores))
    if run.testPassed is not None or run.metricsScores:
        task.claim(means, max(counts) or None)
    else:
        task.warn(
            "run_incomplete",
            f"{task.source.path.name} claims no totals: DeepEval wrote it on the way,"
            " and the run may have had more test cases",
        )
