"""Inspect AI: logs as ``.eval`` (a zip archive) and as ``.json``.

Tried on logs of 0.3.41, 0.3.58, 0.3.75, 0.3.95, 0.3.108, 0.3.154 and 0.3.285 (log
version 2). Older versions compress archives with deflate, newer ones with Zstandard.

One log is one task. A case is a sample, by its own id; a round is an epoch. Inspect has
no pass rule: scores stay scores. The letters are C 1, P 0.5, I 0, N 0, of a scorer that
says no other: one with grades of its own, A to E, gives labels.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from promptlab.contracts.base import plain_name
from promptlab.ingest.files.dates import base_of
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_list,
    as_milliseconds,
    as_object,
    as_share,
    as_time,
    parse_float,
    short_name,
)
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    Refused,
    ToolFiles,
    decode,
    file_bytes,
)
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import Occurrences, OwnIds, content_id
from promptlab.ingest.foreign.prompts import env_of
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Record,
    RoundWriter,
    TaskWriter,
    category_tag,
)
from promptlab.ingest.foreign.yardstick import without_machine, yardstick
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import compact
from promptlab.steps import steps_of

if TYPE_CHECKING:
    from promptlab.ingest.foreign.archives import Archive

NOTHING = Raw(b"null")

# ---------- what Inspect writes


class Dataset(Struct):
    """The dataset of the samples."""

    name: str | None = None
    sample_ids: list[Any] | None = None


class Scorer(Struct):
    """A scorer and its metrics."""

    name: str | None = None
    metrics: Any = None
    options: Any = None
    metadata: Any = None


class Step(Struct):
    """One solver of a plan."""

    solver: str | None = None
    params: dict[str, Any] = {}


class Plan(Struct):
    """The plan: the steps for each sample."""

    steps: list[Step] = []
    config: Any = None


class Revision(Struct):
    """The state of the repository that the task is in."""

    commit: str | None = None


class Eval(Struct, omit_defaults=True):
    """The evaluation that was run."""

    task: str
    model: str
    task_id: str | None = None
    """A retry has that of the log that it continues, and new ids of its own."""
    eval_id: str | None = None
    eval_set_id: str | None = None
    run_id: str | None = None
    task_version: Any = None
    task_file: str | None = None
    created: str | None = None
    task_args: Any = None
    task_args_passed: Any = None
    """Those that are not defaults; in logs before 0.3.100 nothing tells them."""
    solver: str | None = None
    """Given by the call in place of the task's own."""
    solver_args: Any = None
    dataset: Dataset | None = None
    packages: dict[str, Any] | None = None
    metadata: Any = None
    tags: Any = None
    scorers: list[Scorer] | None = None
    model_generate_config: Any = None
    model_args: Any = None
    model_roles: Any = None
    headline_metric: Any = None
    """The score that stands for the run, if its author names one."""
    sandbox: Any = None
    config: Any = None
    revision: Revision | None = None


class Metric(Struct):
    """One number over all samples, or over a group of them."""

    name: str | None = None
    value: Any = None
    group: str | None = None
    params: dict[str, Any] = {}


class ScoreResult(Struct):
    """One scorer's numbers, under one reducer over epochs."""

    name: str | None = None
    scorer: str | None = None
    params: Any = None
    reducer: str | None = None
    metrics: dict[str, Metric] | None = None


class Results(Struct):
    """The results of the run."""

    total_samples: int | None = None
    logged_samples: int | None = None
    """Written where the run was told to end before its last sample."""
    scores: list[ScoreResult] | None = None


class Failure(Struct):
    """The error that stopped a run or a sample."""

    message: str | None = None
    traceback: str | None = None

    @property
    def is_of_scorer(self) -> bool:
        """Return true if a scorer raised it: the answer is there, and not judged."""
        return "scorer(state, Target(" in (self.traceback or "")


