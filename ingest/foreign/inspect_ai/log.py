"""The JSON that Inspect writes: a log, its samples and their events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct

from promptlab.ingest.foreign.casts import as_object

NOTHING = Raw(b"null")


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
    """A retry keeps the task id of the log that it continues; other ids are new."""
    eval_id: str | None = None
    eval_set_id: str | None = None
    run_id: str | None = None
    task_version: Any = None
    task_file: str | None = None
    created: str | None = None
    task_args: Any = None
    task_args_passed: Any = None
    """The arguments that are not defaults; logs before 0.3.100 have none."""
    solver: str | None = None
    """The solver of the call, if it replaces the task's solver."""
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
    """The main score of the run, if its author names one."""
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
    """Only in a log whose run was ended before its last sample."""
    scores: list[ScoreResult] | None = None


class Failure(Struct):
    """The error that stopped a run or a sample."""

    message: str | None = None
    traceback: str | None = None

    @property
    def is_of_scorer(self) -> bool:
        """Return true if a scorer raised it: there is an answer without a verdict."""
        return "scorer(state, Target(" in (self.traceback or "")


class Log(Struct):
    """A whole log as JSON, or its header."""

    eval: Eval
    status: str | None = None
    plan: Plan | None = None
    results: Results | None = None
    error: Failure | None = None
    tags: Any = None
    """Tags and metadata after edits. In logs of older versions only `eval` has them."""
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

    @property
    def generation(self) -> dict[str, Any]:
        """The settings that answers are generated with.

        Settings of the task replace those of the model. ``None`` is not a setting.
        """
        return {
            name: value
            for config in (
                self.eval.model_generate_config,
                (self.plan or Plan()).config,
            )
            for name, value in as_object(config).items()
            if value is not None
        }


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
    """Author and reason, if someone marked the sample as not valid."""
    limit: Any = None
    """The limit that ended the sample; its scores count."""
    model_usage: Any = None
    """Tokens and costs by model, including judges."""
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    uuid: str | None = None
    attachments: dict[str, str] | None = None


class SampleScores(Struct):
    """The scores of a sample, without its other members."""

    scores: dict[str, Score] | None = None


class Event(Struct):
    """A call of the model or of a tool."""

    event: Any = None
    id: Any = None
    output: Raw = NOTHING
    working_time: Any = None
    """Seconds."""


class Events(Struct):
    """The events of a sample, without its other members."""

    events: list[Event] = []
