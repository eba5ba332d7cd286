"""Rows of questions of the memory benchmark, one per round."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from promptlab.contracts.memory import Question
from promptlab.ingest.memory.findings import json_bytes, json_text
from promptlab.ingest.memory.locomo_form import answer_parts, reference_parts

ADVERSARIAL = "5"

_WORTH_REMEMBERING = 2000
# Bytes of a question.


Identity = tuple[str, str, str]
"""Text, category and evidence of a question."""


class AnswerRow(NamedTuple):
    """A row of ``raw.memory_answers``; it ends with the fields of `_Asked`."""

    test_index: int
    question_index: int
    position: int
    question_key: str
    predicted_answer: str | None
    error: str | None
    answer_stems: str | None
    extras: str
    question_text: str
    reference_answer: str | None
    evidence: str | None
    category: str | None
    reference_texts: str | None
    reference_stems: str | None


class _Asked(NamedTuple):
    """The part of a question that is the same in every round."""

    question_text: str
    reference_answer: str | None
    evidence: str | None
    category: str | None
    reference_texts: str | None
    reference_stems: str | None

    @property
    def identity(self) -> Identity:
        return self.question_text, self.category or "", self.evidence or ""


def answer_row(
    task_id: str,
    test_index: int,
    position: int,
    question: Question,
    unknown: dict[str, Any],
    twins: Counter[Identity],
) -> AnswerRow:
    """Return the row of one question.

    Args:
        task_id: The conversation.
        test_index: Its round.
        position: Its place in the round, from 0.
        question: The question, or a struct with its fields.
        unknown: Its unknown fields.
        twins: Questions of the round so far; this one is added.
    """
    written = json_bytes(
        (
            question.question_text,
            question.reference_answer,
            question.evidence,
            question.category,
        )
    )
    is_short = len(written) <= _WORTH_REMEMBERING
    asked, identity, key = (_remembered if is_short else _prepared)(task_id, written)
    number = twins[identity] = twins.get(identity, 0) + 1
    answer = as_text(question.predicted_answer)
    answer_stems = None
    if answer is not None and asked.reference_stems is not None:
        answer_stems = json_text(answer_parts(answer, asked.category))
    return AnswerRow(
        test_index,
        question.question_index,
        position,
        key if number == 1 else _key(task_id, identity, number),
        answer,
        as_text(question.error) if question.error else None,
        answer_stems,
        json_text(unknown) if unknown else "{}",
        *asked,
    )


def _prepared(task_id: str, written: bytes) -> tuple[_Asked, Identity, str]:
    """Return the common part of a question's rows, and its key.

    Args:
        task_id: The conversation.
        written: Its text, reference, evidence and category as a JSON list.
    """
    asked = _asked(*msgspec.json.decode(written))
    return asked, asked.identity, _key(task_id, asked.identity, 1)


_remembered = lru_cache(maxsize=10_000)(_prepared)
"""Number of cached questions; rounds repeat them, but long references need memory."""


def _key(task_id: str, identity: Identity, number: int) -> str:
    """Return a question's key: the same in every round, run and machine."""
    digest = blake2b(digest_size=10)
    for part in (task_id, *identity, str(number)):
        # Lengths make the joined text unambiguous.
        data = part.encode()
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()


def as_text(value: Any) -> str | None:
    """Return a JSON value as text: a text itself, ``None`` for null, else JSON."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def _asked(question: str, reference: Any, evidence: Any, category: Any) -> _Asked:
    """Prepare a question; the elements of a list of references are alternatives."""
    name = as_text(category)
    alternatives = reference if isinstance(reference, list) else [reference]
    texts = [text for each in alternatives if (text := as_text(each)) is not None]
    # Category 5 is scored by the answer, not by its reference.
    compared = [] if name == ADVERSARIAL else texts
    return _Asked(
        question,
        None if reference is None else json_text(reference),
        None if evidence is None else json_text(evidence),
        name,
        json_text(texts) if texts else None,
        json_text([reference_parts(each, name) for each in compared])
        if compared
        else None,
    )
