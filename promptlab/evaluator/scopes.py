"""The verdict of each scope of a case: its steps, its aggregation, its final output.

A verdict is a mapping with the guide's keys (matched, expected, actual, details) and
status, failures, actual_source, checks_total, checks_failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlab.evaluator.cases import JudgedCase
from promptlab.evaluator.matching import (
    MISSING,
    Failure,
    Reason,
    Verdict,
    judge,
    unexpected_keys,
)
from promptlab.evaluator.outputs import (
    FinalOutput,
    FoundOutput,
    final_field,
    final_source,
    is_whole_object,
    step_output,
)
from promptlab.evaluator.pipelines import PipelineOutline
from promptlab.evaluator.wording import Language, details
from promptlab.json_text.places import escape_pointer
from promptlab.json_text.reading import copy_json

ScopeResult = dict[str, Any]


def intermediate_results(
    case: JudgedCase,
    steps: Mapping[str, Any],
    pipeline: PipelineOutline | None,
    lang: Language,
) -> dict[str, ScopeResult]:
    """Return a verdict per expected step, in the order of the case."""
    results = {}
    for step_id, expected in case.intermediate.items():
        found = step_output(step_id, steps, pipeline)
        verdict = judge(expected, found.value, case.options)
        results[step_id] = _result(expected, found, verdict, lang)
    return results


def aggregation_result(
    case: JudgedCase, found: FoundOutput, lang: Language
) -> ScopeResult | None:
    """Return the verdict on the aggregation; ``None`` when none is expected."""
    if case.aggregation is None:
        return None
    verdict = judge(case.aggregation, found.value, case.options)
    return _result(case.aggregation, found, verdict, lang)


def final_result(
    case: JudgedCase, final: FinalOutput, steps: Mapping[str, Any], lang: Language
) -> ScopeResult | None:
    """Return the verdict on the final output; ``None`` when nothing is expected."""
    if not case.outputs:
        return None
    is_only = len(case.outputs) == 1
    fields = {
        key: final_field(key, final, steps, is_only=is_only) for key in case.outputs
    }
    checks, failures = _strict_root(case, final)
    absent: Reason = "missing_step" if final.is_missing else "missing_field"
    for key, found in fields.items():
        verdict = judge(
            case.outputs[key],
            found.value,
            case.options,
            pointer=f"/{escape_pointer(key)}",
            absent=absent,
        )
        checks += verdict.checks
        failures += verdict.failures
    actual = {key: found.value for key, found in fields.items() if not found.is_missing}
    whole = FoundOutput(actual if actual else MISSING, final_source(fields, final))
    verdict = Verdict(checks, tuple(failures))
    return _result(case.expected_outputs, whole, verdict, lang)


def _strict_root(case: JudgedCase, final: FinalOutput) -> tuple[int, list[Failure]]:
    """Judge the final object itself, if ``strict_mode`` applies to it."""
    if not case.options.strict or not is_whole_object(case.outputs, final):
        return 0, []
    extra = unexpected_keys(case.outputs, final.value, case.options)
    if not extra:
        return 1, []
    return 1, [Failure("", "object", case.outputs, extra, "unexpected_field")]


def _result(
    expected: Any, found: FoundOutput, verdict: Verdict, lang: Language
) -> ScopeResult:
    return {
        "matched": verdict.matched,
        "expected": expected,
        "actual": None if found.is_missing else copy_json(found.value),
        "details": details(verdict, lang),
        "status": verdict.status,
        "failures": [copy_json(failure.to_dict()) for failure in verdict.failures],
        "actual_source": found.source,
        "checks_total": verdict.checks,
        "checks_failed": verdict.checks_failed,
    }
