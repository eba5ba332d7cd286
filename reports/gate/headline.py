"""The decision of the gate in one sentence, the same on every page, mail and command.

The words are in ``reports/texts``; this module fills in facts and mentions chance only
once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

from promptlab.contracts.gate import (
    CaseList,
    CaseRecord,
    GateResult,
    GateRule,
    HeadlinePart,
)
from promptlab.reports.printing import clip, visible
from promptlab.reports.sentences import Speech

MOST_NAMED = 3
"""Maximum number of names in a list of the sentence."""

_AS_CODE = re.compile(r"[\w.:/+=@-]+", re.ASCII)
"""Ids of runs that are shown as code in a comment."""
_MOST_REASONS = 3
_LONGEST_ID = 60
_MOST_ODDS = 1_000
_BY_OTHER_WORDS = frozenset(
    {"refuse_odds", "whole_rate", "min_compared", "newly_failing"}
)
"""Rules that have their own clause."""
_REASON_OF_CHANGE = {
    "cases_removed": "gone",
    "questions": "question",
    "assertions": "assertions",
    "judge": "judge",
}
"""Change → the reason under which its cases are listed as not compared."""
_SHARES = frozenset(
    {"min_pass_rate", "min_coverage", "max_error_share", "must_pass_tags"}
)


Clause = list[HeadlinePart]


def headline(result: GateResult, *, with_names: bool = True) -> str:
    """Return the decision as one sentence, on one line."""
    return one_line(headline_parts(result, with_names=with_names))


def headline_parts(
    result: GateResult, *, with_records: bool = True, with_names: bool = True
) -> list[HeadlinePart]:
    """Return the sentence in pieces, the decision first, so that a page links cases.

    Without records it is shorter, for lists of many decisions; without names it only
    counts the cases, for a page that lists them below.
    """
    words = _Words(
        result,
        Speech.for_language(result.lang),
        MOST_NAMED,
        with_records=with_records,
        with_names=with_names,
    )
    return [*words.sentence(None), HeadlinePart(words.text("headline.end"))]


def brief(result: GateResult, most: int) -> str:
    """Return the decision and its first reason, for short texts.

    *most* is the width; a Chinese character takes two columns.
    """
    for named in range(MOST_NAMED, -1, -1):
        words = _Words(
            result, Speech.for_language(result.lang), named, with_records=False
        )
        text = one_line(words.sentence(1))
        if columns(text) <= most:
            return text
    while columns(text) > most:
        text = text[:-2] + "…"
    return text


def one_line(pieces: Iterable[HeadlinePart]) -> str:
    """Return the text of these pieces, hidden characters named."""
    return "".join(visible(piece.text) for piece in pieces)


def record_text(record: CaseRecord, speech: Speech, *, is_new: bool) -> str:
    """Return ``0 of 2 since 14 Oct (prompt v7), 24 of 24 before``.

    *is_new*: the case fails since this run only.
    """
    prompt = ""
    if record.since_prompt and record.since_prompt != "unknown" and not is_new:
        prompt = speech.text("case_record.prompt", prompt=record.since_prompt)
    text = _rounds(record, speech, is_new=is_new, prompt=prompt)
    if record.n_errors:
        text += speech.text("case_record.errors", n=record.n_errors)
    if record.is_known_flaky:
        text += speech.text("case_record.known_flaky")
    return text


def next_step(result: GateResult) -> str | None:
    """Return what to do next, in one line; ``None`` where there is nothing to do.

    It is for a terminal and the comment of a pull request, where commands can be run.
    """
    if not result.advice:
        return None
    speech = Speech.for_language(result.lang)
    run = shlex.quote(result.run_id)
    steps = [
        speech.text(f"advice.{code}", run=run, title=result.title)
        for code in result.advice
    ]
    return speech.text("headline.next", steps=speech.text("headline.or").join(steps))


def next_step_as_code(result: GateResult) -> str | None:
    """Return the same with its commands as Markdown's code.

    It is ``None`` where a text that is not ours could end or leave the code.
    """
    if "title" in result.advice or not _AS_CODE.fullmatch(result.run_id):
        return None
    step = next_step(result)
    # a template escapes quotes, which code would show
    return step and step.replace('"…"', "…")


def _rounds(record: CaseRecord, speech: Speech, *, is_new: bool, prompt: str) -> str:
    when = "new" if is_new or record.since_at is None else "since"
    return speech.text(f"case_record.{when}", vars(record) | {"prompt": prompt})


def columns(text: str) -> int:
    """Return the width of a text; a Chinese character takes two columns."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


