"""The rules of a gate: compare a task's numbers with the limits of a policy.

All numbers come from the marts. A rule whose number is missing, or whose drop may be
chance, is inconclusive: it neither passes nor fails. On the first run of a title, the
rules about the baseline are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from promptlab.contracts.comparison import ScoreComparison
from promptlab.contracts.gate import (
    CaseList,
    GatePolicy,
    GateRule,
    GateVerdict,
    RuleVerdict,
    Significance,
    TagRules,
)
from promptlab.reports.gate.numbers import Changes, GateNumbers
from promptlab.reports.gate.policy import built_in_policy
from promptlab.reports.printing import Filters, clip
from promptlab.reports.queries import Row, from_json

_MOST_NAMED = 5


@dataclass(frozen=True)
class Gate:
    """One task's numbers and the rules for them."""

    policy: GatePolicy
    numbers: GateNumbers
    why_not: str | None
    """The reason for a missing baseline; ``None`` if there is one, or on a first
    run."""
    left_out: Sequence[str]
    """Files that were not loaded and may hold a newer run."""
    filters: Filters

    @property
    def has_built_in_limit(self) -> bool:
        """True if the policy refuses at the p that the marts take for an alarm."""
        limit = self.policy.regression.false_alarm
        return limit == built_in_policy().rules.regression.false_alarm

    @property
    def is_first_run(self) -> bool:
        """True for the first run."""
        return self.numbers.changes is None and self.why_not is None

    def rules(self) -> Iterator[GateRule]:
        """Judge every rule of the policy, in the order of its file."""
        policy = self.policy
        if self.left_out:
            names = [PurePosixPath(each).name for each in self.left_out]
            yield self._unknown(
                "all_files", None, "left_out", n=len(names), files=_named(names)
            )
        for row in self.numbers.partial:
            yield self._partial(row)
        yield from self._yardstick()
        for name in ("min_score", "min_pass_rate"):
            yield from self._of_all(name, getattr(policy, name))
        yield from self._coverage(policy.min_coverage)
        yield from self._at_most(
            "max_error_share", policy.max_error_share, "error_share"
        )
        if policy.min_tnr is not None:
            yield self._judges(policy.min_tnr)
        for tag in policy.must_pass_tags:
            rule = f"must_pass_tags.{tag}"
            yield self._tag(rule, tag, policy.regression.must_pass)
        for tag, rules in policy.tags.items():
            yield from self._rules_of_tag(tag, rules)
        if not policy.allow_critical_alerts:
            yield self._alerts()
        if not policy.allow_missed_targets:
            yield self._targets()
        if policy.regression.false_alarm is not None:
            tested = self._chance(policy.regression.false_alarm)
            yield from map(self._with_rounds, tested)
        if policy.regression.max_drop is not None:
            yield self._drop(
                "regression.max_drop",
                policy.regression.max_drop,
                policy.regression.significance,
                None if self.numbers.changes is None else self.numbers.changes.overall,
            )
        if not policy.regression.allow_must_have_lost:
            yield self._lost("must_have_lost")
        if not policy.regression.allow_newly_failing:
            yield self._lost("newly_failing")
        yield from self._coverage_of_baseline(policy.regression.min_coverage)
        for table, key in _CEILINGS:
            limit = getattr(getattr(policy, table), key)
            if limit is not None:
                yield self._ceiling(f"{table}.{key}", limit, _CEILINGS[table, key])
        for dimension_id in policy.dimensions:
            yield from self._dimension(dimension_id)

    def _partial(self, row: Row) -> GateRule:
        """Return inconclusive if rows are missing."""
        given = {"task": row["task_id"], "n": row["n"], "total": row["n_total"]}
        given |= {"names": _named(row["names"] or ())}
        return self._unknown("all_rows", None, row["why"], **given)

    def _with_rounds(self, rule: GateRule) -> GateRule:
        """Add to the note of a test that the rounds of a run count once."""
        chance = self.numbers.changes.chance if self.numbers.changes else None
        if chance is None or "rounds_alike" not in from_json(chance["assumptions"]):
            return rule
        note = self.filters.catalogue.text(
            "headline.rounds_alike",
            n=chance["n_rounds_run_per_case"],
            counted=chance["n_rounds_per_case"],
        )
        if rule.note:
            note = f"{rule.note}{self.filters.catalogue.text('headline.and')}{note}"
        return rule.model_copy(update={"note": note})

    def _yardstick(self) -> Iterator[GateRule]:
        """Require the dimensions and checks of the baseline; else breaks are missed.

        Yields:
            One rule: with what is missing, else with what the policy tolerates.
        """
        notes: dict[RuleVerdict, list[str]] = {"inconclusive": [], "pass": []}
        for gap, verdict in self._gaps():
            note = self.filters.catalogue.text(
                f"yardstick_gap.{gap['gap']}",
                name=gap["name"] or "",
                n=gap["n_now"],
                total=gap["n_before"],
                n_cached=gap["n_before"] - gap["n_now"],
            )
            notes[verdict].append(note)
        comma = self.filters.catalogue.text("headline.and")
        for verdict, found in notes.items():
            if found:
                yield _rule("same_yardstick", None, None, verdict, comma.join(found))
                return

    @property
    def may_be_intended(self) -> bool:
        """True if the task is judged otherwise, or lacks cases or variants."""
        changes = self.numbers.changes
        is_judged_otherwise = any(
            verdict == "inconclusive" and gap["gap"] in _CHANGED
            for gap, verdict in self._gaps()
        )
        has_removed_cases = changes is not None and (
            bool(changes.cases["removed"].n) or self._removed() is not None
        )
        return (
            is_judged_otherwise
            or has_removed_cases
            or (changes is not None and _fell_alike(changes.overall))
            or any(row["why"] in _GONE for row in self.numbers.partial)
        )

    def _gaps(self) -> Iterator[tuple[Row, RuleVerdict]]:
        """Return the gaps that count, and whether the policy tolerates them."""
        changes = self.numbers.changes
        for gap in changes.gaps if changes else ():
            if gap["gap"] == _REMOVED:  # a part of `testset_changed`
                continue
            if not gap["has_judged"] and gap["subject"] not in self.policy.dimensions:
                continue
            is_said = self.policy.min_coverage and not self.numbers.measures["coverage"]
            if gap["gap"] == "dimension_unscored" and is_said:
                continue
            share = gap["n_now"] / gap["n_before"]
            limit = self.policy.regression.min_coverage
            if gap["gap"] == "answers_cached":
                is_tolerated = share >= (self.policy.min_coverage or 0)
            else:
                is_tolerated = (
                    gap["gap"] in _IN_PARTS and limit is not None and share >= limit
                )
            yield gap, "pass" if is_tolerated else "inconclusive"

    def _chance(self, limit: float) -> Iterator[GateRule]:
        """More rounds fail than chance explains, or some fail and the cause is unclear.

        A tenth of the allowed false alarms is reserved for the overall score, which may
        fall without a changed verdict; all of them if there are no verdicts. The
        variants of a run share it.
        """
        rule, changes = "regression.false_alarm", self.numbers.changes
        if changes is None:
            yield self._not_compared(rule, limit)
            return
        chance, score = changes.chance, changes.overall
        is_tested = chance is not None or score.p_value is not None
        is_nothing_shared = score.reason in _NOTHING_SHARED
        n_lost = changes.cases["lost"].n + changes.cases["only_errors"].n
        if not is_tested and (is_nothing_shared or not n_lost):
            note = self._not_tested(score)
            yield _rule(rule, None, limit, "inconclusive", note)
            return
        of_scores = changes.scores
        is_alone = chance is None and of_scores is None
        share = limit if is_alone else 2 * _SCORES_SHARE * limit
        share /= max(1, self.numbers.task["n_variants"])
        has_dropped = (
            score.delta is not None
            and score.delta < 0
            and score.p_value is not None
            and score.p_value <= share
        )
        if of_scores is not None:
            if has_dropped and of_scores["p_scores"] > largest_p(limit):
                yield _rule(rule, score.p_value, limit, "fail", score.conclusion)
            else:
                yield self._of_scores(rule, limit, of_scores)
            yield from self._check(changes, limit)
            return
        p = score.p_value if chance is None else chance["p"]
        fails = chance is not None and chance["p"] <= largest_p(limit)
        if has_dropped and not fails:
            yield _rule(rule, score.p_value, limit, "fail", score.conclusion)
        elif fails and chance is not None:
            again = None if has_dropped else self._asked_again(changes, chance, limit)
            if again is None:
                yield self._by_chance(rule, limit, chance)
            else:
                note = self._note("recheck_decides")
                yield _rule(rule, chance["p"], limit, "pass", note)
                yield again
        elif chance is None and (
            score.verdict in _UNDECIDED
            or not (score.n_judged or self._has_only_scores(score))
        ):
            yield _rule(rule, p, limit, "inconclusive", self._not_tested(score))
            yield from self._check(changes, limit)
        elif _fell_alike(score):
            points = self.filters.delta(score.delta)
            note = self._note("fell_alike", n=score.n_pairs, points=points)
            yield _rule(rule, score.p_value, limit, "inconclusive", note)
            yield from self._check(changes, limit)
        else:
            yield _rule(rule, p, limit, "pass")
            yield from self._check(changes, limit)

    def _has_only_scores(self, score: ScoreComparison) -> bool:
        """True if nothing has a verdict, and the overall score was tested.

        Verdicts that only the baseline had are a gap of the yardstick.
        """
        return not self.numbers.task["n_judged"] and score.p_value is not None

    def _asked_again(
        self, changes: Changes, chance: Row, limit: float
    ) -> GateRule | None:
        """Return what a re-check decides about a run that fails more than by chance.

        Every suspected case has to be asked again: these were selected because they
        failed, so only their new rounds are independent. New rounds of a few cases do
        not refute a fall of many.
        """
        is_complete = chance["n_rechecked"] and not chance["n_not_asked_again"]
        if not is_complete or not chance["is_in_few_cases"]:
            return None
        again = self._rechecked("regression.on_check", changes, chance, limit)
        return again if again.verdict in ("pass", "fail") else None

    def _of_scores(self, rule: str, limit: float, tested: Row) -> GateRule:
        """Judge scores that are lower than chance explains."""
        p = tested["p_scores"]
        if p > largest_p(limit):
            return _rule(rule, p, limit, "pass")
        if "cases_independent" in (from_json(tested["assumptions"]) or []):
            return self._too_few_clusters(rule, limit, p, tested)
        note = self._note(
            "scores_fell",
            p=self.filters.p_value(p),
            n=tested["n_scores_listed"],
        )
        return _rule(rule, p, limit, "fail", note)

    def _by_chance(self, rule: str, limit: float, chance: Row) -> GateRule:
        """Judge more failures than chance explains, considering errors and clusters."""
        with_errors = chance["p_errors_as_passes"]
        if with_errors is not None and with_errors > limit:
            newest, before = chance["n_errors_now"], chance["n_errors_before"]
            note = self._note(
                "errors_decide" if before else "errors_now_decide",
                n=newest + before,
                newest=newest,
                before=before,
            )
            return _rule(rule, chance["p"], limit, "inconclusive", note)
        if "cases_independent" in (from_json(chance["assumptions"]) or []):
            return self._too_few_clusters(rule, limit, chance["p"], chance)
        is_alone = chance["p_alone"] <= limit
        note = self._note(
            "more_than_chance" if is_alone else "all_variants",
            p=self.filters.p_value(chance["p"]),
            expected=self.filters.number(chance["n_newly_failing_by_chance"], 1),
        )
        if chance["p_unchanged"] is not None and chance["p_unchanged"] <= limit:
            note += self._note("unchanged_fail_too")
        return _rule(rule, chance["p"], limit, "fail", note)

    def _too_few_clusters(
        self, rule: str, limit: float, p: float, tested: Row
    ) -> GateRule:
        note = self._note("few_clusters", n=tested["n_clusters"])
        return _rule(rule, p, limit, "inconclusive", note)

    def _check(self, changes: Changes, limit: float) -> Iterator[GateRule]:
        """Judge newly failing cases whose rounds cannot decide whether they broke.

        Only the new rounds of a re-check decide.
        """
        chance, broke = changes.chance, changes.cases["newly_failing"]
        n, names = broke.n, broke.case_ids
        if chance is not None and chance["n_newly_failing"] > n:
            n, names = chance["n_newly_failing"], chance["newly_failing"]
        if not n:
            return
        rule = "regression.on_check"
        if chance is not None and chance["n_rechecked"]:
            yield self._rechecked(rule, changes, chance, limit)
            return
        if chance is None or chance["n_newly_failing_by_chance"] is None:
            note = self._note("check", n=n, cases=_named(names))
        else:
            note = self._note(
                "check_by_chance",
                n=n,
                cases=_named(names),
                passing=chance["n_newly_passing"],
                expected=self.filters.number(chance["n_newly_failing_by_chance"], 1),
            )
        is_answered = any(row["n_rounds_rechecked"] for row in changes.records)
        if chance is not None and chance["n_rechecks"] and not is_answered:
            note += self._note("recheck_other")
        copied = [
            row["case_id"] for row in changes.records if row["n_copies_rechecked"]
        ]
        if copied:
            note = self._note("copies", n=len(copied), cases=_named(copied))
        yield _rule(rule, float(n), 0.0, self._asks, note)

    def _rechecked(
        self, rule: str, changes: Changes, chance: Row, limit: float
    ) -> GateRule:
        """Judge a re-check, which is final once every case was asked again."""
        again = [row for row in changes.records if row["is_rechecked"] is not None]
        missing = [row["case_id"] for row in again if not row["is_rechecked"]]
        answered = [row for row in again if row["n_rounds_rechecked"]]
        p = chance["p_recheck"]
        if chance["n_broken_alone"] or (p is not None and p <= limit):
            broken = confirmed(answered)
            note = self._note("confirmed", n=len(broken), cases=_named(broken))
            return _rule(rule, p, limit, "fail", note)
        if missing:
            note = self._note("recheck_missing", n=len(missing), cases=_named(missing))
            return _rule(rule, float(len(missing)), 0.0, self._asks, note)
        if len(answered) < len(again):
            errors = [row["case_id"] for row in again if not row["n_rounds_rechecked"]]
            note = self._note("recheck_errors", n=len(errors), cases=_named(errors))
            return _rule(rule, p, limit, "inconclusive", note)
        note = self._note("not_confirmed", n=len(again))
        return _rule(rule, p, limit, "pass", note)

    def _note(self, key: str, **values: Any) -> str:
        return self.filters.catalogue.text(f"gate_note.{key}", **values)

    def _unknown(
        self, rule: str, limit: float | None, key: str, **values: Any
    ) -> GateRule:
        """Return inconclusive for a rule without a value; *key* is that of the note."""
        return _rule(rule, None, limit, "inconclusive", self._note(key, **values))

    def _not_tested(self, score: ScoreComparison) -> str:
        if score.verdict == "not_comparable":
            return self._not_comparable(score)
        if score.n_judged:
            return score.conclusion
        return self._note("nothing_judged")

    def _of_all(self, rule: str, limit: float | None) -> Iterator[GateRule]:
        """Judge a number of the task; what has no result may be below the limit."""
        for held in self._at_least(rule, limit, _MEASURES[rule]):
            note = self._unjudged(rule, held.limit)
            if held.verdict == "pass" and note:
                yield _rule(rule, held.value, held.limit, "inconclusive", note)
            else:
                yield held

    def _unjudged(self, rule: str, limit: float | None) -> str | None:
        """Return a note on what a number leaves out, if that may change the answer."""
        task = self.numbers.task
        if rule == "min_pass_rate":
            total = task["n_cases"]
            if task["n_pass"] / max(1, total) >= (limit or 0):
                return None
            n = total - task["n_judged"]
            return self._note("cases_unevaluated", n=n, total=total)
        names = [
            row["name"]
            for row in self.numbers.dimensions.values()
            if row["is_weighed"] and row["score"] is None
        ]
        if not names:
            return None
        return self._note("dimensions_unscored", n=len(names), dimensions=_named(names))

    def _at_least(
        self, rule: str, limit: float | None, measure: str
    ) -> Iterator[GateRule]:
        value = self.numbers.measures.get(measure)
        if limit is not None:
            yield self._held(rule, value, limit, value is not None and value >= limit)

    def _coverage(self, limit: float | None) -> Iterator[GateRule]:
        """Without a scored round the result of the run is unknown."""
        if limit and self.numbers.measures.get("coverage") == 0:
            note = self._note("nothing_scored")
            yield _rule("min_coverage", 0.0, limit, "inconclusive", note)
        else:
            yield from self._at_least("min_coverage", limit, "coverage")

    def _judges(self, limit: float) -> GateRule:
        """Say of the worst judge whether people confirm that it catches failures."""
        judges = self.numbers.judges
        if not judges:
            return self._unknown("min_tnr", limit, "judge_unlabelled")
        unlabelled = [
            row["name"]
            for row in self.numbers.dimensions.values()
            if row["is_judged"] and row["decides"] and row["has_unlabelled_judge"]
        ]
        if unlabelled and all(row["dimension_id"] != "verdict" for row in judges):
            return self._unknown(
                "min_tnr",
                limit,
                "judges_unlabelled",
                n=len(unlabelled),
                dimensions=_named(unlabelled),
            )
        worst = min(
            judges,
            key=lambda row: (row["agreement_reason"] is None, row["tnr_low"] or 0.0),
        )
        low, reason = worst["tnr_low"], worst["agreement_reason"]
        if reason is None and low >= limit:
            return _rule("min_tnr", low, limit, "pass")
        note = self._note(
            "judge_misses" if reason is None else "judge_few_labels",
            judge=clip(worst["judge"], 80),
            dimension=clip(worst["dimension_id"], 60),
            n_fail=worst["n_labels_fail"],
            n_pass=worst["n_labels_pass"],
            tnr=self.filters.percent(worst["tnr"]),
            low=self.filters.percent(low),
            high=self.filters.percent(worst["tnr_high"]),
        )
        return _rule("min_tnr", low, limit, "inconclusive", note)

    def _at_most(
        self, rule: str, limit: float | None, measure: str
    ) -> Iterator[GateRule]:
        value = self.numbers.measures.get(measure)
        if limit is not None:
            yield self._held(rule, value, limit, value is not None and value <= limit)

    def _ceiling(self, rule: str, limit: float, measure: str) -> GateRule:
        """The values of a few rounds say little about all of them."""
        value = self.numbers.measures.get(measure)
        held = self._held(rule, value, limit, value is not None and value <= limit)
        n, total = self.numbers.measured.get(measure, 0), self._n_to_measure(measure)
        if value is None or n >= total:
            return held
        note = self._note("measured", n=n, total=total)
        least = self.policy.min_coverage
        if least is None:
            least = built_in_policy().rules.min_coverage or 0
        is_little = n < least * total
        if measure in _SUMS and n:  # what the rounds without a value would add
            is_little = is_little or value * self._n_answers() / n > limit
        unsure = is_little and held.verdict == "pass"
        verdict: RuleVerdict = "inconclusive" if unsure else held.verdict
        return _rule(rule, value, limit, verdict, note)

    def _n_to_measure(self, measure: str) -> int:
        """Return the number of rounds that can have a value of this measure."""
        if measure in _OF_ANSWERS:
            return self._n_answers()
        return self.numbers.measured.get("error_share", 0)

    def _n_answers(self) -> int:
        """Return the number of rounds that did not end in an error."""
        n_rounds = self.numbers.measured.get("error_share", 0)
        share = self.numbers.measures.get("error_share") or 0.0
        return n_rounds - round(share * n_rounds)

    def _held(
        self, rule: str, value: float | None, limit: float, holds: bool
    ) -> GateRule:
        if value is None:
            return self._unknown(rule, limit, "not_known")
        return _rule(rule, value, limit, "pass" if holds else "fail")

    def _tag(
        self, rule: str, tag: str, must_pass: Literal["majority", "every_round"]
    ) -> GateRule:
        cases = self.numbers.tags.get(tag)
        if cases is None:
            return self._unknown(rule, 1.0, "no_tag", name=tag)
        share = cases["n_pass"] / cases["n_cases"]
        failing, unsettled = cases["not_passed"] or [], list[str]()
        if must_pass == "majority":
            failing, unsettled = self._settled(
                failing, set(cases["mostly_failing"] or ())
            )
        if failing or unsettled:
            note = self._cases("tag_failed", failing or unsettled, cases)
            verdict: RuleVerdict = "fail" if failing else self._asks
            return _rule(rule, share, 1.0, verdict, note)
        if unjudged := self._unjudged_of_tag(cases):
            return _rule(rule, share, 1.0, "inconclusive", unjudged)
        return _rule(rule, share, 1.0, "pass")

    def _unjudged_of_tag(self, cases: Row) -> str | None:
        """Return a note on cases of a tag that are not judged, or lost the tag."""
        for name, text in (
            ("unevaluated", "tag_unevaluated"),
            ("missing", "tag_missing"),
        ):
            if cases[name]:
                return self._cases(text, cases[name], cases)
        return self._removed()

    def _removed(self) -> str | None:
        """Return a note on cases that left the testset: they may have had any tag."""
        changes = self.numbers.changes
        for gap in changes.gaps if changes else ():
            if gap["gap"] == _REMOVED:
                return self.filters.catalogue.text(
                    f"yardstick_gap.{_REMOVED}",
                    n=gap["n_before"] - gap["n_now"],
                    total=gap["n_before"],
                    name=gap["name"],
                )
        return None

    def _settled(
        self, failing: Sequence[str], mostly: Set[str], *, of_must_haves: bool = False
    ) -> tuple[list[str], list[str]]:
        """Return the cases with most rounds failing, and those still to run again.

        Of a case that was asked again, only the new rounds count.

        Args:
            failing: Cases with at least one failing round.
            mostly: Those of them that fail in most rounds.
            of_must_haves: Whether a round fails by its must-haves alone.
        """
        changes = self.numbers.changes
        again = {row["case_id"]: row for row in (changes.records if changes else ())}
        broken, unsettled = [], []
        for case_id in failing:
            row = again.get(case_id)
            if row is None or row["is_rechecked"] is None:
                broken += [case_id] if case_id in mostly else []
                continue
            n = row["n_rounds_rechecked"] or 0
            n_failed = (
                row["n_must_haves_lost_rechecked"] or 0
                if of_must_haves
                else n - (row["n_passed_rechecked"] or 0)
            )
            is_settled = bool(row["is_rechecked"] and n)
            if 2 * n_failed > n if is_settled else case_id in mostly:
                broken.append(case_id)
            elif not is_settled:
                unsettled.append(case_id)
        return broken, unsettled

    @property
    def _asks(self) -> RuleVerdict:
        """Return the verdict if more rounds are needed."""
        return "check" if self.policy.regression.on_check == "run_again" else "pass"

    def _rules_of_tag(self, tag: str, rules: TagRules) -> Iterator[GateRule]:
        prefix = f"tags.{tag}"
        cases, changes = self.numbers.tags.get(tag), self.numbers.changes
        if rules.min_pass_rate is not None:
            yield self._pass_rate_of_tag(tag, rules.min_pass_rate)
        if rules.false_alarm is not None:
            rule, limit = f"{prefix}.false_alarm", rules.false_alarm
            if changes is None:
                yield self._not_compared(rule, limit)
            elif cases is None:
                yield self._unknown(rule, limit, "no_tag", name=tag)
            elif tag not in changes.tag_p:
                yield self._unknown(rule, limit, "nothing_judged")
            else:
                p = changes.tag_p[tag]
                verdict: RuleVerdict = "fail" if p <= limit else "pass"
                note = None if p <= limit else self._unjudged_of_tag(cases)
                yield _rule(rule, p, limit, "inconclusive" if note else verdict, note)
        if rules.must_pass is not None:
            yield self._tag(f"{prefix}.must_pass", tag, rules.must_pass)

    def _pass_rate_of_tag(self, tag: str, limit: float) -> GateRule:
        """Judge the cases that have a verdict; the others may not decide."""
        rule, cases = f"tags.{tag}.min_pass_rate", self.numbers.tags.get(tag)
        if cases is None:
            return self._unknown(rule, limit, "no_tag", name=tag)
        n_judged = cases["n_pass"] + len(cases["not_passed"] or ())
        value = cases["n_pass"] / n_judged if n_judged else None
        unknown = None
        if value is None or value >= limit:
            if cases["missing"]:  # a case may have lost the tag and fail
                unknown = "missing"
            elif value is None or cases["n_pass"] / cases["n_cases"] < limit:
                unknown = "unevaluated"
        if unknown:
            note = self._cases(f"tag_{unknown}", cases[unknown], cases)
            return _rule(rule, value, limit, "inconclusive", note)
        if value is not None and value >= limit and (removed := self._removed()):
            return _rule(rule, value, limit, "inconclusive", removed)
        return self._held(rule, value, limit, value is not None and value >= limit)

    def _cases(self, text: str, listed: list[str], cases: Row) -> str:
        total = cases["n_cases"]
        return self._note(text, n=len(listed), total=total, cases=_named(listed))

    def _alerts(self) -> GateRule:
        codes = self.numbers.critical_alerts
        note = None
        if codes:
            note = self._note("alerts", n=len(codes), codes=_named(codes))
        verdict: GateVerdict = "fail" if codes else "pass"
        return _rule("allow_critical_alerts", float(len(codes)), 0.0, verdict, note)

    def _targets(self) -> GateRule:
        names = self.numbers.missed_targets
        verdict: GateVerdict = "fail" if names else "pass"
        note = _named(names) if names else None
        return _rule("allow_missed_targets", float(len(names)), 0.0, verdict, note)

    def _lost(self, kind: Literal["must_have_lost", "newly_failing"]) -> GateRule:
        """Judge a list of cases that must be empty; unknown if no case was judged."""
        rule = f"regression.allow_{kind}"
        changes = self.numbers.changes
        if changes is None:
            return self._not_compared(rule, 0.0)
        lost = changes.cases[kind]
        if kind == "must_have_lost" and self.policy.regression.must_pass == "majority":
            found = self._lost_by_majority(rule, lost, changes)
            if found is not None:
                return found
        if lost.n:
            note = self._note(kind, n=lost.n, cases=_named(lost.case_ids))
            return _rule(rule, float(lost.n), 0.0, "fail", note)
        if changes.overall.reason in _NOTHING_SHARED:
            note = self._not_comparable(changes.overall)
            return _rule(rule, None, 0.0, "inconclusive", note)
        if kind == "newly_failing" and not changes.overall.n_judged:
            return self._unknown(rule, 0.0, "nothing_judged")
        return _rule(rule, 0.0, 0.0, "pass")

    def _lost_by_majority(
        self, rule: str, lost: CaseList, changes: Changes
    ) -> GateRule | None:
        """Ask to run must-haves again that fail in fewer than most rounds."""
        if changes.chance is None or not lost.n:
            return None
        broken, unsettled = self._settled_must_haves(lost, changes.chance)
        if broken:
            note = self._note("must_have_lost", n=len(broken), cases=_named(broken))
            return _rule(rule, float(len(broken)), 0.0, "fail", note)
        n = len(unsettled) or lost.n
        note = self._note(
            "must_have_lost" if unsettled else "must_have_kept",
            n=n,
            cases=_named(unsettled or lost.case_ids),
        )
        return _rule(rule, float(n), 0.0, self._asks if unsettled else "pass", note)

    def _settled_must_haves(
        self, lost: CaseList, chance: Row
    ) -> tuple[list[str], list[str]]:
        """Return the cases that fail in most rounds, and those to run again."""
        passing = set(chance["mostly_passing"] or ())
        mostly = {case_id for case_id in lost.case_ids if case_id not in passing}
        return self._settled(lost.case_ids, mostly, of_must_haves=True)

    def must_haves_lost(self, changes: Changes) -> CaseList:
        """Return the cases that lost a must-have, by the rule of the policy."""
        lost = changes.cases["must_have_lost"]
        if self.policy.regression.must_pass != "majority" or changes.chance is None:
            return lost
        broken, _ = self._settled_must_haves(lost, changes.chance)
        return CaseList(n=len(broken), case_ids=broken)

    def _coverage_of_baseline(self, limit: float | None) -> Iterator[GateRule]:
        """A broken case may be among the cases that are not compared.

        Yields:
            Nothing without this rule in the policy if no case is missing.
        """
        rule = "regression.min_coverage"
        changes = self.numbers.changes
        if changes is None:
            if limit is not None:
                yield self._not_compared(rule, limit)
            return
        missing = changes.cases["not_compared"]
        share = 1 - missing.n / changes.n_cases if changes.n_cases else 1.0
        if not missing.n:
            if limit is not None:
                yield _rule(rule, share, limit, "pass")
            return
        note = self._note(
            "not_all_compared",
            n=missing.n,
            total=changes.n_cases,
            cases=_named(missing.case_ids),
        )
        least = 1.0 if limit is None else limit
        verdict: RuleVerdict = "pass" if share >= least else "inconclusive"
        yield _rule(rule, share, least, verdict, note)

    def _not_compared(self, rule: str, limit: float) -> GateRule:
        if self.is_first_run:
            note = self._note("first_run")
            required = self.policy.regression.require_baseline
            verdict: RuleVerdict = "inconclusive" if required else "skipped"
            return _rule(rule, None, limit, verdict, note)
        return _rule(rule, None, limit, "inconclusive", self.why_not)

    def _not_comparable(self, score: ScoreComparison) -> str:
        reason = self.filters.catalogue.text(f"comparison_reason.{score.reason}")
        return self._note("not_comparable", reason=reason)

    def _dimension(self, dimension_id: str) -> Iterator[GateRule]:
        rules = self.policy.dimensions[dimension_id]
        prefix = f"dimensions.{dimension_id}"
        missing = dimension_id not in self.numbers.dimensions
        if rules.min_score is not None:
            rule, limit = f"{prefix}.min_score", rules.min_score
            if missing:
                yield self._unknown(rule, limit, "no_dimension", name=dimension_id)
            else:
                value = self.numbers.dimensions[dimension_id]["score"]
                yield self._held(
                    rule, value, limit, value is not None and value >= limit
                )
        if rules.max_drop is not None:
            changes = self.numbers.changes
            found = None if changes is None else changes.dimensions.get(dimension_id)
            rule, limit = f"{prefix}.max_drop", rules.max_drop
            if changes is not None and found is None:
                yield self._unknown(rule, limit, "no_dimension", name=dimension_id)
            else:
                yield self._drop(rule, limit, rules.significance, found)

    def _drop(
        self,
        rule: str,
        limit: float,
        significance: Significance,
        score: ScoreComparison | None,
    ) -> GateRule:
        if score is None:
            return self._not_compared(rule, limit)
        if score.delta is None:
            note = self._not_comparable(score)
            return _rule(rule, None, limit, "inconclusive", note)
        if score.delta >= 0:
            rise = self.filters.delta(score.delta)
            note = self._note("no_drop", points=rise)
            return _rule(rule, 0.0, limit, "pass", note)
        drop = -score.delta
        if drop <= limit or (
            significance == "required" and score.verdict == "no_reliable_change"
        ):
            points = self.filters.points(drop)
            note = self._note("small_drop", points=points)
            return _rule(rule, drop, limit, "pass", note)
        if significance == "ignored" or score.verdict == "regressed":
            return _rule(rule, drop, limit, "fail", score.conclusion)
        note = self._note("not_significant", conclusion=score.conclusion)
        return _rule(rule, drop, limit, "inconclusive", note)


