"""Inspect AI: logs as ``.eval`` (a zip archive) and as ``.json``.

Tried on logs of 0.3.41, 0.3.58, 0.3.75, 0.3.95, 0.3.108, 0.3.154 and 0.3.285 (log
version 2). Older versions compress archives with deflate, newer ones with Zstandard.

One log is one task. A case is a sample, by its own id; a round is an epoch. Inspect has
no pass rule: scores stay scores. The letters are C 1, P 0.5, I 0, N 0, of a scorer that
says no other: one with grades of its own, A to E, gives labels.
"""

from __future__ import annotations

import re
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
    as_milliseconds,
    as_object,
    as_share,
    as_time,
    parse_float,
    short_name,
)
from promptlab.ingest.foreign.documents import (
    ABSENT,
    UNREADABLE,
    Refused,
    ToolFiles,
    decode,
    file_bytes,
    is_there,
)
from promptlab.ingest.foreign.identity import Occurrences, OwnIds, content_id
from promptlab.ingest.foreign.prompts import env_of
from promptlab.ingest.foreign.registry import Head
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Dimensions,
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


class Dataset(Struct):
    """The dataset of the samples."""

    name: str | None = None
    samples: int | None = None
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
    eval_id: str | None = None
    eval_set_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    task_version: Any = None
    task_file: str | None = None
    created: str | None = None
    task_args: Raw = ABSENT
    task_args_passed: Raw = ABSENT
    solver: str | None = None
    """Given by the call in place of the task's own."""
    solver_args: Raw = ABSENT
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
    version: int | None = None
    plan: Plan | None = None
    results: Results | None = None
    error: Failure | None = None
    tags: Any = None
    """Those of the run as they were edited after it, and so is the metadata; in logs of
    older versions only the run has them."""
    metadata: Any = None
    samples: list[Raw] | None = None


class Message(Struct):
    """One turn."""

    content: Any = None


class Choice(Struct):
    """One answer of the model."""

    message: Message | None = None


class Output(Struct):
    """The output of the model."""

    completion: str | None = None
    choices: list[Choice] | None = None
    model: str | None = None


class Usage(Struct):
    """Tokens of one model."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_cost: Any = None


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
    messages: Raw = ABSENT
    sandbox: Any = None
    files: Any = None
    setup: Any = None
    output: Output | None = None
    scores: dict[str, Score] | None = None
    score: Score | None = None  # version 1 knew one scorer
    metadata: Raw = ABSENT
    error: Failure | None = None
    invalidation: Any = None
    """Who said that the sample is not valid, and why; ``None``: it is."""
    limit: Any = None
    """The limit that ended the sample; its scores count."""
    model_usage: dict[str, Usage] | None = None
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    uuid: str | None = None
    attachments: dict[str, str] | None = None


class Event(Struct):
    """A call of the model or of a tool."""

    event: Any = None
    id: Any = None
    output: Any = None
    working_time: Any = None
    """Seconds."""


class Events(Struct):
    """The events of a sample, without all else."""

    events: list[Event] = []


_GRADED = ("model_graded_qa", "model_graded_fact")
"""Inspect's built-in judges, with values from 0 to 1."""
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_BROKEN_GRADER = "Grade not found in model output"
"""How ``model_graded_qa`` explains the I that it writes if its judge said no grade."""
_ATTACHMENT = "attachment://"


class Value(NamedTuple):
    """The result of one scorer, or of one key of it."""

    name: str
    value: float | None
    is_letter: bool
    """Inspect maps letters to the scale 0 to 1."""
    explanation: str | None
    payload: dict[str, Any]


def write_round(
    sample: Sample, case: CaseWriter, name: str | int, model: str, written: bytes
) -> RoundWriter:
    """Write the answer of one epoch; *written* is the whole sample."""
    usages = sample.model_usage or {}
    # a judge's tokens are next to the model's own
    usage = usages.get(model)
    is_judged = bool(sample.scores or sample.score)
    if usage is None and len(usages) == 1 and not is_judged:
        usage = next(iter(usages.values()))
    error = sample.error
    unjudged = error is not None and error.is_of_scorer
    about = {
        "scorer_error": error.message if error is not None and unjudged else None,
        "uuid": sample.uuid,
        "working_time": sample.working_time,
        "cost": as_float(usage.total_cost) if usage else None,
        "invalidation": sample.invalidation,
        "limit": sample.limit,
    }
    return case.round(
        _completion(sample),
        n=sample.epoch,
        name=name,
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        latency_ms=as_milliseconds(sample.total_time),
        metadata=about,
        executed_at=as_time(sample.started_at),
        error=(error.message or "the sample broke") if error and not unjudged else None,
        status="unevaluated" if unjudged else None,
        steps=_steps(sample, written),
    )


