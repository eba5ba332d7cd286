"""One question of one round of the memory benchmark, as a row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from ingest.memory.findings import Findings, Keys, json_text
from ingest.memory.locomo_form import answer_parts, reference_parts
from promptlab.contracts.memory import Question

ADVERSARIAL = "5"


Identity = tuple[str, str, str, int]
"""Text, category and evidence of a question, and its number among equal ones."""


class AnswerRow(NamedTuple):
    """A row of ``raw.memory_answers``."""

    test_index: int
    question_index: int
    position: int
    question_key: str
    question_text: str
    predicted_answer: str | None
    reference_answer: str | None
    evidence: str | None
    category: str | None
    error: str | None
    reference_texts: str | None
    answer_stems: str | None
    reference_stems: str | None
    extras: str


class _ExpectedAnswer(NamedTuple):
    """A question's reference, prepared once for all rounds that ask it."""

    as_given: str
    texts: str | None
    stems: str | None


@dataclass
class AnswerRows:
    """Makes the rows of one file; remembers what repeats from round to round."""

    task_id: str
    findings: Findings
    _references: dict[tuple[str, str | None], _ExpectedAnswer] = field(
        default_factory=dict
    )
    _keys: dict[Identity, str] = field(default_factory=dict)

    def row(
        self,
        test_index: int,
        position: int,
        question: Question,
        twins: Counter[Identity],
        keys: Keys,
    ) -> AnswerRow:
        """Return the row of one question.

        Args:
            test_index: Its round.
            position: Its place in the round, from 0.
            question: The question.
            twins: Questions of the round so far; gets this one.
            keys: The way to it in the file.
        """
        category = as_text(question.category)
        evidence = None if question.evidence is None else json_text(question.evidence)
        text = question.question_text
        identity = (text, category or "", evidence or "", 0)
        twins[identity] += 1
        identity = (*identity[:3], twins[identity])
        answer = as_text(question.predicted_answer)
        if answer is not None and not isinstance(question.predicted_answer, str):
            self.findings.count(
                "answer_not_text",
                "expected text; it is read as its JSON text. Write answers as text.",
                (*keys, "predicted_answer"),
            )
        reference = self._reference(question.reference_answer, category)
        is_compared = reference and reference.stems and answer is not None
        for name in question.model_extra or {}:
            self.findings.unknown((*keys, name))
        return AnswerRow(
            test_index=test_index,
            question_index=question.question_index,
            position=position,
            question_key=self._key(identity),
            question_text=text,
            predicted_answer=answer,
            reference_answer=reference.as_given if reference else None,
            evidence=evidence,
            category=category,
            error=as_text(question.error) if question.error else None,
            reference_texts=reference.texts if reference else None,
            answer_stems=(
                json_text(answer_parts(answer or "", category)) if is_compared else None
            ),
            reference_stems=reference.stems if reference else None,
            extras=json_text(question.model_extra) if question.model_extra else "{}",
        )

    def _key(self, identity: Identity) -> str:
        """Return a question's key: the same in every round, run and machine."""
        key = self._keys.get(identity)
        if key is None:
            digest = blake2b(digest_size=10)
            for part in (self.task_id, *map(str, identity)):
                # Lengths keep apart what would read the same when joined.
                data = part.encode()
                digest.update(b"%d:%b" % (len(data), data))
            key = self._keys[identity] = digest.hexdigest()
        return key

    def _reference(self, value: Any, category: str | None) -> _ExpectedAnswer | None:
        if value is None:
            return None
        as_given = json_text(value)
        known = self._references.get((as_given, category))
        if known is None:
            known = _prepared(value, as_given, category)
            self._references[as_given, category] = known
        return known


def as_text(value: Any) -> str | None:
    """Return a JSON value as text: a text itself, anything else as JSON, null none."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def _prepared(value: Any, as_given: str, category: str | None) -> _ExpectedAnswer:
    """Prepare a reference; the elements of a list are alternatives."""
    alternatives = value if isinstance(value, list) else [value]
    texts = [text for each in alternatives if (text := as_text(each)) is not None]
    if not texts:
        return _ExpectedAnswer(as_given, None, None)
    # Category 5 is scored by what the answer says, not by its reference.
    stems = (
        None
        if category == ADVERSARIAL
        else json_text([reference_parts(text, category) for text in texts])
    )
    return _ExpectedAnswer(as_given, json_text(texts), stems)