class Log(Struct):
    """A whole log as JSON, or its header."""

    eval: Eval
    status: str | None = None
    plan: Plan | None = None
    results: Results | None = None
    error: Failure | None = None
    tags: Any = None
    """Those of the run as they were edited after it, and so is the metadata; in logs of
    older versions only the run has them."""
    metadata: dict[str, Any] | None = None
    samples: list[Raw] | None = None

    def __post_init__(self) -> None:
        if self.tags is None:
            self.tags = self.eval.tags
        if self.metadata is None:
            self.metadata = as_object(self.eval.metadata)

    @property
    def claimed(self) -> Sequence[ScoreResult]:
        """The numbers of the scorers."""
        return (self.results and self.results.scores) or ()


class Message(Struct):
    """One turn."""

    id: Any = None
    content: Any = None


class Choice(Struct):
    """One answer of the model."""

    message: Message | None = None


class Output(Struct):
    """The output of the model."""

    completion: str | None = None
    choices: list[Choice] | None = None
    usage: Any = None

    @property
    def message(self) -> Message:
        """The first answer."""
        return (self.choices and self.choices[0].message) or Message()


class Score(Struct):
    """The score of one scorer for one sample."""

    value: Any = None
    answer: Any = None
    explanation: str | None = None


class Sample(Struct, omit_defaults=True):
    """One sample in one epoch."""

    id: int | str
    epoch: int = 1
    input: Any = None
    choices: Any = None
    target: Any = None
    messages: Raw = NOTHING
    sandbox: Any = None
    files: Any = None
    setup: Any = None
    output: Output | None = None
    scores: dict[str, Score] | None = None
    metadata: Any = None
    error: Failure | None = None
    invalidation: Any = None
    """Who said that the sample is not valid, and why; ``None``: it is."""
    limit: Any = None
    """The limit that ended the sample; its scores count."""
    model_usage: Any = None
    """Tokens and costs by model: of a judge, too."""
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    uuid: str | None = None
    attachments: dict[str, str] | None = None


class Scored(Struct):
    """The scores of a sample, without all else."""

    scores: dict[str, Score] | None = None


class Event(Struct):
    """A call of the model or of a tool."""

    event: Any = None
    id: Any = None
    output: Raw = NOTHING
    working_time: Any = None
    """Seconds."""


class Events(Struct):
    """The events of a sample, without all else."""

    events: list[Event] = []


# ---------- the file

FORMS = ("eval", "json")

_FILES = ToolFiles("Inspect", "versions 0.3.41 to 0.3.285")
_encode = msgspec.json.Encoder().encode
T = TypeVar("T", Log, Sample)

_HEADER = "header.json"
_SUMMARIES = "summaries.json"
_START = "_journal/start.json"
"""Written first; the only file of an unfinished run beside its samples."""


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``eval.task`` and ``eval.model``, or an archive."""
    if head.is_zip:
        named = head.has(_START.encode()) or head.has(b"samples/", _HEADER.encode())
        return "eval" if named else None
    return "json" if {"task", "model"} <= head.keys_below("eval") else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the log as records, sample by sample; task and claims come last."""
    if source.form == "eval":
        from promptlab.ingest.foreign.archives import Archive

        with Archive(source.path, source.limits.max_file) as archive:
            yield from _archive(archive, source)
    else:
        log = _FILES.decoded(source.mend(file_bytes(source)), Log)
        raws = log.samples or []
        log.samples = None
        samples = ((f"/samples/{place}", bytes(raw)) for place, raw in enumerate(raws))
        yield from _log(log, samples, source, _scored(raws))


def _archive(archive: Archive, source: Source) -> Iterator[Record | Problem]:
    name = _HEADER if _HEADER in archive else _START
    if name not in archive:
        problem = Problem("broken_archive", f"no {_HEADER} and no {_START} in it")
        raise Refused(problem)
    log = _FILES.decoded(source.mend(archive.read(name)), Log)
    if name == _START:
        log.status = "started"
    names = sorted(each for each in archive.names("samples/") if each.endswith(".json"))
    scored = _scored(source.mend(archive.read(each)) for each in names)
    if _SUMMARIES in archive:  # the scores of all samples, in one small file
        with suppress(*UNREADABLE):
            scored = iter(decode(archive.read(_SUMMARIES), list[Scored]))
    samples = ((each, source.mend(archive.read(each))) for each in names)
    yield from _log(log, samples, source, scored)


def _scored(samples: Iterable[bytes | Raw]) -> Iterator[Scored]:
    for written in samples:
        with suppress(*UNREADABLE):  # `_log` reports it
            yield decode(written, Scored)


