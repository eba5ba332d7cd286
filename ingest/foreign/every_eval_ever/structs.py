"""What Every Eval Ever writes, as far as it is read."""

from __future__ import annotations

from typing import Any

import msgspec

from promptlab.ingest.foreign.tool_files import ToolFiles

FILES = ToolFiles("Every Eval Ever", "schema version 0.3.0")
SAMPLES = "_samples.jsonl"
"""How the name of the file of samples ends."""


class Metric(msgspec.Struct):
    """What a number means."""

    lower_is_better: bool = False
    metric_id: str | None = None
    metric_name: str | None = None
    score_type: str | None = None
    min_score: Any = None
    max_score: Any = None
    additional_details: dict[str, Any] = {}

    @property
    def is_graded(self) -> bool:
        """Its values lie from 0 to 1, 1 best."""
        ends = (self.min_score, self.max_score)
        return not self.lower_is_better and (
            self.score_type == "binary" or ends in ((0, 1), (0.0, 1.0))
        )


class Result(msgspec.Struct):
    """One aggregate: a metric over an evaluation."""

    evaluation_name: str
    metric_config: Metric
    score_details: dict[str, Any] = {}
    evaluation_result_id: str | None = None
    generation_config: dict[str, Any] = {}

    @property
    def metric(self) -> str:
        """What it is called among the metrics of its evaluation."""
        config = self.metric_config
        return config.metric_id or config.metric_name or "score"


class Library(msgspec.Struct):
    """What ran the evaluation."""

    name: str = "unknown"
    version: str = "unknown"


class Aggregate(msgspec.Struct):
    """The leading file."""

    evaluation_id: str
    model_info: dict[str, Any]
    evaluation_results: list[Result]
    schema_version: str | None = None
    evaluation_timestamp: Any = None
    retrieved_timestamp: Any = None
    eval_library: Library = msgspec.field(default_factory=Library)
    source_metadata: dict[str, Any] = {}

    @property
    def model(self) -> str:
        """The model, as it is known to others."""
        said = self.model_info.get("id") or self.model_info.get("name")
        return str(said or "unknown")


class Said(msgspec.Struct):
    """How a line was judged."""

    score: float | None = None
    is_correct: bool | None = None


class Line(msgspec.Struct):
    """A sample on a result."""

    evaluation_id: str
    evaluation_name: str
    sample_id: str
    model_id: str = "unknown"
    evaluation_result_id: str | None = None
    input: dict[str, Any] = {}
    output: dict[str, Any] | None = None
    messages: list[dict[str, Any]] | None = None
    answer_attribution: list[dict[str, Any]] = []
    evaluation: Said = msgspec.field(default_factory=Said)
    token_usage: dict[str, Any] | None = None
    performance: dict[str, Any] | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None
