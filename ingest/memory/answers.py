"""One question of one round of the memory benchmark, as a row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from ingest.memory.findings import Findings, Keys, json_bytes, json_text
from ingest.memory.locomo_form import answer_parts, reference_parts
from promptlab.contracts.memory import Question

ADVERSARIAL = "5"


Identity = tuple[str, str, str]
"""Text, category and evidence of a question."""


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
    """What answers are compared with, each null where there is nothing."""

    as_given: str | None = None
    texts: str | None = None
    stems: str | None = None


class _Asked(NamedTuple):
    """What is the same whenever a question is asked."""

    identity: Identity
    category: str | None
    evidence: str | None
    reference: _ExpectedAnswer


@dataclass
class AnswerRows:
    """Makes the rows of one file; remembers what repeats from round to round."""

    task_id: str
    findings: Findings
    _asked: dict[bytes, _Asked] = field(default_factory=dict)
    _keys: dict[tuple[Identity, int], str] = field(default_factory=dict)

    def row(
        self,
        test_index: int,
        position: int,
        question: Question,
        unknown: dict[str, Any],
        twins: Counter[Identity],
        keys: Keys,
    ) -> AnswerRow:
        """Return the row of one question.

        Args:
            test_index: Its round.
            position: Its place in the round, from 0.
            question: The question, or a struct with its fields.
            unknown: What the format does not know of it.
            twins: Questions of the round so far; gets this one.
            keys: The way to it in the file.
        """
        asked = self._as_asked(question)
        twins[asked.identity] += 1
        answer = as_text(question.predicted_answer)
        if answer is not question.predicted_answer:
            self.findings.count(
                "answer_not_text",
                "expected text; it is read as its JSON text. Write answers as text.",
                (*keys, "predicted_answer"),
            )
        reference = asked.reference
        is_compared = reference.stems is not None and answer is not None
        return AnswerRow(
            test_index=test_index,
            question_index=question.question_index,
            position=position,
            question_key=self._key(asked.identity, twins[asked.identity]),
            question_text=question.question_text,
            predicted_answer=answer,
            reference_answer=reference.as_given,
            evidence=asked.evidence,
            category=asked.category,
            error=as_text(question.error) if question.error else None,
            reference_texts=reference.texts,
            answer_stems=(
                json_text(answer_parts(answer or "", asked.category))
                if is_compared
                else None
            ),
            reference_stems=reference.stems,
            extras=json_text(unknown) if unknown else "{}",
        )

    def _as_asked(self, question: Question) -> _Asked:
        text, evidence = question.question_text, question.evidence
        given = (text, question.category, evidence, question.reference_answer)
        written = json_bytes(given)
        asked = self._asked.get(written)
        if asked is None:
            category = as_text(question.category)
            evidence = None if evidence is None else json_text(evidence)
            asked = self._asked[written] = _Asked(
                identity=(text, category or "", evidence or ""),
                category=category,
                evidence=evidence,
                reference=_reference(question.reference_answer, category),
            )
        return asked

    def _key(self, identity: Identity, number: int) -> str:
        """Return a question's key: the same in every round, run and machine."""
        key = self._keys.get((identity, number))
        if key is None:
            digest = blake2b(digest_size=10)
            for part in (self.task_id, *identity, str(number)):
                # Lengths keep apart what would read the same when joined.
                data = part.encode()
                digest.update(b"%d:%b" % (len(data), data))
            key = self._keys[identity, number] = digest.hexdigest()
        return key


def as_text(value: Any) -> str | None:
    """Return a JSON value as text: a text itself, anything else as JSON, null none."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def _reference(value: Any, category: str | None) -> _ExpectedAnswer:
    """Prepare a reference; the elements of a list are alternatives."""
    if value is None:
        return _ExpectedAnswer()
    as_given = json_text(value)
    alternatives = value if isinstance(value, list) else [value]
    texts = [text for each in alternatives if (text := as_text(each)) is not None]
    if not texts:
        return _ExpectedAnswer(as_given)
    # Category 5 is scored by what the answer says, not by its reference.
    stems = (
        None
        if category == ADVERSARIAL
        else json_text([reference_parts(text, category) for text in texts])
    )
    return _ExpectedAnswer(as_given, json_text(texts), stems)
