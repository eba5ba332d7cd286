"""One row of promptfoo: its round, its verdict, its assertions.

``componentResults`` contains a set of assertions with its members, followed by the
same members again: each is returned once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from promptlab.ingest.foreign.documents import (
    ABSENT,
    answer,
    decode,
    integer,
    raw_text,
    text,
)
from promptlab.ingest.foreign.promptfoo.structs import AssertionSet, Component, Row
from promptlab.ingest.foreign.records import Check, Round, Status

Place = tuple[str, str, str]
"""Task, case and round."""

_ERROR = 2
"""``failureReason``: error of the provider. 1 is a failed assertion, 0 success."""


def error_of(row: Row) -> str | None:
    """Return the provider's error; ``error`` also has reasons of failed assertions."""
    broke = row.failureReason == _ERROR
    if row.failureReason is None:  # version 2 has no such field
        broke = row.gradingResult is None and bool(row.error)
    if not broke:
        return None
    said = row.error or (row.response.error if row.response else None)
    if not isinstance(said, str):
        said = text(said) if said else ""
    return said.strip() or "the provider gave no answer"


def status_of(row: Row, checks: Sequence[Check] = ()) -> Status:
    """Return promptfoo's own verdict; a pass without assertions is not a verdict.

    A row without a verdict is unevaluated, regardless of its assertions.

    If only assertions with judge errors failed, the verdict is unknown.
    """
    if error_of(row) is not None:
        return "error"
    if row.success is None:
        return "unevaluated"
    grading = row.gradingResult
    if grading is None or not grading.componentResults:
        return "unevaluated" if row.success else "fail"
    if row.success:
        return "pass"
    failed = [each for each in checks if each.passed is not True]
    if failed and all(each.passed is None for each in failed):
        return "unevaluated"
    return "fail"


def round_of(row: Row, place: Place, n: int, status: Status) -> Round:
    """Return the row's answer."""
    task_id, case_id, round_id = place
    response = row.response
    output, parsed = answer(response.output if response else None)
    usage = (response.tokenUsage if response else None) or row.tokenUsage or {}
    given, made, total = map(integer, map(usage.get, ("prompt", "completion", "total")))
    if total and not given and not made:  # from the cache: only the total is available
        given = made = None
    counted: Literal["pass", "fail"] | None = None
    if status == "unevaluated" and row.success is not None:
        counted = "pass" if row.success else "fail"
    about = {
        "row_id": row.id,
        "cost": row.cost,
        "cached": response.cached if response else None,
        "total_tokens": total,
    }
    return Round(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=n - 1,
        run_index=n,
        raw_output=output,
        parsed_output=parsed,
        input_tokens=given,
        output_tokens=made,
        latency_ms=row.latencyMs,
        metadata=text({key: each for key, each in about.items() if each is not None}),
        error=error_of(row) if status == "error" else None,
        reported_status=status,
        counted_as=counted,
        is_cached=response.cached if response else None,
    )


def checks_of(row: Row, place: Place) -> Iterator[Check]:
    """Return the row's assertions, sets before their members."""
    grading = row.gradingResult
    position = 0
    beside = 0  # members of a set that follow it again
    parent: int | None = None
    for each in (grading.componentResults if grading else None) or []:
        if each is None:
            continue
        is_member = beside > 0
        yield _check(each, place, position, parent if is_member else None)
        beside -= is_member
        if each.assertion is None and each.componentResults:
            parent, beside = position, len(each.componentResults)
        position += 1


def _check(each: Component, place: Place, position: int, parent: int | None) -> Check:
    task_id, case_id, round_id = place
    about = each.metadata or {}
    assertion: Any = each.assertion
    kind = assertion.type if assertion else None
    if assertion is None:
        kind = "assert-set"
        assertion = decode(about.get("assertionSet", msgspec.Raw(b"{}")), AssertionSet)
    metric = assertion.metric if assertion else None
    broke = bytes(about.get("graderError", ABSENT)) == b"true"
    written: msgspec.Raw = getattr(assertion, "value", ABSENT)
    expected = about.get("renderedAssertionValue", written)
    return Check(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=position,
        name=metric if isinstance(metric, str) and metric else kind or "assertion",
        type=kind or "assertion",
        passed=None if broke else each.passed,
        parent_position=parent,
        score=None if broke else each.score,
        weight=assertion.weight if assertion else None,
        threshold=assertion.threshold if assertion else None,
        expected=raw_text(expected),
        reason=each.reason,
        error=(each.reason or "the grader broke") if broke else None,
    )