def _log(
    log: Log,
    samples: Iterator[tuple[str, bytes]],
    source: Source,
    scored: Iterable[Scored],
) -> Iterator[Record | Problem]:
    _name_as_in_scores(log.eval.scorers or [])
    run = Run(_redacted(log, source.redact), source, own_alphabets(scored, log))
    for place, written in samples:
        # nothing but its records stays in memory: a sample may be very large
        try:
            sample = _redacted(decode(written, Sample), source.redact)
            yield from run.add(sample, written)
        except UNREADABLE as error:
            raw = source.redact(written)
            yield _FILES.problem(error, pointer=place, raw=raw)
        del written
    yield from run.closing()


def _redacted(kept: T, redact: Callable[[bytes], bytes]) -> T:
    """Return the parts of a log that are kept, redacted; most of it is not kept."""
    written = _encode(kept)
    redacted = redact(written)
    return kept if redacted is written else decode(redacted, type(kept))


# ---------- the run


class Run:
    """Converts a log to records."""

    def __init__(self, log: Log, source: Source, own_alphabet: Collection[str]) -> None:
        about, dataset = log.eval, log.eval.dataset or Dataset()
        self._log = log
        self._own_alphabet = own_alphabet
        name = base_of(source.path.name)
        task_id = about.task_id or about.eval_id or about.run_id or name
        self._task = TaskWriter("inspect_ai", task_id, source, is_share=self._is_share)
        ids = dataset.sample_ids or []
        self._places = {str(each): place for place, each in enumerate(ids)}
        metrics = [m for each in log.claimed for m in (each.metrics or {}).values()]
        group_keys = dict.fromkeys(each.params.get("group_key") for each in metrics)
        self._group_keys = [key for key in group_keys if isinstance(key, str)]
        """Keys of the samples' metadata by which the log groups its numbers."""
        self._known: dict[str, str | int] = {}
        """Case → id of its sample."""
        self._seen = Occurrences()
        self._ids = OwnIds("uuid")
        self._numbers: set[str] = set()
        """Dimensions with values other than letters."""
        self._n_invalid = 0

    def add(self, sample: Sample, written: bytes) -> Iterable[Record | Problem]:
        """Return the records of one sample in one epoch; *written* is all of it."""
        task, case_id = self._task, self._case_id(sample)
        if self._ids.again(sample.uuid, case_id, sample.epoch):
            return ()
        case = task.known(case_id)
        if case is None:
            asked = {
                "choices": sample.choices,
                "files": _asked(sample.files, is_path=True),
                "setup": _asked(_resolved(sample.setup, sample), is_path=True),
                "sandbox": yardstick(sample.sandbox),
            }
            context = {"input": _asked(_resolved(sample.input, sample))}
            context |= {name: each for name, each in asked.items() if each}
            metadata = as_object(sample.metadata)
            if sample.metadata is not None:
                context["metadata"] = sample.metadata
            groups = [(k, metadata[k]) for k in self._group_keys if k in metadata]
            case = task.case(
                case_id,
                context,
                golden=None if sample.target in ("", []) else sample.target,
                tags=[category_tag(group) for group in groups],
                categories=metadata,
                place=self._places.setdefault(case_id, len(self._places)),
            )
        # an epoch that occurs twice is a separate round
        again = self._seen.next(case_id, str(sample.epoch))
        name = sample.epoch if again == 1 else f"{sample.epoch}~{again}"
        answer = write_round(sample, case, name, self._log.eval.model, written)
        self._n_invalid += bool(sample.invalidation)
        task.same_run.add(case_id, sample.epoch, sample.uuid)
        for value in values_of(sample, self._own_alphabet):
            if value.value is not None and not value.is_letter:
                self._numbers.add(value.name)
            if sample.invalidation:
                value = value._replace(value=None, payload={"invalidated": value.value})
            answer.score(
                value.name,
                value.value,
                as_share(value.value),
                summary=value.explanation,
                payload=value.payload,
            )
        return task.written()

    def _case_id(self, sample: Sample) -> str:
        case_id = plain_name(str(sample.id)) or "(blank)"
        known = self._known.setdefault(case_id, sample.id)
        if type(known) is not type(sample.id):
            return f"{case_id}~{type(sample.id).__name__}"  # 5 is not "5"
        if known != sample.id:  # nor is " 5"
            return f"{case_id}~{content_id(sample.id)[:4]}"
        return case_id

    def closing(self) -> Iterable[Record | Problem]:
        """Return task, dimensions and claims, and problems of the whole run."""
        log, task = self._log, self._task
        _describe(log, task)
        headline = as_object(log.eval.headline_metric)
        named = (headline.get("scorer"), headline.get("score"))
        scorers = [
            ".".join(str(each) for each in dict.fromkeys(named) if each),
            *(each.name for each in log.eval.scorers or ()),
        ]
        task.grade(order=list(filter(None, scorers)), parameters=_judge(log, task))
        results = log.results or Results()
        ended, total = results.logged_samples, results.total_samples or 0
        if log.results is not None:
            _claim(log, results, task)
        if log.status not in (None, "success"):
            why = log.error and log.error.message
            task.warn(
                "run_incomplete",
                f"the run has the status {log.status}"
                f"{f' ({why})' if why else ''}: what it holds is loaded",
            )
        elif ended is not None and ended < total:
            task.warn(
                "run_incomplete",
                f"the run was told to end after {ended} of {total} samples: what it"
                " holds is loaded",
            )
        if n := self._n_invalid:
            samples = "1 sample was" if n == 1 else f"{n} samples were"
            task.warn(
                "samples_invalidated",
                f"{samples} invalidated: the answers are kept, and their scores do not"
                " count. `inspect eval-retry` runs them again",
            )
        return (*task.written(), *self._ids.problems())

    def _is_share(self, name: str) -> bool:
        """Return true if values between 0 and 1 are on the scale 0 to 1.

        This is so for letters, for numbers with the metric accuracy, and for those of
        built-in scorers. A truth value only says that its name holds.
        """
        is_built_in = _RULES_OF_INSPECT.fullmatch(name) or name in _GRADED
        if is_built_in or name not in self._numbers:
            return True
        return _has_accuracy(self._log, name)


