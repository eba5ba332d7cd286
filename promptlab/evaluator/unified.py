"""The evaluator of one sample: steps, aggregation, final output, rules, judge.

The status of a sample is the worst of its verdicts: error, fail, unevaluated, pass.

A judge is a callable. It gets one mapping (:class:`JudgeRequest`) and answers with a
number from 0 to 10, or with a mapping:

- ``overall_score``: 0–10, or null when it could not judge;
- ``judge_feedback`` (or ``overall_comment``): its comment;
- ``must_have_check``: what must be met: a list of ``{"satisfied": true}``, or of
  booleans.

If a judge raises or returns something else, the sample has no score, and evaluation
continues.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypedDict, cast

from promptlab.errors import UsageError
from promptlab.evaluator.cases import (
    JudgedCase,
    ScopeResult,
    aggregation_result,
    case_fields,
    final_result,
    intermediate_results,
    read_case,
)
from promptlab.evaluator.models import (
    AGGREGATION,
    FINAL,
    INTERMEDIATE,
    EvaluationConfig,
    EvaluationResult,
    PipelineRun,
    ResultStatus,
    RunInfo,
    utc_text,
)
from promptlab.evaluator.outputs import (
    AGGREGATION_OUTPUT,
    FinalOutput,
    FoundOutput,
    PipelineOutline,
    aggregation,
    final_output,
    visible,
)
from promptlab.evaluator.rules import MUST, RuleFindings, judge_rules, whole_answer
from promptlab.evaluator.sentences import (
    Language,
    judge_failed,
    no_judge,
    pipeline_failed,
)
from promptlab.json_text.reading import copy_json
from promptlab.json_text.writing import compact_as_duckdb
from promptlab.paths import language_of
from promptlab.steps import calls_of

# ---------- the user's judge


BEST_SCORE: Final = 10.0
"""The maximum score of a judge; the minimum is 0."""


class JudgeRequest(TypedDict):
    """The input of a judge; copies only."""

    sample_id: str
    pipeline_id: str
    variant: str
    test_case: dict[str, Any]
    step_outputs: dict[str, Any]
    final_output: Any
    evaluations: dict[str, Any]
    """Verdicts of the scopes: ``intermediate``, ``aggregation``, ``final``."""

    judge_agent_id: str | None
    judge_flow: str | None


Judge = Callable[[JudgeRequest], Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of the judge."""

    status: Literal["scored", "unevaluated", "not_run"]
    score: float | None = None
    feedback: str | None = None
    must_have: bool | None = None
    """True if its must-haves are met; ``None`` if it has no must-haves."""

    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the judgement as a JSON object, without score and feedback."""
        return {
            "status": self.status,
            "must_have": self.must_have,
            "reason": self.reason,
        }


class _BadAnswer(Exception):
    """The judge's answer is invalid."""


def ask(judge: Judge | None, request: JudgeRequest, lang: Language) -> Judgement:
    """Call the judge; ``None``: the judge is enabled but missing."""
    if judge is None:
        return Judgement("not_run", feedback=no_judge(lang), reason="no_judge")
    try:
        return _read(judge(request))
    except _BadAnswer as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001  # the judge is foreign code
        reason = f"{type(error).__name__}: {error}"
    return Judgement("unevaluated", feedback=judge_failed(reason, lang), reason=reason)


def _read(answer: Any) -> Judgement:
    if not isinstance(answer, Mapping):
        return Judgement("scored", score=_score(answer))
    feedback = answer.get("judge_feedback", answer.get("overall_comment"))
    if feedback is not None and not isinstance(feedback, str):
        raise _BadAnswer(f"judge_feedback is {type(feedback).__name__}, not text")
    must_have = _must_have(answer.get("must_have_check"))
    if answer.get("overall_score") is None:
        status: Literal["scored", "unevaluated"] = (
            "unevaluated" if must_have is None else "scored"
        )
        return Judgement(status, None, feedback, must_have, "no overall_score")
    return Judgement("scored", _score(answer["overall_score"]), feedback, must_have)


