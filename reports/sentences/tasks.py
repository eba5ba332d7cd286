"""Sentences about the results of a task and its dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from promptlab.reports.sentences.speech import Speech

Facts = dict[str, Any]


_ENDS = ("low", "high")


def conclusion(speech: Speech, summary: Facts) -> str:
    """Return a task on one line: score, interval, grade, cases, weakest dimension.

    Args:
        speech: The words.
        summary: A row of ``fct_task_summaries`` with ``weakest_name`` and
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
        yield speech.text("conclusion.passed", n=summary["n_pass"], total=n_evaluated)
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

    Args:
        speech: The words.
        row: A row of ``fct_dimension_scores``, its JSON read.
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

    Args:
        speech: The words.
        row: A row of ``queries.gate.JUDGES``.
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