def _describe(log: Log, task: TaskWriter) -> None:
    about = log.eval
    arguments = about.task_args
    passed = arguments if about.task_args_passed is None else about.task_args_passed
    version = as_object(log.metadata).get("prompt_version", about.task_version)
    task.describe(
        about.task,
        prompt_version=None if version is None else str(version),
        model=about.model,
        created_at=as_time(about.created),
        run_id=about.eval_set_id or about.run_id,
        written_at=as_time(about.created),
        provider=_provider(about, passed),
        settings=_settings(log),
        judge=about.model_roles,
        commit_sha=about.revision.commit if about.revision else None,
        tool_version=str((about.packages or {}).get("inspect_ai") or "") or None,
        env=env_of(arguments or {}),
        extras=prompts.about(
            _prompt(log),
            status=log.status,
            tags=log.tags,
            metadata=log.metadata,
            dataset=about.dataset.name if about.dataset else None,
            task_file=about.task_file,
        ),
    )


def _provider(about: Eval, arguments: Any) -> str:
    """Return the model, the arguments of its task, and the solver: the variant."""
    parts = dict(as_object(arguments))
    if about.solver:
        options = compact(about.solver_args) if about.solver_args else ""
        parts["solver"] = f"{about.solver} {options}".rstrip()
    if path := as_object(about.model_args).get("model_path"):  # `hf/local` may be any
        parts["model_path"] = yardstick(path)
    if not parts:
        return about.model
    listed = ", ".join(f"{key}={value}" for key, value in sorted(parts.items()))
    in_one_line = " ".join(f"{about.model} ({listed})".split())
    return short_name(in_one_line, 120) or about.model


_NO_LIMITS = (
    *("epochs", "epochs_reducer", "limit", "sample_id", "sample_shuffle", "max_tasks"),
    *("max_samples", "max_dataset_memory", "max_subprocesses", "max_sandboxes"),
    *("fail_on_error", "continue_on_fail", "retry_on_error", "score_on_error"),
    *("sandbox_cleanup", "sandbox_prebuilt", "notification", "score_display"),
    *("acp_server", "log_samples", "log_realtime", "log_images", "log_model_api"),
    *("log_buffer", "log_shared", "log_level", "log_level_transcript"),
)
"""Of the configuration of a run: which samples, how many at once, what is shown and
kept. The rest limits what the model may do, and says who approves it."""


