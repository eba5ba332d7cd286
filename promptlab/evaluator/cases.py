"""Read a test case, and judge its steps, its aggregation and its final output.

A case is a mapping in the testset format (v2), or any object with those attributes,
such as ``promptlab.TestCase``. ``expected_output`` is the format's short form of
``expected_outputs: {"output": …}``. Lines in the older v1 form become cases by
``load_testset``.

A verdict is a mapping with the guide's keys (matched, expected, actual, details) and
status, failures, actual_source, checks_total, checks_failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from promptlab.contracts.testset import EvaluationOptions
from promptlab.errors import UsageError
from promptlab.evaluator.matching import (
    MISSING,
    Failure,
    MatchOptions,
    Reason,
    Verdict,
    compare,
    unexpected_keys,
)
from promptlab.evaluator.outputs import (
    FinalOutput,
    FoundOutput,
    PipelineOutline,
    final_field,
    final_source,
    is_whole_object,
    step_output,
)
from promptlab.evaluator.sentences import Language, details
from promptlab.json_text.places import escape_pointer
from promptlab.json_text.reading import copy_json

_FIELDS: Final = (
    "id",
    "tags",
    "inputs",
    "step_inputs",
    "batch_items",
    "intermediate_expectations",
    "expected_aggregation",
    "expected_outputs",
    "evaluation_config",
)


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """The parts of a test case for evaluation; all values are copies."""

    id: str | None
    tags: list[str]
    intermediate: dict[str, Any]
    """Step id → expectation; empty when switched off."""

    aggregation: Any
    """``None``: no expectations, or switched off."""

    outputs: dict[str, Any]
    """Field of the final output → expectation, ignored fields left out."""

    expected_outputs: dict[str, Any]
    """The same as written."""

    options: MatchOptions


def case_fields(test_case: Any) -> Mapping[str, Any]:
    """Return a test case as a mapping.

    Raises:
        UsageError: It is neither a mapping nor an object with an ``id``.
    """
    if isinstance(test_case, Mapping):
        return test_case
    if hasattr(test_case, "id"):
        return {name: getattr(test_case, name, None) for name in _FIELDS}
    raise UsageError(
        f"test case is {type(test_case).__name__}; pass an object such as "
        '{"id": "case-1", "expected_outputs": {…}}'
    )


def read_case(test_case: Any) -> JudgedCase:
    """Read a test case.

    Raises:
        UsageError: A field has the wrong type; the message names it.
    """
    fields = case_fields(test_case)
    options = options_of(_object(fields, "evaluation_config"))
    expected_outputs = _expected_outputs(fields)
    aggregation = copy_json(fields.get("expected_aggregation"), "expected_aggregation")
    return JudgedCase(
        id=_identity(fields.get("id")),
        tags=_tags(fields.get("tags")),
        intermediate=(
            _object(fields, "intermediate_expectations")
            if options.evaluate_intermediate
            else {}
        ),
        aggregation=aggregation if options.evaluate_aggregation else None,
        outputs={
            key: value
            for key, value in expected_outputs.items()
            if options.evaluate_final and key not in options.ignore_fields
        },
        expected_outputs=expected_outputs,
        options=match_options(options),
    )


def options_of(config: Mapping[str, Any]) -> EvaluationOptions:
    """Read a case's ``evaluation_config`` with all defaults.

    Raises:
        UsageError: A value has the wrong type; unknown keys are ignored.
    """
    try:
        return EvaluationOptions.model_validate(config)
    except ValidationError as error:
        messages = [
            f"evaluation_config/{'/'.join(map(str, detail['loc']))}: "
            f"found {detail['input']!r}: {detail['msg']}"
            for detail in error.errors()
        ]
        raise UsageError("; ".join(messages)) from None


def match_options(options: EvaluationOptions) -> MatchOptions:
    """Return the comparison options of a case."""
    return MatchOptions(
        strict=options.strict_mode,
        tolerance=options.tolerance,
        ignore=frozenset(options.ignore_fields),
    )


def _expected_outputs(fields: Mapping[str, Any]) -> dict[str, Any]:
    if fields.get("expected_outputs") is None and "expected_output" in fields:
        return {"output": copy_json(fields["expected_output"], "expected_output")}
    return _object(fields, "expected_outputs")


def _object(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if value is None:
        return {}
    copied = copy_json(value, name)
    if not isinstance(copied, dict):
        raise UsageError(
            f"test case: {name}: found {type(value).__name__}, expected an object"
        )
    return copied


def _identity(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"test case: id: found {value!r}, expected a non-blank text")
    return value


def _tags(value: Any) -> list[str]:
    tags = copy_json(value, "tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise UsageError(f"test case: tags: found {value!r}, expected a list of texts")
    return tags


# ---------- the verdict of each scope


ScopeResult = dict[str, Any]


def intermediate_results(
    case: JudgedCase,
    steps: Mapping[str, Any],
    pipeline: PipelineOutline | None,
    lang: Language,
    *,
    calls: Mapping[str, Any],
) -> dict[str, ScopeResult]:
    """Return a verdict per expected step, in the order of the case."""
    results = {}
    for step_id, expected in case.intermediate.items():
        output = step_output(step_id, steps, pipeline, calls)
        verdict = compare(expected, output.value, case.options)
        results[step_id] = _result(expected, output, verdict, lang)
    return results


def aggregation_result(
    case: JudgedCase, output: FoundOutput, lang: Language
) -> ScopeResult | None:
    """Return the verdict on the aggregation; ``None`` when none is expected."""
    if case.aggregation is None:
        return None
    verdict = compare(case.aggregation, output.value, case.options)
    return _result(case.aggregation, output, verdict, lang)


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
    for key, output in fields.items():
        verdict = compare(
            case.outputs[key],
            output.value,
            case.options,
            pointer=f"/{escape_pointer(key)}",
            absent=absent,
        )
        checks += verdict.checks
        failures += verdict.failures
    actual = {
        key: output.value for key, output in fields.items() if not output.is_missing
    }
    whole_output = FoundOutput(
        actual if actual else MISSING, final_source(fields, final)
    )
    verdict = Verdict(checks, tuple(failures))
    return _result(case.expected_outputs, whole_output, verdict, lang)


def _strict_root(case: JudgedCase, final: FinalOutput) -> tuple[int, list[Failure]]:
    """Judge the final object itself, if ``strict_mode`` applies to it."""
    if not case.options.strict or not is_whole_object(case.outputs, final):
        return 0, []
    extra = unexpected_keys(case.outputs, final.value, case.options)
    if not extra:
        return 1, []
    return 1, [Failure("", "object", case.outputs, extra, "unexpected_field")]


def _result(
    expected: Any, output: FoundOutput, verdict: Verdict, lang: Language
) -> ScopeResult:
    return {
        "matched": verdict.matched,
        "expected": expected,
        "actual": None if output.is_missing else copy_json(output.value),
        "details": details(verdict, lang),
        "status": verdict.status,
        "failures": [copy_json(failure.to_dict()) for failure in verdict.failures],
        "actual_source": output.source,
        "checks_total": verdict.checks,
        "checks_failed": verdict.checks_failed,
    }
