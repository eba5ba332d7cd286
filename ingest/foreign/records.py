"""Records of a translation: one struct per raw table, with the table's columns.

``raw.sql`` describes the columns; the loader adds ``load_id``. JSON is text.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

Json = Annotated[str, "JSON as text"]
Status = Literal["pass", "fail", "error", "unevaluated"]
Direction = Literal["higher_better", "lower_better"]
Rule = Literal[
    "count_rounds",
    "count_completed_rounds",
    "count_cases",
    "count_checks",
    "count_checks_of_dimension",
    "share_of_checks_passed",
    "sum_latency_ms",
    "sum_cost",
    "sum_input_tokens",
    "sum_output_tokens",
    "sum_total_tokens",
    "weighted_sum",
    "sum_weights",
    "sum_checks",
    "mean_over_cases",
    "mean_over_tags",
    "stderr_over_cases",
    "sd_over_cases",
    "variance_over_cases",
    "mean_over_rounds",
    "sum_over_rounds",
    "min_over_rounds",
    "max_over_rounds",
    "p90_over_rounds",
    "population_variance_over_rounds",
    "own_formula",
    "not_in_rows",
    "random_draws",
    "several_tasks",
]
"""The rule of a total; the seed ``total_rules`` explains each."""


class Task(msgspec.Struct, gc=False, kw_only=True):
    """One prompt version on one model in one run."""

    task_id: str
    source_kind: str
    """Name of the tool, as in the registry."""
    title: str
    prompt_version: str
    model: str
    created_at: datetime | None
    """Time of the run; None: not in the file."""
    run_id: str
    """The tool's name of the run; all tasks of one run share it."""
    run_hash: str
    """Equal for all versions of one run, and only for them (`identity.SameRun`)."""
    is_version: bool = False
    """If true, the hash includes scores and verdicts: versions of a run differ."""
    written_at: datetime | None = None
    """Time at which this version was written or last judged, if the tool records it."""
    tool_version: str | None = None
    triggered_by: str = "unknown"
    env: Json = "{}"
    extras: Json = "{}"
    testset_ref: str | None = None
    pipeline_ref: str | None = None
    provider: str | None = None
    """The tool's label of the system that answered; None: the model."""
    prompt_name: str | None = None
    """The label of its prompt, without the prompt's text."""
    prompt_position: int | None = None
    """Position of its prompt among the prompts of the run."""
    variant: str | None = None
    """Name of the variant, if the file contains one."""
    settings: Json | None = None
    """Temperature, seed and other settings of the model."""
    judge: Json | None = None
    """Models and rubrics that judged the answers."""
    branch: str | None = None
    commit_sha: str | None = None


class Dimension(msgspec.Struct, gc=False, kw_only=True):
    """A scorer, a metric or a named assertion, exactly as the tool names it."""

    task_id: str
    dimension_id: str
    position: int
    name: str
    weight: float
    """Weight in the overall score; 0 for values without a known scale."""
    is_graded: bool
    """True if values are from 0 to 1 according to the tool, so they are scores."""
    direction: Direction | None = None
    """None: unknown."""
    target: Json = "{}"
    parameters: Json = '{"scorer":"reported"}'
    scoring_mode: Direction = "higher_better"


class Case(msgspec.Struct, gc=False):
    """A case; its id is the same in every run that has it."""

    task_id: str
    case_id: str
    position: int
    context: Json
    tags: Json = "[]"
    cluster: str | None = None
    """The group of the case: a conversation, a document."""
    categories: Json = "{}"
    """Texts of its metadata by key; keys with few texts become tags."""
    expectation_hash: str | None = None
    """Hash of what the tool asserts; ``None``: nothing beyond its baselines."""


class Baseline(msgspec.Struct, gc=False):
    """An expected answer of a case."""

    task_id: str
    case_id: str
    baseline_id: str
    position: int
    payload: Json
    type: str = "golden_answer"
    owner: str = "unknown"
    confidence: float | None = None


class Round(msgspec.Struct, gc=False, kw_only=True):
    """One answer to a case: a repeat, an epoch."""

    task_id: str
    case_id: str
    round_id: str
    position: int
    run_index: int
    raw_output: str | None = None
    parsed_output: Json | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: float | None = None
    metadata: Json = "{}"
    executed_at: datetime | None = None
    error: str | None = None
    """The error of the model or the task; a failed assertion is not an error."""
    reported_status: Status | None = None
    """The tool's own verdict; ``None`` without a pass rule."""
    counted_as: Literal["pass", "fail"] | None = None
    """The status that the tool assumes for an unknown round."""
    is_cached: bool | None = None
    """True if the answer came from a cache; ``None``: unknown."""


class Check(msgspec.Struct, gc=False, kw_only=True):
    """One assertion of a round, judged by the tool."""

    task_id: str
    case_id: str
    round_id: str
    position: int
    name: str
    type: str
    passed: bool | None
    """``None``: it could not be judged."""
    parent_position: int | None = None
    """The set of assertions that it belongs to."""
    score: float | None = None
    weight: float | None = None
    threshold: float | None = None
    expected: Json | None = None
    reason: str | None = None
    error: str | None = None
    """The error of the judge that could not judge it."""


class Score(msgspec.Struct, gc=False, kw_only=True):
    """The number that the tool gave to a round on a dimension."""

    task_id: str
    case_id: str
    round_id: str
    dimension_id: str
    value: float | None
    """The tool's own number; ``None``: missing (NaN, an error of the judge)."""
    score: float | None
    """0 to 1, 1 best; ``None`` if the value is not on this scale."""
    weight: float | None = None
    """Weight in the tool's sums over this dimension; ``None``: 1."""
    n_checks: int = 1
    """Number of assertions that it summarises."""
    summary: str | None = None
    payload: Json = "{}"


class Total(msgspec.Struct, gc=False, kw_only=True):
    """A total in the file, and the rule that recomputes it from the rows."""

    task_id: str
    position: int
    name: str
    """Its path in the file: ``prompts[0].metrics.score``."""
    rule: Rule
    value: float | None
    n: int | None = None
    """Number of rows, if the file contains it."""
    dimension_id: str | None = None
    scope: Literal["task", "run"] = "task"
    """``run``: over all tasks of the run."""
    parameters: Json = "{}"
    """Parameters of the rule: ``status`` to count, ``reducer`` of a case's rounds,
    ``tag`` of the cases, ``tag_key`` of their tags (the part before the colon),
    ``figure`` of the rounds' metadata, ``threshold`` from which a value counts 1,
    ``digits`` that the tool rounds to."""


class Judge(msgspec.Struct, gc=False, kw_only=True):
    """The model that judged a dimension or an assertion, and its rubric."""

    task_id: str
    name: str
    """Dimension or assertion that was judged."""
    model: str | None = None
    template: str | None = None
    """Its prompt; ``None``: the default of the tool."""
    rubric: str | None = None
    """What it was asked; ``None``: unknown, or different from case to case."""


Record = Task | Dimension | Case | Baseline | Round | Check | Score | Total | Judge

TABLES: dict[type[msgspec.Struct], str] = {
    Task: "tasks",
    Dimension: "dimension_configs",
    Case: "cases",
    Baseline: "baselines",
    Round: "rounds",
    Check: "reported_checks",
    Score: "reported_scores",
    Total: "reported_totals",
    Judge: "judges",
}
"""Record → raw table."""
