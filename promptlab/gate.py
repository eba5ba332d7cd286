"""The gate: a task's numbers beside the limits of a policy.

Every number is the marts'; here they are only held against limits. A rule whose number
is missing, or whose drop may be chance, is inconclusive: it neither passes nor fails.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from promptlab.contracts.comparison import Comparison, ScoreComparison
from promptlab.contracts.gate import (
    GATE_FORMAT_VERSION,
    GatePolicy,
    GateResult,
    GateRule,
    GateVerdict,
    Significance,
)
from promptlab.errors import NothingToDo, SettingsError, UsageError
from promptlab.history import Say, compare, say_nothing
from promptlab.nearest import did_you_mean
from promptlab.task_ids import resolve_task
from reports.catalogue import Catalogue, catalogue
from reports.gate_queries import GateNumbers, TagCases, gate_numbers

if TYPE_CHECKING:
    from promptlab.pipeline import Warehouse

FILE = "promptlab-gate.toml"
"""The policy of the working folder, where none is named."""

DEFAULT = "default"
_MOST_NAMED = 5


def default_policy() -> str:
    """The text of the built-in policy, with every rule explained."""
    return resources.files("promptlab").joinpath("gate_policy.toml").read_text("utf-8")


def load_policy(path: Path | None) -> tuple[str, GatePolicy]:
    """Read a policy.

    Args:
        path: the file; ``promptlab-gate.toml`` of the working folder when not given,
            and the built-in policy where there is none.

    Returns:
        Where it comes from, and the policy.

    Raises:
        SettingsError: it cannot be read, or is wrong; names the key and a fix.
    """
    if path is None and Path(FILE).is_file():
        path = Path(FILE)
    if path is None:
        return DEFAULT, parse_policy(default_policy(), DEFAULT)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such policy; `promptlab gate --init > {path}`"
            " writes one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    return str(path), parse_policy(text, str(path))


def parse_policy(text: str, name: str) -> GatePolicy:
    """Read the text of a policy; ``name`` is what messages call it.

    Raises:
        SettingsError: it is no TOML, or a rule is unknown or has a wrong value.
    """
    try:
        return GatePolicy.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: is not TOML: {error}") from None
    except ValidationError as error:
        raise SettingsError(_explain(error, name)) from None


def judge(
    warehouse: Warehouse,
    task: str,
    policy: GatePolicy,
    *,
    policy_name: str,
    lang: str,
    say: Say = say_nothing,
) -> GateResult:
    """Hold a task against a policy.

    Args:
        warehouse: the warehouse of the task.
        task: an id, a unique prefix, ``latest`` or ``previous``.
        policy: the rules.
        policy_name: where they come from.
        lang: language of the notes, ``zh`` or ``en``.
        say: told what takes time.

    Raises:
        UsageError: no such task, or the policy asks for nothing.
        NothingToDo: nothing is built.
    """
    with warehouse.built() as con:
        task_id = resolve_task(con, task)
        numbers = gate_numbers(con, task_id, policy.must_pass_tags)
    comparison, why_not = _comparison(warehouse, task_id, policy, lang, say)
    rules = list(_Gate(policy, numbers, comparison, why_not, catalogue(lang)).rules())
    if not rules:
        raise UsageError(f"{policy_name}: asks for nothing; `promptlab gate --init`")
    return GateResult(
        task_id=task_id,
        title=numbers.title,
        prompt_version=numbers.prompt_version,
        model=numbers.model,
        created_at=numbers.created_at,
        baseline_task_id=None if comparison is None else comparison.baseline.task_id,
        policy=policy_name,
        verdict=_worst(rules),
        rules=rules,
        lang=catalogue(lang).lang,
        version=GATE_FORMAT_VERSION,
    )


def _worst(rules: Sequence[GateRule]) -> GateVerdict:
    verdicts = {rule.verdict for rule in rules}
    if "fail" in verdicts:
        return "fail"
    return "inconclusive" if "inconclusive" in verdicts else "pass"


def _comparison(
    warehouse: Warehouse, task_id: str, policy: GatePolicy, lang: str, say: Say
) -> tuple[Comparison | None, str | None]:
    """The comparison that the rules need, or why there is none."""
    asks = (
        policy.regression.max_drop is not None
        or not policy.regression.allow_must_have_lost
        or any(rules.max_drop is not None for rules in policy.dimensions.values())
    )
    if not asks:
        return None, None
    baseline = policy.regression.baseline
    try:
        return compare(
            warehouse, baseline, task_id, lang=lang, cases=_MOST_NAMED + 1, say=say
        ), None
    except NothingToDo as error:
        return None, str(error)


@dataclass(frozen=True)
class _Gate:
    """One task's numbers, and the rules that they are held against."""

    policy: GatePolicy
    numbers: GateNumbers
    comparison: Comparison | None
    why_not: str | None
    texts: Catalogue

    def rules(self) -> Iterator[GateRule]:
        """Judge every rule that the policy asks for, in the order of its file."""
        policy = self.policy
        for name in ("min_score", "min_pass_rate", "min_coverage"):
            yield from self._at_least(name, getattr(policy, name), _MEASURES[name])
        yield from self._at_most(
            "max_error_share", policy.max_error_share, "error_share"
        )
        for tag in policy.must_pass_tags:
            yield self._tag(tag)
        if not policy.allow_critical_alerts:
            yield self._alerts()
        if policy.regression.max_drop is not None:
            yield self._drop(
                "regression.max_drop",
                policy.regression.max_drop,
                policy.regression.significance,
                None if self.comparison is None else self.comparison.overall,
            )
        if not policy.regression.allow_must_have_lost:
            yield self._must_haves()
        for table, key in _CEILINGS:
            limit = getattr(getattr(policy, table), key)
            yield from self._at_most(f"{table}.{key}", limit, _CEILINGS[table, key])
        for dimension_id in policy.dimensions:
            yield from self._dimension(dimension_id)

    def _at_least(
        self, rule: str, limit: float | None, measure: str
    ) -> Iterator[GateRule]:
        value = self.numbers.measures.get(measure)
        if limit is not None:
            yield self._held(rule, value, limit, value is not None and value >= limit)

    def _at_most(
        self, rule: str, limit: float | None, measure: str
    ) -> Iterator[GateRule]:
        value = self.numbers.measures.get(measure)
        if limit is not None:
            yield self._held(rule, value, limit, value is not None and value <= limit)

    def _held(
        self, rule: str, value: float | None, limit: float, holds: bool
    ) -> GateRule:
        if value is None:
            note = self.texts.text("gate_note.not_known")
            return _rule(rule, None, limit, "inconclusive", note)
        return _rule(rule, value, limit, "pass" if holds else "fail")

    def _tag(self, tag: str) -> GateRule:
        rule = f"must_pass_tags.{tag}"
        cases = self.numbers.tags.get(tag)
        if cases is None:
            note = self.texts.text("gate_note.no_tag", name=tag)
            return _rule(rule, None, 1.0, "inconclusive", note)
        share = cases.n_pass / cases.n_cases
        if cases.not_passed:
            note = self._cases("tag_failed", cases.not_passed, cases)
            return _rule(rule, share, 1.0, "fail", note)
        if cases.unevaluated:
            note = self._cases("tag_unevaluated", cases.unevaluated, cases)
            return _rule(rule, share, 1.0, "inconclusive", note)
        return _rule(rule, share, 1.0, "pass")

    def _cases(self, text: str, listed: list[str], cases: TagCases) -> str:
        return self.texts.text(
            f"gate_note.{text}",
            n=len(listed),
            total=cases.n_cases,
            cases=_named(listed),
        )

    def _alerts(self) -> GateRule:
        codes = self.numbers.critical_alerts
        note = None
        if codes:
            note = self.texts.text(
                "gate_note.alerts", n=len(codes), codes=_named(codes)
            )
        verdict: GateVerdict = "fail" if codes else "pass"
        return _rule("allow_critical_alerts", float(len(codes)), 0.0, verdict, note)

    def _must_haves(self) -> GateRule:
        rule = "regression.allow_must_have_lost"
        if self.comparison is None:
            return _rule(rule, None, 0.0, "inconclusive", self.why_not)
        n = self.comparison.counts.must_have_lost
        if n == 0:
            nothing_shared = self.comparison.overall.reason in _NOTHING_SHARED
            if nothing_shared:
                note = self.comparison.conclusion
                return _rule(rule, None, 0.0, "inconclusive", note)
            return _rule(rule, 0.0, 0.0, "pass")
        lost = [c.case_id for c in self.comparison.cases if c.must_have_lost]
        note = self.texts.text("gate_note.must_have_lost", n=n, cases=_named(lost))
        return _rule(rule, float(n), 0.0, "fail", note)

    def _dimension(self, dimension_id: str) -> Iterator[GateRule]:
        rules = self.policy.dimensions[dimension_id]
        prefix = f"dimensions.{dimension_id}"
        missing = dimension_id not in self.numbers.dimensions
        if rules.min_score is not None:
            value = self.numbers.dimensions.get(dimension_id)
            if missing:
                note = self.texts.text("gate_note.no_dimension", name=dimension_id)
                yield _rule(
                    f"{prefix}.min_score", None, rules.min_score, "inconclusive", note
                )
            else:
                holds = value is not None and value >= rules.min_score
                yield self._held(f"{prefix}.min_score", value, rules.min_score, holds)
        if rules.max_drop is not None:
            scores = self.comparison.dimensions if self.comparison else []
            found = next((s for s in scores if s.subject == dimension_id), None)
            rule = f"{prefix}.max_drop"
            if self.comparison is not None and found is None:
                note = self.texts.text("gate_note.no_dimension", name=dimension_id)
                yield _rule(rule, None, rules.max_drop, "inconclusive", note)
            else:
                yield self._drop(rule, rules.max_drop, rules.significance, found)

    def _drop(
        self,
        rule: str,
        limit: float,
        significance: Significance,
        score: ScoreComparison | None,
    ) -> GateRule:
        if score is None:
            return _rule(rule, None, limit, "inconclusive", self.why_not)
        if score.delta is None:
            return _rule(rule, None, limit, "inconclusive", score.conclusion)
        drop = 0.0 - score.delta
        if drop <= limit or (
            significance == "required" and score.verdict == "no_reliable_change"
        ):
            return _rule(rule, drop, limit, "pass", score.conclusion)
        if significance == "ignored" or score.verdict == "regressed":
            return _rule(rule, drop, limit, "fail", score.conclusion)
        note = self.texts.text("gate_note.not_significant", conclusion=score.conclusion)
        return _rule(rule, drop, limit, "inconclusive", note)


