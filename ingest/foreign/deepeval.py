"""DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json``, ``test_run_*.json``.

Tried on 4.3.1, on files of 4.x with traces, and on one of February 2024. A file is a
run and one task. The folder that DeepEval fills has a run up to three times: bare,
wrapped in ``testRunData``, and partial, as written during a run
(``.temp_test_run_data.json``): it is loaded once.

A metric is a check with DeepEval's verdict, and a score. Its direction is not in the
file: a metric that succeeds below its threshold and fails above it is better the lower
it is. Version 4.3 turned some metrics round, so another direction is another yardstick.
What else a file says of the settings of a metric is what its check expects; some of it,
such as the criteria of G-Eval, is in its log.
A metric with an error is not a verdict, although DeepEval fails the test case.
Expectations are a metric with a check for each. Equal test cases, judged by the same
metrics, are rounds of a case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_milliseconds,
    as_object,
    as_share,
)
from promptlab.ingest.foreign.documents import (
    ABSENT,
    ToolFiles,
    is_there,
)
from promptlab.ingest.foreign.identity import (
    Occurrences,
    SameRun,
    case_name,
    content_id,
    copy_problem,
)
from promptlab.ingest.foreign.prompts import env_of, model_settings, setting
from promptlab.ingest.foreign.registry import Files, Head, Run, by_folder
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


class Metric(msgspec.Struct):
    """The result of one metric for one test case."""

    name: str | None = None
    metric: str | None = None
    """Its name, in files of 2024."""
    score: float | None = None
    threshold: float | None = None
    success: bool | None = None
    reason: str | None = None
    error: str | None = None
    flaky: bool = False
    strictMode: bool | None = None  # DeepEval's names
    evaluationModel: str | None = None
    evaluationCost: float | None = None
    verboseLogs: Any = None
    settings: dict[str, Any] = {}
    """What else it judged by, from `_metric`."""

    @property
    def kind(self) -> str:
        """Return what it is: a flaky metric decides otherwise than another."""
        kinds = {"strict": self.strictMode, "flaky": self.flaky}
        return " ".join([*(name for name, is_so in kinds.items() if is_so), "metric"])

    @property
    def title(self) -> str:
        """Return its name."""
        return self.name or self.metric or "metric"

    @property
    def is_broken(self) -> bool:
        """Return true if the metric has an error; DeepEval counts it as failed."""
        return self.error is not None or (self.score is None and not self.success)


_NO_SETTINGS = (
    *("name", "metric", "score", "success", "reason", "error", "confidence"),
    *("score breakdown", "evaluation cost", "input token count", "output token count"),
    *(
        "run duration",
        "latency",
        "completion time",
        "verbose logs",
        "expectations data",
    ),
    # these are read by themselves
    *("threshold", "strict mode", "flaky", "evaluation model"),
)
"""Members of a metric's result that are not settings."""
_SAID = re.compile(
    r"(criteria|evaluation steps|rubric|(?:chatbot )?role|expected json schema|pattern"
    r"|prompt instructions|(?:allowed|denied|available) tools|stt model"
    r"|truths(?= \(limit)|turns sliding windows(?= \(size))"
    r"(?: \(\w+=(\w+)\):.*|:\s*(.*))",
    re.DOTALL | re.IGNORECASE,
)
"""A part of a metric's log that says what its author set."""


def _metric(given: Any) -> Metric:
    """Return the result of a metric, with what it judged by."""
    metric = msgspec.convert(given, Metric)
    parts = map(_SAID.fullmatch, str(metric.verboseLogs or "").split(" \n \n"))
    said = {part[1].lower(): (part[2] or part[3]).strip() for part in parts if part}
    said = {name: each for name, each in said.items() if each not in ("", "None", "[]")}
    if "criteria" in said:
        said.pop("evaluation steps", None)  # a model wrote them, others each time
    metric.settings = yardstick({**given, **said}, *_NO_SETTINGS)
    return metric


