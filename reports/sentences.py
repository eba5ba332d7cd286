"""The sentences of a report, written from the codes and facts of the marts.

The words are in ``reports/texts``, a file per language; the functions here fill in the
facts. Numbers are only formatted, not computed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from unicodedata import east_asian_width

from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import CaseList, GateResult, GateRule
from promptlab.reports.printing import FINE_DIGITS, Filters, bare, clip, visible
from promptlab.reports.texts import Catalogue, catalogue

UNKNOWN = "–"
"""Replaces a missing fact, so that a sentence is never empty."""

_MOST_IN_LIST = 160
_WITH_DEFAULTS = "results"
"""Tasks of this kind only have the default dimensions."""
_CONFIGURED = "analysis"
"""Tasks of this kind have the dimensions of their file, without defaults."""
_MEMORY = "memory"
"""Tasks of this kind have the metrics of the memory benchmark."""
_PASSED = "default_dimension.passed"
"""The only default dimension of other tools' tasks, for verdicts without scores."""


@dataclass(frozen=True)
class Speech:
    """The words of one language and the names of one task."""

    filters: Filters
    own_names: Mapping[str, Any]
    """Keys of the names of default dimensions, if the task has these: a dimension that
    is configured in a file keeps its name."""
    is_graded: bool = True
    """If true, sentences name grades: analysis inputs request them, other files do
    not."""

    @classmethod
    def of(cls, lang: str, source_kind: str | None = None) -> Self:
        """Return the words of *lang* for a task of this kind.

        Raises:
            UsageError: the language is unknown.
        """
        words = catalogue(lang)
        own: Mapping[str, Any] = {}
        if source_kind == _WITH_DEFAULTS:
            own = words.entries
        elif source_kind == _MEMORY:
            own = {
                key.replace("memory_metric", "default_dimension"): name
                for key, name in words.entries.items()
                if key.startswith("memory_metric.")
            }
        elif source_kind != _CONFIGURED:
            own = {_PASSED: words.entries[_PASSED]}
        return cls(Filters(words), own, source_kind in (None, _CONFIGURED))

    def text(self, key: str, /, **values: Any) -> str:
        """Return the text of *key* with values filled in; a missing value is a dash."""
        known = {k: UNKNOWN if v is None else v for k, v in values.items()}
        return self.filters.catalogue.text(key, **known)

    def label(self, group: str, code: str | None) -> str | None:
        """Return the word for a code; ``None`` for ``None``."""
        return None if code is None else self.filters.label(code, group)

    def dimension(self, dimension_id: str | None, name: str | None) -> str | None:
        """Return a dimension's name: a built-in one in this language, or the user's."""
        ours = self.own_names.get(f"default_dimension.{dimension_id}", name)
        return None if ours is None else str(ours)

    def percent(self, share: float | None, beside: float | None = None) -> str | None:
        """Return a share in percent, with more digits if it looks equal to *beside*."""
        if share is None:
            return None
        return self.filters.percent(share, beside=beside)

    def points(self, difference: float | None) -> str | None:
        """Return a difference in points with its sign; only 0 is shown as 0."""
        if difference is None:
            return None
        fine = 0 < abs(difference) < 0.0005
        return self.filters.delta(difference, FINE_DIGITS if fine else 1)

    def measure(
        self, number: float | None, unit: str | None, beside: float | None = None
    ) -> str | None:
        """Return a metric with its unit."""
        if number is None or unit is None:
            return None
        if unit == "share":
            return self.percent(number, beside)
        if unit == "ms":
            return self.filters.milliseconds(number)
        digits = _DIGITS[unit]
        shown = self.filters.number(number, digits)
        return self.text(f"measure.{unit}", n=shown) if digits == 0 else shown

    def listed(self, names: Iterable[str]) -> str:
        """Return names separated by commas, shortened if there are too many."""
        return clip(self.text("word.in_list").join(names), _MOST_IN_LIST)


_DIGITS = {"cost": 6, "variance": 4, "sum": 2, "tokens": 0, "characters": 0}
"""Decimals of a metric by unit. Units without decimals are counted, and are named after
the number."""


# ---------- comparisons of tasks and their cases


Facts = dict[str, Any]


