"""The answers of promptfoo's rows, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptlab.ingest.foreign.casts import as_float, as_int, as_object, as_share
from promptlab.ingest.foreign.promptfoo.export import (
    Response,
    ResponseMetadata,
    Row,
    Tokens,
)
from promptlab.ingest.foreign.scorings import error_text
from promptlab.ingest.foreign.writing import CaseWriter, Check, RoundWriter, Status
from promptlab.steps import steps_of

ROW_SCORE = "score"
"""Dimension of the row's own score: only it counts, as the named ones are its parts."""


def write_round(row: Row, case: CaseWriter, status: Status) -> RoundWriter:
    """Write the row's answer."""
    response = row.response or Response()
    input_tokens, output_tokens, total_tokens = _tokens(row, response)
    metadata = {
        "row_id": row.id,
        "cost": _cost(row, response),
        "cached": response.cached,
        "total_tokens": total_tokens,
    }
    return case.round(
        response.output,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        latency_ms=row.latencyMs,
        metadata=metadata,
        error=_error(row, response) if status == "error" else None,
        status=status,
        is_cached=response.cached,
        steps=_steps(response),
    )


def _error(row: Row, response: Response) -> str:
    text = error_text(row.error or response.error) or ""
    return text.strip() or "the provider gave no answer"


def _cost(row: Row, response: Response) -> float | None:
    """Return the cost; a 0 counts if the answer was cached or is the provider's."""
    return row.cost if row.cost or response.cached else as_float(response.cost)


def _tokens(row: Row, response: Response) -> tuple[int | None, int | None, int | None]:
    """Return the tokens of the prompt, of the answer, and in total."""
    usage = response.tokenUsage or row.tokenUsage or Tokens()
    input_tokens, output_tokens = as_int(usage.prompt), as_int(usage.completion)
    total = as_int(usage.total)
    has_parts = input_tokens or output_tokens
    if not has_parts and (total or not response.cached):
        input_tokens = output_tokens = None
    return input_tokens, output_tokens, total or (total if response.cached else None)


def _steps(response: Response) -> str | None:
    """Return the messages and tool calls of an agent.

    A model that is called once puts its calls into the output, alone or in a message.
    """
    messages = calls = None
    if isinstance(response.metadata, ResponseMetadata):
        messages, calls = response.metadata.messages, response.metadata.toolCalls
    if not calls and isinstance(output := response.output, dict | list):
        output = output.get("tool_calls") if isinstance(output, dict) else output
        calls = output if _are_calls(output) else None
    return steps_of(messages, calls) if messages or calls else None


def _are_calls(output: Any) -> bool:
    """Return true for the shape of calls that chat APIs return."""
    return isinstance(output, list) and any(
        as_object(item).get("type") in ("function", "function_call", "tool_use")
        for item in output
    )


def write_scores(
    row: Row, answer: RoundWriter, checks: Sequence[Check], status: Status
) -> None:
    """Write the named scores and the row's own score.

    promptfoo writes 1 for an assertion that was not judged, and 0 if its judge broke.
    These values are kept, but are not scores.
    """
    unscored = {check.name for check in checks if check.passed is None}
    if unscored:
        unscored -= {check.name for check in checks if check.passed is not None}
    if status == "unevaluated":
        unscored.add(ROW_SCORE)
    weights = as_object(row.gradingResult and row.gradingResult.namedScoreWeights)
    for name, value in {**(row.namedScores or {}), ROW_SCORE: row.score}.items():
        if weights.get(name) == 0:  # a weighted mean of nothing is not a number
            answer.score(name, None)
        else:
            answer.score(name, value, None if name in unscored else as_share(value))