def _settings(log: Log) -> dict[str, Any]:
    """Return the settings of the model, without its prompt, and its limits."""
    about = log.eval
    beside = {"model_args": about.model_args, "sandbox": about.sandbox}
    settings: dict[str, Any] = yardstick(
        {**_generation(log), **as_object(about.config), **beside},
        "system_message",
        *_NO_LIMITS,
    )
    return settings


def _generation(log: Log) -> dict[str, Any]:
    """Return how answers are generated: what the model says, and above it the task.

    ``None`` says nothing.
    """
    return {
        name: value
        for config in (log.eval.model_generate_config, (log.plan or Plan()).config)
        for name, value in as_object(config).items()
        if value is not None
    }


def _prompt(log: Log) -> Any:
    """Return system messages and templates in the order of the plan."""
    plan = log.plan or Plan()
    configs = (log.eval.model_generate_config, plan.config)
    systems = [as_object(each).get("system_message") for each in configs]
    templates = (
        ("system" if step.solver == "system_message" else "user", template)
        for step in plan.steps
        if (template := step.params.get("template")) is not None
    )
    return prompts.messages(
        *(("system", each) for each in dict.fromkeys(systems)), *templates
    )


def _claim(log: Log, results: Results, task: TaskWriter) -> None:
    """Hand over the number of samples, and each mean of their epochs' means."""
    means: dict[str, Any] = {}
    for each in log.claimed:
        for name, metric in (each.metrics or {}).items():
            is_plain = not any(each is not None for each in metric.params.values())
            is_mean = (metric.name or name) in ("accuracy", "mean") and is_plain
            if is_mean and each.reducer in (None, "mean") and metric.group != "grouped":
                means.setdefault(_dimension(each, task), metric.value)
    task.claim(means, results.total_samples)


def _dimension(score: ScoreResult, task: TaskWriter) -> str:
    """Return the dimension of a result: a scorer, or one key of its value."""
    key = f"{score.scorer}.{score.name}"
    if key in task.dimensions or (score.scorer and score.scorer != score.name):
        return key
    return score.name or score.scorer or "score"


# ---------- samples


def write_round(
    sample: Sample, case: CaseWriter, name: str | int, model: str, written: bytes
) -> RoundWriter:
    """Write the answer of one epoch; *written* is the whole sample."""
    usage = as_object(as_object(sample.model_usage).get(model))
    error = sample.error
    unjudged = error is not None and error.is_of_scorer
    about = {
        "scorer_error": error.message if error is not None and unjudged else None,
        "uuid": sample.uuid,
        "working_time": sample.working_time,
        "cost": as_float(usage.get("total_cost")),
        "invalidation": sample.invalidation,
        "limit": sample.limit,
    }
    return case.round(
        _completion(sample),
        n=sample.epoch,
        name=name,
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        latency_ms=as_milliseconds(sample.total_time),
        metadata=about,
        executed_at=as_time(sample.started_at),
        error=(error.message or "the sample broke") if error and not unjudged else None,
        status="unevaluated" if unjudged else None,
        steps=_steps(sample, written),
    )


def _completion(sample: Sample) -> Any:
    output = sample.output
    if output is None:
        return None
    text = output.completion or output.message.content
    if isinstance(text, list):
        parts = (as_object(each).get("text") for each in text)
        text = "\n".join(part for part in parts if isinstance(part, str))
    if not text and sample.error is not None:
        return None
    return _resolved(text, sample)


def _steps(sample: Sample, written: bytes) -> str | None:
    """Return messages and tool calls, with the times and tokens of their events."""
    messages = decode(sample.messages, Any)
    if steps_of(messages) is None:
        return None
    messages, of_event = _resolved(messages, sample), _figures(written)
    for message in map(as_object, messages):
        calls = message.get("tool_calls")
        for each in (message, *as_list(calls)):
            as_object(each).update(of_event.get(str(as_object(each).get("id")), {}))
    return steps_of(messages)