def comparison(speech: Speech, facts: Facts) -> str:
    """Return the sentence about two tasks: overall, a dimension or a tag.

    *facts* are ``level``, ``subject``, ``name`` and the numbers of
    ``fct_task_comparisons``.
    """
    level, name = facts["level"], facts["name"]
    if level == "dimension":
        name = speech.dimension(facts["subject"], name)
    subject = speech.text(f"comparison_subject.{level}", name=name)
    return _verdict(speech, subject, facts)


def from_to(speech: Speech, facts: Facts) -> str | None:
    """Return the measured values of a dimension on both sides, in its unit."""
    before, after = _metrics(speech, facts)
    if before is None or after is None:
        return None
    return speech.text("changes.from_to", before=before, after=after)


def _metrics(speech: Speech, facts: Facts) -> tuple[str | None, str | None]:
    unit = facts.get("unit")
    before, after = facts.get("baseline_metric"), facts.get("candidate_metric")
    return speech.measure(before, unit), speech.measure(after, unit)


def baseline_reason(compared: Comparison, texts: Catalogue) -> str:
    """Return why a task is the baseline of another."""
    n, source = compared.n_runs_between, compared.pair_source
    known = "earlier" if source == "previous" and n else source
    return texts.text(f"comparison.source_{known}", n=n)


def note(speech: Speech, row: Facts) -> str:
    """Return the sentence of a row of ``fct_comparison_notes``, without full stop."""
    facts = row["facts"]
    n_rows = (facts.get("n_rows_held"), facts.get("n_rows_claimed"))
    sentence = comparison(speech, facts) if "verdict" in facts else None
    return speech.text(
        f"comparison_note.{row['note']}",
        n=row["n"],
        baseline=row["baseline_task_id"],
        before=facts.get("baseline_testset_id"),
        after=facts.get("candidate_testset_id"),
        rows=" / ".join(f"{n:,}" for n in n_rows if n is not None),
        conclusion=sentence and sentence.rstrip(".。"),
    )


def category_name(speech: Speech, dataset: str, category: str) -> str | None:
    """Return the name of a data set's category; ``None`` without a name."""
    key = f"memory_category.{dataset}.{category}"
    return speech.text(key) if key in speech.filters.catalogue.entries else None


def _verdict(speech: Speech, subject: str, facts: Facts) -> str:
    low, high, margin = facts["ci_low"], facts["ci_high"], facts["margin"]
    interval = (
        speech.text("comparison_part.no_interval")
        if low is None
        else speech.text(
            "comparison_part.interval", low=speech.points(low), high=speech.points(high)
        )
    )
    before, after = _metrics(speech, facts)
    if before is None or after is None:
        group = "comparison_sentence"
        before = speech.percent(facts["baseline_score"])
        after = speech.percent(facts["candidate_score"])
    else:
        group = "comparison_measured"
    if facts["verdict"] == "not_comparable":
        group = "comparison_sentence"
    return speech.text(
        f"{group}.{facts['verdict']}",
        subject=subject,
        pairs=speech.text("comparison_pairs.cases", n=facts["n_pairs"]),
        baseline=before,
        candidate=after,
        delta=speech.points(facts["delta"]),
        interval=interval,
        p=_p_value(speech, facts),
        margin=None if margin is None else speech.filters.points(margin),
        reason=speech.label("comparison_reason", facts["reason"]),
        unseen=_unseen(speech, facts["smallest_detectable"]),
    )


def _p_value(speech: Speech, facts: Facts) -> str:
    """Return the p-value that decided: the adjusted one, if any."""
    if facts["p_adjusted"] is None:
        return speech.filters.p_value(facts["p_value"])
    adjusted = speech.filters.p_value(facts["p_adjusted"])
    return speech.text("comparison_part.adjusted", p=adjusted)


def _unseen(speech: Speech, detectable: float | None) -> str:
    """Return the smallest detectable change; above 1 no change is detectable."""
    if detectable is None:
        return ""
    if detectable > 1:
        return speech.text("comparison_blind.cases")
    least = speech.filters.points(detectable)
    return speech.text("comparison_part.unseen", detectable=least)


# ---------- alerts: one text per code


