"""Sentences of reports: format strings of the catalogue, filled in with facts.

``{score:percent}`` names the filter of a fact, ``{n:number 1}`` its decimals;
``{value:{unit} limit}`` takes the form from another fact, and gives more digits where
it would look equal to ``limit``. Codes have a group of the catalogue as their form:
``{reason:score_reason}``. No number is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self

from promptlab.contracts.comparison import Comparison
from promptlab.reports.printing import FINE_DIGITS, Filters, bare, clip
from promptlab.reports.texts import Catalogue, catalogue

UNKNOWN = "–"
"""Replaces a missing fact, so that a sentence is never empty."""

_MOST_IN_LIST = 160
_MOST_QUOTED = 80
_MOST_OF_ERRORS = 120
_WITH_DEFAULTS = "results"
"""Tasks of this kind only have the default dimensions."""
_CONFIGURED = "analysis"
"""Tasks of this kind have the dimensions of their file, without defaults."""
_MEMORY = "memory"
"""Tasks of this kind have the metrics of the memory benchmark."""
_PASSED = "default_dimension.passed"
"""The only default dimension of other tools' tasks, for verdicts without scores."""
_DIGITS = {"cost": 6, "variance": 4, "sum": 2, "tokens": 0, "characters": 0}
"""Decimals of a metric by unit. Units without decimals are counted, and are named after
the number."""

_UNITS = {"share": "percent", "ms": "milliseconds"}
"""Filters of the other units."""
_BESIDE = {"percent", "score", "day"}
"""Filters that take the number next to a value."""

Facts = Mapping[str, Any]