class Verdict(msgspec.Struct):
    """The verdict on one expectation: what an answer must do, or must not."""

    condition: str
    kind: Literal["MUST", "MUST_NOT"] = "MUST"
    status: str | None = None
    """``pass``, ``fail``, or ``unable_to_evaluate``."""
    reason: str | None = None

    @property
    def title(self) -> str:
        """Return the expectation as a sentence, without its subject."""
        return f"{self.kind.lower().replace('_', ' ')} {self.condition}"

    @property
    def passed(self) -> bool | None:
        """Return true or false; null if it could not be judged."""
        return {"pass": True, "fail": False}.get(self.status or "")


class Expectations(Metric):
    """What DeepEval itself judged, by the expectations of a golden.

    It has no verdicts if its judge broke, or if a classifier judged all at once.
    """

    name: str | None = "Expectations"
    verdicts: list[Verdict] = []

    @property
    def is_broken(self) -> bool:
        """Return true for an error; a failed verdict counts beside a missing one."""
        failed = any(each.passed is False for each in self.verdicts)
        return super().is_broken and not failed


class Span(msgspec.Struct):
    """A part of a trace."""

    metricsData: list[Any] | None = None

    def __post_init__(self) -> None:
        """Read the results of its metrics."""
        self.metricsData = [_metric(each) for each in self.metricsData or []]


class Trace(msgspec.Struct):
    """The trace of a test case; its metrics count in the verdict of the test case."""

    baseSpans: list[Span] | None = None
    agentSpans: list[Span] | None = None
    llmSpans: list[Span] | None = None
    retrieverSpans: list[Span] | None = None
    toolSpans: list[Span] | None = None

    @property
    def metrics(self) -> list[Metric]:
        """Return the results of metrics for its spans."""
        kinds = (getattr(self, kind) or [] for kind in self.__struct_fields__)
        return [
            each for spans in kinds for span in spans for each in span.metricsData or []
        ]

    @property
    def by_metric(self) -> dict[str, list[Metric]]:
        """Return these results by the name of their metric."""
        found: dict[str, list[Metric]] = {}
        for each in self.metrics:
            found.setdefault(each.title, []).append(each)
        return dict(sorted(found.items()))


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
    testCases: list[dict[str, Any]] | None = None
    """The turns, in files before 3.1: question and answer in one."""
    context: Any = None
    retrievalContext: Any = None
    toolsCalled: Any = None
    expectedTools: Any = None
    tags: list[Any] | None = None
    metadata: Any = None
    additionalMetadata: Any = None
    success: bool | None = None
    imagesMapping: Any = None
    metricsData: list[Any] | None = None
    metricsMetadata: list[Any] | None = None
    expectationsData: Expectations | None = None
    trace: Trace | None = None
    tokenCost: float | None = None
    inputTokenCount: Any = None
    outputTokenCount: Any = None
    cost: float | None = None
    completionTime: float | None = None
    latency: float | None = None
    runDuration: float | None = None
    evaluationCost: float | None = None
    order: int | None = None

    def __post_init__(self) -> None:
        """Number metrics of one name, and give early conversations their turns."""
        given = self.metricsData or self.metricsMetadata or []
        self.metricsData = [_metric(each) for each in given]
        seen = Occurrences()
        for each in self.metrics:
            each.name = Occurrences.named(each.title, seen.next(each.title))
        if self.turns is None and self.testCases is not None:
            self.turns = [turn for pair in self.testCases for turn in _turns(pair)]
        # their ids are drawn anew in each run
        images = {
            key: content_id(yardstick(image, "id", "local"))
            for key, image in as_object(self.imagesMapping).items()
        }
        if images:
            for name in ("input", "expectedOutput", "context", "turns", "scenario"):
                setattr(self, name, _with_images(getattr(self, name), images))

    @property
    def metrics(self) -> list[Metric]:
        """Return the results of its metrics; its expectations are the last one."""
        return [*(self.metricsData or []), *filter(None, [self.expectationsData])]

    @property
    def decisive(self) -> list[Metric]:
        """Return the results that decide its verdict, with those of its spans.

        Flaky metrics decide nothing, unless all are flaky.
        """
        metrics = self.metrics + (self.trace.metrics if self.trace else [])
        return [each for each in metrics if not each.flaky] or metrics

    @property
    def asked(self) -> Any:
        """Return the content that identifies the test case."""
        if self.turns is None:
            return [self.input, self.expectedOutput]
        return [self.scenario or self.said, self.expectedOutcome]

    @property
    def said(self) -> list[Any] | None:
        """Return what the user says in a conversation, if no scenario wrote it."""
        if self.turns is None or self.scenario:
            return None
        return [
            turn.get("content")
            for turn in self.turns
            if isinstance(turn, dict) and turn.get("role") == "user"
        ]

    @property
    def about(self) -> dict[str, Any]:
        """Return the description by its author."""
        return as_object(self.metadata or self.additionalMetadata)


