"""The published scores of a memory benchmark in plain Python, by their definitions."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from typing import Any

from promptlab.ingest.memory.porter import stem

METRICS = ("exact_match", "token_f1", "contains_reference", "locomo_f1", "mem0_f1")


def scores(question: dict[str, Any]) -> dict[str, float | None]:
    """Every score of one answer; None where it is not defined or the call failed."""
    answer = question.get("predicted_answer")
    category = str(question["category"]) if question.get("category") else None
    references = alternatives(question.get("reference_answer"))
    if has_failed(question):
        return dict.fromkeys(METRICS)
    text = answer or ""
    found: dict[str, float | None] = {
        "exact_match": best(exact_match, text, references),
        "token_f1": best(token_f1, text, references),
        "contains_reference": best(contains_reference, text, references),
        "mem0_f1": best(mem0_f1, text, references) if category != "5" else None,
    }
    if category == "5":
        found["locomo_f1"] = refusal(text)
    elif not references:
        found["locomo_f1"] = None
    elif answer is None:
        found["locomo_f1"] = 0.0
    else:
        found["locomo_f1"] = max(locomo_f1(text, r, category) for r in references)
    return found


def has_failed(question: dict[str, Any]) -> bool:
    answer = question.get("predicted_answer")
    return bool(question.get("error")) or (answer or "").strip() == "[ERROR]"


def is_scorable(question: dict[str, Any], metric: str) -> bool:
    """Return true if a question counts for a metric, failed or not."""
    has_reference = bool(alternatives(question.get("reference_answer")))
    is_adversarial = question.get("category") == 5
    if metric == "locomo_f1":
        return has_reference or is_adversarial
    return has_reference and not (metric == "mem0_f1" and is_adversarial)


def alternatives(reference: Any) -> list[str]:
    listed = reference if isinstance(reference, list) else [reference]
    return [str(each) for each in listed if each is not None]


def best(score: Any, answer: str, references: list[str]) -> float | None:
    return max((score(answer, each) for each in references), default=None)


def f1(shared: int, left: int, right: int) -> float:
    if shared == 0:
        return 0.0
    precision, recall = shared / left, shared / right
    return 2 * precision * recall / (precision + recall)


def tokens(text: str) -> list[str]:
    bare = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    spaced = "".join(f" {c} " if is_cjk(c) else c for c in bare)
    return spaced.split()


def is_cjk(character: str) -> bool:
    name = unicodedata.name(character, "")
    return name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA"))


def token_f1(answer: str, reference: str) -> float:
    left, right = tokens(answer), tokens(reference)
    if not left and not right:
        return 1.0
    return f1((Counter(left) & Counter(right)).total(), len(left), len(right))


def exact_match(answer: str, reference: str) -> float:
    return float(tokens(answer) == tokens(reference))


def contains_reference(answer: str, reference: str) -> float:
    held, wanted = tokens(answer), tokens(reference)
    if not wanted:
        return float(not held)
    places = range(len(held) - len(wanted) + 1)
    return float(any(held[n : n + len(wanted)] == wanted for n in places))


def mem0_f1(answer: str, reference: str) -> float:
    left, right = mem0_words(answer), mem0_words(reference)
    return f1(len(left & right), len(left), len(right))


def mem0_words(text: str) -> set[str]:
    for mark in ".,!?":
        text = text.replace(mark, " ")
    return set(text.lower().split())


def locomo_f1(answer: str, reference: str, category: str | None) -> float:
    if category == "1":
        parts = [
            max(locomo_part(a, part) for a in answer.split(","))
            for part in reference.split(",")
        ]
        return sum(parts) / len(parts)
    if category == "3":
        reference = reference.split(";")[0]
    return locomo_part(answer, reference)


def locomo_part(answer: str, reference: str) -> float:
    left, right = Counter(locomo_words(answer)), Counter(locomo_words(reference))
    return f1((left & right).total(), left.total(), right.total())


def locomo_words(text: str) -> list[str]:
    text = text.replace(",", "").lower()
    text = "".join(c for c in text if c not in string.punctuation)
    text = re.sub(r"\b(a|an|the|and)\b", " ", text)
    return [stem(word) for word in text.split()]


def refusal(answer: str) -> float:
    said = answer.lower()
    return float("no information available" in said or "not mentioned" in said)