class _Known(dict[str, Any]):
    """Facts of which any may be missing."""

    def __missing__(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class Speech(Formatter):
    """The words of one language and the names of one task."""

    filters: Filters
    own_names: Mapping[str, Any]
    """Keys of the names of default dimensions, if the task has these: a dimension that
    is configured in a file keeps its name."""
    is_graded: bool = True
    """If true, sentences name grades: analysis inputs request them, other files do
    not."""

    @classmethod
    def for_language(cls, lang: str, source_kind: str | None = None) -> Self:
        """Return the words of *lang* for a task of this kind.

        Raises:
            UsageError: the language is unknown.
        """
        words = catalogue(lang)
        own_names: Mapping[str, Any] = {}
        if source_kind == _WITH_DEFAULTS:
            own_names = words.entries
        elif source_kind == _MEMORY:
            own_names = {
                key.replace("memory_metric", "default_dimension"): name
                for key, name in words.entries.items()
                if key.startswith("memory_metric.")
            }
        elif source_kind != _CONFIGURED:
            own_names = {_PASSED: words.entries[_PASSED]}
        return cls(Filters(words), own_names, source_kind in (None, _CONFIGURED))

    def text(self, key: str, facts: Facts | None = None, /, **values: Any) -> str:
        """Return the text of *key* with *facts* or *values* filled in.

        A missing fact is a dash; a missing value is an error.
        """
        known = values if facts is None else _Known(facts)
        return self._filled(key, known)

    def joined(self, group: str, codes: Iterable[str | None], facts: Facts) -> str:
        """Return the texts of these codes one after the other.

        A code that is ``None`` has none, nor has a text that names an unknown fact.
        """
        texts = []
        for code in codes:
            if code is None:
                continue
            text = self.filters.catalogue.entry(f"{group}.{code}", facts.get("n"))
            names = [name for _, name, _, _ in self.parse(text) if name]
            if all(facts.get(name) is not None for name in names):
                texts.append(self.vformat(text, (), facts))
        return "".join(texts)

    def _filled(self, key: str, facts: Facts) -> str:
        entry = self.filters.catalogue.entry(key, facts.get("n"))
        if isinstance(facts, _Known) or ":" in entry:
            return self.vformat(entry, (), facts)
        # many times faster
        return entry.format_map({k: self.formed(v, "") for k, v in facts.items()})

    def get_field(self, field_name: str, _args: Any, kwargs: Any) -> Any:
        """Return the fact, and all facts, for a filter that takes several."""
        return (kwargs[field_name], kwargs), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a fact in its form."""
        value, facts = value
        form, beside = f"{format_spec} ".split(" ", 1)
        beside = beside.strip()
        if beside.isdigit() and isinstance(value, int | float):
            return str(getattr(self.filters, form)(value, int(beside)))
        return self.formed(value, form, facts.get(beside))

    def formed(self, value: Any, form: str, beside: Any = None) -> str:
        """Return a value in a form: a filter, a unit, or a group of the catalogue."""
        if value is None:
            return UNKNOWN
        if form == "":
            return f"{value:,}" if type(value) is int else str(value)
        if isinstance(value, str):
            return self.filters.label(value, form)
        if form in _DIGITS:
            number = self.filters.number(value, _DIGITS[form])
            return number if _DIGITS[form] else self.text(f"measure.{form}", n=number)
        if form == "change":
            fine = 0 < abs(value) < 0.0005  # only 0 is shown as 0
            return self.filters.delta(value, FINE_DIGITS if fine else 1)
        name = _UNITS.get(form, form)
        values = {"beside": beside} if name in _BESIDE else {}
        return str(getattr(self.filters, name)(value, **values))

    def label(self, group: str, code: str | None) -> str | None:
        """Return the word for a code; ``None`` for ``None``."""
        return None if code is None else self.filters.label(code, group)

    def dimension(self, dimension_id: str | None, name: str | None) -> str | None:
        """Return a dimension's name: a built-in one in this language, or the user's."""
        ours = self.own_names.get(f"default_dimension.{dimension_id}", name)
        return None if ours is None else str(ours)

    def measure(self, number: float | None, unit: str | None) -> str | None:
        """Return a metric with its unit."""
        return None if number is None or unit is None else self.formed(number, unit)

    def listed(self, names: Iterable[str]) -> str:
        """Return names separated by commas, shortened if there are too many."""
        return clip(self.text("word.in_list").join(names), _MOST_IN_LIST)


# ---------- comparisons of tasks and their cases


def comparison(speech: Speech, facts: Facts) -> str:
    """Return the sentence about two tasks: overall, a dimension or a tag.

    *facts* are ``level``, ``subject``, ``name`` and the numbers of
    ``fct_task_comparisons``.
    """
    level, name = facts["level"], facts["name"]
    if level == "dimension":
        name = speech.dimension(facts["subject"], name)
    before, after = _metrics(speech, facts)
    is_measured = before is not None and after is not None
    is_compared = facts["verdict"] != "not_comparable"
    group = "measured" if is_measured and is_compared else "sentence"
    has_interval = facts["ci_low"] is not None
    p = "p_value" if facts["p_adjusted"] is None else "adjusted"
    blind = (facts["smallest_detectable"] or 0) > 1  # no change is detectable
    parts = {
        "subject": speech.text(f"comparison_subject.{level}", name=name),
        "pairs": speech.text("comparison_pairs.cases", n=facts["n_pairs"]),
        "baseline": before,
        "candidate": after,
        "interval": speech.text(
            f"comparison_part.{'interval' if has_interval else 'no_interval'}", facts
        ),
        "p": speech.joined("comparison_part", [p], facts)
        or speech.text("missing.not_measured"),
        "unseen": speech.joined(
            "comparison_part", ["blind" if blind else "unseen"], facts
        ),
    }
    return speech.text(f"comparison_{group}.{facts['verdict']}", {**facts, **parts})


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
    parts = {
        "rows": " / ".join(f"{n:,}" for n in n_rows if n is not None),
        "conclusion": comparison(speech, facts).rstrip(".。")
        if "verdict" in facts
        else None,
    }
    return speech.text(f"comparison_note.{row['note']}", {**facts, **row, **parts})


def category_name(speech: Speech, dataset: str, category: str) -> str | None:
    """Return the name of a data set's category; ``None`` without a name."""
    key = f"memory_category.{dataset}.{category}"
    return speech.text(key) if key in speech.filters.catalogue.entries else None


# ---------- alerts, checks and evidence: one text per code


def alert(speech: Speech, row: Facts) -> str:
    """Return the sentence of a row of ``fct_alerts``."""
    facts = row["facts"]
    dimension_id = next(iter(row["dimension_ids"]), None)
    regression = facts.get("comparison")
    parts = {
        "name": speech.dimension(dimension_id, facts.get("name")),
        "cases": speech.listed(row["case_ids"]),
        "conclusion": None if regression is None else comparison(speech, regression),
    }
    return speech.text(f"alert.{row['code']}", facts | parts)


_SAY_ALL = {"missing_step", "missing_field", "unexpected_field", "invalid_pattern"}
"""Reasons that need no quoted value."""


def details(speech: Speech, row: Facts) -> str:
    """Return the failed checks of a row of ``fct_match_results``."""
    listed = row["details"]
    if not listed:
        return speech.text("check.matched")
    sentence = speech.text("check.and").join(_check(speech, check) for check in listed)
    n_more = row["checks_failed"] + row["checks_unevaluated"] - len(listed)
    return sentence + (speech.text("check.more", n=n_more) if n_more else "")


def _check(speech: Speech, check: Facts) -> str:
    expected, actual = check["expected"], check["actual"]
    shown = speech.filters.json_value
    return speech.text(
        "check.bare" if check["reason"] in _SAY_ALL else "check.differs",
        place=check["pointer"] or speech.text("missing.pointer"),
        reason=check["reason"],
        expected=clip(shown(expected, actual), _MOST_QUOTED),
        actual=clip(shown(actual, expected), _MOST_QUOTED),
    )


def evidence(speech: Speech, row: Facts) -> str:
    """Return the sentence of a row of ``fct_evidence``."""
    payload, facts = row["payload"], row["facts"]
    expected, actual = payload["expected"], payload["actual"]
    parts = {
        "expected": _quoted(bare(expected, actual)),
        "actual": _quoted(bare(actual, expected)),
        "rules": _quoted(expected, _MOST_IN_LIST),
        "error": _quoted(facts["error_code"], _MOST_OF_ERRORS),
        "summary": _quoted(facts["summary"], _MOST_IN_LIST),
    }
    return speech.text(f"evidence_sentence.{row['code']}", payload | facts | parts)


def measured(speech: Speech, row: Facts) -> str | None:
    """Return the measured value of a round with its unit; ``None`` for a share."""
    unit = row["facts"]["unit"]
    return None if unit == "share" else speech.measure(row["payload"]["metric"], unit)


def _quoted(text: str | None, most: int = _MOST_QUOTED) -> str | None:
    return None if text is None else clip(str(text), most)


# ---------- results of a task, its dimensions and judges


def errors(speech: Speech, categories: Sequence[Facts], rounds: Facts) -> str | None:
    """Return the kinds of errors with their rounds: ``timeouts 2 → 11``.

    *categories* are rows of ``fct_error_categories`` with the baseline's number;
    *rounds* are the numbers of all rounds, ``n`` and ``before``.
    """
    if not categories:
        return None
    number = speech.filters.number
    parts = [
        f"{speech.label('errors', category['category'])} "
        + " → ".join(
            number(n)
            for n in (category["baseline_n_rounds"], category["n_rounds"])
            if n is not None
        )
        for category in categories
    ]
    is_same = rounds["before"] in (None, rounds["n"])
    total = speech.text("errors.of" if is_same else "errors.of_both", **rounds)
    listed = speech.text("word.comma").join(parts)
    title = speech.text("errors.title") + speech.text("word.colon")
    return title + listed + speech.text("word.bracket", text=total)


def conclusion(speech: Speech, summary: Facts) -> str:
    """Return a task on one line: score, interval, grade, cases, weakest dimension.

    *summary* is a row of ``fct_task_summaries`` with ``weakest_name`` and
    ``weakest_score``.
    """
    n_evaluated = summary["n_pass"] + summary["n_fail"] + summary["n_error"]
    weakest = summary["weakest_dimension_id"]
    grade = speech.text("conclusion.grade", summary)
    parts = {
        "sure": speech.joined("conclusion", ["interval"], summary)
        or speech.text("conclusion.no_interval"),
        "cases": speech.text("count.cases", n=summary["n_scored_cases"]),
        "grade": grade if n_evaluated and speech.is_graded else "",
        "n": summary["n_pass"],
        "total": n_evaluated,
        "name": speech.dimension(weakest, summary.get("weakest_name")),
    }
    is_scored = summary["overall_score"] is not None
    passed = "passed_of_answered" if summary["n_error"] else "passed"
    codes = [
        "score" if is_scored else "none",
        "mostly_unscored" if is_scored and summary["is_mostly_unscored"] else None,
        "capped"
        if is_scored and summary["is_capped"] and not summary["is_mostly_unscored"]
        else None,
        passed if n_evaluated else "no_cases",
    ]
    facts = {**summary, **parts}
    missing = {"n": (n_evaluated and summary["n_unevaluated"]) or None}
    return (
        speech.joined("conclusion", codes, facts)
        + speech.joined("conclusion", ["unevaluated"], missing)
        + speech.joined("conclusion", ["weakest", "end"], facts)
    )


def diagnosis(speech: Speech, row: Facts) -> str:
    """Return the diagnosis of a dimension: score, interval, errors, missing scores.

    *row* is of ``fct_dimension_scores``.
    """
    facts, metrics = row["diagnosis"], row["raw_metrics"]
    reason, limit = facts["unscored_reason"], facts["min_score"]
    reason_text = speech.label("score_reason", reason)
    if row["score"] is None:
        n, total = row["n_rounds"], metrics["n_rounds"]
        return speech.text("diagnosis.none", why=reason_text, n=n, total=total)
    lowest = [
        speech.text("diagnosis.case", case=case, score=score)
        for case, score in (facts["lowest_cases"] or {}).items()
    ]
    is_share = facts["unit"] == "share"
    faults = "short" if facts["n_below_full"] else "full"
    n_unscored = metrics["n_rounds"] - row["n_rounds"]
    # tools may have different assertions per case
    is_expected = (row["scorer"], reason) == ("reported", "no_score")
    parts = {
        "sure": speech.joined("diagnosis", ["interval"], row)
        or speech.label("score_reason", row["ci_reason"]),
        "n": row["n_cases"],
        "total": metrics["n_cases"],
    }
    of_faults = {
        "n": facts["n_below_full"] if is_share else facts["n_off_target"],
        "total": row["n_rounds"],
        "cases": speech.listed(lowest),
    }
    met = "met" if limit is None or row["score"] >= limit else "missed"
    gaps = None if is_expected else n_unscored or None
    return (
        speech.text("diagnosis.score", {**row, **facts, **parts})
        + speech.joined("diagnosis", [met], facts)
        + speech.text(
            f"diagnosis.{faults if is_share else 'measure'}",
            {**metrics, **facts, **of_faults},
        )
        + speech.joined(
            "diagnosis", ["errors"], {"n": metrics["n_error_rounds"] or None}
        )
        + speech.joined("diagnosis", ["gaps"], {"n": gaps, "why": reason_text})
    )


def judge(speech: Speech, row: Facts) -> str:
    """Return a judge's pass rate, corrected, and how far to trust it.

    *row* is of ``queries.JUDGES``.
    """
    is_corrected = row["corrected_rate"] is not None
    name = speech.dimension(row["dimension_id"], row["name"])
    corrected = (row["method"], "interval") if is_corrected else ()
    return speech.joined(
        "judge",
        ["raw", *corrected, "labels", "tnr", "tpr", "end", row["reason"]],
        {**row, "name": name or speech.label("judged", row["dimension_id"])},
    )
