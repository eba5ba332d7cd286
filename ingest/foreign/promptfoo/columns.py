"""promptfoo's rows, sorted into their columns: each column is a task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.copies import OwnIds, Unjudged
from promptlab.ingest.foreign.documents import (
    decode,
    first_line,
    is_there,
    on_scale,
    text,
    time,
)
from promptlab.ingest.foreign.identity import Occurrences, SameRun, content_id
from promptlab.ingest.foreign.promptfoo.rows import (
    Place,
    checks_of,
    round_of,
    status_of,
)
from promptlab.ingest.foreign.promptfoo.structs import (
    Export,
    HeadPrompt,
    Prompt,
    Provider,
    Row,
    TestCase,
)
from promptlab.ingest.foreign.records import Check, Direction, Record, Score, Status
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

ROW_SCORE = "score"
"""Dimension of the row's own score, which promptfoo makes of all assertions."""


@dataclass(frozen=True)
class RunHead:
    """What a file says of all its columns."""

    run_id: str | None
    title: str
    created_at: datetime | None
    version: str | None
    prompts: Sequence[HeadPrompt]
    written_at: datetime | None = None

    @classmethod
    def of(cls, export: Export | None, source: Source) -> RunHead:
        """From the file's head; a JSONL file has none."""
        stem = source.path.name.split(".", 1)[0]
        if export is None:
            return cls(None, stem, None, None, [])
        results, about = export.results, export.metadata
        table = results.table
        prompts = results.prompts or (
            table.head.prompts if table and table.head else []
        )
        described = export.config.description if export.config else None
        described = source.redact((described or "").encode()).decode()
        return cls(
            export.evalId,
            first_line(described, 120) or stem,
            time(results.timestamp),
            about.promptfooVersion if about else None,
            decode(source.redact(text(prompts).encode()), list[HeadPrompt]),
            time(about.exportedAt) if about else None,
        )


@dataclass
class PromptOnProvider:
    """One prompt on one provider."""

    index: int
    provider: str
    prompt: Prompt
    task: TaskWriter
    """``<eval id>/<column>``."""


class Columns:
    """All columns of a file.

    What is said of a row is made into records at once: no files are larger than these.

    Args:
        source: The file.
        head: What it says of them.
        repeat: How often each test was repeated; ``None``: the file does not say it.
    """

    def __init__(self, source: Source, head: RunHead, *, repeat: int | None) -> None:
        self._source = source
        self._head = head
        self._repeat = repeat
        self._columns: dict[Any, PromptOnProvider] = {}
        self._tests: dict[bytes, _Test] = {}
        self._of_id: dict[str, str] = {}
        self._seen = Occurrences()
        self._ids = OwnIds("id")
        self._same_run = SameRun("promptfoo")
        self._unjudged = Unjudged("success")
        self._run_id = head.run_id

    def add(self, row: Row) -> Iterator[Record | Problem]:
        """The records of one row; none where it is a row of before once more."""
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return
        if self._run_id is None:  # JSONL: rows know their own ids and not the run's
            self._run_id = f"promptfoo-{row.id or content_id(text(row))}"
        task, test = self._column(row).task, self._test(row)
        count = self._seen.next(task.task_id, test.id)
        repeat = test.repeat or self._repeat
        occurrence = 1 if repeat is None else (count - 1) // repeat + 1
        case_id = self._seen.named(test.id, occurrence)
        if case_id not in task.n_rounds:
            task.case(case_id, test.context, tags=test.tags)
            yield from task.written()
        task.n_rounds[case_id] = n = task.n_rounds[case_id] + 1
        place = (task.task_id, case_id, f"{case_id}-{n}")
        checks = list(checks_of(row, place))
        status = status_of(row, checks)
        if row.success is None and status != "error":
            self._unjudged.see(case_id)
        yield round_of(row, place, n, status)
        yield from checks
        if status != "error":
            scores = _scores(row, place, checks, status)
            for score in scores:
                task.dimensions.see(score.dimension_id, score.value)
            yield from scores
        # JSONL does not number repeats: rows are told by their own ids
        self._same_run.add(row.id or text(row), *_said(row, status, checks))

    def closing(self) -> Iterator[Record | Problem]:
        """Tasks and dimensions, which are known once all rows are read."""
        columns = self.in_order
        in_order = list(dict.fromkeys(text(each.prompt.raw) for each in columns))
        for column in columns:
            prompt, task = column.prompt, column.task
            label = _label(prompt)
            task.describe(
                self._head.title,
                prompt_version=_version(prompt, label),
                prompt_name=_name(prompt),
                prompt_position=in_order.index(text(prompt.raw)),
                model=column.provider,
                primary_metric=ROW_SCORE,
                created_at=self._head.created_at,
                run_id=self._run_id,
                run_hash=f"{self._same_run.hash()}/{column.index}",
                written_at=self._head.written_at,
                tool_version=self._head.version,
                extras=prompts.about(prompt.raw, prompt_id=prompt.id),
            )
            # the row's score is made of the named ones: it alone counts
            best: dict[str, Direction] = dict.fromkeys(task.dimensions, "higher_better")
            task.grade(directions=best, weights={ROW_SCORE: 1.0})
            yield from task.written()
        yield from (*self._ids.problems(), *self._unjudged.problems())

    @property
    def in_order(self) -> list[PromptOnProvider]:
        """By their index."""
        return sorted(self._columns.values(), key=lambda each: each.index)

    def _column(self, row: Row) -> PromptOnProvider:
        provider = _provider(row.provider)
        prompt = row.prompt or Prompt()
        heads = self._head.prompts
        key: Any = row.promptIdx
        if key is None and self._head.run_id is None:
            raise msgspec.ValidationError("Expected `int`, got `null` - at `$.promptIdx`")
        if key is None:  # version 2
            key = (provider, prompt.label or prompt.display or text(prompt.raw))
            same = [n for n, each in enumerate(heads) if key == _told_by(each)]
            key = same[0] if len(same) == 1 else key
        column = self._columns.get(key)
        if column is None:
            taken = {each.index for each in self._columns.values()}
            index = key if isinstance(key, int) else max(len(heads), len(taken))
            while index in taken:
                index += 1
            head = heads[index] if 0 <= index < len(heads) else prompt
            head.id = head.id or row.promptId
            task = TaskWriter(
                "promptfoo",
                f"{self._run_id}/{index}",
                self._source,
                self._same_run,
                is_share=lambda _name: True,
            )
            column = PromptOnProvider(index, provider, head, task)
            self._columns[key] = column
        return column

    def _test(self, row: Row) -> _Test:
        written = b"\n".join((bytes(row.testCase), bytes(row.vars)))
        key = hashlib.blake2b(written, digest_size=16).digest()
        if key not in self._tests:
            test = _Test.of(row)
            # of two tests with one id the second goes by its content
            if self._of_id.setdefault(test.id, test.content) != test.content:
                test = replace(test, id=test.content)
            self._tests[key] = test
        return self._tests[key]