def largest_p(false_alarm: float) -> float:
    """Return the largest p of the test of verdicts, or of scores, that is refused.

    Of the built-in policy it is ``max_p`` of the seed ``verdict_policy``.
    """
    return (1 - _SCORES_SHARE) * false_alarm


def confirmed(records: Sequence[Row]) -> list[str]:
    """Return the cases with fewer passing new rounds than before, the worst first."""

    def change(row: Row) -> float:
        before = row["n_rounds_rechecked_before"]
        passed = row["n_passed_rechecked_before"] / before if before else 1.0
        return float(row["n_passed_rechecked"] / row["n_rounds_rechecked"] - passed)

    found = [row for row in records if row["n_rounds_rechecked"] and change(row) < 0]
    return [row["case_id"] for row in sorted(found, key=change)]


_SCORES_SHARE = 0.1
"""Share of the false alarms for the overall score if there are also verdicts.
Its p-value is two-sided and only a drop counts, so the limit is twice that.
"""

_IN_PARTS = frozenset(
    {
        "assertions_unjudged",
        "baseline_unjudged",
        "baseline_unscored",
        "dimension_unscored",
        "must_haves_unjudged",
        "rounds_missing",
        "testset_changed",
    }
)
"""Gaps that a policy may tolerate, by its ``[regression] min_coverage``."""

