"""The rules of a gate: a table of numbers and limits, and a few rules with a word more.

A number that is missing, or that too few cases or rounds give, is inconclusive: it
neither passes nor fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from promptlab.contracts.gate import GatePolicy, GateRule, RuleVerdict
from promptlab.reports.gate.facts import Fact, Facts
from promptlab.reports.printing import clip
from promptlab.reports.sentences import Speech

_MOST_NAMED = 5
_DEFAULT_COVERAGE = 0.8

Part = Literal["all", "cases", "dimensions", "rounds", "sum"]


class Limit(NamedTuple):
    """A rule that compares one number with one limit."""

    rule: str
    """Key of the policy, and rule of ``fct_gate_facts``."""
    is_minimum: bool
    counted: Part = "all"
    """The parts that may have no value; the limit must hold for them, too."""


LIMITS = (
    Limit("min_score", True, "dimensions"),
    Limit("min_pass_rate", True, "cases"),
    Limit("min_coverage", True),
    Limit("max_error_share", False),
    Limit("latency.max_p50_ms", False, "rounds"),
    Limit("latency.max_p95_ms", False, "rounds"),
    Limit("tokens.max_total", False, "sum"),
    Limit("cost.max_total", False, "sum"),
    Limit("cost.max_per_round", False, "rounds"),
)


@dataclass(frozen=True)
class Gate:
    """The facts of one task, and the rules for them."""

    policy: GatePolicy
    facts: Facts
    left_out: Sequence[str]
    """Files that were not loaded and may hold a newer run."""
    speech: Speech

    # ---------- the verdict: odds, the whole rate, cases that are not compared

    @property
    def is_accepted(self) -> bool:
        """True if a person accepted the run as it should be."""
        return bool(self.facts.task["is_accepted"])

    @property
    def is_refused_by_odds(self) -> bool:
        """True if a case of the run probably broke, and this variant is among those.

        Where no single case is likely to have broken, all variants are.
        """
        task, policy = self.facts.task, self.policy
        if self.is_accepted or task["is_first_run"] or task["odds"] is None:
            return False
        if task["odds"] < policy.refuse_odds:
            return False
        of_variant, of_run = self._odds("case_odds"), self._odds("case_odds_of_run")
        return of_variant >= 1 or of_run < 1

    def _odds(self, rule: str) -> float:
        fact = self.facts.fact(rule)
        return fact.value or 0.0 if fact else 0.0

    @property
    def has_fallen(self) -> bool:
        """True if the whole pass rate, or score, fell by more than chance allows."""
        task = self.facts.task
        p, limit = task["p_whole"], task["p_whole_limit"]
        return not self.is_accepted and p is not None and p <= limit

    def rules(self) -> Iterator[GateRule]:
        """Judge every rule of the policy, those against the earlier runs first."""
        yield from self._against_earlier_runs()
        for limit in LIMITS:
            table, _, key = limit.rule.rpartition(".")
            owner = getattr(self.policy, table) if table else self.policy
            wanted = getattr(owner, key)
            if wanted is not None:
                yield self._limit(limit, wanted)
        if self.policy.min_tnr is not None:
            yield self._judges(self.policy.min_tnr)
        for tag in self.policy.must_pass_tags:
            yield self._must_pass(f"must_pass_tags.{tag}", tag, "majority")
        for tag, of_tag in self.policy.tags.items():
            if of_tag.min_pass_rate is not None:
                yield self._rate_of_tag(tag, of_tag.min_pass_rate)
            if of_tag.must_pass is not None:
                yield self._must_pass(f"tags.{tag}.must_pass", tag, of_tag.must_pass)
        if not self.policy.allow_critical_alerts:
            yield self._none_of("allow_critical_alerts", "alerts")
        if not self.policy.allow_missed_targets:
            yield self._none_of("allow_missed_targets", "targets")
        drop = self.policy.regression
        if drop.max_drop is not None:
            fact = self.facts.fact("regression.max_drop")
            yield self._drop("regression.max_drop", drop.max_drop, fact,
                             is_any=drop.significance == "ignored")  # fmt: skip
        yield from self._dimensions()

    def _against_earlier_runs(self) -> Iterator[GateRule]:
        task = self.facts.task
        if self.left_out:
            names = [PurePosixPath(file).name for file in self.left_out]
            yield self._unknown(
                "all_files", None, "left_out", n=len(names), files=self._named(names)
            )
        for fact in self.facts.of_rule.get("all_rows", []):
            note = self.speech.text(
                f"rows_missing.{fact.reason}", n=fact.n, total=fact.n_total
            )
            yield _rule("all_rows", None, None, "inconclusive", note)
        if self.policy.require_history and task["is_first_run"]:
            yield self._unknown("require_history", None, "first_run")
        # a later run without any case misses all of the one before, which is a gap
        has_cases = task["n_cases"] or task["is_first_run"]
        is_unjudged = has_cases and not task["n_judged"] and not task["measure"]
        if is_unjudged and not (task["is_first_run"] and task["has_new_answers"]):
            yield self._unknown("judged_cases", None, "nothing_judged")
        elif has_cases and not task["has_new_answers"]:
            code = "cached" if not task["n_error"] else "cached_or_errors"
            is_all = task["n_error"] == task["n_judged"] > 0
            yield self._unknown("new_answers", None, "all_errors" if is_all else code)
        yield self._odds_of_run()
        yield self._whole_rate()
        yield self._compared()
        if self.policy.newly_failing == "stop" and not self.is_accepted:
            yield self._newly_failing()

    def _odds_of_run(self) -> GateRule:
        task, limit = self.facts.task, self.policy.refuse_odds
        verdict: RuleVerdict = "fail" if self.is_refused_by_odds else "pass"
        note = None
        if self.is_accepted:
            note = self._note("accepted", reason=task["accept_reason"])
        elif task["odds"] is None:
            verdict = "skipped"
            note = self._note("first_run" if task["is_first_run"] else "no_history")
        elif verdict == "pass" and task["odds"] >= limit:
            note = self._note("other_variants")
        return _rule("refuse_odds", task["odds"], limit, verdict, note)

    def _whole_rate(self) -> GateRule:
        task = self.facts.task
        p, limit = task["p_whole"], task["p_whole_limit"]
        if p is None:
            return _rule("whole_rate", None, limit, "skipped", self._note("not_tested"))
        verdict: RuleVerdict = "fail" if self.has_fallen else "pass"
        return _rule("whole_rate", p, limit, verdict)

    def _compared(self) -> GateRule:
        task, limit = self.facts.task, self.policy.min_compared
        n, total = task["n_cases_compared"], task["n_cases_before"]
        if not total and task["is_first_run"]:
            note = self._note("first_run")
            return _rule("min_compared", None, limit, "skipped", note)
        if not total:  # no case of the last run has a score: none is compared
            verdict: RuleVerdict = "skipped" if self.is_accepted else "inconclusive"
            return _rule("min_compared", 0.0, limit, verdict, self._note("no_history"))
        enough = n / total >= limit or self.is_accepted
        verdict = "pass" if enough else "inconclusive"
        note = self._note("not_compared", n=total - n, total=total)
        return _rule(
            "min_compared", n / total, limit, verdict, note if n < total else None
        )

    def _newly_failing(self) -> GateRule:
        failing = [
            row["case_id"]
            for row in self.facts.changed_cases
            if row["is_newly_failing"] and not row["is_known_flaky"]
        ]
        verdict: RuleVerdict = "check" if failing else "pass"
        note = self._named_note("newly_failing", failing) if failing else None
        return _rule("newly_failing", float(len(failing)), 0.0, verdict, note)

    # ---------- numbers of the task

    def _limit(self, limit: Limit, wanted: float) -> GateRule:
        fact = self.facts.fact(limit.rule)
        held = self._held(limit.rule, fact, wanted, is_minimum=limit.is_minimum)
        if limit.rule == "min_coverage" and held.verdict == "fail":
            # an answer without a score, as of a judge that broke, is not a bad one
            note = None if held.value else self._note("nothing_scored")
            return _rule(limit.rule, held.value, wanted, "inconclusive", note)
        if held.verdict != "pass" or fact is None or fact.value is None:
            return held
        n, total = fact.n or 0, fact.n_total or 0
        if limit.counted == "all" or n >= total:
            return held
        least = self.policy.min_coverage
        needed = _DEFAULT_COVERAGE if least is None else least
        if limit.counted == "cases":
            is_enough = fact.value * n / total >= wanted
            note = self._note("cases_unevaluated", n=total - n, total=total)
        elif limit.counted == "dimensions":
            is_enough = False
            names = [self._dimension_name(name) for name in fact.names]
            note = self._note(
                "dimensions_unscored", n=len(names), dimensions=self._named(names)
            )
        else:
            is_enough = n >= needed * total
            if limit.counted == "sum" and n:  # what the other rounds would add
                is_enough = is_enough and fact.value * total / n <= wanted
            note = self._note("measured", n=n, total=total)
        verdict: RuleVerdict = "pass" if is_enough else "inconclusive"
        shown = note if not is_enough or limit.counted in ("rounds", "sum") else None
        return _rule(limit.rule, fact.value, wanted, verdict, shown)

    def _held(
        self, rule: str, fact: Fact | None, limit: float, *, is_minimum: bool
    ) -> GateRule:
        if fact is None or fact.value is None:
            return self._unknown(rule, limit, "not_known")
        holds = fact.value >= limit if is_minimum else fact.value <= limit
        return _rule(rule, fact.value, limit, "pass" if holds else "fail")

    def _none_of(self, rule: str, note: str) -> GateRule:
        fact = self.facts.fact(rule)
        names = list(fact.names) if fact else []
        if rule == "allow_missed_targets":
            names = [self._dimension_name(name) for name in names]
        verdict: RuleVerdict = "fail" if names else "pass"
        shown = self._named_note(note, names) if names else None
        return _rule(rule, float(len(names)), 0.0, verdict, shown)

    def _judges(self, limit: float) -> GateRule:
        """Say of the worst judge whether people confirm that it catches failures."""
        judges = self.facts.judges
        unlabelled = self.facts.of_rule.get("min_tnr", [])
        if not judges:
            return self._unknown("min_tnr", limit, "judge_unlabelled")
        if unlabelled:
            names = [self._dimension_name(fact.subject or "") for fact in unlabelled]
            return self._unknown(
                "min_tnr",
                limit,
                "judges_unlabelled",
                n=len(names),
                dimensions=self._named(names),
            )
        worst = min(
            judges,
            key=lambda judge: (judge["judge_reason"] is None, judge["tnr_low"] or 0.0),
        )
        low, is_sure = worst["tnr_low"], worst["judge_reason"] is None
        if is_sure and low is not None and low >= limit:
            return _rule("min_tnr", low, limit, "pass")
        percent = self.speech.filters.percent
        note = self._note(
            "judge_misses" if is_sure else "judge_few_labels",
            judge=clip(worst["judge"], 80),
            dimension=clip(worst["dimension_id"], 60),
            n_fail=worst["n_labels_fail"],
            n_pass=worst["n_labels_pass"],
            tnr=percent(worst["tnr"]),
            low=percent(low),
            high=percent(worst["tnr_high"]),
        )
        return _rule("min_tnr", low, limit, "inconclusive", note)

    # ---------- tags and dimensions

    def _must_pass(self, rule: str, tag: str, how: str) -> GateRule:
        failing = self.facts.fact(f"tags.must_pass.{how}", tag)
        if failing is None:
            return self._unknown(rule, 1.0, "no_tag", name=tag)
        if failing.n:
            note = self._of_tag("gate_note.tag_failed", failing)
            return _rule(rule, failing.value, 1.0, "fail", note)
        rate = self.facts.fact("tags.min_pass_rate", tag)
        if rate and rate.names:
            note = self._of_tag(f"tag_unknown.{rate.reason}", rate)
            return _rule(rule, failing.value, 1.0, "inconclusive", note)
        return _rule(rule, failing.value, 1.0, "pass")

    def _rate_of_tag(self, tag: str, limit: float) -> GateRule:
        """Judge the cases that have a verdict; the others may not decide."""
        rule, fact = f"tags.{tag}.min_pass_rate", self.facts.fact(
            "tags.min_pass_rate", tag
        )  # fmt: skip
        if fact is None:
            return self._unknown(rule, limit, "no_tag", name=tag)
        value, n, total = fact.value, fact.n or 0, fact.n_total or 1
        if fact.names and (value is None or value >= limit > value * n / total):
            note = self._of_tag(f"tag_unknown.{fact.reason}", fact)
            return _rule(rule, value, limit, "inconclusive", note)
        return self._held(rule, fact, limit, is_minimum=True)

    def _dimensions(self) -> Iterator[GateRule]:
        for name, rules in self.policy.dimensions.items():
            prefix = f"dimensions.{name}"
            score = self.facts.fact("dimensions.min_score", name)
            for key in ("min_score", "max_drop"):
                limit = getattr(rules, key)
                if limit is None:
                    continue
                if score is None:
                    yield self._unknown(f"{prefix}.{key}", limit, "no_dimension",
                                        name=name)  # fmt: skip
                elif key == "min_score":
                    yield self._held(f"{prefix}.{key}", score, limit, is_minimum=True)
                else:
                    fact = self.facts.fact("dimensions.max_drop", name)
                    is_any = rules.significance == "ignored"
                    yield self._drop(f"{prefix}.{key}", limit, fact, is_any=is_any)

    def _drop(
        self, rule: str, limit: float, fact: Fact | None, *, is_any: bool
    ) -> GateRule:
        """Judge a drop below the baseline of the page, paired by case."""
        if fact is None:
            note = self._note("no_baseline")
            return _rule(rule, None, limit, "skipped", note)
        if fact.value is None:
            reason = self.speech.label("comparison_reason", fact.reason)
            return self._unknown(rule, limit, "not_comparable", reason=reason)
        drop = max(0.0, fact.value)
        if drop <= limit or (not is_any and fact.reason == "no_reliable_change"):
            return _rule(rule, drop, limit, "pass")
        if is_any or fact.reason == "regressed":
            return _rule(rule, drop, limit, "fail")
        return _rule(rule, drop, limit, "inconclusive", self._note("not_significant"))

    # ---------- words

    def _dimension_name(self, dimension_id: str) -> str:
        fact = self.facts.fact("dimensions.min_score", dimension_id)
        name = fact.names[0] if fact and fact.names else dimension_id
        return self.speech.dimension(dimension_id, name) or dimension_id

    def _of_tag(self, key: str, fact: Fact) -> str:
        n = len(fact.names)
        cases = self._named(fact.names)
        return self.speech.text(key, n=n, total=fact.n_total, cases=cases)

    def _named_note(self, key: str, names: Sequence[str]) -> str:
        return self._note(key, n=len(names), names=self._named(names))

    def _named(self, names: Sequence[str]) -> str:
        comma = self.speech.text("word.in_list")
        more = f"{comma}…" if len(names) > _MOST_NAMED else ""
        return comma.join(names[:_MOST_NAMED]) + more

    def _note(self, key: str, **values: Any) -> str:
        return self.speech.text(f"gate_note.{key}", **values)

    def _unknown(
        self, rule: str, limit: float | None, key: str, **values: Any
    ) -> GateRule:
        """Return inconclusive for a rule without a value; *key* is that of the note."""
        return _rule(rule, None, limit, "inconclusive", self._note(key, **values))


def _rule(
    rule: str,
    value: float | None,
    limit: float | None,
    verdict: RuleVerdict,
    note: str | None = None,
) -> GateRule:
    return GateRule(rule=rule, value=value, limit=limit, verdict=verdict, note=note)
