"""Group promptfoo's rows by column: each column is a task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import (
    decode,
    first_line,
    is_there,
    on_scale,
    text,
    time,
)
from promptlab.ingest.foreign.identity import (
    Occurrences,
    OwnIds,
    SameRun,
    Unjudged,
    content_id,
)
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
from promptlab.ingest.foreign.records import (
    Baseline,
    Check,
    Direction,
    Record,
    Score,
    Status,
)
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

ROW_SCORE = "score"
"""Dimension of the row's own score, which promptfoo computes from all assertions."""


@dataclass(frozen=True)
class RunHead:
    """The parts of a file that all its columns share."""

    run_id: str | None
    title: str
    created_at: datetime | None
    version: str | None
    prompts: Sequence[HeadPrompt]
    written_at: datetime | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of each provider, by its label or id."""

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
            _settings(export.config.providers, source) if export.config else {},
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

    Rows are converted to records at once, because these files can be very large.

    Args:
        source: The file.
        head: Its head.
        repeat: Number of repeats of each test; ``None``: unknown.
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
        self._judges: dict[str, set[_Judge]] = {}
        """The judges of an assertion, by its name."""
        self._prompt_vars: dict[str, set[str]] = {}
        """Variable of the prompt → its texts."""
        self._templates = " ".join(map(_slots, head.prompts))
        self._run_id = head.run_id

    def add(self, row: Row) -> Iterator[Record | Problem]:
        """Return the records of one row; no records for a repeated row."""
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return
        if self._run_id is None:  # JSONL: rows have their own ids and not the run's
            self._run_id = f"promptfoo-{row.id or content_id(text(row))}"
        task, test = self._column(row).task, self._test(row)
        count = self._seen.next(task.task_id, test.id)
        repeat = test.repeat or self._repeat
        occurrence = 1 if repeat is None else (count - 1) // repeat + 1
        case_id = self._seen.named(test.id, occurrence)
        if case_id not in task.n_rounds:
            task.case(
                case_id,
                test.context,
                tags=test.tags,
                categories=test.metadata,
                expectation_hash=test.expectation_hash,
            )
            if test.expected is not None:
                note = text({"variables": test.expected})
                task.write(
                    Baseline(
                        task.task_id, case_id, "expected", 0, note, type="manual_note"
                    )
                )
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
        # JSONL does not number repeats: rows are identified by their ids
        self._same_run.add(row.id or text(row), *_said(row, status, checks))

    def closing(self) -> Iterator[Record | Problem]:
        """Return tasks and dimensions, which are known when all rows are read."""
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
                settings=self._head.settings.get(column.provider),
                created_at=self._head.created_at,
                run_id=self._run_id,
                run_hash=f"{self._same_run.hash()}/{column.index}",
                written_at=self._head.written_at,
                tool_version=self._head.version,
                extras=prompts.about(self._filled(prompt.raw), prompt_id=prompt.id),
            )
            for name, judges in self._judges.items():
                models = {judge.model for judge in judges}
                rubrics = {judge.rubric for judge in judges}
                task.judge(
                    name,
                    ", ".join(sorted(model or "default" for model in models))
                    if any(models)
                    else None,
                    template="\n".join(sorted({judge.template for judge in judges})),
                    rubric=rubrics.pop() if len(rubrics) == 1 else None,
                )
            # the row's score is computed from the named ones: only it counts
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
            raise msgspec.ValidationError(
                "Expected `int`, got `null` - at `$.promptIdx`"
            )
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
            test = _Test.of(row, self._templates, self._source.prompt_vars)
            for judge in test.judges:
                self._judges.setdefault(judge.name, set()).add(judge)
            for variable, value in test.prompt_vars.items():
                self._prompt_vars.setdefault(variable, set()).add(value)
            # of two tests with one id the second goes by its content
            if self._of_id.setdefault(test.id, test.content) != test.content:
                test = replace(test, id=test.content)
            self._tests[key] = test
        return self._tests[key]

    def _filled(self, template: Any) -> Any:
        """Return a prompt with the variables that are part of it.

        A variable with several values in a run is not replaced.
        """
        if not isinstance(template, str):
            return template
        for name, values in self._prompt_vars.items():
            if len(values) == 1:
                value = next(iter(values))
                slot = re.compile(r"\{\{\s*" + re.escape(name) + r"\s*\}\}")
                template = slot.sub(lambda _: value, template)  # noqa: B023
        return template


def _told_by(head: HeadPrompt) -> tuple[str, str]:
    """The key of a prompt of the head, as in a row."""
    return _provider(head.provider), head.label or head.display or text(head.raw)


def _said(row: Row, status: Status, checks: Sequence[Check]) -> Iterator[Any]:
    """Write the answer and its judgement."""
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
    # what was not judged has 1, what a broken judge should have judged 0: kept as
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
    """One test, common to all columns."""

    id: str
    """Its id by the author, else by its content."""
    content: str
    """An id derived from the input, without the assertions."""
    context: msgspec.Raw
    expected: Mapping[str, Any] | None
    """Variables that only assertions use, or ``None``."""
    expectation_hash: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    repeat: int | None
    judges: Sequence[_Judge]
    prompt_vars: Mapping[str, str]

    @classmethod
    def of(cls, row: Row, templates: str, prompt_vars: Sequence[str]) -> _Test:
        """Read the test of a row.

        Args:
            row: Any row of the test.
            templates: The prompts of the run, with their variables.
            prompt_vars: Variables that are part of the prompt.
        """
        test = decode(row.testCase, TestCase) if is_there(row.testCase) else TestCase()
        given = test.vars
        if given is None:
            given = decode(row.vars, dict[str, Any]) if is_there(row.vars) else {}
        asserts = test.asserts if isinstance(test.asserts, list) else []
        asked = {
            key: value
            for key, value in (given or {}).items()
            if key != "_conversation" and key not in prompt_vars
        }
        metadata = test.metadata if isinstance(test.metadata, dict) else {}
        own_id = _own_id(test.id, metadata.get("id"), asked.get("id"))
        expected = _expected(asked, text(asserts), templates, has_id=own_id is not None)
        asked = {key: value for key, value in asked.items() if key not in expected}
        described = test.description or row.description
        texts = [value for value in asked.values() if isinstance(value, str)]
        content = content_id([asked, described], described or next(iter(texts), None))
        context: dict[str, Any] = {"description": described, "vars": asked}
        tags = metadata.get("tags", test.tags)
        options = test.options if isinstance(test.options, dict) else {}
        repeat = options.get("repeat")
        asserted = text([asserts, test.threshold, expected])
        return cls(
            id=own_id or content,
            content=content,
            context=_json(
                {key: value for key, value in context.items() if value is not None}
            ),
            expected=expected or None,
            expectation_hash=hashlib.blake2b(
                asserted.encode(), digest_size=16
            ).hexdigest()
            if asserts
            else None,
            tags=[tag for tag in tags if isinstance(tag, str)]
            if isinstance(tags, list)
            else [],
            metadata={key: each for key, each in metadata.items() if key != "id"},
            repeat=repeat if isinstance(repeat, int) and repeat > 0 else None,
            judges=list(_judges(asserts, options)),
            prompt_vars={
                key: value if isinstance(value, str) else text(value)
                for key, value in (given or {}).items()
                if key in prompt_vars
            },
        )


def _slots(prompt: Prompt) -> str:
    """Return the template of a prompt; the whole source of a function."""
    raw = prompt.raw if isinstance(prompt.raw, str) else text(prompt.raw)
    return " ".join(re.findall(r"\{[{%].*?[%}]\}", raw, re.DOTALL)) or raw


_MODEL_GRADED = re.compile(
    r"(not-)?(llm-rubric|model-graded-\w+|factuality|g-eval|answer-relevance"
    r"|context-\w+|conversation-relevance|select-best|search-rubric|agent-rubric"
    r"|similar\b.*|classifier|moderation|pi)"
)
"""Types of assertions that a model judges."""


class _Judge(NamedTuple):
    """The judge of an assertion; a part that the file does not give is empty."""

    name: str
    """Name of the assertion."""
    model: str
    template: str
    rubric: str


def _judges(asserts: Sequence[Any], options: Mapping[str, Any]) -> Iterator[_Judge]:
    """Return the judge of each assertion that a model judges."""
    for each in asserts:
        if not isinstance(each, dict):
            continue
        if isinstance(each.get("assert"), list):
            yield from _judges(each["assert"], options)
        kind, metric = str(each.get("type")), each.get("metric")
        if not _MODEL_GRADED.fullmatch(kind):
            continue
        model = each.get("provider", options.get("provider"))
        if isinstance(model, dict):
            config = model.get("config")
            said = ", ".join(
                f"{key}={value}"
                for key, value in sorted(
                    (config if isinstance(config, dict) else {}).items()
                )
                if isinstance(value, str | int | float) and not _CREDENTIALS.search(key)
            )
            name = model.get("label") or model.get("id")
            model = first_line(f"{name} ({said})", 120) if name and said else name
        template, rubric = (
            value if isinstance(value, str) else text(value)
            for value in (
                each.get("rubricPrompt") or options.get("rubricPrompt") or "",
                each.get("value") or "",
            )
        )
        yield _Judge(
            metric if isinstance(metric, str) and metric else kind,
            model if isinstance(model, str) else "",
            template,
            rubric,
        )


_EXPECTATION = re.compile(
    r"(^|[_\W])(answer|correct|expected|gold(en)?|ideal|reference|solution|target|truth"
    r"|want(ed)?)($|[_\W])",
    re.IGNORECASE,
)
"""Usual names of variables with what is expected."""


def _expected(
    asked: Mapping[str, Any], asserted: str, templates: str, *, has_id: bool
) -> dict[str, Any]:
    """Return the variables that are for assertions: no prompt of the run uses them.

    A variable that no assertion uses either may be for the provider, and distinguish
    tests. It is an expectation if the test has an id, or if its name says so: it stays
    one if the last assertion that used it is removed.

    Return nothing if this would leave no input, or if the prompts are unknown.
    """

    def is_in(text_of_file: str, key: str) -> bool:
        return re.search(rf"\b{re.escape(key)}\b", text_of_file) is not None

    found = {
        key: value
        for key, value in asked.items()
        if key != "id"
        and templates
        and not is_in(templates, key)
        and (has_id or is_in(asserted, key) or _EXPECTATION.search(key))
    }
    return found if asked.keys() - found.keys() - {"id"} else {}


_CREDENTIALS = re.compile(r"key|token$|secret|password|auth|header", re.IGNORECASE)


def _settings(providers: msgspec.Raw, source: Source) -> dict[str, dict[str, Any]]:
    """Return the settings of each provider, without possible secrets."""
    if not is_there(providers):
        return {}
    listed = decode(source.redact(bytes(providers)), Any)
    return {
        name: {
            key: value
            for key, value in config.items()
            if isinstance(value, str | int | float) and not _CREDENTIALS.search(key)
        }
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict)
        and isinstance(config := each.get("config"), dict)
        and isinstance(name := each.get("label") or each.get("id"), str)
    }


def _json(value: Any) -> msgspec.Raw:
    return msgspec.Raw(text(value))


def _provider(provider: str | Provider | None) -> str:
    if isinstance(provider, Provider):
        provider = provider.label or provider.id
    return provider or "unknown"


def _own_id(*candidates: Any) -> str | None:
    """Return the first id that an author gave to a test."""
    said = (plain_name(str(each)) for each in candidates if isinstance(each, str | int))
    return next((first_line(each, 120) for each in said if each), None)


def _label(prompt: Prompt) -> str | None:
    return first_line(prompt.label or prompt.display)


def _version(prompt: Prompt, label: str | None) -> str:
    """Return the label; if it contains the prompt, its name and promptfoo's hash."""
    name, known = _name(prompt), (prompt.id or "")[:7]
    if name and known and label != first_line(name):
        return f"{name} {known}"
    return label or known or "unknown"


def _name(prompt: Prompt) -> str | None:
    """Return the label without the prompt's text, which an edit would change.

    promptfoo's label of a prompt from a file is ``file: text``, and without a label the
    text.
    """
    label, raw = prompt.label or prompt.display or "", prompt.raw
    if isinstance(raw, str) and raw and label.endswith(raw):
        label = label.removesuffix(raw).rstrip().removesuffix(":")
        label = re.split(r"[\\/]", label)[-1]
        # the author's label in `label: file`
        label = re.sub(r"(?<=\S): [^\s/\\]+\.\w{1,5}$", "", label)
    return first_line(label) or None
