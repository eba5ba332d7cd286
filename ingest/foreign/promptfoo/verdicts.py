"""The verdicts of promptfoo's assertions and rows, also of judges that broke."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Raw

from promptlab.ingest.foreign.casts import text_and_json
from promptlab.ingest.foreign.documents import decode, is_there, raw_text
from promptlab.ingest.foreign.promptfoo.assertions import is_rule
from promptlab.ingest.foreign.promptfoo.export import (
    NO_ANSWER,
    Assertion,
    ComponentMetadata,
    Row,
)
from promptlab.ingest.foreign.writing import CaseWriter, Check, Status

# ---------- assertions


def checks_of(row: Row, case: CaseWriter) -> list[Check]:
    """Return the assertions of the next round of a case, sets before their members."""
    grading = row.gradingResult
    checks: list[Check] = []
    round_id = f"{case.id}-{case.task.n_rounds[case.id] + 1}"
    n_members = 0  # members of the last set that are still to come
    set_position: int | None = None
    for component in filter(None, (grading and grading.componentResults) or ()):
        metadata = component.metadata or _NO_METADATA
        is_set = not is_there(component.assertion)
        kind, name, weight, threshold, expected = _parts_of_assertion(
            bytes(metadata.assertionSet if is_set else component.assertion),
            bytes(metadata.renderedAssertionValue),
            is_set=is_set,
        )
        reason, _ = text_and_json(component.reason)
        # `not-` makes a pass of a judge that broke
        may_be_broken = not component.passed or kind.startswith("not-")
        is_broken = metadata.graderError is True or (
            may_be_broken and _is_breakage(reason, kind)
        )
        check = Check(
            task_id=case.task.task_id,
            case_id=case.id,
            round_id=round_id,
            position=len(checks),
            name=name,
            type=kind,
            passed=None if is_broken else component.passed,
            parent_position=set_position if n_members > 0 else None,
            score=None if is_broken else component.score,
            weight=weight,
            threshold=threshold,
            expected=expected,
            reason=reason,
            error=(reason or "the grader broke") if is_broken else None,
        )
        checks.append(check)
        n_members -= n_members > 0
        if is_set and component.componentResults:
            set_position, n_members = check.position, len(component.componentResults)
    return checks


_NO_METADATA = ComponentMetadata()


@lru_cache(4096)
def _parts_of_assertion(
    written: bytes, rendered: bytes, *, is_set: bool
) -> tuple[str, str, float | None, float | None, str | None]:
    """Return type, name, weight, threshold and expected value of an assertion.

    The expected value includes the settings that distinguish assertions of one name.
    Cached, because most rows have the assertions of others.
    """
    assertion = decode(written or b"{}", Assertion)
    kind = "assert-set" if is_set else assertion.type or "assertion"
    value = None if is_set else raw_text(Raw(rendered) if rendered else assertion.value)
    settings = {
        "config": raw_text(assertion.config),
        "transform": raw_text(assertion.transform),
        "contextTransform": raw_text(assertion.contextTransform),
    }
    members = [f'"{key}":{text}' for key, text in settings.items() if text is not None]
    expected = value
    if members:
        expected = f'{{"value":{value or "null"},{",".join(members)}}}'
    metric = assertion.metric
    name = metric if isinstance(metric, str) and metric else kind
    return kind, name, assertion.weight, assertion.threshold, expected


# ---------- rows


def status_of(row: Row, checks: Sequence[Check], types: Sequence[str]) -> Status:
    """Return promptfoo's own verdict; a pass without assertions is not a verdict.

    A row without a verdict is unevaluated, regardless of its assertions. If only
    assertions with judge errors failed, the verdict is unknown.

    Args:
        row: The row.
        checks: Its assertions, with their results.
        types: The types of the assertions of its test. Their results may be missing:
            ``PROMPTFOO_STRIP_GRADING_RESULT`` leaves them out.
    """
    if row.failureReason == NO_ANSWER:
        return "error"
    if row.success is None:
        return "unevaluated"
    if not checks:
        return _status_without_checks(row, types)
    broken = [check for check in checks if check.passed is None]
    if row.success:  # unless a negated assertion passed because its judge broke
        is_certain = not any(check.type.startswith("not-") for check in broken)
        return "pass" if is_certain else "unevaluated"
    failed = [check for check in checks if check.passed is False]
    # a set that only fails because of broken members was not judged either
    unjudged_sets = {check.parent_position for check in broken}
    unjudged_sets -= {check.parent_position for check in failed}
    is_judged = any(check.position not in unjudged_sets for check in failed)
    return "unevaluated" if broken and not is_judged else "fail"


def _status_without_checks(row: Row, types: Sequence[str]) -> Status:
    grading = row.gradingResult
    if row.success:
        return "pass" if types and grading is None else "unevaluated"
    reason = row.error or (grading and grading.reason)
    is_broken = any(_is_breakage(reason, kind) for kind in types)
    return "unevaluated" if is_broken else "fail"


# ---------- judges that broke

_PROGRAMS = re.compile(r"(not-)?(javascript|python|ruby|webhook)\b")


def _is_breakage(reason: Any, kind: str) -> bool:
    """Return true if the reason of an assertion is an error of its judge."""
    if not isinstance(reason, str):
        return False
    if _PROGRAMS.match(kind):
        return _PROGRAM_BROKE.match(reason) is not None
    return not is_rule(kind) and _JUDGE_BROKE.match(reason.strip()) is not None


_JUDGE_BROKE = re.compile(
    # errors of the call of a model
    r"No (output|embedding)$|Embedding not found|Unknown error fetching"
    r"|([A-Z]\w* )?(API|HTTP)( call| response| request)? error\s*[:(]"
    r"|(HTTP )?[45]\d\d (Bad|Unauthorized|Forbidden|Request|Too Many|Internal|Service"
    r"|Gateway)\b|(Error: )?(Request timed out|fetch failed|Too many requests"
    r"|(connect )?E(CONN|TIMEDOUT|NOTFOUND|AI_)|Rate limit(ed| exceeded| reached))"
    r"|Could not perform remote grading|Remote grading failed"
    # answers that could not be parsed
    r"|Could not extract JSON|Invalid category value:|Error parsing output:"
    r"|Factuality checker output did not match|Model grader produced a malformed"
    r"|(LLM-proposed evaluation|G-Eval) (steps|result|step-generation|evaluation)\b"
    r"|LLM does not propose|Invalid select-best verdict"
    r"|[\w:-]+ produced malformed response",
    re.IGNORECASE,
)
"""Reasons that promptfoo writes if a judge broke.

Older versions have no ``graderError``; factuality and closed-qa still write none.
"""
_PROGRAM_BROKE = re.compile(
    # errors of the program itself, not of one that it makes of the answer
    r"Custom function threw error: [\s\S]*?\bSyntaxError\b.*\n\s+at new Function\b.*"
    r"(?!\n.*\beval at\b)"
    r"|Custom function threw error: [\s\S]*?\bReferenceError\b.*\n(?!.*eval at eval)"
    r"|(Custom function threw error: )?(Custom function must return|Invariant failed"
    r"|Inline JavaScript execution)"
    r'|(Python|Ruby) code execution failed: (?![\s\S]*"<(string|unknown)>")[\s\S]*\b'
    r"(SyntaxError|IndentationError|TabError|NameError|ModuleNotFoundError|ImportError"
    r"|LoadError|spawn)\b"
    r"|(Python|Ruby) code execution failed: (Invalid JSON: |(Python|Ruby) assertion"
    r" must return)"
    r"|Webhook (error|response status)"
)
"""Reasons that are errors of a test's own program, and no verdict on the answer."""
