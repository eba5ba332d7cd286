"""All verdicts of one sample, and its status.

The status of a sample is the worst of its verdicts: error, then fail, then unevaluated,
then pass. Verdicts come from the scopes of its case, from the rules (only those of
severity ``must`` count) and from the judge's must-haves; a judge that was asked
and failed is an unevaluated verdict. A sample without any verdict is unevaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from promptlab.evaluator.judges import Judgement
from promptlab.evaluator.models import AGGREGATION, FINAL, INTERMEDIATE, ResultStatus
from promptlab.evaluator.rules import MUST, RuleFindings
from promptlab.evaluator.scopes import ScopeResult

VERDICT_KEYS: Final = (INTERMEDIATE, AGGREGATION, FINAL)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All verdicts of one sample."""

    intermediate: dict[str, ScopeResult]
    aggregation: ScopeResult | None
    final: ScopeResult | None
    rules: RuleFindings | None
    is_error: bool
    failed_required: bool
    judgement: Judgement | None = None

    @property
    def scopes(self) -> list[ScopeResult]:
        """Every scope's verdict."""
        others = [scope for scope in (self.aggregation, self.final) if scope]
        return [*self.intermediate.values(), *others]

    @property
    def by_key(self) -> dict[str, Any]:
        """The verdicts as stored in ``step_outputs``; scopes not judged are absent."""
        every = (self.intermediate, self.aggregation, self.final)
        return {
            key: verdict
            for key, verdict in zip(VERDICT_KEYS, every, strict=True)
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
