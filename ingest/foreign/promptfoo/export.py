"""The JSON that promptfoo writes: an export and its parts."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from promptlab.ingest.foreign.casts import first_member
from promptlab.ingest.foreign.documents import ABSENT, decode, is_there

T = TypeVar("T")

EMPTY = Raw(b"{}")
NO_ANSWER = 2
"""The reason of a failure of the provider."""


class Prompt(Struct):
    """A prompt; in the head of a file with the counts of its column."""

    raw: Any = None
    label: str | None = None
    display: str | None = None
    """The label, in version 2."""
    id: str | None = None
    provider: Any = None
    """A name, or an object with a label and an id."""
    metrics: Any = None
    config: Any = None

    def __post_init__(self) -> None:
        self.label = self.label or self.display


class Tokens(Struct, gc=False):
    """The tokens of an answer; zeros where the provider counts none."""

    prompt: Any = None
    completion: Any = None
    total: Any = None
    """The only known number for an answer from the cache."""


class ResponseMetadata(Struct, gc=False):
    """The messages of a provider of several turns, or the calls of an agent."""

    messages: Any = None
    toolCalls: Any = None


class Response(Struct, gc=False):
    """The output of the provider."""

    output: Any = None
    tokenUsage: Tokens | None = None
    cached: bool | None = None
    cost: Any = None
    error: Any = None
    metadata: ResponseMetadata | list[Any] | str | float | bool | None = None
    """Each provider has its own form."""


class ComponentMetadata(Struct, gc=False):
    """The metadata of a verdict."""

    graderError: Any = None
    assertionSet: Raw = ABSENT
    renderedAssertionValue: Raw = ABSENT


class Component(Struct, gc=False):
    """The verdict of an assertion, or of a set; the set's members follow it again."""

    passed: bool | None = msgspec.field(name="pass", default=None)
    score: float | None = None
    reason: Any = None
    assertion: Raw = ABSENT
    """Absent for a set."""
    componentResults: list[Raw] | None = None
    metadata: ComponentMetadata | None = None


class Grading(Struct, gc=False):
    """The result of all assertions of a row."""

    reason: Any = None
    namedScoreWeights: Any = None
    componentResults: list[Component | None] | None = None


class Row(Struct, gc=False):
    """One call of one prompt of one provider on one test."""

    promptIdx: int | None = None
    testIdx: int | None = None
    id: str | None = None
    promptId: str | None = None
    provider: Any = None
    """A name, or an object with a label and an id."""
    prompt: Raw = EMPTY
    response: Response | None = None
    score: float | None = None
    """Computed from all assertions."""
    success: bool | None = None
    failureReason: int | None = None
    """0: success. 1: an assertion failed. 2: `NO_ANSWER` of the provider."""
    error: Any = None
    """The error of the provider, else the reason of a failed assertion."""
    gradingResult: Grading | None = None
    namedScores: dict[str, float | None] | None = None
    latencyMs: float | None = None
    cost: float | None = None
    """0 may mean unknown."""
    tokenUsage: Tokens | None = None
    testCase: Raw = EMPTY
    vars: Raw = EMPTY
    """The variables of the test, with the content of a file in place of its name."""
    description: str | None = None

    def __post_init__(self) -> None:
        if self.failureReason is None:  # version 2 has no such field
            is_error = self.gradingResult is None and self.error
            self.failureReason = NO_ANSWER if is_error else 0


class TestCase(Struct, gc=False):
    """The content of a test. It identifies the test; its position does not."""

    id: Any = None
    description: str | None = None
    vars: dict[str, Any] | None = None
    metadata: Any = None
    tags: Any = None
    asserts: Raw = msgspec.field(name="assert", default=ABSENT)
    options: Raw = ABSENT
    provider: Raw = ABSENT
    threshold: Raw = ABSENT
    assertScoringFunction: Raw = ABSENT


class Assertion(Struct):
    """An assertion, or a set of assertions."""

    type: str | None = None
    metric: Any = None
    weight: float | None = None
    threshold: float | None = None
    value: Raw = ABSENT
    config: Raw = ABSENT
    transform: Raw = ABSENT
    contextTransform: Raw = ABSENT


def decode_object(raw: Raw, kind: type[T]) -> T:
    """Decode a member of a row; null is an empty object.

    Raises:
        msgspec.DecodeError: It is not of this kind.
    """
    return decode(raw if is_there(raw) else EMPTY, kind)


class Results(Struct):
    """The part of an export with the rows."""

    timestamp: str | None = None
    prompts: list[Prompt] | None = None
    table: Raw = ABSENT
    """Only in version 2: its head has the prompts."""
    results: list[Raw] = []

    def __post_init__(self) -> None:
        if self.prompts is None and is_there(self.table):
            heads = first_member(decode(self.table, Any), "head.prompts")
            self.prompts = msgspec.convert(heads or [], list[Prompt])


class Config(Struct):
    """The configuration of the run."""

    description: str | None = None
    evaluateOptions: Any = None
    providers: Any = None
    defaultTest: Raw = ABSENT
    tests: Raw = ABSENT


class Metadata(Struct):
    """The version of promptfoo, and the time of the export."""

    promptfooVersion: str | None = None
    exportedAt: Any = None


class Export(Struct):
    """A whole file."""

    results: Results
    evalId: str | None = None
    config: Config | None = None
    runtimeOptions: Any = None
    """Since 0.121."""
    metadata: Metadata | None = None