def _figures(written: bytes) -> dict[str, dict[str, Any]]:
    """Return latency and tokens by the id of the message or the call."""
    figures: dict[str, dict[str, Any]] = {}
    with suppress(*UNREADABLE):
        for event in decode(written, Events).events:
            key, usage = event.id, {}
            if event.event == "model":
                output = decode(event.output, Output)
                key, usage = output.message.id, as_object(output.usage)
            if event.event in ("model", "tool") and isinstance(key, str):
                figures[key] = {
                    "latency_ms": as_milliseconds(as_float(event.working_time)),
                    "input_tokens": as_int(usage.get("input_tokens")),
                    "output_tokens": as_int(usage.get("output_tokens")),
                }
    return figures


_ATTACHMENT = "attachment://"


def _resolved(value: Any, sample: Sample) -> Any:
    """Return a value with the texts of attachments inserted."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return (sample.attachments or {}).get(value[len(_ATTACHMENT) :], value)
    if isinstance(value, list):
        return [_resolved(each, sample) for each in value]
    if isinstance(value, dict):
        return {key: _resolved(each, sample) for key, each in value.items()}
    return value


_MEDIA = ("image", "audio", "video", "document")


def _asked(value: Any, *, is_path: bool = False) -> Any:
    """Return what a sample asks, without what is another one in each run.

    Messages get an id if they have none, and paths of pictures become absolute.
    """
    if isinstance(value, str):
        is_data = not is_path or value.startswith("data:")
        return value if is_data else without_machine(value)
    if isinstance(value, list):
        return [_asked(each, is_path=is_path) for each in value]
    if isinstance(value, dict):
        return {
            key: _asked(each, is_path=is_path or key in _MEDIA)
            for key, each in value.items()
            if key != "id" or "role" not in value
        }
    return value


# ---------- scores

_GRADED = ("model_graded_qa", "model_graded_fact")
"""Inspect's built-in judges, with values from 0 to 1."""
_RULES_OF_INSPECT = re.compile(
    r"(match|includes|pattern|answer|exact|f1|choice|math)\d*"
)
"""Inspect's built-in scorers that ask no model; a second one of a name has a number."""
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_BROKEN_GRADER = "Grade not found in model output"
"""How ``model_graded_qa`` explains the I that it writes if its judge said no grade."""


class Value(NamedTuple):
    """The result of one scorer, or of one key of it."""

    name: str
    value: float | None
    is_letter: bool
    """Inspect maps letters to the scale 0 to 1."""
    explanation: str | None
    payload: dict[str, Any]


def _results(sample: Sample | Scored) -> Iterator[tuple[str, Any, Score]]:
    """Yield the result of each scorer, or each key of it, with its name."""
    for name, score in (sample.scores or {}).items():
        parts = score.value
        if isinstance(parts, list):
            parts = dict(enumerate(parts))
        if isinstance(parts, dict):
            for key, value in parts.items():
                yield f"{name}.{key}", value, score
        else:
            yield name, parts, score


def values_of(sample: Sample, own_alphabet: Collection[str] = ()) -> Iterator[Value]:
    """Return the results of the scorers: a value each, or one per key."""
    for name, value, score in _results(sample):
        number, is_letter = as_float(value), False
        if isinstance(value, str) and name not in own_alphabet:
            is_letter = value in _LETTERS
            number = _LETTERS.get(value, _WORDS.get(value.lower()))
            if number is None:
                number = parse_float(value)
            if (score.explanation or "").startswith(_BROKEN_GRADER):
                number = None
        payload = {"given": value}
        if score.answer is not None:
            payload["answer"] = score.answer
        yield Value(name, number, is_letter, score.explanation, payload)


def own_alphabets(samples: Iterable[Scored], log: Log) -> set[str]:
    """Return the scorers whose letters are grades of their own.

    So they are if a scorer ever says another word, or never says correct or incorrect
    and has no accuracy.
    """
    words: defaultdict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for name, value, _ in _results(sample):
            if isinstance(value, str) and value.strip():
                words[name].add(value if len(value) < 99 else "…")
    return {
        name
        for name, of in words.items()
        if of & _LETTERS.keys()
        and (
            any(map(_is_label, of - _LETTERS.keys()))
            or not (of & {"C", "I"} or _has_accuracy(log, name))
        )
    }


