"""The verdict of a task in one sentence, for pages, mails and the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import east_asian_width

from promptlab.contracts.gate import CaseList, GateResult, GateRule
from promptlab.reports.printing.filters import Filters
from promptlab.reports.printing.visible import clip, visible

MOST_NAMED = 3
"""Maximum number of cases named in the sentence."""

_LONGEST_ID = 60
_SHARES = frozenset(
    {"min_pass_rate", "min_coverage", "max_error_share", "must_pass_tags"}
)
_TOLD_BY_CASES = frozenset(
    {"regression.allow_must_have_lost", "regression.allow_newly_failing"}
)
_TOLD_BY_CHANGE = "regression.max_drop"
_TESTED = "regression.false_alarm"
_BY_CHANCE = frozenset({_TESTED, "regression.on_check"})
_TOLD_BY_NOTE = frozenset({"all_files", "all_rows", "same_yardstick", "min_tnr"})
_CHECKED = "regression.on_check"

_NOTHING_SCORED = "min_coverage"
_NOT_COMPARED = "regression.min_coverage"


@dataclass(frozen=True)
class Piece:
    """A piece of the sentence: text, or the id of a case."""

    text: str
    case_id: str | None = None


def headline(result: GateResult, filters: Filters) -> str:
    """Return the verdict as one sentence, on one line."""
    return one_line(pieces(result, filters))


def pieces(result: GateResult, filters: Filters) -> list[Piece]:
    """Return the sentence in pieces, so that a page can link its cases."""
    said = _joined(result, filters, named=MOST_NAMED, clauses=None)
    return [*said, Piece(filters.catalogue.text("headline.end"))]


def one_line(said: Iterable[Piece]) -> str:
    """Return the text of these pieces, hidden characters named."""
    return "".join(visible(piece.text) for piece in said)


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _joined(
    result: GateResult, filters: Filters, *, named: int, clauses: int | None
) -> list[Piece]:
    texts = filters.catalogue
    said = [Piece(texts.text(f"decision.{result.decision}"))]
    joint = "headline.and" if result.decision == "first_run" else "headline.colon"
    for clause in list(_clauses(result, filters, named))[:clauses]:
        said.append(Piece(texts.text(joint)))
        joint = "headline.and"
        said += clause
    return said


def brief(result: GateResult, filters: Filters, most: int) -> str:
    """Return the decision and its first reason, for short texts.

    Args:
        result: The gate's result.
        filters: Format values.
        most: Maximum width; a Chinese character takes two columns.
    """
    for named in range(MOST_NAMED, -1, -1):
        said = one_line(_joined(result, filters, named=named, clauses=1))
        if _columns(said) <= most:
            return said
    while _columns(said) > most:
        said = said[:-2] + "…"
    return said


def _clauses(result: GateResult, filters: Filters, named: int) -> Iterator[list[Piece]]:
    """Return the deciding reasons, broken cases first, and then the others."""
    cases = []
    if result.broke.n or (result.change_verdict and result.n_judged_twice):
        cases = [_cases(result, filters, named)]
    why = list(_reasons(result, filters))
    yield from [*cases, *why] if result.broke.n else [*why, *cases]
    yield from _first_run(result, filters)
    rest = [_not_compared(result, filters)] if _is_compared(result) else []
    for clause in (*rest, _change(result, filters)):
        if clause and clause not in why:
            yield clause
    yield from _shipped(result, filters)


def _reasons(result: GateResult, filters: Filters) -> Iterator[list[Piece]]:
    """Return the reasons for the decision other than broken cases; each reason once."""
    deciding = [r for r in result.rules if r.verdict == result.verdict != "pass"]
    if any(_is_told_by_change(rule, result) for rule in deciding):
        yield _change(result, filters)
    reasons = [text for rule in deciding for text in _reason(rule, result, filters)]
    for text in dict.fromkeys(reasons):
        yield [Piece(text)]
    if any(rule.rule == _NOT_COMPARED for rule in deciding) and (
        _is_compared(result) or not reasons
    ):
        yield _not_compared(result, filters)
    if result.advice:
        yield [Piece(_advice(result, filters))]


def _shipped(result: GateResult, filters: Filters) -> Iterator[list[Piece]]:
    """Explain newly failing cases that do not count, and the power of the test."""
    texts = filters.catalogue
    if result.decision != "ship":
        return
    if any(
        r.rule == _CHECKED and r.limit and r.verdict == "pass" for r in result.rules
    ):
        yield [Piece(texts.text("headline.not_confirmed"))]
    elif not result.broke.n and result.power_of_one_break is not None:
        share = filters.percent(result.power_of_one_break)
        n = result.rounds_per_case or 0
        yield [Piece(texts.text("headline.power", n=n, share=share))]


def _first_run(result: GateResult, filters: Filters) -> Iterator[list[Piece]]:
    """Return the sentence for a first run: how many cases pass."""
    texts = filters.catalogue
    if result.decision == "first_run":
        if result.n_judged:
            n, total = result.n_pass, result.n_judged
            yield [Piece(texts.text("headline.passed", n=n, total=total))]
    elif any(rule.verdict == "skipped" for rule in result.rules):
        yield [Piece(texts.text("gate_note.first_run"))]


def _cases(result: GateResult, filters: Filters, named: int) -> list[Piece]:
    """Return ``2 cases broke (a, b), 4 were fixed``."""
    texts = filters.catalogue
    said = [Piece(texts.text("headline.none_broke"))]
    if result.broke.n:
        known = "newly_fail" if _is_unconfirmed(result) else "broke"
        said = [Piece(texts.text(f"headline.{known}", n=result.broke.n))]
        said += _named(result.broke, filters, named)
    if result.fixed.n:
        known = "newly_pass" if _is_unconfirmed(result) else "fixed"
        said.append(Piece(texts.text(f"headline.{known}", n=result.fixed.n)))
    return said


def _is_unconfirmed(result: GateResult) -> bool:
    """Return true if no newly failing case is known to be broken."""
    return result.decision == "run_again" or (
        result.decision == "ship" and any(r.rule == _CHECKED for r in result.rules)
    )


def _named(cases: CaseList, filters: Filters, most: int) -> list[Piece]:
    if not most:
        return []
    texts = filters.catalogue
    comma = texts.text("word.in_list")
    said = [Piece(texts.text("headline.open"))]
    for number, case_id in enumerate(cases.case_ids[:most]):
        if number:
            said.append(Piece(comma))
        said.append(Piece(clip(" ".join(case_id.split()), _LONGEST_ID), case_id))
    more = cases.n - most
    if more > 0:
        said.append(Piece(comma + texts.text("count.more", n=more)))
    said.append(Piece(texts.text("headline.close")))
    return said


def _reason(rule: GateRule, result: GateResult, filters: Filters) -> Iterator[str]:
    """Explain a failed or undecided rule; empty if another sentence does."""
    texts = filters.catalogue
    if rule.rule in _TOLD_BY_CASES and (
        rule.verdict in ("fail", "check") or result.advice
    ):
        return
    is_confirmed = rule.rule == _CHECKED and rule.verdict == "fail"
    if rule.rule in _BY_CHANCE and (rule.value is not None or is_confirmed):
        yield from _by_chance(rule, result, filters)
        return
    if rule.rule == _NOT_COMPARED or (
        rule.rule == _TOLD_BY_CHANGE and rule.value is not None
    ):
        return
    if rule.rule == "allow_missed_targets":
        n = int(rule.value or 0)
        yield texts.text("headline.missed_targets", n=n, names=rule.note)
        return
    if rule.rule in {*_TOLD_BY_CASES, *_BY_CHANCE, _TOLD_BY_CHANGE, *_TOLD_BY_NOTE}:
        yield _clause(rule)
        return
    name = _name(rule, filters)
    if rule.value is None or rule.limit is None:
        yield texts.text("headline.not_known", name=name)
        return
    if rule.rule == _NOTHING_SCORED and rule.note:
        yield _clause(rule)
        return
    yield texts.text(
        "headline.limit",
        name=name,
        value=_value(rule, rule.value, filters),
        limit=_value(rule, rule.limit, filters),
    )


def _is_told_by_change(rule: GateRule, result: GateResult) -> bool:
    """Return true if the overall score decided, and not the cases."""
    by_score = rule.rule == _TOLD_BY_CHANGE or (
        rule.rule == _TESTED and result.p is None
    )
    return by_score and rule.value is not None


def _by_chance(rule: GateRule, result: GateResult, filters: Filters) -> Iterator[str]:
    """Explain failures by chance; a drop of the score is reported with the change."""
    texts = filters.catalogue
    expected = result.newly_failing_by_chance
    if _is_told_by_change(rule, result):
        return
    if rule.verdict == "inconclusive":
        yield _clause(rule)
    elif rule.rule == _CHECKED and rule.verdict == "fail":
        broke = set(result.broke.case_ids)
        again = [each.recheck for each in result.cases if each.case_id in broke]
        failing = [each for each in again if each is not None]
        n_before = sum(each.n_rounds_before for each in failing)
        yield texts.text(
            "headline.confirmed" if n_before else "headline.confirmed_alone",
            passed=sum(each.n_passed for each in failing),
            n=sum(each.n_rounds for each in failing),
            passed_before=sum(each.n_passed_before for each in failing),
            n_before=n_before,
        )
    elif rule.verdict == "check":
        calls = 2 * sum(
            each.to_recheck or 0
            for each in result.cases
            if each.recheck is None or not each.recheck.is_enough
        )
        if expected is not None:
            said = filters.number(expected, 1)
            yield texts.text("headline.by_chance", expected=said)
        if calls:
            yield texts.text("headline.recheck", n=calls)
    elif rule.verdict == "fail" and result.p == rule.value and result.p is not None:
        yield texts.text("headline.more_than_chance", p=filters.p_value(result.p))


def _clause(rule: GateRule) -> str:
    return (rule.note or "").rstrip(".。")


def _name(rule: GateRule, filters: Filters) -> str:
    table, _, rest = rule.rule.partition(".")
    if table == "must_pass_tags":
        return filters.catalogue.text("headline.tag", name=rest)
    if table in ("dimensions", "tags"):
        dimension, _, key = rest.rpartition(".")
        label = filters.label(key, "gate_rule")
        return filters.catalogue.text("headline.of", name=dimension, rule=label)
    return filters.label(rule.rule.replace(".", "_"), "gate_rule")


def _value(rule: GateRule, value: float, filters: Filters) -> str:
    table, _, key = rule.rule.rpartition(".")
    is_of_tag = table.startswith(("must_pass_tags", "tags"))
    if rule.rule in _SHARES or (is_of_tag and key != "false_alarm"):
        return filters.percent(value)
    if key == "min_score":
        return filters.score(value)
    if key == "max_drop":
        return filters.points(value)
    if table == "latency":
        return filters.milliseconds(value)
    return filters.number(value)


def _advice(result: GateResult, filters: Filters) -> str:
    texts = filters.catalogue
    ways = [texts.text(f"advice.{code}") for code in result.advice]
    return texts.text(
        "headline.nothing_judged", ways=texts.text("headline.or").join(ways)
    )


def _is_compared(result: GateResult) -> bool:
    """Return true if there is anything to count; else the reason says more."""
    return result.change is not None or result.n_judged_twice > 0


def _not_compared(result: GateResult, filters: Filters) -> list[Piece]:
    n, total = result.not_compared.n, result.n_cases_before
    if not n:
        return []
    return [Piece(filters.catalogue.text("headline.not_compared", n=n, total=total))]


def _change(result: GateResult, filters: Filters) -> list[Piece]:
    if result.change_verdict is None or result.change is None:
        return []
    points = filters.delta(result.change)
    level = result.change_verdict == "inconclusive" and result.change == 0
    words = "inconclusive_level" if level else result.change_verdict
    if result.decision == "ship" and words == "regressed":
        words = "regressed_within"  # of 95 % intervals, one in 20 says so by chance
    text = filters.catalogue.text(f"headline.{words}", points=points)
    return [Piece(text)]