_REMOVED = "testset_cases_removed"

_GONE = frozenset({"titles_gone", "variants_gone"})
"""Parts of the run before that are missing."""

_CHANGED = frozenset(
    {
        "assertions_unjudged",
        "baseline_of_another_testset",
        "baseline_unjudged",
        "baseline_unscored",
        "dimension_changed",
        "dimension_removed",
        "dimension_unweighted",
        "judge_changed",
        "target_loosened",
        "testset_changed",
        "verdict_removed",
    }
)
"""Gaps that later runs keep if the evaluation was changed on purpose."""

_MEASURES = {
    "min_score": "overall_score",
    "min_pass_rate": "pass_rate",
}
_CEILINGS = {
    ("latency", "max_p50_ms"): "latency_p50",
    ("latency", "max_p95_ms"): "latency_p95",
    ("tokens", "max_total"): "tokens_total",
    ("cost", "max_total"): "cost_total",
    ("cost", "max_per_round"): "cost_mean",
}
_OF_ANSWERS = frozenset({"latency_p50", "latency_p95"})
_SUMS = frozenset({"tokens_total", "cost_total"})
_UNDECIDED = frozenset({"inconclusive", "not_comparable"})
_NOTHING_SHARED = frozenset({"no_shared_case", "no_comparable_case"})


def _rule(
    rule: str,
    value: float | None,
    limit: float | None,
    verdict: RuleVerdict,
    note: str | None = None,
) -> GateRule:
    return GateRule(rule=rule, value=value, limit=limit, verdict=verdict, note=note)


def _fell_alike(score: ScoreComparison) -> bool:
    """Return true if five cases or more fell by the same amount.

    Without spread p depends on their number alone: below eight or nine cases even a
    fall to 0 would be called chance.
    """
    has_spread = score.ci_low is not None
    is_fall = score.delta is not None and score.delta < 0
    is_tested = score.verdict == "regressed" or score.reason == "no_spread"
    return is_fall and is_tested and not has_spread


def _named(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
