"""The rounds of a memory-benchmark file and the answers in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from promptlab.contracts.memory_run import Question, RoundHead
from promptlab.errors import nearest
from promptlab.ingest.memory.chinese_form import cmrc_f1, is_chinese, is_same
from promptlab.ingest.memory.locomo_form import answer_parts, reference_parts
from promptlab.ingest.memory.question_keys import Identity, QuestionKeys
from promptlab.ingest.memory.tolerant import Extras, FileProblems, read_tolerantly
from promptlab.ingest.reading.problems import faults
from promptlab.ingest.reading.structs import struct_of
from promptlab.json_text.places import Keys
from promptlab.json_text.writing import compact, shown

ADVERSARIAL = "5"

_MAX_CACHED = 2000
"""Maximum length of a question that is cached, in characters."""


class _PreparedQuestion(NamedTuple):
    """The part of a question that is the same in every round."""

    question_text: str
    reference_answer: str | None
    evidence: str | None
    category: str | None
    reference_texts: str | None
    reference_stems: str | None
    is_chinese: bool
    """True for Chinese in its reference; without a reference, in the question."""


class _Answer(NamedTuple):
    """An answer, until all questions of the file are known."""

    test_index: int
    question_index: int
    position: int
    predicted_answer: str | None
    error: str | None
    answer_stems: str | None
    extras: str
    question: _PreparedQuestion
    twin: int
    """Its number among the equal questions of its round, from 1."""

    def row(self, keys: QuestionKeys, *, is_chinese_file: bool) -> tuple[Any, ...]:
        """Return the values of `ANSWER_COLUMNS`."""
        *fields, question, twin = self
        return (
            *fields,
            *question,
            keys.key(_identity(question), twin),
            *(self.chinese_scores() if is_chinese_file else (None, None)),
        )

    def chinese_scores(self) -> tuple[float | None, bool | None]:
        """Return ``cmrc_f1`` and ``is_same`` of an answer that has a reference."""
        texts, category = self.question.reference_texts, self.question.category
        if self.predicted_answer is None or texts is None or category == ADVERSARIAL:
            return None, None
        arguments = self.predicted_answer, msgspec.json.decode(texts), category
        return cmrc_f1(*arguments), is_same(*arguments)


ANSWER_COLUMNS = (
    *_Answer._fields[:-2],
    *_PreparedQuestion._fields,
    *("question_key", "cmrc_f1", "is_same"),
)


def _answer(
    test_index: int,
    position: int,
    question: Question,
    unknown: dict[str, Any],
    twins: Counter[Identity],
) -> _Answer:
    content = compact(
        (
            question.question_text,
            question.reference_answer,
            question.evidence,
            question.category,
        )
    )
    is_short = len(content) <= _MAX_CACHED
    prepared = (_prepare_cached if is_short else _prepare)(content)
    identity = _identity(prepared)
    twins[identity] += 1
    answer = as_text(question.predicted_answer)
    answer_stems = None
    if answer is not None and prepared.reference_stems is not None:
        answer_stems = compact(answer_parts(answer, prepared.category))
    return _Answer(
        test_index,
        question.question_index,
        position,
        answer,
        as_text(question.error) if question.error else None,
        answer_stems,
        compact(unknown) if unknown else "{}",
        prepared,
        twins[identity],
    )


def _prepare(content: str) -> _PreparedQuestion:
    return _prepare_question(*msgspec.json.decode(content))


_prepare_cached = lru_cache(maxsize=10_000)(_prepare)
"""Number of cached questions; rounds repeat them, but long references need memory."""


def _identity(question: _PreparedQuestion) -> Identity:
    return question.question_text, question.category or "", question.evidence or ""


def as_text(value: Any) -> str | None:
    """Return a JSON value as text: a text itself, ``None`` for null, else JSON."""
    if value is None or isinstance(value, str):
        return value
    return compact(value)


def _prepare_question(
    question: str, reference: Any, evidence: Any, category: Any
) -> _PreparedQuestion:
    """Prepare a question; the elements of a list of references are alternatives."""
    name = as_text(category)
    alternatives = reference if isinstance(reference, list) else [reference]
    texts = [text for value in alternatives if (text := as_text(value)) is not None]
    # Category 5 is scored by the answer, not by its reference.
    compared = [] if name == ADVERSARIAL else texts
    return _PreparedQuestion(
        question,
        None if reference is None else compact(reference),
        None if evidence is None else compact(evidence),
        name,
        compact(texts) if texts else None,
        compact([reference_parts(text, name) for text in compared])
        if compared
        else None,
        is_chinese(" ".join(texts) or question),
    )


_KNOWN = frozenset(Question.model_fields)
_STRUCTS: Any = list[struct_of(Question, free=Any)]  # type: ignore[misc]  # built


@dataclass
class Rounds:
    """The rounds of a file: their own fields, and the answers that could be read."""

    task_id: str
    problems: FileProblems
    heads: list[tuple[RoundHead, int, Extras]] = field(default_factory=list)
    """Each round without its questions: its fields, number of answers, and extras."""
    answers: list[_Answer] = field(default_factory=list)
    rejected: int = 0

    def read(self, rounds: Sequence[Any]) -> None:
        """Read all rounds, in the order of the file."""
        indexes: set[int] = set()
        for place, round_ in enumerate(rounds):
            keys: Keys = ("test_results", place)
            error = _fault_of_round(round_, indexes)
            if error:
                code, message, path = error
                self.problems.reject(code, message, keys + path, record=round_)
                self.rejected += _answers_in(round_)
                continue
            frame = {name: round_[name] for name in round_ if name != "questions"}
            head, extras = read_tolerantly(RoundHead, frame, keys, self.problems)
            indexes.add(head.test_index)
            before = len(self.answers)
            self._read_answers(head.test_index, round_["questions"], keys)
            self.heads.append((head, len(self.answers) - before, extras))
        if self._is_chinese:
            self.problems.warn(
                "chinese_references",
                "most references are Chinese, so locomo_f1 and token_f1 do not decide:"
                " cmrc_f1 is the score, and only plain answers are right or wrong. Set"
                " right_metric in [memory] of promptlab.toml to decide all.",
                ("test_results",),
            )
        if not rounds:
            self.problems.warn(
                "no_rounds",
                "the run has no rounds: nothing to score.",
                ("test_results",),
            )

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the values of `ANSWER_COLUMNS` of each answer."""
        keys = QuestionKeys(_identity(answer.question) for answer in self.answers)
        is_chinese_file = self._is_chinese
        return [
            answer.row(keys, is_chinese_file=is_chinese_file) for answer in self.answers
        ]

    @property
    def _is_chinese(self) -> bool:
        """True if most answers have a Chinese reference."""
        n_chinese = sum(answer.question.is_chinese for answer in self.answers)
        return 2 * n_chinese > len(self.answers)

    def _read_answers(
        self, test_index: int, questions: Sequence[Any], keys: Keys
    ) -> None:
        indexes: set[int] = set()
        twins: Counter[Identity] = Counter()
        path = (*keys, "questions")
        parsed = self._questions(questions, test_index, path)
        for place, question in enumerate(parsed):
            if question is None:
                continue
            raw = questions[place]
            if question.question_index in indexes:
                self._reject_second(question, raw, test_index, (*path, place))
                continue
            indexes.add(question.question_index)
            if not isinstance(question.predicted_answer, str | None):
                self.problems.count(
                    "answer_not_text",
                    "expected text; it is read as its JSON text. Write answers as"
                    " text.",
                    (*path, place, "predicted_answer"),
                )
            unknown = {}
            if not _KNOWN.issuperset(raw):
                unknown = {name: raw[name] for name in raw if name not in _KNOWN}
            for name in unknown:
                self.problems.unknown((*path, place, name))
            self.answers.append(_answer(test_index, place, question, unknown, twins))

    def _questions(
        self, questions: Sequence[Any], test_index: int, keys: Keys
    ) -> Iterator[Question | None]:
        """Yield structs with the fields of the questions, ``None`` for invalid ones.

        The contract decides about those.
        """
        try:
            yield from msgspec.convert(questions, _STRUCTS)
            return
        except msgspec.ValidationError:
            pass
        for place, raw in enumerate(questions):
            try:
                yield Question.model_validate(raw)
            except ValidationError as error:
                self._reject_answer(error, raw, test_index, (*keys, place))
                yield None

    def _reject_second(
        self, question: Question, raw: Any, test_index: int, keys: Keys
    ) -> None:
        index = question.question_index
        self.problems.reject(
            "duplicate_answer",
            f"question_index {index} stands twice in round {test_index}; the first one"
            " is kept. Give each its own.",
            (*keys, "question_index"),
            record_id=self._record_id(test_index, index),
            record=raw,
        )
        self.rejected += 1

    def _reject_answer(
        self, error: ValidationError, raw: Any, test_index: int, path: Keys
    ) -> None:
        index = raw.get("question_index") if isinstance(raw, dict) else None
        for fault in faults(error, raw):
            self.problems.reject(
                fault.code,
                f"{fault.message}; the answer is left out.",
                path + fault.keys,
                record_id=self._record_id(test_index, index),
                record=raw,
            )
        self.rejected += 1

    def _record_id(self, test_index: int, question_index: Any) -> str:
        number = "?" if question_index is None else shown(question_index)
        return f"{self.task_id}/{test_index}/{number}"


def _fault_of_round(round_: Any, indexes: set[int]) -> tuple[str, str, Keys] | None:
    """Return code, message and path of the error in a round; ``None`` without one."""
    if not isinstance(round_, dict):
        return "bad_round", f"expected a round, an object, found {shown(round_)}.", ()
    try:
        RoundHead.model_validate({"test_index": round_.get("test_index")})
    except ValidationError as error:
        message = faults(error, round_)[0].message
        return "bad_round", f"{message}; the round is left out.", ("test_index",)
    if round_["test_index"] in indexes:
        message = (
            f"test_index {round_['test_index']} stands twice; the first round is kept."
            " Number the rounds from 1."
        )
        return "duplicate_round", message, ("test_index",)
    if not isinstance(round_.get("questions"), list):
        hint = "" if "questions" in round_ else nearest("questions", list(round_))
        message = (
            f"expected a list of questions, found {shown(round_.get('questions'))}"
            f"{hint}; the round is left out. Write [] for none."
        )
        return "bad_round", message, ("questions",)
    return None


def _answers_in(round_: Any) -> int:
    """Return the number of answers in a rejected round, at least 1."""
    questions = round_.get("questions") if isinstance(round_, dict) else None
    return max(1, len(questions)) if isinstance(questions, list) else 1