@dataclass(frozen=True)
class _Words:
    """The clauses of one result."""

    result: GateResult
    speech: Speech
    named: int
    """Maximum number of names in a list."""
    with_records: bool = True
    with_names: bool = True

    def text(self, key: str, /, **values: Any) -> str:
        return self.speech.text(key, **values)

    def sentence(self, n_clauses: int | None) -> list[HeadlinePart]:
        """Return the decision and its first clauses, all of them by default."""
        pieces = [HeadlinePart(self.text(f"decision.{self.result.decision}"))]
        joint = "headline.and" if self.result.decision == "first_run" else "word.colon"
        for clause in list(self._clauses())[:n_clauses]:
            is_list = clause[0].text.startswith(self.text("word.comma").rstrip())
            pieces += clause if is_list else [HeadlinePart(self.text(joint)), *clause]
            joint = "headline.and"
        return pieces

    def _clauses(self) -> Iterator[Clause]:
        result = self.result
        if result.accept_reason is not None:
            key = "accepted_because" if result.accept_reason else "accepted"
            yield [
                HeadlinePart(self.text(f"headline.{key}", reason=result.accept_reason))
            ]
        yield from self._by_decision()
        if result.n_not_compared and result.decision != "cannot_tell":
            yield self._not_compared()
        yield from self._changes()

    def _by_decision(self) -> Iterator[Clause]:
        result = self.result
        if result.decision == "ship":
            if result.watched.n:
                yield self._watched("headline.watch")
            elif result.accept_reason is None:
                key = "not_lower" if result.measure == "score" else "nothing_broke"
                yield [HeadlinePart(self.text(f"headline.{key}"))]
            return
        if result.decision == "first_run" and result.n_judged:
            n, total = result.n_pass, result.n_judged
            yield [HeadlinePart(self.text("headline.passed", n=n, total=total))]
        yield from self._refused()
        if result.decision == "cannot_tell" and result.n_not_compared:
            yield self._not_compared()
        yield from self._by_rules()
        if result.watched.n:
            is_asked = result.decision == "run_again"
            key = "newly_fail" if is_asked else "also_watch"
            yield self._watched(f"headline.{key}")

    def _refused(self) -> Iterator[Clause]:
        """Return what broke, or the odds of all together, and the whole rate."""
        result, rules = self.result, {r.rule: r.verdict for r in self.result.rules}
        by_odds = rules.get("refuse_odds") == "fail"
        if result.broke.n:
            n = result.broke.n
            yield self._with_cases(self.text("headline.broke", n=n), result.broke)
        elif by_odds:
            key = "together" if result.watched.n else "run_together"
            odds = min(result.odds or 0, _MOST_ODDS)
            shown = self.speech.filters.number(odds, 0 if odds >= 10 else 1)
            over = self.text("headline.over") if odds == _MOST_ODDS else ""
            text = self.text(
                f"headline.{key}", n=result.watched.n, odds=f"{over}{shown}"
            )
            yield [HeadlinePart(text)]
        if rules.get("whole_rate") == "fail":
            subject = "score" if result.measure == "score" else "rate"
            before, after = result.rate_before, result.rate_now
            text = self.text(f"headline.whole_{subject}", before=before, after=after)
            if not by_odds:  # one statement about chance
                p = result.p_whole or 0
                text += self.text("headline.by_chance", p=_p(p))
            yield [HeadlinePart(text)]

    def _by_rules(self) -> Iterator[Clause]:
        """Return the other rules that decided."""
        verdict = {"do_not_ship": "fail", "cannot_tell": "inconclusive"}.get(
            self.result.decision
        )
        texts = [
            self._rule(rule)
            for rule in self.result.rules
            if rule.verdict == verdict
            and (rule.rule not in _BY_OTHER_WORDS or self._is_nothing_compared(rule))
            and not self._is_among_gaps(rule)
        ]
        reasons = list(dict.fromkeys(texts))
        for text in reasons[:_MOST_REASONS]:
            yield [HeadlinePart(text)]
        if len(reasons) > _MOST_REASONS:
            yield [
                HeadlinePart(self.text("count.more", n=len(reasons) - _MOST_REASONS))
            ]

    def _is_nothing_compared(self, rule: GateRule) -> bool:
        """Return true if the last run judged no case: the gaps do not show it."""
        return rule.rule == "min_compared" and not self.result.n_cases_before

    def _is_among_gaps(self, rule: GateRule) -> bool:
        """Return true for an unknown share of a run that judged none of the cases."""
        result = self.result
        is_of_all = rule.rule in _SHARES and rule.value is None
        return is_of_all and not result.n_judged and result.n_not_compared > 0

    def _rule(self, rule: GateRule) -> str:
        is_unknown = rule.value is None or rule.limit is None
        if is_unknown or (rule.note and rule.verdict == "inconclusive"):
            note = (rule.note or "").rstrip(".。")
            if rule.value is None and rule.limit is not None:
                name = rule_name(rule, self.speech)
                return self.text("headline.rule_note", name=name, note=note)
            return note
        if rule.limit == 0 and rule.note:  # alerts and targets are named
            return rule.note
        return self.text(
            "headline.limit",
            name=rule_name(rule, self.speech),
            value=rule.value,
            limit=rule.limit,
            form=rule_form(rule),
        )

    def _watched(self, key: str) -> Clause:
        cases = self.result.watched
        if key == "headline.newly_fail":
            return self._with_cases(self.text(key, n=cases.n), cases)
        pieces = [HeadlinePart(self.text(key, n=cases.n))]
        names = self._names(cases)
        return (
            [*pieces, HeadlinePart(self.text("word.colon")), *names]
            if names
            else pieces
        )

    def _with_cases(self, text: str, cases: CaseList) -> Clause:
        """Return ``2 cases broke (a: 0 of 2 since 14 Oct, 24 of 24 before; b: …)``."""
        names = self._names(cases, with_records=self.with_records)
        if not names:
            return [HeadlinePart(text)]
        opened, closed = self.text("headline.open"), self.text("headline.close")
        return [HeadlinePart(text), HeadlinePart(opened), *names, HeadlinePart(closed)]

    def _names(self, cases: CaseList, *, with_records: bool = False) -> Clause:
        records = {record.case_id: record for record in self.result.cases}
        comma = self.text("headline.and" if with_records else "word.in_list")
        pieces: Clause = []
        for case_id in cases.case_ids[: self.named] if self.with_names else ():
            if pieces:
                pieces.append(HeadlinePart(comma))
            pieces.append(
                HeadlinePart(clip(" ".join(case_id.split()), _LONGEST_ID), case_id)
            )
            if with_records and case_id in records:
                record = records[case_id]
                is_new = record.since_run_id in (None, self.result.run_id)
                rounds = _rounds(record, self.speech, is_new=is_new, prompt="")
                pieces.append(HeadlinePart(self.text("word.colon") + rounds))
        if pieces and cases.n > self.named:
            more = self.text("count.more", n=cases.n - self.named)
            pieces.append(HeadlinePart(comma + more))
        return pieces

    def _not_compared(self) -> Clause:
        """Return ``3 of 40 cases are not compared: 2 gone (x, y), 1 rejected (z)``."""
        result = self.result
        n, total = result.n_not_compared, result.n_cases_before
        text = self.text("headline.not_compared", n=n, total=total)
        reasons = []
        for gap in result.not_compared[: self.named]:
            reason = self.text(f"gap.{gap.why}", n=gap.n)
            names = _some(gap.names, self.named, self.speech)
            reasons.append(
                f"{reason}{self.text('word.bracket', text=names)}" if names else reason
            )
        if not reasons:
            return [HeadlinePart(text)]
        listed = self.text("word.comma").join(reasons)
        return [HeadlinePart(f"{text}{self.text('word.colon')}{listed}")]

    def _changes(self) -> Iterator[Clause]:
        """Return what changed since the last run, in one clause."""
        texts, result = [], self.result
        gaps = {(gap.why, gap.n) for gap in result.not_compared[: self.named]}
        for change in result.changes:
            if (_REASON_OF_CHANGE.get(change.what), change.n) in gaps:
                continue
            key = f"changed.{change.what}"
            is_other = change.name not in (None, "", result.variant, result.title)
            if is_other and f"{key}_named" in self.speech.filters.catalogue.entries:
                key += "_named"
            name = clip(" ".join((change.name or "").split()), _LONGEST_ID)
            texts.append(self.text(key, name=name, n=change.n))
        if texts:
            yield [HeadlinePart(self.text("word.comma").join(dict.fromkeys(texts)))]


def _some(names: Sequence[str], most: int, speech: Speech) -> str:
    comma = speech.text("word.in_list")
    shown = comma.join(clip(" ".join(n.split()), _LONGEST_ID) for n in names[:most])
    return f"{shown}{comma}…" if shown and len(names) > most else shown


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}".rstrip("0")


def rule_name(rule: GateRule, speech: Speech) -> str:
    """Return the name of a rule in words."""
    table, _, rest = rule.rule.partition(".")
    if table == "must_pass_tags":
        return speech.text("headline.tag", name=rest)
    if table in ("dimensions", "tags"):
        subject, _, key = rest.rpartition(".")
        label = speech.filters.label(key, "gate_rule")
        return speech.text("headline.of", name=subject, rule=label)
    return speech.filters.label(rule.rule.replace(".", "_"), "gate_rule")


def rule_form(rule: GateRule) -> str:
    """Return the form of a rule's value and limit."""
    table, _, key = rule.rule.rpartition(".")
    if rule.rule in _SHARES or table.startswith(("must_pass_tags", "tags")):
        return "percent"
    form = {"min_score": "score", "max_drop": "points"}.get(key)
    return form or ("ms" if table == "latency" else "number")
