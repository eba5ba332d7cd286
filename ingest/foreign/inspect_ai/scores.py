"""The scores of Inspect's samples: numbers, letters and labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from promptlab.ingest.foreign.casts import as_float, as_list, as_object, parse_float
from promptlab.ingest.foreign.inspect_ai.log import (
    Log,
    Sample,
    SampleScores,
    Score,
    ScoreResult,
)
from promptlab.ingest.foreign.writing import TaskWriter

_GRADED = ("model_graded_qa", "model_graded_fact")
"""Inspect's built-in judges, with values from 0 to 1."""
_RULES = re.compile(r"(match|includes|pattern|answer|exact|f1|choice|math)\d*")
"""Inspect's built-in scorers that ask no model; a second one of a name has a number."""
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_BROKEN_GRADER = "Grade not found in model output"
"""The explanation of the I of ``model_graded_qa`` if its judge returned no grade."""


class Value(NamedTuple):
    """The result of one scorer, or of one key of it."""

    name: str
    value: float | None
    is_letter: bool
    """Inspect maps letters to the scale 0 to 1."""
    explanation: str | None
    payload: dict[str, Any]


def values_of(sample: Sample, label_scorers: Collection[str] = ()) -> Iterator[Value]:
    """Return the results of the scorers: a value each, or one per key."""
    for name, value, score in _results(sample):
        number, is_letter = as_float(value), False
        if isinstance(value, str) and name not in label_scorers:
            is_letter = value in _LETTERS
            number = _LETTERS.get(value, _WORDS.get(value.lower()))
            if number is None:
                number = parse_float(value)
            if (score.explanation or "").startswith(_BROKEN_GRADER):
                number = None
        payload = {"given": value}
        if score.answer is not None:
            payload["answer"] = score.answer
        yield Value(name, number, is_letter, score.explanation, payload)


def find_label_scorers(samples: Iterable[SampleScores], log: Log) -> set[str]:
    """Return the scorers whose letters are labels and not Inspect's C, P, I and N.

    Such a scorer has other labels, too; or it never writes C or I, and has no accuracy.
    """
    values: defaultdict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for name, value, _ in _results(sample):
            if isinstance(value, str) and value.strip():
                values[name].add(value if len(value) < 99 else "…")
    return {name for name in values if _has_labels(values[name], log, name)}


def _has_labels(values: set[str], log: Log, name: str) -> bool:
    if not values & _LETTERS.keys():
        return False
    has_other_labels = any(map(_is_label, values - _LETTERS.keys()))
    is_graded = bool(values & {"C", "I"}) or has_accuracy(log, name)
    return has_other_labels or not is_graded


def _is_label(word: str) -> bool:
    return word.lower() not in _WORDS and parse_float(word) is None


def _results(sample: Sample | SampleScores) -> Iterator[tuple[str, Any, Score]]:
    """Yield the result of each scorer, or each key of it, with its name."""
    for name, score in (sample.scores or {}).items():
        parts = score.value
        if isinstance(parts, list):
            parts = dict(enumerate(parts))
        if isinstance(parts, dict):
            for key, value in parts.items():
                yield f"{name}.{key}", value, score
        else:
            yield name, parts, score


# ---------- scorers


def is_rule(scorer: str) -> bool:
    """Return true for a built-in scorer that asks no model."""
    return _RULES.fullmatch(scorer) is not None


def is_built_in_share(name: str) -> bool:
    """Return true for a built-in scorer with values from 0 to 1."""
    return is_rule(name) or name in _GRADED


def has_accuracy(log: Log, name: str) -> bool:
    """Return true if Inspect's accuracy, from 0 to 1, is a metric of a dimension."""
    scorer_name, _, key = name.partition(".")
    for scorer in log.eval.scorers or ():
        metrics = scorer.metrics
        if isinstance(metrics, dict):
            metrics = metrics.get(key or scorer_name)
        listed = as_list(metrics)
        names = [as_object(metric).get("name") for metric in listed]
        if scorer.name == scorer_name and "inspect_ai/accuracy" in names:
            return True
    return any(
        "accuracy" in (result.metrics or {})
        for result in log.claimed
        if name in (result.name, f"{result.scorer}.{result.name}")
    )


def dimension_of(result: ScoreResult, task: TaskWriter) -> str:
    """Return the dimension of a result: a scorer, or one key of its value."""
    key = f"{result.scorer}.{result.name}"
    if key in task.dimensions or (result.scorer and result.scorer != result.name):
        return key
    return result.name or result.scorer or "score"