_MEASURES = {
    "min_score": "overall_score",
    "min_pass_rate": "pass_rate",
    "min_coverage": "coverage",
}
_CEILINGS = {
    ("latency", "max_p50_ms"): "latency_p50",
    ("latency", "max_p95_ms"): "latency_p95",
    ("tokens", "max_total"): "tokens_total",
    ("cost", "max_total"): "cost_total",
    ("cost", "max_per_round"): "cost_mean",
}
_NOTHING_SHARED = frozenset({"no_shared_case", "no_comparable_case"})


def _rule(
    rule: str,
    value: float | None,
    limit: float | None,
    verdict: GateVerdict,
    note: str | None = None,
) -> GateRule:
    return GateRule(rule=rule, value=value, limit=limit, verdict=verdict, note=note)


def _named(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _explain(error: ValidationError, name: str) -> str:
    lines = []
    for fault in error.errors():
        loc = [str(part) for part in fault["loc"]]
        key = ".".join(loc)
        if fault["type"] == "extra_forbidden":
            hint = did_you_mean(loc[-1], _keys(loc[:-1]))
            lines.append(f"{name}: there is no rule `{key}`{hint}")
        else:
            lines.append(
                f"{name}: {key}: {fault['msg'].lower()}, found {fault['input']!r}"
            )
    return "\n".join(lines)


def _keys(tables: Sequence[str]) -> list[str]:
    """The keys that a table of the policy may have."""
    model: Any = GatePolicy
    if tables:
        fields = GatePolicy.model_fields
        model = fields[tables[0]].annotation
        if tables[0] == "dimensions":
            model = model.__args__[1]
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return list(model.model_fields) if is_model else []
