"""Write the records of a task.

A reader passes the case of a row, the answer and the judgements::

    task = TaskWriter("quizmaster", run_id, source)
    for row in rows:
        case = task.case(row.id, {"question": row.question}, golden=row.expected)
        answer = case.round(row.answer, error=row.error)
        answer.score("accuracy", row.accuracy, on_scale(row.accuracy))
        yield from task.written()
    task.describe(title=name, model=model)
    task.grade()
    yield from task.written()

This module keeps the common state of records: ids, positions, known cases and
dimensions. The reader yields records as it goes, so a large file is never in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign.documents import (
    answer,
    first_line,
    is_infinite,
    number,
    says_nothing,
    text,
)
from promptlab.ingest.foreign.grading import Dimensions, no_share
from promptlab.ingest.foreign.identity import Occurrences, SameRun
from promptlab.ingest.foreign.records import (
    Baseline,
    Case,
    Check,
    Direction,
    Judge,
    Record,
    Round,
    Rule,
    Score,
    Status,
    Task,
    Total,
)
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source


class TaskWriter:
    """Writes one task.

    Args:
        kind: Name of the tool, as in the registry.
        task_id: The tool's own id of it, or one made of its content.
        source: The file that leads its run.
        same_run: The hash of the run, if it is not derived from the task's id.
        is_share: Returns true for names defined on the scale 0 to 1 (`Dimensions`).
    """

    def __init__(
        self,
        kind: str,
        task_id: str,
        source: Source,
        same_run: SameRun | None = None,
        *,
        is_share: Callable[[str], bool] = no_share,
    ) -> None:
        self.task_id = task_id
        self.dimensions = Dimensions(task_id, is_share)
        self.same_run = same_run or SameRun(kind, task_id)
        self._kind = kind
        self._source = source
        self.line: int | None = None
        """Line of the row that is being read, if its reader knows it."""
        self.earliest: datetime | None = None
        """Time of its first answer."""
        self._odd: dict[str, _OddScores] = {}
        self.n_rounds: dict[str, int] = {}
        """Case → its number of rounds so far."""
        self._seen = Occurrences()
        self._places = count()
        self._records: list[Record | Problem] = []
        self.write = self._records.append
        """Write any record, or a problem."""

    def written(self) -> list[Record | Problem]:
        """Return the records written since the last call."""
        records = self._records.copy()
        self._records.clear()
        return records

    def distinct(self, case_id: str, *within: str) -> str:
        """Return a unique id of a case: the second case of an id is ``id~2``."""
        case_id = plain_name(case_id)
        return Occurrences.named(case_id, self._seen.next(case_id, *within))

    def case(
        self,
        case_id: str,
        context: Any,
        *,
        golden: Any = None,
        golden_id: str = "expected",
        tags: Sequence[str] = (),
        cluster: str | None = None,
        categories: Any = None,
        expectation_hash: str | None = None,
        place: int | None = None,
    ) -> CaseWriter:
        """Return the case of an id; write it if it is new.

        Args:
            case_id: Its id, which is the same in every run.
            context: The input.
            golden: The expected answer.
            golden_id: The tool's name of that answer.
            tags: Its tags.
            cluster: Its group of related cases: a conversation, a document.
            categories: Its metadata; short texts can become tags.
            expectation_hash: Hash of the tool's assertions.
            place: Its position; by default after those that were written.
        """
        case_id = plain_name(case_id)
        if case_id not in self.n_rounds:
            place = len(self.n_rounds) if place is None else place
            self.n_rounds[case_id] = 0
            texts = _categories(categories)
            if self._source.tag_keys is not None:
                named = {k: texts[k] for k in self._source.tag_keys if k in texts}
                tags = list(dict.fromkeys([*tags, *map(category_tag, named.items())]))
                texts = {}
            self.write(
                Case(
                    self.task_id,
                    case_id,
                    place,
                    text(context),
                    text(tags) if tags else "[]",
                    cluster,
                    text(texts) if texts else "{}",
                    expectation_hash,
                )
            )
            if golden is not None:
                payload = text({"answer": golden})
                self.write(Baseline(self.task_id, case_id, golden_id, 0, payload))
        return CaseWriter(self, case_id)

    def known(self, case_id: str) -> CaseWriter | None:
        """Return the case of an id, if it was written."""
        case_id = plain_name(case_id)
        return CaseWriter(self, case_id) if case_id in self.n_rounds else None

    def describe(
        self,
        title: str | None = None,
        *,
        model: str | None = None,
        prompt_version: str | None = None,
        created_at: datetime | None = None,
        run_id: str | None = None,
        run_hash: str | None = None,
        written_at: datetime | None = None,
        tool_version: str | None = None,
        env: str = "{}",
        extras: Mapping[str, Any] | None = None,
        provider: str | None = None,
        prompt_name: str | None = None,
        prompt_position: int | None = None,
        variant: str | None = None,
        settings: Mapping[str, Any] | None = None,
        judge: Any = None,
        branch: str | None = None,
        commit_sha: str | None = None,
    ) -> None:
        """Write the task itself; `Task` describes the fields.

        The default title is that of its file, the default time that of its earliest
        round. A *run_hash* covers the whole content of the run.
        """
        self.write(
            Task(
                task_id=self.task_id,
                source_kind=self._kind,
                title=title or self._source.path.name.split(".", 1)[0],
                prompt_version=prompt_version or "unknown",
                model=model or "unknown",
                created_at=created_at or self.earliest,
                run_id=run_id or self.task_id,
                run_hash=run_hash or self.same_run.hash(),
                is_version=run_hash is not None,
                written_at=written_at,
                tool_version=tool_version,
                env=env,
                extras=text(extras or {}),
                provider=provider,
                prompt_name=prompt_name,
                prompt_position=prompt_position,
                variant=variant,
                settings=text(settings) if settings else None,
                judge=text(judge) if judge else None,
                branch=branch,
                commit_sha=commit_sha,
            )
        )

    def grade(
        self,
        graded: Sequence[str] | None = None,
        directions: Mapping[str, Direction | None] | None = None,
        weights: Mapping[str, float] | None = None,
        *,
        numbers: Collection[str] = (),
    ) -> None:
        """Write the dimensions, when all values are known (`Dimensions.records`).

        A value that is not a number is reported among the numbers of a dimension; texts
        alone are labels, except for infinities and those of *numbers*.
        """
        self._records += self.dimensions.records(graded, directions, weights)
        for name, odd in self._odd.items():
            if odd.is_number or name in numbers or self.dimensions.has_numbers(name):
                self.write(odd.problem(name))

    def see_odd(self, dimension: str, given: Any, case_id: str) -> None:
        """Record what a file has in place of a number; a missing value is not odd."""
        if given is None or (isinstance(given, str) and says_nothing(given)):
            return
        odd = self._odd.get(dimension)
        if odd is None:
            words = given if isinstance(given, str) else text(given)
            odd = self._odd[dimension] = _OddScores(words, case_id, self.line)
        odd.n += 1
        odd.is_number |= isinstance(given, int | float) or is_infinite(given)

    def total(
        self,
        name: str,
        rule: Rule,
        value: Any,
        *,
        dimension: str | None = None,
        n: int | None = None,
        scope: Literal["task", "run"] = "task",
        parameters: Mapping[str, Any] | None = None,
        place: int | None = None,
    ) -> None:
        """Write a total of the file; `Total` describes the fields.

        Its default position is after those that were written.
        """
        self.write(
            Total(
                task_id=self.task_id,
                position=next(self._places) if place is None else place,
                name=name,
                rule=rule,
                value=number(value),
                n=n,
                dimension_id=dimension,
                scope=scope,
                parameters=text(parameters) if parameters else "{}",
            )
        )

    def judge(
        self,
        name: str,
        model: str | None = None,
        *,
        template: str | None = None,
        rubric: str | None = None,
    ) -> None:
        """Write the judge of a dimension or an assertion, if known."""
        if model or template or rubric:
            self.write(
                Judge(
                    task_id=self.task_id,
                    name=name,
                    model=model or None,
                    template=template or None,
                    rubric=rubric or None,
                )
            )

    def warn(self, code: str, message: str, case_id: str | None = None) -> None:
        """Report a problem of the whole task, or of a case."""
        line = None if case_id is None else self.line
        self.write(
            Problem(
                code,
                message,
                severity="warning",
                line=line,
                record_id=case_id or self.task_id,
            )
        )


_LONGEST_CATEGORY = 60
"""Maximum length of a text that can be a tag."""


def category_tag(category: tuple[str, object]) -> str:
    """Return the tag of a key and its value."""
    return f"{category[0]}:{category[1]}"


def _categories(metadata: Any) -> dict[str, str]:
    """Return the short texts of metadata by key."""
    if not isinstance(metadata, dict):
        return {}
    return {
        str(key): value
        for key, value in metadata.items()
        if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_CATEGORY
    }


class _OddScores(msgspec.Struct):
    """Texts among the numbers of one dimension."""

    first: str
    case_id: str
    line: int | None
    n: int = 0
    is_number: bool = False
    """True if one is a number that no double holds."""

    def problem(self, dimension: str) -> Problem:
        """Return one warning for all of them."""
        where = "1 row" if self.n == 1 else f"{self.n} rows, the first of them"
        return Problem(
            "odd_score",
            f"`{dimension}` is not a finite number in {where}"
            f" {first_line(self.first, 80)!r}: it has no score there, and the value is"
            " kept with it",
            severity="warning",
            line=self.line,
            record_id=self.case_id,
        )


class CaseWriter(msgspec.Struct, gc=False):  # no reference cycles
    """Writes the rounds of one case."""

    task: TaskWriter
    id: str

    def round(
        self,
        output: Any = None,
        *,
        n: int | None = None,
        name: str | int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        latency_ms: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        executed_at: datetime | None = None,
        error: str | None = None,
        status: Status | None = None,
        counted_as: Literal["pass", "fail"] | None = None,
        is_cached: bool | None = None,
    ) -> RoundWriter:
        """Write an answer; `Round` describes the fields.

        Rounds are numbered in order, unless *n* is given; a *name* distinguishes two of
        one number. A round with an error has the status ``error``.
        """
        task, case_id = self.task, self.id
        task.n_rounds[case_id] = so_far = task.n_rounds[case_id] + 1
        if executed_at is not None:
            task.earliest = min(executed_at, task.earliest or executed_at)
        n = so_far if n is None else n
        raw_output, parsed_output = answer(output)
        round_id = f"{case_id}-{n if name is None else name}"
        task.write(
            Round(
                task_id=task.task_id,
                case_id=case_id,
                round_id=round_id,
                position=n - 1 if n > 0 else 0,
                run_index=n,
                raw_output=raw_output,
                parsed_output=parsed_output,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                latency_ms=latency_ms,
                metadata=text(metadata) if metadata else "{}",
                executed_at=executed_at,
                error=error,
                reported_status=status or (None if error is None else "error"),
                counted_as=counted_as,
                is_cached=is_cached,
            )
        )
        return RoundWriter(task, case_id, round_id)


class RoundWriter(msgspec.Struct, gc=False):  # as above
    """Writes the judgements of one answer."""

    task: TaskWriter
    case_id: str
    round_id: str
    n_checks: int = 0

    def score(
        self,
        dimension: str,
        value: float | None,
        score: float | None = None,
        *,
        summary: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the tool's own number, and its score from 0 to 1.

        If the file has something else in place of a number, the payload contains it as
        ``given``.
        """
        task = self.task
        task.dimensions.see(dimension, value)
        if value is None and payload:
            task.see_odd(dimension, payload.get("given"), self.case_id)
        task.write(
            Score(
                task_id=task.task_id,
                case_id=self.case_id,
                round_id=self.round_id,
                dimension_id=dimension,
                value=value,
                score=score,
                summary=summary,
                payload=text(payload) if payload else "{}",
            )
        )

    def check(
        self,
        name: str,
        kind: str,
        passed: bool | None,
        *,
        place: int | None = None,
        score: float | None = None,
        threshold: float | None = None,
        expected: str | None = None,
        reason: str | None = None,
        error: str | None = None,
    ) -> None:
        """Write an assertion; `Check` describes the fields.

        Its default position is after those that were written.
        """
        self.task.write(
            Check(
                task_id=self.task.task_id,
                case_id=self.case_id,
                round_id=self.round_id,
                position=self.n_checks if place is None else place,
                name=name,
                type=kind,
                passed=passed,
                score=score,
                threshold=threshold,
                expected=expected,
                reason=reason,
                error=error,
            )
        )
        self.n_checks += 1