def _steps(sample: Sample, written: bytes) -> str | None:
    """Return messages and tool calls, with the times and tokens of their events."""
    messages = decode(sample.messages, Any) if is_there(sample.messages) else None
    if steps_of(messages) is None:
        return None
    messages, of_event = _resolved(messages, sample), _figures(written)
    for message in map(as_object, messages):
        calls = message.get("tool_calls")
        for each in (message, *(calls if isinstance(calls, list) else ())):
            as_object(each).update(of_event.get(str(as_object(each).get("id")), {}))
    return steps_of(messages)


def _figures(written: bytes) -> dict[str, dict[str, Any]]:
    """Return latency and tokens by the id of the message or the call."""
    found: dict[str, dict[str, Any]] = {}
    with suppress(*UNREADABLE):
        for event in decode(written, Events).events:
            key, output = event.id, as_object(event.output)
            if event.event == "model":
                choices = output.get("choices")
                choice = choices[0] if isinstance(choices, list) and choices else None
                key = as_object(as_object(choice).get("message")).get("id")
            if event.event in ("model", "tool") and isinstance(key, str):
                usage = as_object(output.get("usage"))
                found[key] = {
                    "latency_ms": as_milliseconds(as_float(event.working_time))
                }
                found[key] |= {each: usage.get(each) for each in _TOKENS}
    return found


_TOKENS = ("input_tokens", "output_tokens")


class Scored(Struct):
    """The scores of a sample, without all else."""

    scores: dict[str, Score] | None = None
    score: Score | None = None


