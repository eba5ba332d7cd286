"""The fields of Inspect's files that are read; events and messages are skipped."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from promptlab.ingest.foreign.documents import ABSENT


class Dataset(Struct):
    """The dataset of the samples."""

    name: str | None = None
    samples: int | None = None
    sample_ids: list[Any] | None = None


class Config(Struct):
    """The configuration of the run."""

    epochs: int | None = None
    epochs_reducer: list[str] | None = None
    limit: Any = None


class Scorer(Struct):
    """A scorer and its metrics."""

    name: str | None = None
    metrics: Any = None
    options: Any = None


class Generation(Struct):
    """The settings of the model."""

    system_message: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None


class Step(Struct):
    """One solver of a plan."""

    solver: str | None = None
    params: dict[str, Any] = {}


class Plan(Struct):
    """The plan: the steps for each sample."""

    steps: list[Step] = []
    config: Generation | None = None


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
    dataset: Dataset | None = None
    config: Config | None = None
    packages: dict[str, Any] | None = None
    metadata: Any = None
    tags: Any = None
    scorers: list[Scorer] | None = None
    model_generate_config: Generation | None = None
    model_roles: Any = None
    revision: Revision | None = None


class Metric(Struct):
    """One number over all samples, or over a group of them."""

    name: str | None = None
    value: Any = None
    group: str | None = None
    params: dict[str, Any] = {}


class ScoreResult(Struct):
    """One scorer's totals, under one reducer over epochs."""

    name: str | None = None
    scorer: str | None = None
    reducer: str | None = None
    scored_samples: int | None = None
    metrics: dict[str, Metric] | None = None


class Results(Struct):
    """The results of the run."""

    total_samples: int | None = None
    completed_samples: int | None = None
    scores: list[ScoreResult] | None = None


class Failure(Struct):
    """The error that stopped a run or a sample."""

    message: str | None = None


class Log(Struct):
    """A whole log as JSON, or its header."""

    eval: Eval
    status: str | None = None
    version: int | None = None
    plan: Plan | None = None
    results: Results | None = None
    error: Failure | None = None
    samples: list[Raw] | None = None


class Message(Struct):
    """One turn."""

    content: Any = None
    role: str | None = None


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
    output: Output | None = None
    scores: dict[str, Score] | None = None
    score: Score | None = None  # version 1 knew one scorer
    metadata: Raw = ABSENT
    error: Failure | None = None
    model_usage: dict[str, Usage] | None = None
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    uuid: str | None = None
    attachments: dict[str, str] | None = None
