"""The sentences of a report, written from the codes and facts of the marts.

The words are in ``reports/texts``, a file per language; the functions here fill in the
facts. Numbers are only formatted, not computed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from promptlab.contracts.comparison import Comparison
from promptlab.reports.printing import FINE_DIGITS, Filters, bare, clip
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


def errors(speech: Speech, found: Sequence[Facts], rounds: Facts) -> str | None:
    """Return the kinds of errors with their rounds: ``timeouts 2 → 11``.

    *found* are rows of ``fct_error_categories`` with the baseline's number; *rounds*
    are the numbers of all rounds, ``n`` and ``before``.
    """
    if not found:
        return None
    number = speech.filters.number
    parts = [
        f"{speech.label('errors', each['category'])} "
        + " → ".join(
            number(n)
            for n in (each["baseline_n_rounds"], each["n_rounds"])
            if n is not None
        )
        for each in found
    ]
    is_same = rounds["before"] in (None, rounds["n"])
    of = speech.text("errors.of" if is_same else "errors.of_both", **rounds)
    listed = speech.text("word.comma").join(parts)
    title = speech.text("errors.title") + speech.text("word.colon")
    return title + listed + speech.text("word.bracket", text=of)


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

    *row* is of ``queries.JUDGES``.
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
