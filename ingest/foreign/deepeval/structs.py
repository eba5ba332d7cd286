"""The parts of DeepEval's files that are read."""

from __future__ import annotations

from typing import Any

import msgspec

from promptlab.ingest.foreign.documents import ABSENT


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
    evaluationModel: str | None = None  # DeepEval's names
    evaluationCost: float | None = None

    @property
    def title(self) -> str:
        """The name it goes by."""
        return self.name or self.metric or "metric"

    @property
    def is_broken(self) -> bool:
        """It could not judge; DeepEval counts it as failed."""
        return self.error is not None or (self.score is None and not self.success)


class TestCase(msgspec.Struct):
    """One test case, of a single turn or of a conversation."""

    name: str | None = None
    input: Any = None
    actualOutput: Any = None
    expectedOutput: Any = None
    scenario: str | None = None
    expectedOutcome: Any = None
    turns: list[Any] | None = None
    context: Any = None
    retrievalContext: Any = None
    toolsCalled: Any = None
    expectedTools: Any = None
    tags: list[Any] | None = None
    metadata: Any = None
    additionalMetadata: Any = None
    success: bool | None = None
    metricsData: list[Metric] | None = None
    metricsMetadata: list[Metric] | None = None
    tokenCost: float | None = None
    cost: float | None = None
    completionTime: float | None = None
    latency: float | None = None
    runDuration: float | None = None
    evaluationCost: float | None = None
    order: int | None = None

    @property
    def metrics(self) -> list[Metric]:
        """Return the results of its metrics."""
        return self.metricsData or self.metricsMetadata or []

    @property
    def asked(self) -> Any:
        """Return the content that identifies the test case."""
        if self.turns is None:
            return [self.input, self.expectedOutput]
        users = [
            turn.get("content")
            for turn in self.turns
            if isinstance(turn, dict) and turn.get("role") == "user"
        ]
        return [self.scenario or users, self.expectedOutcome]

    @property
    def about(self) -> dict[str, Any]:
        """Return the description by its author."""
        found = self.metadata or self.additionalMetadata
        return found if isinstance(found, dict) else {}


class Prompt(msgspec.Struct):
    """A prompt that a run names, or holds."""

    alias: str | None = None
    version: str | None = None
    text_template: str | None = None
    messages_template: list[Any] | None = None


class MetricScores(msgspec.Struct):
    """The totals that a run reports for one metric."""

    metric: str
    scores: list[float | None] = []
    passes: int | None = None
    fails: int | None = None
    errors: int | None = None


class TestRun(msgspec.Struct):
    """One run; test cases stay as written until their turn comes."""

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


class File(TestRun):
    """A run, bare or wrapped."""

    testRunData: msgspec.Raw = ABSENT