def _is_label(word: str) -> bool:
    return word.lower() not in _WORDS and parse_float(word) is None


def _has_accuracy(log: Log, name: str) -> bool:
    """Return true if Inspect's accuracy, from 0 to 1, is a metric of a dimension."""
    scorer, _, key = name.partition(".")
    for each in log.eval.scorers or ():
        metrics = each.metrics
        if isinstance(metrics, dict):
            metrics = metrics.get(key or scorer)
        listed = as_list(metrics)
        names = [as_object(metric).get("name") for metric in listed]
        if each.name == scorer and "inspect_ai/accuracy" in names:
            return True
    return any(
        "accuracy" in (each.metrics or {})
        for each in log.claimed
        if name in (each.name, f"{each.scorer}.{each.name}")
    )


# ---------- judges

_OF_JUDGE = ("model", "model_role")
"""Options that name the judge."""
_GRADERS = re.compile(
    r"(^|[_\W])(grader|judge|scorer|rater|evaluator)s?\d*($|[_\W])", re.IGNORECASE
)
"""Usual names of the roles of models that grade."""


def _name_as_in_scores(scorers: Sequence[Scorer]) -> None:
    """Name scorers as the scores do: without a package, and the second one numbered."""
    taken: set[str] = set()
    for scorer in scorers:
        name = base = (scorer.name or "").rpartition("/")[2]
        n = 0
        while name in taken:
            n += 1
            name = f"{base}{n}"
        taken.add(name)
        scorer.name = name


def _judge(log: Log, task: TaskWriter) -> dict[str, dict[str, Any]]:
    """Write who judged; return all that the log says of each dimension's scorer."""
    scorers = {each.name: each for each in log.eval.scorers or ()}
    claimed = {_dimension(c, task): c.params for c in log.claimed if c.params}
    # of a task whose prompts have versions of their own, this one is of its scorers
    is_own = "prompt_version" in as_object(log.metadata)
    parameters: dict[str, dict[str, Any]] = {}
    scored = {name.split(".")[0] for name in task.dimensions}
    unscored = [name for name in scorers if name and name not in scored]
    for name in (*task.dimensions, *unscored):
        of = name.split(".")[0]
        scorer = scorers.get(of, Scorer())
        options = as_object(claimed.get(name, scorer.options))
        judge, roles = _graders(log, of, options)
        if judge is not None:
            asked = [options.get(each) for each in ("template", "instructions")]
            template = "\n".join(each for each in asked if isinstance(each, str))
            task.judge(name, _models(judge), template=template)
            options = {k: v for k, v in options.items() if k not in _OF_JUDGE}
        parameters[name] = yardstick(
            {
                "options": options,
                "judge": judge,
                "roles": roles,
                "metadata": scorer.metadata,
                "task_version": (log.eval.task_version or None) if is_own else None,
            }
        )
    return parameters


def _graders(
    log: Log, scorer: str, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the model that judges, or several, and other models that may.

    A judge is asked by its own name, by its role, or is the model under test. Which
    roles a scorer of one's own asks is in no log: they are those that its options name,
    and those with the name of a grader. Others may be those of a solver.
    """
    about = log.eval
    roles = as_object(about.model_roles)
    if options.get("model") or scorer.startswith("model_graded"):
        role = options.get("model_role")
        named = options.get("model") or roles.get(
            str(as_object(role).get("name", role) or "grader")
        )
        tested = {"model": about.model, "args": about.model_args}
        return named or {**tested, "config": _generation(log)}, {}
    if _RULES_OF_INSPECT.fullmatch(scorer):
        return None, {}
    named = [as_object(each).get("name", each) for each in options.values()]
    return None, {
        role: model
        for role, model in sorted(roles.items())
        if role in named or _GRADERS.search(role)
    }


def _models(models: Any) -> str:
    """Return the name of a model, or the names of several."""
    listed = models if isinstance(models, list) else [models]
    names = (each.get("model") if isinstance(each, dict) else each for each in listed)
    return ", ".join(str(name) for name in names if name)
