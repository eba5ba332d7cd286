"""Inputs and results of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from promptlab.contracts.base import in_utc
from promptlab.contracts.scoring import KEY_TYPES, RULE_VALUES
from promptlab.errors import InputError, UsageError
from promptlab.json_text.reading import copy_json, parse_as_duckdb
from promptlab.json_text.writing import compact_as_duckdb
from promptlab.patterns import translate

ResultStatus = Literal["pass", "fail", "error", "unevaluated"]

INTERMEDIATE: Final = "_intermediate_evaluation"
AGGREGATION: Final = "_aggregation_evaluation"
FINAL: Final = "_final_evaluation"
"""Keys of ``step_outputs`` under which a result keeps the verdict of each scope."""

_VALUE_WORDS: Final = {
    "texts": "a non-empty text or a list of them",
    "pattern": "a regular expression (RE2)",
    "value": "a JSON value other than null",
    "values": "a list of JSON values",
    "count": "a whole number of at least 0",
    "keys": "a list of keys, or an object of keys and their types",
    "nothing": "no value",
}


@dataclass(frozen=True, slots=True)
class RuleConfig:
    """One rule that an output must keep (kinds: ``RULE_VALUES``).

    Raises:
        UsageError: The kind is unknown, or its value has the wrong shape.
    """

    name: str
    """Name of the rule in ``rule_violations``."""

    type: str
    """Its kind."""

    field: str | None = None
    """A field of the final output, or a step; ``output`` or ``None``: all of it."""

    value: Any = None
    """Parameter of the rule kind."""

    severity: str = "must"
    """``must`` decides ``must_have_pass`` and the status; any other only reports."""

    message: str | None = None
    """Message for a violation, instead of the default."""

    def __post_init__(self) -> None:
        where = f"rule {self.name!r}"
        if self.type not in RULE_VALUES:
            raise UsageError(
                f"{where}: unknown type {self.type!r}; choose one of "
                + ", ".join(RULE_VALUES)
            )
        if not isinstance(self.severity, str) or not self.severity.strip():
            raise UsageError(f"{where}: severity is empty; write must or should")
        shape = RULE_VALUES[self.type]
        if not _has_shape(self.value, shape):
            raise UsageError(
                f"{where}: type {self.type} takes {_VALUE_WORDS[shape]} as value, "
                f"found {self.value!r}"
            )
        if shape == "pattern" and (error := translate(self.value.strip()).error):
            raise UsageError(f"{where}: pattern {self.value!r} cannot be used: {error}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that decide about an answer: all but the message."""
        required = {"name": self.name, "type": self.type, "severity": self.severity}
        optional = {"field": self.field, "value": self.value}
        return required | {
            key: value for key, value in optional.items() if value is not None
        }

    @classmethod
    def from_rule(cls, rule: RuleConfig | Mapping[str, Any]) -> RuleConfig:
        """Return a rule, given a rule or its mapping from YAML."""
        if isinstance(rule, RuleConfig):
            return rule
        unknown = set(rule) - {entry.name for entry in fields(cls)}
        if unknown or not {"name", "type"} <= set(rule):
            raise UsageError(
                f"rule {dict(rule)!r}: expected name and type, and of field, value, "
                "severity, message what is needed"
            )
        return cls(**rule)


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Evaluations in addition to the test case's own expectations."""

    rules: tuple[RuleConfig, ...] | list[RuleConfig] = ()
    """Rules every sample must keep."""

    judge_enabled: bool = False
    """Ask the judge, if the evaluator was given one."""

    judge_agent_id: str | None = None
    """Passed to the judge: the agent."""

    judge_flow: str | None = None
    """Passed to the judge: the flow of the agent."""

    def __post_init__(self) -> None:
        rules = tuple(RuleConfig.from_rule(rule) for rule in self.rules)
        object.__setattr__(self, "rules", rules)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Properties of a whole run, repeated in each of its results."""

    run_id: str | None = None
    """The task's id in the warehouse; one per run."""

    testset: str | None = None
    title: str | None = None
    prompt_version: str | None = None
    model: str | None = None
    triggered_by: str | None = None
    created_at: datetime | str | None = None
    """Without a zone: UTC."""


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """Outputs of one run of a pipeline on one sample."""

    step_outputs: Mapping[str, Any] | None = None
    """Step id or output key → output; ``None``: unknown; a parsed output that is an
    object replaces them."""

    final_output: Any = None
    """Any JSON value; ``None``: it is in the step outputs."""

    parsed_output: Any = None
    raw_output: str | None = None
    messages: Any = None
    """Messages of an agent with its calls of tools, as chat APIs write them."""

    steps: Any = None
    """A list of calls of tools with their results, in place of or after messages."""

    execution_time: float | None = None
    """Seconds; ``None`` when not measured."""

    failed_steps: tuple[str, ...] | list[str] = ()
    """Steps that failed."""

    error: Any = None
    """The error that prevented a usable output; else null, "", false or 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    executed_at: datetime | str | None = None

    @property
    def outputs(self) -> Mapping[str, Any]:
        """Return the step outputs; empty if unknown."""
        return {} if self.step_outputs is None else self.step_outputs

    @classmethod
    def from_output(cls, output: PipelineRun | Mapping[str, Any] | str) -> PipelineRun:
        """Accept a run, a mapping with ``step_outputs``, bare step outputs, or a text.

        A text is the raw output of a pipeline of one prompt.

        Raises:
            UsageError: It has another type.
        """
        if isinstance(output, PipelineRun):
            return output
        if isinstance(output, str):
            return cls(raw_output=output)
        if not isinstance(output, Mapping):
            raise UsageError(
                f"the runner returned {type(output).__name__}; return a text, "
                "PipelineRun, an object with step_outputs, or the step outputs "
                "themselves"
            )
        return cls.from_fields(output) if "step_outputs" in output else cls(output)

    @classmethod
    def from_fields(cls, fields_: Mapping[str, Any]) -> PipelineRun:
        """Return the run fields of a sample or a record."""
        names = [entry.name for entry in fields(cls)]
        values = {name: fields_[name] for name in names if name in fields_}
        if values.get("failed_steps") is None:
            values["failed_steps"] = ()
        return cls(**values)


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The evaluation of one sample: the guide's 评估结果结构, and further fields.

    Written by :meth:`to_json`, one line each; ``promptlab ingest`` and
    :meth:`from_json` read it back.
    """

    sample_id: str
    entity_type: str
    entity_id: str
    variant: str
    overall_score: float | None = None
    """The judge's score, 0–10; ``None`` when no judge ran or it failed."""

    must_have_pass: bool | None = None
    """Every scope matched, no ``must`` rule broken, no required step failed, the
    judge's must-haves met; ``None`` when nothing was evaluated."""

    judge_feedback: str | None = None
    execution_time: float | None = None
    """Seconds; ``None`` when not measured."""

    step_outputs: dict[str, Any] = field(default_factory=dict)
    """A copy of the step outputs, with the verdicts under ``_intermediate_evaluation``,
    ``_aggregation_evaluation`` and ``_final_evaluation``."""

    failed_steps: list[str] = field(default_factory=list)

    status: ResultStatus = "unevaluated"
    rule_violations: list[Any] = field(default_factory=list)
    """One object per broken rule: rule, type, field, severity, message."""

    evaluation_config: dict[str, Any] | None = None
    """How expectations were compared, if not by the defaults."""

    rules: list[dict[str, Any]] | None = None
    """The rules that the sample had to keep; ``None`` without rules. A run without a
    rule that judged its baseline is not compared with it in silence."""

    unjudged_rules: list[str] | None = None
    """Names of the rules that could not be judged; ``None`` if all were judged."""

    judge: dict[str, Any] | None = None
    """Result of the judge, if one was called: status, reason, must_have, and its
    agent_id and flow if the configuration names them."""

    tags: list[str] = field(default_factory=list)
    final_output: Any = None
    """The final output that was judged, from any source: readers of the file do not
    need the pipeline to find it."""

    raw_output: str | None = None
    messages: Any = None
    steps: Any = None
    error: Any = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    round_id: str | None = None
    run_id: str | None = None
    testset: str | None = None
    pipeline: str | None = None
    title: str | None = None
    prompt_version: str | None = None
    model: str | None = None
    triggered_by: str | None = None
    created_at: str | None = None
    """ISO 8601, UTC."""

    executed_at: str | None = None
    """ISO 8601, UTC."""

    def __post_init__(self) -> None:
        for name in ("sample_id", "entity_id", "variant"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise UsageError(
                    f"{name} is {value!r}; a result needs a non-blank text there to be "
                    "told from others"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object: the guide's fields, and others if set."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        guide = list(values)[: list(values).index("status")]
        return {
            name: value
            for name, value in values.items()
            if name in guide or value is not None
        }

    def to_json(self) -> str:
        """Return the result as one line of JSON, with all digits of numbers."""
        return compact_as_duckdb(copy_json(self.to_dict(), "result"))

    @classmethod
    def from_json(cls, text: str) -> EvaluationResult:
        """Read a line that :meth:`to_json` wrote.

        Raises:
            InputError: It is not an evaluation result.
        """
        data = parse_as_duckdb(text)
        names = {entry.name for entry in fields(cls)}
        needed = {"sample_id", "entity_type", "entity_id", "variant"}
        if not isinstance(data, dict) or not needed <= data.keys() <= names:
            unknown = sorted(set(data) - names) if isinstance(data, dict) else []
            raise InputError(
                f"no evaluation result: needs {', '.join(sorted(needed))}"
                + (f"; unknown: {', '.join(unknown)}" if unknown else "")
            )
        return cls(**data)


@dataclass(frozen=True, slots=True)
class PipelineEvaluationResult:
    """A pipeline evaluated on many samples."""

    pipeline_id: str
    variant: str
    sample_results: list[EvaluationResult]
    overall_stats: dict[str, Any]
    """Counts and means; a mean over nothing is ``nan``."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON object; a mean over nothing is null."""
        stats = {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in self.overall_stats.items()
        }
        return {
            "pipeline_id": self.pipeline_id,
            "variant": self.variant,
            "overall_stats": stats,
            "sample_results": [result.to_dict() for result in self.sample_results],
        }

    def to_jsonl(self) -> str:
        """Return the results as JSONL, which ``promptlab ingest`` reads."""
        return "".join(f"{result.to_json()}\n" for result in self.sample_results)

    def save(self, path: str | Path) -> Path:
        """Write the results to *path* as JSONL, and return it."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.to_jsonl(), "utf-8", newline="\n")
        return target


def utc_text(moment: datetime | str | None) -> str | None:
    """Return a time as ISO 8601: a ``datetime`` in UTC, a text unchanged."""
    return in_utc(moment).isoformat() if isinstance(moment, datetime) else moment


def _has_shape(value: Any, shape: str) -> bool:
    if shape == "pattern" or (shape == "texts" and isinstance(value, str)):
        return isinstance(value, str) and bool(value)
    if shape == "keys" and isinstance(value, Mapping):
        return bool(value) and set(value.values()) <= KEY_TYPES.keys()
    if shape in ("texts", "keys"):
        is_list = isinstance(value, list | tuple) and bool(value)
        return is_list and all(isinstance(text, str) and text for text in value)
    if shape == "value":
        return value is not None
    if shape == "values":
        return isinstance(value, list | tuple) and bool(value)
    if shape == "count":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value in (None, True)
