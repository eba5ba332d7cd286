"""The fields of promptfoo's files that are read; others are not decoded."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from promptlab.ingest.foreign.documents import ABSENT


class Provider(Struct):
    """A model, or a program that replaces it."""

    id: str | None = None
    label: str | None = None


class Prompt(Struct):
    """A prompt; in the head of a file with the counts of its column."""

    raw: Any = None
    display: str | None = None
    label: str | None = None
    id: str | None = None
    provider: str | Provider | None = None
    metrics: Raw = ABSENT


class HeadPrompt(Prompt, omit_defaults=True):
    """A prompt in the head of a file without complete counts."""


class Response(Struct):
    """The output of the provider."""

    output: Any = None
    tokenUsage: dict[str, Any] | None = None
    cached: bool | None = None
    error: Any = None


class Assertion(Struct):
    """An assertion."""

    type: str | None = None
    metric: Any = None
    weight: float | None = None
    threshold: float | None = None
    value: Raw = ABSENT


class Component(Struct):
    """The verdict of an assertion, or of a set of assertions."""

    passed: bool | None = field(name="pass", default=None)
    score: float | None = None
    reason: str | None = None
    assertion: Assertion | None = None
    componentResults: list[Component] | None = None
    metadata: dict[str, Raw] | None = None
    error: Any = None


class AssertionSet(Struct):
    """A set of assertions."""

    metric: Any = None
    threshold: float | None = None
    weight: float | None = None


class Grading(Struct):
    """The result of all assertions of a row."""

    reason: str | None = None
    componentResults: list[Component | None] | None = None
    namedScoreWeights: dict[str, float | None] | None = None


class Row(Struct):
    """One call of one prompt of one provider on one test."""

    promptIdx: int | None = None
    testIdx: int | None = None
    id: str | None = None
    promptId: str | None = None
    provider: str | Provider | None = None
    prompt: Prompt | None = None
    response: Response | None = None
    score: float | None = None
    success: bool | None = None
    failureReason: int | None = None
    error: Any = None
    gradingResult: Grading | None = None
    namedScores: dict[str, float | None] | None = None
    latencyMs: float | None = None
    cost: float | None = None
    tokenUsage: dict[str, Any] | None = None
    testCase: Raw = ABSENT
    vars: Raw = ABSENT
    description: str | None = None


class TestCase(Struct):
    """Return the content that identifies a test; its position does not."""

    id: Any = None
    description: str | None = None
    vars: dict[str, Any] | None = None
    asserts: Any = field(name="assert", default=None)
    threshold: Any = None
    metadata: Any = None
    tags: Any = None
    options: Any = None


class Stats(Struct):
    """Counts over the whole run."""

    successes: int | None = None
    failures: int | None = None
    errors: int | None = None


class Order(Struct):
    """The place of a row among the tests."""

    testIdx: int | None = None


class Head(Struct):
    """The columns of a table."""

    prompts: list[HeadPrompt] = []


class Table(Struct):
    """Version 2 keeps its prompts in the head of a table."""

    head: Head | None = None


class Results(Struct):
    """The part of an export that holds rows."""

    version: int | None = None
    timestamp: str | None = None
    prompts: list[HeadPrompt] | None = None
    results: list[Raw] = []
    stats: Stats | None = None
    table: Table | None = None


class Options(Struct):
    """The metadata of a run."""

    repeat: int | None = None


class Config(Struct):
    """The configuration of the run."""

    description: str | None = None
    evaluateOptions: Options | None = None
    providers: Raw = ABSENT


class Metadata(Struct):
    """The version that wrote the file."""

    promptfooVersion: str | None = None
    exportedAt: Any = None


class Export(Struct):
    """A whole file."""

    results: Results
    evalId: str | None = None
    config: Config | None = None
    runtimeOptions: Options | None = None
    metadata: Metadata | None = None