def _told_by(head: HeadPrompt) -> tuple[str, str]:
    """What tells a prompt of the head from the others, as a row has it."""
    return _provider(head.provider), head.label or head.display or text(head.raw)


def _said(row: Row, status: Status, checks: Sequence[Check]) -> Iterator[Any]:
    """What was answered, and how it was judged."""
    yield status
    yield row.score
    yield text(row.response.output if row.response else None)
    yield text(row.namedScores or {})
    for each in checks:
        yield from (each.name, each.passed, each.score, each.reason)


def _scores(
    row: Row, place: Place, checks: Sequence[Check], status: Status
) -> list[Score]:
    task_id, case_id, round_id = place
    grading = row.gradingResult
    weights = (grading.namedScoreWeights if grading else None) or {}
    named: dict[str, int] = {}
    for each in (grading.componentResults if grading else None) or []:
        metric = each.assertion.metric if each and each.assertion else None
        if isinstance(metric, str):
            named[metric] = named.get(metric, 0) + 1
    # what nobody judged has 1, what a broken judge should have judged 0: kept as
    # the tool's value, and no score
    unscored = {each.name for each in checks if each.passed is None}
    unscored -= {each.name for each in checks if each.passed is not None}
    if status == "unevaluated":
        unscored.add(ROW_SCORE)
    return [
        Score(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            dimension_id=name,
            value=value,
            score=None if name in unscored else on_scale(value),
            weight=weights.get(name),
            n_checks=named.get(name, 1),
        )
        for name, value in {**(row.namedScores or {}), ROW_SCORE: row.score}.items()
    ]


@dataclass(frozen=True)
class _Test:
    """One test, as all columns have it."""

    id: str
    """Its author's, else its content."""
    content: str
    """An id made of what is asked; what is asserted is no part of it."""
    context: msgspec.Raw
    tags: Sequence[str]
    repeat: int | None

    @classmethod
    def of(cls, row: Row) -> _Test:
        test = decode(row.testCase, TestCase) if is_there(row.testCase) else TestCase()
        given = test.vars
        if given is None:
            given = decode(row.vars, dict[str, Any]) if is_there(row.vars) else {}
        asked = {k: v for k, v in (given or {}).items() if k != "_conversation"}
        described = test.description or row.description
        texts = [value for value in asked.values() if isinstance(value, str)]
        content = content_id([asked, described], described or next(iter(texts), None))
        context: dict[str, Any] = {"description": described, "vars": asked}
        metadata = test.metadata if isinstance(test.metadata, dict) else {}
        tags = metadata.get("tags", test.tags)
        options = test.options if isinstance(test.options, dict) else {}
        repeat = options.get("repeat")
        return cls(
            _own_id(test.id, metadata.get("id"), asked.get("id")) or content,
            content,
            _json({key: value for key, value in context.items() if value is not None}),
            [tag for tag in tags if isinstance(tag, str)]
            if isinstance(tags, list)
            else [],
            repeat if isinstance(repeat, int) and repeat > 0 else None,
        )


def _json(value: Any) -> msgspec.Raw:
    return msgspec.Raw(text(value))


def _provider(provider: str | Provider | None) -> str:
    if isinstance(provider, Provider):
        provider = provider.label or provider.id
    return provider or "unknown"


def _own_id(*candidates: Any) -> str | None:
    """The first id that an author gave to a test."""
    said = (str(each).strip() for each in candidates if isinstance(each, str | int))
    return next((first_line(each, 120) for each in said if each), None)


def _label(prompt: Prompt) -> str | None:
    return first_line(prompt.label or prompt.display)


def _version(prompt: Prompt, label: str | None) -> str:
    """The label; of one that holds the prompt's text its name, and promptfoo's hash."""
    name, known = _name(prompt), (prompt.id or "")[:7]
    if name and known and label != first_line(name):
        return f"{name} {known}"
    return label or known or "unknown"


def _name(prompt: Prompt) -> str | None:
    """The label without the prompt's text, which an edit would change.

    promptfoo labels a prompt of a file ``file: text``, and one without a label by its
    text alone.
    """
    label, raw = prompt.label or prompt.display or "", prompt.raw
    if isinstance(raw, str) and raw and label.endswith(raw):
        label = label.removesuffix(raw).rstrip().removesuffix(":")
        label = re.split(r"[\\/]", label)[-1]
    return first_line(label) or None