def _given(sample: Sample | Scored) -> Iterator[tuple[str, Any, Score]]:
    """Yield the result of each scorer, or each key of it, with its name."""
    scores = sample.scores
    if scores is None:
        scores = {"score": sample.score} if sample.score else {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            for key, value in score.value.items():
                yield f"{name}.{key}", value, score
        elif isinstance(score.value, list):
            for place, value in enumerate(score.value):
                yield f"{name}.{place}", value, score
        else:
            yield name, score.value, score


def own_alphabets(samples: Iterable[Scored], log: Log) -> set[str]:
    """Return the scorers whose letters are grades of their own.

    So they are if a scorer ever says another word, or never says correct or incorrect
    and has no accuracy.
    """
    said: dict[str, set[str]] = {}
    for sample in samples:
        for name, value, _ in _given(sample):
            if isinstance(value, str) and value.strip():
                said.setdefault(name, set()).add(value if len(value) < 99 else "…")
    return {
        name
        for name, words in said.items()
        if words & _LETTERS.keys()
        and (
            any(_is_label(word) for word in words - _LETTERS.keys())
            or not (words & {"C", "I"} or _has_accuracy(log, name))
        )
    }


def _is_label(word: str) -> bool:
    return word.lower() not in _WORDS and parse_float(word) is None


def _has_accuracy(log: Log, name: str) -> bool:
    """Return true if Inspect's accuracy, from 0 to 1, is a metric of a dimension."""
    scorer, _, key = name.partition(".")
    for each in log.eval.scorers or []:
        if each.name == scorer:
            metrics = each.metrics
            if isinstance(metrics, dict):
                metrics = metrics.get(key or scorer)
            if "inspect_ai/accuracy" in _names(metrics):
                return True
    claimed = (log.results and log.results.scores) or []
    return any(
        "accuracy" in (each.metrics or {})
        for each in claimed
        if name in (each.name, f"{each.scorer}.{each.name}")
    )


def values_of(sample: Sample, own_alphabet: Collection[str] = ()) -> Iterator[Value]:
    """Return the results of the scorers: a value each, or one per key."""
    for name, value, score in _given(sample):
        yield _value(name, value, score, own_alphabet)


def _value(name: str, value: Any, score: Score, own_alphabet: Collection[str]) -> Value:
    as_number, is_letter = as_float(value), False
    if isinstance(value, str) and name not in own_alphabet:
        is_letter = value in _LETTERS
        as_number = _LETTERS.get(value, _WORDS.get(value.lower()))
        if as_number is None:
            as_number = parse_float(value)
        if (score.explanation or "").startswith(_BROKEN_GRADER):
            as_number = None
    payload = {"given": value}
    if score.answer is not None:
        payload["answer"] = score.answer
    return Value(name, as_number, is_letter, score.explanation, payload)


def _completion(sample: Sample) -> str | None:
    output = sample.output
    if output is None:
        return None
    written: Any = output.completion
    if not written and output.choices and output.choices[0].message:
        written = output.choices[0].message.content
    if isinstance(written, list):
        parts = (each.get("text") for each in written if isinstance(each, dict))
        written = "\n".join(part for part in parts if isinstance(part, str))
    if not written and sample.error is not None:
        return None
    resolved = _resolved(written, sample)
    return (
        resolved if isinstance(resolved, str) or resolved is None else compact(resolved)
    )


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


def _input(sample: Sample) -> Any:
    """Return what a sample asks, without what Inspect writes anew in each run.

    Messages get an id if they have none, and paths of pictures become absolute.
    """
    given = _resolved(sample.input, sample)
    if not isinstance(given, list):
        return given
    return [
        {
            key: _content(each) if key == "content" else each
            for key, each in message.items()
            if key != "id"
        }
        if isinstance(message, dict) and "role" in message
        else message
        for message in given
    ]


_MEDIA = ("image", "audio", "video", "document")


def _content(given: Any) -> Any:
    """Return the content of a message, with the ends of the paths of its files."""
    if not isinstance(given, list):
        return given
    return [
        {
            key: _without_machine(value) if key in _MEDIA else value
            for key, value in as_object(part).items()
        }
        if isinstance(part, dict)
        else part
        for part in given
    ]


def _without_machine(given: Any) -> Any:
    """Return paths without what is another one on each machine."""
    if isinstance(given, str):
        return given if given.startswith("data:") else without_machine(given)
    if isinstance(given, dict):
        return {key: _without_machine(each) for key, each in given.items()}
    return given


def _claim(results: Results, task: TaskWriter) -> None:
    """Hand over the number of samples, and each mean of their epochs' means."""
    means: dict[str, Any] = {}
    for each in results.scores or []:
        for name, metric in (each.metrics or {}).items():
            is_plain = not any(each is not None for each in metric.params.values())
            is_mean = (metric.name or name) in ("accuracy", "mean") and is_plain
            if is_mean and each.reducer in (None, "mean") and metric.group != "grouped":
                means.setdefault(_dimension(each, task.dimensions), metric.value)
    task.claim(means, results.total_samples)


def group_keys(log: Log) -> Sequence[str]:
    """Keys of the samples' metadata by which the log groups its numbers."""
    scores = (log.results and log.results.scores) or []
    metrics = [metric for each in scores for metric in (each.metrics or {}).values()]
    found = (metric.params.get("group_key") for metric in metrics)
    return list(dict.fromkeys(key for key in found if isinstance(key, str)))


def _dimension(score: ScoreResult, dimensions: Dimensions) -> str:
    """Return the dimension of a result: a scorer, or one key of its value."""
    key = f"{score.scorer}.{score.name}"
    if key in dimensions or (score.scorer and score.scorer != score.name):
        return key
    return score.name or score.scorer or "score"


_RULES_OF_INSPECT = re.compile(
    r"(match|includes|pattern|answer|exact|f1|choice|math)\d*"
)
"""Inspect's built-in scorers that ask no model; a second one of a name has a number."""


class LogReading:
    """Converts samples to records."""

    def __init__(
        self, log: Log, source: Source, own_alphabet: Collection[str] = ()
    ) -> None:
        about = log.eval
        self._log = log
        self._own_alphabet = own_alphabet
        # a retry has a new eval_id and run_id, and the task_id of the log it continues
        name = base_of(source.path.name)
        task_id = about.task_id or about.eval_id or about.run_id or name
        self._task = TaskWriter("inspect_ai", task_id, source, is_share=self._is_share)
        ids = (about.dataset and about.dataset.sample_ids) or []
        self._places = {str(each): place for place, each in enumerate(ids)}
        self._group_keys = group_keys(log)
        self._known: dict[str, str | int] = {}
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
            context: dict[str, Any] = {"input": _input(sample)}
            environment = {
                "choices": sample.choices,
                "files": _without_machine(sample.files),
                "setup": _without_machine(_resolved(sample.setup, sample)),
                "sandbox": yardstick(sample.sandbox),
            }
            context |= {name: each for name, each in environment.items() if each}
            about: Any = None
            if is_there(sample.metadata):
                about = context["metadata"] = decode(sample.metadata, Any)
            case = task.case(
                case_id,
                context,
                golden=None if sample.target in ("", []) else sample.target,
                tags=self._groups(about),
                categories=about,
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

    def closing(self) -> Iterable[Record | Problem]:
        """Return task, dimensions and claims, and problems of the whole run."""
        log, task = self._log, self._task
        self._describe()
        headline = as_object(log.eval.headline_metric)
        named = (headline.get("scorer"), headline.get("score"))
        scorers = [
            ".".join(str(each) for each in dict.fromkeys(named) if each),
            *(each.name for each in log.eval.scorers or ()),
        ]
        task.grade(order=list(filter(None, scorers)), parameters=self._judge())
        results = log.results or Results()
        if log.results is not None:
            _claim(results, task)
        if log.status not in (None, "success"):
            why = log.error.message if log.error else None
            task.warn(
                "run_incomplete",
                f"the run has the status {log.status}"
                f"{f' ({why})' if why else ''}: what it holds is loaded",
            )
        elif (results.logged_samples or 0) < (results.total_samples or 0) and (
            results.logged_samples is not None
        ):
            task.warn(
                "run_incomplete",
                f"the run was told to end after {results.logged_samples} of"
                f" {results.total_samples} samples: what it holds is loaded",
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

    def _describe(self) -> None:
        about = self._log.eval
        metadata, version = self._metadata, self._prompt_version
        arguments: Any = {}
        if is_there(about.task_args):
            arguments = decode(about.task_args, Any)
        passed = arguments  # logs before 0.3.100 do not say which were passed
        if is_there(about.task_args_passed):
            passed = decode(about.task_args_passed, Any)
        self._task.describe(
            about.task,
            prompt_version=None if version is None else str(version),
            model=about.model,
            created_at=as_time(about.created),
            run_id=about.eval_set_id or about.run_id,
            written_at=as_time(about.created),
            provider=_provider(about, passed),
            settings=_settings(self._log),
            judge=about.model_roles,
            commit_sha=about.revision.commit if about.revision else None,
            tool_version=str((about.packages or {}).get("inspect_ai") or "") or None,
            env=env_of(arguments),
            extras=prompts.about(
                _prompt(self._log),
                status=self._log.status,
                tags=about.tags if self._log.tags is None else self._log.tags,
                metadata=metadata,
                dataset=about.dataset.name if about.dataset else None,
                task_file=about.task_file,
            ),
        )

    @property
    def _metadata(self) -> dict[str, Any]:
        said = self._log.metadata
        return as_object(self._log.eval.metadata if said is None else said)

    @property
    def _prompt_version(self) -> Any:
        return self._metadata.get("prompt_version", self._log.eval.task_version)

    def _groups(self, about: Any) -> list[str]:
        """Return the groups that the log counts a sample in, as tags."""
        if not isinstance(about, dict):
            return []
        return [category_tag((k, about[k])) for k in self._group_keys if k in about]

    def _judge(self) -> dict[str, dict[str, Any]]:
        """Write who judged; return all that the log says of each dimension's scorer."""
        about, dimensions = self._log.eval, self._task.dimensions
        scorers = {each.name: each for each in about.scorers or ()}
        claims = (self._log.results and self._log.results.scores) or []
        claimed = {_dimension(c, dimensions): c.params for c in claims if c.params}
        # of a task whose prompts have versions of their own, this one is of its scorers
        is_own = self._prompt_version is not about.task_version
        found: dict[str, dict[str, Any]] = {}
        scored = {name.split(".")[0] for name in dimensions}
        unscored = [name for name in scorers if name and name not in scored]
        for name in (*dimensions, *unscored):
            of = name.split(".")[0]
            scorer = scorers.get(of, Scorer())
            options = as_object(claimed.get(name, scorer.options))
            judge, roles = self._graders(of, options)
            if judge is not None:
                asked = [options.get(each) for each in ("template", "instructions")]
                template = "\n".join(each for each in asked if isinstance(each, str))
                self._task.judge(name, _models(judge), template=template)
                options = {k: v for k, v in options.items() if k not in _OF_JUDGE}
            found[name] = yardstick(
                {
                    "options": options,
                    "judge": judge,
                    "roles": roles,
                    "metadata": scorer.metadata,
                    "task_version": (about.task_version or None) if is_own else None,
                }
            )
        return {name: found[name] for name in dimensions if found[name]}

    def _graders(
        self, scorer: str, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the model that judges, or several, and other models that may.

        A judge is asked by its own name, by its role, or is the model under test. Which
        roles a scorer of one's own asks is in no log: they are those that its options
        name, and those with the name of a grader. Others may be those of a solver.
        """
        about = self._log.eval
        roles = as_object(about.model_roles)
        if options.get("model") or scorer.startswith("model_graded"):
            role = options.get("model_role")
            named = options.get("model") or roles.get(
                str(as_object(role).get("name", role) or "grader")
            )
            tested = {"model": about.model, "args": about.model_args}
            return named or {**tested, "config": _generation(self._log)}, {}
        if _RULES_OF_INSPECT.fullmatch(scorer):
            return None, {}
        named = [as_object(each).get("name", each) for each in options.values()]
        return None, {
            role: model
            for role, model in sorted(roles.items())
            if role in named or _GRADERS.search(role)
        }

    def _case_id(self, sample: Sample) -> str:
        case_id = plain_name(str(sample.id)) or "(blank)"
        known = self._known.setdefault(case_id, sample.id)
        if type(known) is not type(sample.id):
            return f"{case_id}~{type(sample.id).__name__}"  # 5 is not "5"
        if known != sample.id:  # nor is " 5"
            return f"{case_id}~{content_id(sample.id)[:4]}"
        return case_id


_OF_JUDGE = ("model", "model_role")
"""Options that name the judge."""
_GRADERS = re.compile(
    r"(^|[_\W])(grader|judge|scorer|rater|evaluator)s?\d*($|[_\W])", re.IGNORECASE
)
"""Usual names of the roles of models that grade."""


def _models(given: Any) -> str:
    """Return the name of a model, or the names of several."""
    listed = given if isinstance(given, list) else [given]
    names = (each.get("model") if isinstance(each, dict) else each for each in listed)
    return ", ".join(str(name) for name in names if name)


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


def _provider(about: Eval, arguments: Any) -> str:
    """Return the model, the arguments of its task, and the solver: the variant."""
    said = dict(arguments) if isinstance(arguments, dict) else {}
    if about.solver:
        given = decode(about.solver_args, Any) if is_there(about.solver_args) else None
        said["solver"] = f"{about.solver} {compact(given)}" if given else about.solver
    if path := as_object(about.model_args).get("model_path"):  # `hf/local` may be any
        said["model_path"] = yardstick(path)
    if not said:
        return about.model
    listed = ", ".join(f"{key}={value}" for key, value in sorted(said.items()))
    in_one_line = " ".join(f"{about.model} ({listed})".split())
    return short_name(in_one_line, 120) or about.model


def _generation(log: Log) -> dict[str, Any]:
    """Return how answers are generated: what the model says, and above it the task.

    ``None`` says nothing.
    """
    said = (log.eval.model_generate_config, log.plan and log.plan.config)
    return {
        name: value
        for config in said
        for name, value in as_object(config).items()
        if value is not None
    }


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
    said: dict[str, Any] = yardstick(
        {**_generation(log), **as_object(about.config), **beside},
        "system_message",
        *_NO_LIMITS,
    )
    return said


def _prompt(log: Log) -> Any:
    """Return system messages and templates in the order of the plan."""
    plan, generation = log.plan or Plan(), log.eval.model_generate_config
    systems = [
        as_object(each).get("system_message") for each in (generation, plan.config)
    ]
    templates = (
        ("system" if step.solver == "system_message" else "user", template)
        for step in plan.steps
        if (template := step.params.get("template")) is not None
    )
    return prompts.messages(
        *(("system", each) for each in dict.fromkeys(systems)), *templates
    )


def _names(metrics: Any) -> list[str]:
    if not isinstance(metrics, list):
        return []
    return [str(each.get("name")) for each in metrics if isinstance(each, dict)]


T = TypeVar("T", Log, Sample)

FORMS = ("eval", "json")

_FILES = ToolFiles("Inspect", "versions 0.3.41 to 0.3.285")
_encode = msgspec.json.Encoder().encode

_HEADER = "header.json"
_SUMMARIES = "summaries.json"
_START = "_journal/start.json"
"""Written first; the only files of an unfinished run."""


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
        found = log.samples or []
        log.samples = None
        samples = ((f"/samples/{place}", bytes(raw)) for place, raw in enumerate(found))
        yield from _log(log, samples, source, _scored(found))


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
    own_alphabet = own_alphabets(scored, log)
    reading = LogReading(_redacted(log, source.redact), source, own_alphabet)
    for place, written in samples:
        # nothing but its records stays in memory: a sample may be very large
        try:
            sample = _redacted(decode(written, Sample), source.redact)
            yield from reading.add(sample, written)
        except UNREADABLE as error:
            raw = source.redact(written)
            yield _FILES.problem(error, pointer=place, raw=raw)
        del written
    yield from reading.closing()


def _redacted(found: T, redact: Callable[[bytes], bytes]) -> T:
    """Return the parts of a log that are kept, redacted; most of it is not kept."""
    written = _encode(found)
    redacted = redact(written)
    return found if redacted is written else decode(redacted, type(found))
