"""Sentences of comparisons, about tasks and their cases."""

from __future__ import annotations

from typing import Any

from promptlab.reports.sentences.speech import Speech

Facts = dict[str, Any]


def comparison(speech: Speech, facts: Facts) -> str:
    """Return the sentence about two tasks: overall, a dimension or a tag.

    Args:
        speech: The words.
        facts: ``level``, ``subject``, ``name`` and the numbers of
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


def note(speech: Speech, row: Facts) -> str:
    """Return the sentence of a row of ``fct_comparison_notes``, without full stop."""
    facts = row["facts"]
    sentence = comparison(speech, facts) if "verdict" in facts else None
    return speech.text(
        f"comparison_note.{row['note']}",
        n=row["n"],
        baseline=row["baseline_task_id"],
        before=facts.get("baseline_testset_id"),
        after=facts.get("candidate_testset_id"),
        rows=_rows(facts),
        conclusion=sentence and sentence.rstrip(".。"),
    )


def _rows(facts: Facts) -> str:
    """Return the number of rows in a file and the number that it claims."""
    counts = (facts.get("n_rows_held"), facts.get("n_rows_claimed"))
    return " / ".join(f"{count:,}" for count in counts if count is not None)


def category_name(speech: Speech, dataset: str, category: str) -> str | None:
    """Return the name of a data set's category; ``None`` without a name."""
    key = f"memory_category.{dataset}.{category}"
    return speech.text(key) if speech.has(key) else None


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