def alert(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_alerts`` with parsed JSON."""
    facts = row["facts"]
    dimension_id = next(iter(row["dimension_ids"]), None)
    limit, unit = facts.get("limit"), facts.get("unit")
    regression = facts.get("comparison")
    return speech.text(
        f"alert.{row['code']}",
        name=speech.dimension(dimension_id, facts.get("name")),
        value=speech.measure(facts.get("value"), unit, beside=limit),
        limit=speech.measure(limit, unit),
        n=facts.get("n"),
        total=facts.get("n_total"),
        reason=speech.label("score_reason", facts.get("reason")),
        detail=facts.get("detail"),
        cases=speech.listed(row["case_ids"]),
        task=shlex.quote(row["task_id"]),
        dimension=shlex.quote(dimension_id or ""),
        baseline=facts.get("baseline_task_id"),
        conclusion=None if regression is None else comparison(speech, regression),
    )


# ---------- a scope of a round: its failed checks, or that all passed


_MOST = 80
"""Maximum length of a quoted value."""

_SAY_ALL = {"missing_step", "missing_field", "unexpected_field", "invalid_pattern"}
"""Reasons that need no quoted value."""


def details(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_match_results`` with parsed JSON."""
    listed = row["details"]
    if not listed:
        return speech.text("check.matched")
    sentence = speech.text("check.and").join(_check(speech, each) for each in listed)
    n_more = row["checks_failed"] + row["checks_unevaluated"] - len(listed)
    return sentence + (speech.text("check.more", n=n_more) if n_more else "")


def _check(speech: Speech, check: dict[str, Any]) -> str:
    reason, expected, actual = check["reason"], check["expected"], check["actual"]
    shown = speech.filters.json_value
    return speech.text(
        "check.bare" if reason in _SAY_ALL else "check.differs",
        place=check["pointer"] or speech.text("missing.pointer"),
        reason=speech.label("reason", reason),
        expected=clip(shown(expected, actual), _MOST),
        actual=clip(shown(actual, expected), _MOST),
    )


# ---------- evidence about a round: one text per code


_MOST_OF_ANSWERS = 80
"""Maximum length of a quoted answer."""
_MOST_OF_LISTS = 160
_MOST_OF_ERRORS = 120


def evidence(speech: Speech, row: dict[str, Any]) -> str:
    """Return the sentence of a row of ``fct_evidence`` with parsed JSON."""
    payload, facts = row["payload"], row["facts"]
    expected, actual = payload["expected"], payload["actual"]
    unit, limit = facts["unit"], facts["limit"]
    return speech.text(
        f"evidence_sentence.{row['code']}",
        metric=speech.measure(payload["metric"], unit),
        limit=speech.measure(limit, unit),
        expected=_quoted(bare(expected, actual)),
        actual=_quoted(bare(actual, expected)),
        rules=_quoted(expected, _MOST_OF_LISTS),
        pointer=payload["pointer"],
        reason=speech.label("reason", payload["reason"]),
        n=facts["n"],
        total=facts["n_total"],
        scope=speech.label("scope", facts["scope"]),
        error=_quoted(facts["error_code"], _MOST_OF_ERRORS),
        keyword=facts["keyword"],
        summary=_quoted(facts["summary"], _MOST_OF_LISTS),
    )


def measured(speech: Speech, row: dict[str, Any]) -> str | None:
    """Return the measured value of a round with its unit; ``None`` for a share."""
    unit = row["facts"]["unit"]
    return None if unit == "share" else speech.measure(row["payload"]["metric"], unit)


def _quoted(text: str | None, most: int = _MOST_OF_ANSWERS) -> str | None:
    return None if text is None else clip(str(text), most)


# ---------- results of a task and its dimensions


_ENDS = ("low", "high")


def conclusion(speech: Speech, summary: Facts) -> str:
    """Return a task on one line: score, interval, grade, cases, weakest dimension.

    *summary* is a row of ``fct_task_summaries`` with ``weakest_name`` and
    ``weakest_score``.
    """
    return "".join((*_conclusion(speech, summary), speech.text("conclusion.end")))


def _conclusion(speech: Speech, summary: Facts) -> Iterator[str]:
    n_evaluated = summary["n_pass"] + summary["n_fail"] + summary["n_error"]
    if summary["overall_score"] is None:
        yield speech.text("conclusion.none")
    else:
        yield speech.text(
            "conclusion.score",
            score=speech.percent(summary["overall_score"]),
            sure=_interval(speech, "conclusion.interval", summary)
            or speech.text("conclusion.no_interval"),
            cases=speech.text("count.cases", n=summary["n_scored_cases"]),
            grade=speech.text("conclusion.grade", grade=summary["grade"])
            if n_evaluated and speech.is_graded
            else "",
        )
        if summary["is_mostly_unscored"]:
            yield speech.text("conclusion.mostly_unscored")
        elif summary["is_capped"]:
            yield speech.text("conclusion.capped")
    if not n_evaluated:
        yield speech.text("conclusion.no_cases")
    else:
        key = "passed_of_answered" if summary["n_error"] else "passed"
        yield speech.text(
            f"conclusion.{key}",
            n=summary["n_pass"],
            total=n_evaluated,
            errors=summary["n_error"],
        )
        if summary["n_unevaluated"]:
            yield speech.text("conclusion.unevaluated", n=summary["n_unevaluated"])
    weakest = summary["weakest_dimension_id"]
    if weakest is not None:
        yield speech.text(
            "conclusion.weakest",
            name=speech.dimension(weakest, summary["weakest_name"]),
            score=speech.percent(summary["weakest_score"]),
        )


def diagnosis(speech: Speech, row: Facts) -> str:
    """Return the diagnosis of a dimension: score, interval, errors, missing scores.

    *row* is of ``fct_dimension_scores``, its JSON read.
    """
    if row["score"] is not None:
        return "".join(_diagnosis(speech, row))
    return speech.text(
        "diagnosis.none",
        why=speech.label("score_reason", row["diagnosis"]["unscored_reason"]),
        n=row["n_rounds"],
        total=row["raw_metrics"]["n_rounds"],
    )


def _diagnosis(speech: Speech, row: Facts) -> Iterator[str]:
    metrics, limit = row["raw_metrics"], row["diagnosis"]["min_score"]
    yield speech.text(
        "diagnosis.score",
        score=speech.percent(row["score"], beside=limit),
        sure=_interval(speech, "diagnosis.interval", row)
        or speech.label("score_reason", row["ci_reason"]),
        n=row["n_cases"],
        total=metrics["n_cases"],
    )
    if limit is not None:
        key = "met" if row["score"] >= limit else "missed"
        yield speech.text(f"diagnosis.{key}", limit=speech.percent(limit))
    yield _faults(speech, row)
    if metrics["n_error_rounds"]:
        yield speech.text("diagnosis.errors", n=metrics["n_error_rounds"])
    n_unscored = metrics["n_rounds"] - row["n_rounds"]
    reason = row["diagnosis"]["unscored_reason"]
    # tools may have different assertions per case
    if n_unscored and (row["scorer"], reason) != ("reported", "no_score"):
        why = speech.label("score_reason", reason)
        yield speech.text("diagnosis.gaps", n=n_unscored, why=why)


def _faults(speech: Speech, row: Facts) -> str:
    """Return the cases below full marks of a share, or the numbers behind a measure."""
    facts, metrics = row["diagnosis"], row["raw_metrics"]
    unit = facts["unit"]
    if unit != "share":
        return speech.text(
            "diagnosis.measure",
            mean=speech.measure(metrics["mean"], unit),
            median=speech.measure(metrics["median"], unit),
            p95=speech.measure(metrics["p95"], unit),
            n=facts["n_off_target"],
            total=row["n_rounds"],
        )
    if not facts["n_below_full"]:
        return speech.text("diagnosis.full")
    lowest = [
        speech.text("diagnosis.case", case=case, score=speech.percent(score))
        for case, score in facts["lowest_cases"].items()
    ]
    return speech.text(
        "diagnosis.short", n=facts["n_below_full"], cases=speech.listed(lowest)
    )


def judge(speech: Speech, row: Facts) -> str:
    """Return the pass rate that a judge gives, corrected, and how far to trust it.

    *row* is of ``gate.numbers.JUDGES``.
    """
    said = [
        speech.text(
            "judge.raw",
            name=speech.dimension(row["dimension_id"], row["name"])
            or speech.label("judged", row["dimension_id"]),
            judge=row["judge"],
            rate=speech.percent(row["raw_rate"]),
            n=row["n_passed"],
            total=row["n_rounds"],
        )
    ]
    if row["corrected_rate"] is not None:
        rate = speech.percent(row["corrected_rate"])
        said.append(speech.text(f"judge.{row['method']}", rate=rate))
        said.append(_interval(speech, "judge.interval", row) or "")
    labels = {"n_fail": row["n_labels_fail"], "n_pass": row["n_labels_pass"]}
    said.append(speech.text("judge.labels", **labels))
    for rate_name in ("tnr", "tpr"):
        if row[rate_name] is not None:
            ends = {end: speech.percent(row[f"{rate_name}_{end}"]) for end in _ENDS}
            rate = speech.percent(row[rate_name])
            said.append(speech.text(f"judge.{rate_name}", rate=rate, **ends))
    said.append(speech.text("judge.end"))
    if row["reason"] is not None:
        said.append(speech.text(f"judge.{row['reason']}"))
    return "".join(said)


def _interval(speech: Speech, key: str, row: Facts) -> str | None:
    low, high = speech.percent(row["ci_low"]), speech.percent(row["ci_high"])
    return None if low is None else speech.text(key, low=low, high=high)


# ---------- the verdict of a task in one sentence


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
CHECKED = "regression.on_check"
BY_CHANCE = frozenset({_TESTED, CHECKED})
"""Rules that ask whether chance explains what newly fails."""
_TOLD_BY_NOTE = frozenset({"all_files", "all_rows", "same_yardstick", "min_tnr"})

_AFTER_REASONS = ("name_baseline", "own_baseline", "on_check", "other_variant")
"""Advice that follows the reasons of a decision, in its own clause."""
_WAYS_OUT = frozenset({*_AFTER_REASONS, "new_run"})

_NOTHING_SCORED = "min_coverage"
_NOT_COMPARED = "regression.min_coverage"


@dataclass(frozen=True)
class Piece:
    """A piece of the sentence: text, or the id of a case."""

    text: str
    case_id: str | None = None


def headline(result: GateResult, filters: Filters) -> str:
    """Return the verdict as one sentence, on one line."""
    return one_line(_sentence(result, filters))


def headline_parts(result: GateResult) -> list[Piece]:
    """Return the sentence in pieces, the decision first, so that a page links cases."""
    return _sentence(result, Filters(catalogue(result.lang)))


def _sentence(result: GateResult, filters: Filters) -> list[Piece]:
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

    *most* is the width; a Chinese character takes two columns.
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
    n_lost = sum(each.n for _, each in _lost(result))
    if n_lost or (result.change_verdict and result.n_judged_twice):
        cases = [_cases(result, filters, named)]
    why = list(_reasons(result, filters))
    yield from [*cases, *why] if n_lost else [*why, *cases]
    alike = _rounds_alike(result, filters)
    if alike and not any(alike in one_line(clause) for clause in why):
        yield [Piece(alike)]
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
    if _ways(result) and result.decision != "ship":
        yield [Piece(_nothing_judged(result, filters))]
    for code in result.advice:
        if code in _AFTER_REASONS:
            run = shlex.quote(result.run_id)
            yield [Piece(filters.catalogue.text(f"advice.{code}", run=run))]


def _shipped(result: GateResult, filters: Filters) -> Iterator[list[Piece]]:
    """Explain newly failing cases that do not count, and what could not be seen."""
    texts = filters.catalogue
    if result.decision != "ship":
        return
    if _ways(result):
        yield [Piece(_nothing_judged(result, filters))]
    if any(r.rule == CHECKED and r.limit and r.verdict == "pass" for r in result.rules):
        yield [Piece(texts.text("headline.not_confirmed"))]
    elif (
        not any(each.n for _, each in _lost(result))
        and result.power_of_one_break is not None
    ):
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
    """Return ``2 cases broke (a, b), 1 gave only errors (c), 4 were fixed``."""
    texts = filters.catalogue
    lost = [
        [
            Piece(texts.text(f"headline.{key}", n=cases.n)),
            *_named(cases, filters, named),
        ]
        for key, cases in _lost(result)
        if cases.n
    ]
    said = [Piece(texts.text("headline.none_broke"))]
    for number, pieces in enumerate(lost):
        comma = [Piece(texts.text("word.comma"))]
        said = [*said, *comma, *pieces] if number else pieces
    if result.fixed.n:
        is_tested = any(rule.rule in BY_CHANCE for rule in result.rules)
        key = "newly_pass" if is_tested and not result.broke.n else "fixed"
        said.append(Piece(texts.text(f"headline.{key}", n=result.fixed.n)))
    return said


def _lost(result: GateResult) -> list[tuple[str, CaseList]]:
    """Return the cases that were better in the baseline, with the key of their text."""
    return [
        ("broke", result.broke),
        ("newly_fail", result.newly_failing),
        ("only_errors", result.only_errors),
    ]


def _rounds_alike(result: GateResult, filters: Filters) -> str:
    """Return that the rounds of a run count once; empty if they do not."""
    if (
        "rounds_alike" not in result.assumptions
        or (result.rounds_run_per_case or 0) < 2
    ):
        return ""
    return filters.catalogue.text(
        "headline.rounds_alike",
        n=result.rounds_run_per_case,
        counted=result.rounds_per_case,
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
        rule.verdict in ("fail", "check") or _ways(result)
    ):
        return
    is_confirmed = rule.rule == CHECKED and rule.verdict == "fail"
    if rule.rule in BY_CHANCE and (rule.value is not None or is_confirmed):
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
    if rule.rule in {*_TOLD_BY_CASES, *BY_CHANCE, _TOLD_BY_CHANGE, *_TOLD_BY_NOTE}:
        yield _clause(rule)
        return
    name = _rule_name(rule, filters)
    if rule.value is None or rule.limit is None:
        yield texts.text("headline.not_known", name=name)
        return
    if rule.note and (rule.rule == _NOTHING_SCORED or rule.verdict == "inconclusive"):
        yield _clause(rule)
        return
    yield texts.text(
        "headline.limit",
        name=name,
        value=_rule_value(rule, rule.value, filters, beside=rule.limit),
        limit=_rule_value(rule, rule.limit, filters, beside=rule.value),
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
    elif rule.rule == CHECKED and rule.verdict == "fail":
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
        has_recheck = "new_run" not in result.advice
        if not result.newly_failing.n and rule.note:  # of cases that count one round
            yield _clause(rule)
        elif expected is not None:
            said = filters.number(expected, 1)
            key = "by_chance" if has_recheck else "only_chance"
            yield texts.text(f"headline.{key}", expected=said)
        if calls:
            yield texts.text("headline.recheck", n=calls)
        elif not has_recheck:
            yield texts.text("advice.new_run")
    elif rule.verdict == "fail" and result.p == rule.value and result.p is not None:
        is_alone = (result.p_alone or 0) <= (rule.limit or 1)
        yield texts.text(
            "headline.more_than_chance" if is_alone else "headline.all_variants",
            p=filters.p_value(result.p),
        )


def _clause(rule: GateRule) -> str:
    return (rule.note or "").rstrip(".。")


def _rule_name(rule: GateRule, filters: Filters) -> str:
    table, _, rest = rule.rule.partition(".")
    if table == "must_pass_tags":
        return filters.catalogue.text("headline.tag", name=rest)
    if table in ("dimensions", "tags"):
        dimension, _, key = rest.rpartition(".")
        label = filters.label(key, "gate_rule")
        return filters.catalogue.text("headline.of", name=dimension, rule=label)
    return filters.label(rule.rule.replace(".", "_"), "gate_rule")


def _rule_value(
    rule: GateRule, value: float, filters: Filters, *, beside: float
) -> str:
    """Return a value or a limit, with more digits if both would look equal."""
    table, _, key = rule.rule.rpartition(".")
    is_of_tag = table.startswith(("must_pass_tags", "tags"))
    if rule.rule in _SHARES or (is_of_tag and key != "false_alarm"):
        return filters.percent(value, beside=beside)
    if key == "min_score":
        return filters.score(value, beside)
    if key == "max_drop":
        return filters.points(value)
    if table == "latency":
        return filters.milliseconds(value)
    return filters.number(value)


def _ways(result: GateResult) -> list[str]:
    """Return the codes of advice on how to get cases judged."""
    return [code for code in result.advice if code not in _WAYS_OUT]


def _nothing_judged(result: GateResult, filters: Filters) -> str:
    texts = filters.catalogue
    ways = [texts.text(f"advice.{code}") for code in _ways(result)]
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