def _turns(pair: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question, and its answer with all that the file says about it."""
    about = {key: value for key, value in pair.items() if value is not None}
    yield {"role": "user", "content": about.pop("input", None)}
    yield {"role": "assistant", "content": about.pop("actualOutput", None), **about}


_IMAGE = re.compile(r"(\[DEEPEVAL:(?:IMAGE|PDF):)([^\]]*)\]")


def _with_images(value: Any, images: Mapping[str, str]) -> Any:
    """Return texts with the hash of each image in place of its id."""
    if isinstance(value, str):
        return _IMAGE.sub(lambda m: f"{m[1]}{images.get(m[2], m[2])}]", value)
    if isinstance(value, list):
        return [_with_images(each, images) for each in value]
    if isinstance(value, dict):
        return {key: _with_images(each, images) for key, each in value.items()}
    return value


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
    runDuration: float | None = None
    evaluationCost: float | None = None
    testRunData: msgspec.Raw = ABSENT
    """The run itself, if it is wrapped."""


_SHARES = frozenset(
    {
        *("Answer Relevancy", "Argument Correctness", "Bias"),
        *("Citation Faithfulness", "Contextual Precision", "Contextual Recall"),
        *("Contextual Relevancy", "Conversation Completeness", "Exact Match"),
        *(
            "Expectations",
            "Faithfulness",
            "Goal Accuracy",
            "Hallucination",
            "Json Correctness",
        ),
        *("Knowledge Retention", "Misuse", "Non-Advice", "PII Leakage"),
        *("Pattern Match", "Plan Adherence", "Plan Quality", "Prompt Alignment"),
        *("RAGAS", "Role Adherence", "Role Violation", "Step Efficiency"),
        *("Summarization", "Task Completion", "Tool Correctness", "Tool Use"),
        *("Topic Adherence", "Toxicity", "Turn Contextual Precision"),
        *("Turn Contextual Recall", "Turn Contextual Relevancy"),
        *("Turn Faithfulness", "Turn Relevancy"),
    }
)
"""DeepEval's built-in metrics, with values from 0 to 1."""
_FAULTS = frozenset({"Bias", "Hallucination", "Misuse", "Toxicity"})
"""Those that count faults before 4.3: ``strict_mode`` has a threshold of 0."""
_SHARE_ENDING = re.compile(r"[\[(][^\[\]()]*(Eval|DAG|ragas)[\])]$")
"""Of G-Eval and its relatives, such as ``[Conversational GEval]``."""
_NUMBER = re.compile(r"~\d+$")
"""Of the second metric of one name."""


def _is_share(name: str) -> bool:
    name = _NUMBER.sub("", name)
    return name in _SHARES or bool(_SHARE_ENDING.search(name))


def _records(
    run: TestRun, read: Sequence[TestCase | Problem], source: Source
) -> Iterator[Record | Problem]:
    """Yield all records of a run, and problems of test cases that cannot be read."""
    cases = [each for each in read if isinstance(each, TestCase)]
    # the durations of answers differ between runs, and stay the same when a run is
    # judged again; without durations, verdicts identify the run too
    is_timed = all(each.runDuration for each in cases)
    same_run = SameRun("deepeval", run.identifier or "", source=source)
    for row in {_row_id(each, judged=not is_timed) for each in cases}:
        same_run.add(row)
    # the file has no id and no time: a run is identified by its content
    own_id = same_run.hash() if is_timed else same_run.hash_of_night()
    task_id = content_id(own_id, run.identifier or "deepeval")
    task = TaskWriter(
        "deepeval",
        task_id,
        source,
        same_run,
        is_share=_is_share,
    )
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
    yield from (each for each in read if isinstance(each, Problem))
    directions, task.dimensions.doubted = _directions(cases)
    # traces were taken out of the file, and with them what the totals are of
    is_cut = bool(run.metricsScores) and not any(each.decisive for each in cases)
    known: dict[str, str] = {}
    for each in cases:
        answer = _round(each, _case(each, task, known), is_cut=is_cut)
        for metric in each.metrics:
            lower = directions.get(metric.title) == "lower_better"
            _write(metric, answer, lower=lower)
        _write_spans(each, answer)
        yield from task.written()
    task.grade(
        directions=directions,
        parameters={
            name: {"higher_is_better": False}
            for name, direction in directions.items()
            if direction == "lower_better"
        },
    )
    _claim(run, task)
    if run.testPassed is None and not run.metricsScores:
        task.warn(
            "run_incomplete",
            f"{source.path.name} claims no totals: DeepEval wrote it on the way, and"
            " the run may have had more test cases",
        )
    yield from task.written()


def _row_id(case: TestCase, *, judged: bool = True) -> str:
    row = [case.order, case.asked, case.actualOutput, case.runDuration]
    verdicts = [(each.title, each.score, each.success) for each in case.metrics]
    return content_id([*row, verdicts] if judged else row)


def _directions(cases: list[TestCase]) -> tuple[dict[str, Direction], set[str]]:
    """Metric → direction, if success and threshold determine it; metrics in doubt.

    Where all scores equal their threshold, only a threshold of 0 says something, and
    only of a metric that counts faults: nothing fails above it. Of any other it asks
    nothing: DeepEval's own are then best at 1, those of users are in doubt.
    """
    may_be: dict[str, set[Direction]] = {}
    at_zero: set[str] = set()
    for case in cases:
        for metric in case.metrics:
            score, threshold = metric.score, metric.threshold
            if None in (score, threshold, metric.success) or metric.is_broken:
                continue
            assert score is not None
            assert threshold is not None
            left = may_be.setdefault(metric.title, {"higher_better", "lower_better"})
            if metric.success != (score >= threshold):
                left.discard("higher_better")
            if metric.success != (score <= threshold):
                left.discard("lower_better")
            if score == threshold == 0 and metric.success:
                at_zero.add(metric.title)
    at_zero = {name for name in at_zero if len(may_be[name]) > 1}
    for name in at_zero:
        if _NUMBER.sub("", name) in _FAULTS:
            may_be[name] = {"lower_better"}
    known = {name: left.pop() for name, left in may_be.items() if len(left) == 1}
    return known, at_zero - known.keys()


def _case_id(case: TestCase) -> str:
    own = case.about.get("id")
    if isinstance(own, str | int) and str(own).strip():
        return str(own)
    asked = case.asked
    return case_name(asked, asked[0] if isinstance(asked[0], str) else case.scenario)


def _case(case: TestCase, task: TaskWriter, known: dict[str, str]) -> CaseWriter:
    """Write the case of a test case, unless an equal one is *known*.

    ``--repeat`` leaves no number: test cases that ask the same, and are judged by the
    same metrics, are rounds. By others, they are tests of another name.
    """
    context = {
        "input": case.input,
        "scenario": case.scenario,
        "turns": case.said,
        "user_description": case.userDescription,
        "context": case.context,
        "expected_tools": case.expectedTools,
    }
    case_id = _case_id(case)
    metrics = sorted(each.title for each in case.metrics)
    content = content_id([case_id, case.asked, context, metrics])
    if content not in known or not any(case.asked):
        known[content] = task.distinct(case_id)
    return task.case(
        known[content],
        {key: value for key, value in context.items() if value is not None},
        golden=case.expectedOutput if case.turns is None else case.expectedOutcome,
        tags=[tag for tag in case.tags or [] if isinstance(tag, str)],
        categories={k: v for k, v in case.about.items() if k != "id"},
    )


def _write_spans(case: TestCase, answer: RoundWriter) -> None:
    """Write a check for each metric of spans: all of them have to succeed."""
    for name, metrics in (case.trace.by_metric if case.trace else {}).items():
        failed = [m for m in metrics if m.success is False and not m.is_broken]
        broken = [m for m in metrics if m.is_broken or m.success is None]
        told = next(iter([*failed, *broken]), metrics[0])
        settings = {compact(m.settings): m.settings for m in metrics if m.settings}
        for each in metrics:
            _see_judge(f"{name} (spans)", each, answer.task)
        answer.check(
            f"{name} (spans)",
            f"{told.kind} of spans",
            False if failed else None if broken else True,
            score=as_float(told.score),
            threshold=as_float(told.threshold),
            expected=compact([settings[k] for k in sorted(settings)])
            if settings
            else None,
            reason=told.reason,
            error=told.error,
        )


def _round(case: TestCase, writer: CaseWriter, *, is_cut: bool) -> RoundWriter:
    status = _status(case)
    if is_cut and case.success is not None:
        status = "pass" if case.success else "fail"
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
    return writer.round(
        case.actualOutput if case.turns is None else _last_turn(case.turns),
        latency_ms=as_milliseconds(
            case.completionTime if case.latency is None else case.latency
        ),
        input_tokens=as_int(case.inputTokenCount),
        output_tokens=as_int(case.outputTokenCount),
        metadata={key: value for key, value in about.items() if value},
        status=status,
    )


def _last_turn(turns: list[Any]) -> Any:
    answers = [
        turn.get("content")
        for turn in turns
        if isinstance(turn, dict) and turn.get("role") == "assistant"
    ]
    return answers[-1] if answers else None


def _status(case: TestCase) -> Status:
    """Return DeepEval's verdict; unknown where only metrics with errors failed."""
    metrics = case.decisive
    if not metrics:
        return "unevaluated"
    if case.success:
        return "pass"
    if case.success is None and all(each.success for each in metrics):
        return "pass"
    failed = any(each.success is False and not each.is_broken for each in metrics)
    broken = any(each.is_broken for each in metrics)
    # without a threshold a metric neither succeeds nor fails
    return "fail" if failed or (case.success is False and not broken) else "unevaluated"


_EXPECTATION = "expectation"


def _see_judge(name: str, metric: Metric, task: TaskWriter) -> None:
    """Record the model of a metric, and what it was asked."""
    if metric.evaluationModel:
        asked = compact(metric.settings) if metric.settings else None
        task.judge(name, metric.evaluationModel, rubric=asked)


def _write(metric: Metric, answer: RoundWriter, *, lower: bool) -> None:
    value = as_float(metric.score)
    share = as_share(value)
    _see_judge(metric.title, metric, answer.task)
    judge = {"judge": metric.evaluationModel, "judge_cost": metric.evaluationCost}
    verdicts = metric.verdicts if isinstance(metric, Expectations) else []
    if verdicts:  # each has another name: who judged is said of their type
        _see_judge(_EXPECTATION, metric, answer.task)
    for verdict in verdicts:
        answer.check(
            verdict.title,
            _EXPECTATION,
            verdict.passed,
            reason=verdict.reason,
            error=metric.error if verdict.passed is None else None,
        )
    if not verdicts:
        answer.check(
            metric.title,
            metric.kind,
            None if metric.is_broken else metric.success,
            score=value,
            threshold=metric.threshold,
            expected=compact(metric.settings) if metric.settings else None,
            reason=metric.reason,
            error=metric.error,
        )
    answer.score(
        metric.title,
        value,
        1 - share if lower and share is not None else share,
        summary=metric.reason,
        payload={key: each for key, each in judge.items() if each},
    )


def _claim(run: TestRun, task: TaskWriter) -> None:
    """Hand over the number of test cases, and the means of the metrics."""
    means, counts = {}, [0]
    for claimed in run.metricsScores or []:
        scores = [score for score in claimed.scores if score is not None]
        # a total over two metrics of one name is that of neither
        if scores and f"{claimed.metric}~2" not in task.dimensions:
            means[claimed.metric] = sum(scores) / len(scores)
        counts.append(len(scores))
    if run.testPassed is not None and run.testFailed is not None:
        counts.append(run.testPassed + run.testFailed)
    if run.testPassed is not None or run.metricsScores:
        task.claim(means, max(counts) or None)


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
            *_FILES.items(of_talks, TestCase, "/conversationalTestCases"),
        ]
        rows = {_row_id(each) for each in cases if isinstance(each, TestCase)}
        known = known if path else rows
        if path is not None and rows <= known:
            yield copy_problem(path.resolve().as_posix(), source.uri)
        else:
            yield from _records(run, cases, source)