def _score(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= BEST_SCORE:
        raise _BadAnswer(f"overall_score is {value!r}, expected a number from 0 to 10")
    return float(value)


def _must_have(checks: Any) -> bool | None:
    if checks is None or checks == []:
        return None
    if not isinstance(checks, list | tuple):
        raise _BadAnswer(f"must_have_check is {type(checks).__name__}, not a list")
    met = [
        check.get("satisfied") if isinstance(check, Mapping) else check
        for check in checks
    ]
    if not all(isinstance(entry, bool) for entry in met):
        raise _BadAnswer("must_have_check: each entry needs satisfied: true or false")
    return all(met)


# ---------- the evaluator


VERDICT_KEYS: Final = (INTERMEDIATE, AGGREGATION, FINAL)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All verdicts of one sample."""

    intermediate: dict[str, ScopeResult]
    aggregation: ScopeResult | None
    final: ScopeResult | None
    rules: RuleFindings | None
    kept_rules: list[dict[str, Any]] | None
    """The rules that the sample had to keep."""
    is_error: bool
    failed_required: bool
    judgement: Judgement | None = None

    @property
    def scopes(self) -> list[ScopeResult]:
        """Every scope's verdict."""
        scopes = [scope for scope in (self.aggregation, self.final) if scope]
        return [*self.intermediate.values(), *scopes]

    @property
    def by_key(self) -> dict[str, Any]:
        """The verdicts as stored in ``step_outputs``; scopes not judged are absent."""
        scopes = (self.intermediate, self.aggregation, self.final)
        return {
            key: verdict
            for key, verdict in zip(VERDICT_KEYS, scopes, strict=True)
            if verdict
        }

    @property
    def status(self) -> ResultStatus:
        """The worst verdict."""
        verdicts = [scope["status"] for scope in self.scopes]
        if self.rules is not None:
            verdicts.append(self._of_rules(self.rules))
        if self.judgement is not None and self.judgement.status == "unevaluated":
            verdicts.append("unevaluated")
        if self.judgement is not None and self.judgement.must_have is not None:
            verdicts.append("pass" if self.judgement.must_have else "fail")
        if self.is_error or self.failed_required:
            return "error"
        for status in ("fail", "unevaluated"):
            if status in verdicts:
                return status
        return "pass" if verdicts else "unevaluated"

    @property
    def violations(self) -> list[dict[str, Any]]:
        """One object per broken rule."""
        return [] if self.rules is None else self.rules.broken

    @property
    def unjudged_rules(self) -> list[str]:
        """Names of the rules that could not be judged."""
        return [] if self.rules is None else [r.name for r in self.rules.unjudged]

    @staticmethod
    def _of_rules(rules: RuleFindings) -> ResultStatus:
        if rules.breaks_must:
            return "fail"
        is_unjudged = any(rule.severity == MUST for rule in rules.unjudged)
        return "unevaluated" if is_unjudged else "pass"

    @property
    def must_have_pass(self) -> bool | None:
        """Return true if every evaluated part passed; ``None`` without evaluated parts.

        The judge can fail a sample whose checks all matched, but not pass a failed one.
        """
        parts = [scope["matched"] for scope in self.scopes]
        if self.rules is not None:
            parts.append(self.rules.must_have)
        if self.failed_required:
            parts.append(False)
        if self.judgement is not None:
            parts.append(self.judgement.must_have)
        evaluated = [part for part in parts if part is not None]
        return all(evaluated) if evaluated else None


ERROR_ANSWER: Final = "[ERROR]"
"""The text that some tools write instead of a missing answer."""


class UnifiedEvaluator:
    """Judges the outputs of a pipeline for one sample, without state between samples.

    Args:
        config: Rules, and the switch for the judge.
        judge: The judge (see ``promptlab.evaluator.unified``).
        pipeline: The pipeline's configuration: a mapping with ``id`` and ``steps``, or
            an object of such fields. Without it, steps are only known by their keys.
        lang: Language of ``details`` and messages, ``zh`` or ``en``; default: the
            locale's, else English.
    """

    def __init__(
        self,
        config: EvaluationConfig | None = None,
        *,
        judge: Judge | None = None,
        pipeline: Any = None,
        lang: Language | None = None,
    ) -> None:
        lang = lang or cast("Language", language_of(os.environ))
        if lang not in ("zh", "en"):
            raise UsageError(f"lang is {lang!r}; choose zh or en")
        self.config = config or EvaluationConfig()
        self.judge = judge
        self.pipeline = (
            None if pipeline is None else PipelineOutline.from_config(pipeline)
        )
        self.lang: Language = lang

    def evaluate_intermediate_steps(
        self,
        pipeline_id: str,
        variant: str,
        test_case: Any,
        step_outputs: Mapping[str, Any],
    ) -> dict[str, ScopeResult]:
        """Compare each expected step with its output.

        Args:
            pipeline_id: Not used; part of the interface.
            variant: Not used; part of the interface.
            test_case: A case with ``intermediate_expectations``.
            step_outputs: Step id or output key → output.

        Returns:
            Step id → ``matched`` (``None``: unevaluated), ``expected``, ``actual``
            (``None`` where missing), ``details``, ``status``, ``failures``,
            ``actual_source``, ``checks_total``, ``checks_failed``. Empty when nothing
            is expected, or the case's ``evaluate_intermediate`` is false.

        Raises:
            UsageError: The case, or an output, is not in the format.
        """
        del pipeline_id, variant
        steps = visible(_outputs(step_outputs))
        return intermediate_results(
            read_case(test_case), steps, self.pipeline, self.lang, calls={}
        )

    def evaluate_aggregation_result(
        self,
        pipeline_id: str,
        variant: str,
        test_case: Any,
        aggregation_output: Any,
    ) -> ScopeResult:
        """Compare the expected aggregation with an output.

        Args:
            pipeline_id: Not used; part of the interface.
            variant: Not used; part of the interface.
            test_case: A case with ``expected_aggregation``.
            aggregation_output: The aggregation, any JSON value.

        Returns:
            One verdict, of the shape that a step has; empty when nothing is expected,
            or the case's ``evaluate_aggregation`` is false.

        Raises:
            UsageError: The case, or the output, is not in the format.
        """
        del pipeline_id, variant
        value = copy_json(aggregation_output, "aggregation_output")
        output = FoundOutput(value, AGGREGATION_OUTPUT)
        return aggregation_result(read_case(test_case), output, self.lang) or {}

    def evaluate_pipeline_output(
        self,
        pipeline_id: str,
        variant: str,
        test_case: Any,
        step_outputs: Mapping[str, Any],
        final_output: Any = None,
        execution_time: float | None = None,
        evaluation_target: str | None = None,
        evaluate_intermediate: bool = True,
        evaluate_aggregation: bool = True,
        evaluate_final: bool = True,
    ) -> EvaluationResult:
        """Evaluate all expectations of a case, with rules and judge.

        Scopes without expectations are not evaluated; false here or in the case's
        ``evaluation_config`` switches a scope off.

        Args:
            pipeline_id: Becomes ``entity_id``.
            variant: Becomes ``variant``.
            test_case: The case; it needs an ``id``.
            step_outputs: Step id or output key → output; never changed.
            final_output: Any JSON value; ``None``: the evaluation target's output.
            execution_time: Seconds.
            evaluation_target: Step id or output key; default: the pipeline's.
            evaluate_intermediate: False: leave the steps out.
            evaluate_aggregation: False: leave the aggregation out.
            evaluate_final: False: leave the final output out.

        Raises:
            UsageError: The case, or an output, is not in the format.
        """
        switched_off = {
            f"evaluate_{scope}": False
            for scope, is_on in (
                ("intermediate", evaluate_intermediate),
                ("aggregation", evaluate_aggregation),
                ("final", evaluate_final),
            )
            if not is_on
        }
        return self.evaluate_run(
            pipeline_id,
            variant,
            test_case,
            PipelineRun(
                step_outputs=_outputs(step_outputs),
                final_output=final_output,
                execution_time=execution_time,
            ),
            evaluation_target=evaluation_target,
            config=switched_off,
        )

    def evaluate_run(
        self,
        pipeline_id: str,
        variant: str,
        test_case: Any,
        run: PipelineRun,
        *,
        evaluation_target: str | None = None,
        config: Mapping[str, Any] | None = None,
        apply_rules: bool = True,
        apply_judge: bool = True,
        info: RunInfo | None = None,
    ) -> EvaluationResult:
        """Evaluate a run with all its fields (tokens, errors, failed steps).

        Args:
            pipeline_id: Becomes ``entity_id``.
            variant: Becomes ``variant``.
            test_case: The case; it needs an ``id``.
            run: Outputs of the pipeline; never changed.
            evaluation_target: Step id or output key; default: the pipeline's.
            config: Overrides of the case's ``evaluation_config``.
            apply_rules: False: leave the rules out.
            apply_judge: False: leave the judge out.
            info: Properties of the whole run, added to the result.

        Raises:
            UsageError: The case, or an output, is not in the format.
        """
        case = read_case(_with_config(test_case, config or {}))
        if case.id is None:
            raise UsageError("test case: id: missing; a result needs it as sample_id")
        parsed = copy_json(run.parsed_output, "parsed_output")
        parsed_steps = parsed if isinstance(parsed, dict) else {}
        are_own_steps = run.step_outputs is not None
        outputs = _outputs(
            parsed_steps if run.step_outputs is None else run.step_outputs
        )
        run = replace(
            run,
            step_outputs=outputs,
            final_output=copy_json(run.final_output, "final_output"),
            parsed_output=parsed,
            messages=copy_json(run.messages, "messages"),
            steps=copy_json(run.steps, "steps"),
            error=_error(run.error),
        )
        final = final_output(
            run.final_output,
            visible(outputs),
            target=evaluation_target,
            pipeline=self.pipeline,
            parsed_output=run.parsed_output,
            raw_output=run.raw_output,
            are_own_steps=are_own_steps,
        )
        evaluation = self._check(case, run, final, apply_rules)
        if apply_judge and self.config.judge_enabled:
            judgement = self._ask_judge(
                case, test_case, run, final, evaluation, pipeline_id, variant
            )
            evaluation = replace(evaluation, judgement=judgement)
        return self._result(case, run, final, evaluation, pipeline_id, variant, info)

    def _check(
        self, case: JudgedCase, run: PipelineRun, final: FinalOutput, apply_rules: bool
    ) -> Evaluation:
        steps = visible(run.outputs)
        rules = self.config.rules if apply_rules else ()
        is_error = run.error is not None or final.value == ERROR_ANSWER
        failed_required = any(
            self.pipeline is None or self.pipeline.requires(step)
            for step in run.failed_steps
        )
        answer = whole_answer(
            final,
            raw_output=run.raw_output,
            parsed_output=run.parsed_output,
            output_tokens=run.output_tokens,
        )
        findings = judge_rules(
            rules,
            answer,
            final,
            steps,
            is_error=is_error or failed_required,
            lang=self.lang,
        )
        return Evaluation(
            intermediate=intermediate_results(
                case,
                steps,
                self.pipeline,
                self.lang,
                calls=calls_of(run.messages, run.steps) if case.intermediate else {},
            ),
            aggregation=aggregation_result(case, aggregation(steps, final), self.lang),
            final=final_result(case, final, steps, self.lang),
            rules=findings if rules else None,
            kept_rules=[rule.to_dict() for rule in rules] or None,
            is_error=is_error,
            failed_required=failed_required,
        )

    def _ask_judge(
        self,
        case: JudgedCase,
        test_case: Any,
        run: PipelineRun,
        final: FinalOutput,
        evaluation: Evaluation,
        pipeline_id: str,
        variant: str,
    ) -> Judgement:
        if evaluation.is_error:
            return Judgement("not_run", reason="error")
        return ask(
            self.judge,
            {
                "sample_id": str(case.id),
                "pipeline_id": pipeline_id,
                "variant": variant,
                "test_case": copy_json(case_fields(test_case), "test case"),
                "step_outputs": copy_json(visible(run.outputs)),
                "final_output": None if final.is_missing else copy_json(final.value),
                "evaluations": copy_json(evaluation.by_key),
                "judge_agent_id": self.config.judge_agent_id,
                "judge_flow": self.config.judge_flow,
            },
            self.lang,
        )

    def _result(
        self,
        case: JudgedCase,
        run: PipelineRun,
        final: FinalOutput,
        evaluation: Evaluation,
        pipeline_id: str,
        variant: str,
        info: RunInfo | None,
    ) -> EvaluationResult:
        judgement = evaluation.judgement
        feedback = None if judgement is None else judgement.feedback
        if run.error is not None:
            error = (
                run.error
                if isinstance(run.error, str)
                else compact_as_duckdb(run.error)
            )
            feedback = pipeline_failed(error, self.lang)
        earlier = {
            key: value for key, value in run.outputs.items() if key not in VERDICT_KEYS
        }
        properties = asdict(info or RunInfo())
        return EvaluationResult(
            sample_id=str(case.id),
            entity_type="pipeline",
            entity_id=pipeline_id,
            variant=variant,
            overall_score=None if judgement is None else judgement.score,
            must_have_pass=evaluation.must_have_pass,
            judge_feedback=feedback,
            execution_time=run.execution_time,
            step_outputs=earlier | evaluation.by_key,
            failed_steps=list(run.failed_steps),
            status=evaluation.status,
            rule_violations=list(evaluation.violations),
            evaluation_config=case.options.to_dict() or None,
            rules=evaluation.kept_rules,
            unjudged_rules=evaluation.unjudged_rules or None,
            judge=None
            if judgement is None
            else judgement.to_dict() | self._judge_identity(),
            tags=case.tags,
            final_output=None if final.is_missing else copy_json(final.value),
            raw_output=run.raw_output,
            messages=run.messages,
            steps=run.steps,
            error=run.error,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            executed_at=utc_text(run.executed_at),
            pipeline=None if self.pipeline is None else self.pipeline.id,
            **properties | {"created_at": utc_text(properties["created_at"])},
        )

    def _judge_identity(self) -> dict[str, str]:
        """Return the judge's agent and flow; another judge may judge differently."""
        config = self.config
        identity = {"agent_id": config.judge_agent_id, "flow": config.judge_flow}
        return {name: value for name, value in identity.items() if value}


def _outputs(step_outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the step outputs, and check that they are an object of JSON values."""
    outputs = copy_json(step_outputs, "step_outputs")
    if not isinstance(outputs, dict):
        raise UsageError(
            f"step_outputs is {type(step_outputs).__name__}; "
            "pass an object: step → output"
        )
    return outputs


def _error(error: Any) -> str | dict[str, Any] | None:
    """Return an error as text or object; ``None`` for null, "", false and 0."""
    if error is None or error in ("", False, 0):
        return None
    copied = copy_json(error, "error")
    return copied if isinstance(copied, str | dict) else compact_as_duckdb(copied)


def _with_config(test_case: Any, overrides: Mapping[str, Any]) -> Any:
    if not overrides:
        return test_case
    fields = case_fields(test_case)
    config = {**(fields.get("evaluation_config") or {}), **overrides}
    return {**fields, "evaluation_config": config}
