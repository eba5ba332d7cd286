"""What MLflow's tables and traces hold, as far as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from promptlab.ingest.foreign.documents import decode


class Failure(msgspec.Struct):
    """Why a scorer broke."""

    error_code: str | None = None
    error_message: str | None = None


class Feedback(msgspec.Struct):
    """What a scorer said."""

    value: Any = None
    error: Failure | None = None


class Assessment(msgspec.Struct):
    """A scorer's feedback on a trace, or what was expected of it."""

    assessment_name: str
    feedback: Feedback | None = None
    expectation: dict[str, Any] | None = None
    rationale: str | None = None
    source: dict[str, Any] | None = None
    valid: bool | None = True
    last_update_time: Any = None
    """Milliseconds since 1970, or ISO 8601."""


class Trace(msgspec.Struct):
    """One question and its answer, as all forms tell it."""

    trace_id: str
    state: str | None = None
    request: Any = None
    response: Any = None
    request_time: Any = None
    """Milliseconds since 1970, or ISO 8601."""
    execution_duration: float | None = None
    """Milliseconds."""
    trace_metadata: dict[str, Any] = {}
    tags: dict[str, Any] = {}
    assessments: list[Assessment] = []
    error: str | None = None
    model: str | None = None

    @property
    def run(self) -> str | None:
        """The run that asked."""
        run = self.trace_metadata.get("mlflow.sourceRun")
        return run if isinstance(run, str) and run.strip() else None

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens of all its calls."""
        found = _json(self.trace_metadata.get("mlflow.trace.tokenUsage"))
        return found if isinstance(found, dict) else {}

    def judged(self) -> Iterator[Assessment]:
        """What scorers said; of several of one name the last that is valid."""
        said = {
            each.assessment_name: each
            for each in self.assessments
            if each.feedback is not None and each.valid is not False
        }
        yield from said.values()

    def expected(self) -> dict[str, Any]:
        """What was expected of the answer, by name."""
        return {
            each.assessment_name: each.expectation.get("value")
            for each in self.assessments
            if each.expectation is not None and each.valid is not False
        }


class Info(msgspec.Struct):
    """What a written trace says of itself."""

    trace_id: str
    state: str | None = None
    request_time: Any = None
    execution_duration_ms: float | None = None
    trace_metadata: dict[str, Any] = {}
    tags: dict[str, Any] = {}
    assessments: list[Assessment] = []
    request_preview: str | None = None
    response_preview: str | None = None


class Span(msgspec.Struct):
    """One step of a trace."""

    parent_span_id: str | None = None
    attributes: dict[str, Any] = {}
    status: Any = None

    @property
    def message(self) -> str | None:
        """Why it broke."""
        message = self.status.get("message") if isinstance(self.status, dict) else None
        return message if isinstance(message, str) else None


class Spans(msgspec.Struct):
    """The steps of a trace."""

    spans: list[Span] = []


class Written(msgspec.Struct):
    """A trace as MLflow serialises it."""

    info: Info
    data: Spans = msgspec.field(default_factory=Spans)

    def trace(self) -> Trace:
        """The trace as a row of an MLflow table would hold it."""
        info, spans = self.info, self.data.spans
        root = next((each for each in spans if each.parent_span_id is None), Span())
        about, own = info.trace_metadata, root.attributes
        asked = own.get("mlflow.spanInputs") or about.get("mlflow.traceInputs")
        given = own.get("mlflow.spanOutputs") or about.get("mlflow.traceOutputs")
        models = (_json(each.attributes.get("mlflow.llm.model")) for each in spans)
        return Trace(
            trace_id=info.trace_id,
            state=info.state,
            request=_json(asked or info.request_preview),
            response=_json(given or info.response_preview),
            request_time=info.request_time,
            execution_duration=info.execution_duration_ms,
            trace_metadata=about,
            tags=info.tags,
            assessments=info.assessments,
            error=root.message or None,
            model=next((each for each in models if isinstance(each, str)), None),
        )


class Table(msgspec.Struct):
    """A table of the classic evaluation."""

    columns: list[str]
    data: list[list[Any]]


def _json(written: Any) -> Any:
    """What JSON in a text says; a text that is none as it is."""
    if not isinstance(written, str):
        return written
    try:
        return decode(written.encode(), Any) if written else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return written
