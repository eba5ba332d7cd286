"""promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``.

Tried on 0.120.8, 0.121.20 and 0.123.1 (results version 3); version 2 is read by its
published shape. Its CSV, YAML, XML and JUnit files contain less of the same run: they
are skipped with a message that names the right format.

One file, a task per column (prompt and provider). A case is a test: vars, description,
conversation; of tests that differ in assertions, threshold or options alone each is a
case.
``--repeat`` writes no number, so equal tests are rounds of one case, up to the number
of repeats in the file. ``componentResults`` contains a set
of assertions with its members, followed by the same members again: each is returned
once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.documents import (
    ABSENT,
    UNREADABLE,
    ToolFiles,
    answer,
    decode,
    file_bytes,
    integer,
    is_there,
    lines,
    members,
    number,
    on_scale,
    raw_text,
    short_name,
    text,
    time,
)
from promptlab.ingest.foreign.identity import (
    Occurrences,
    OwnIds,
    SameRun,
    case_name,
    content_id,
    unjudged_problems,
)
from promptlab.ingest.foreign.registry import Head
from promptlab.ingest.foreign.writing import (
    Baseline,
    Check,
    Direction,
    Record,
    Round,
    Score,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import canonical


class Provider(Struct):
    """A model, or a program that replaces it."""

    id: str | None = None
    label: str | None = None


class Prompt(Struct):
    """A prompt; in the head of a file with the counts of its column."""

    raw: Any = None
    display: str | None = None
    label: str | None = None
    id: str | None = None
    provider: str | Provider | None = None
    metrics: Raw = ABSENT
    config: Any = None


class HeadPrompt(Prompt, omit_defaults=True):
    """A prompt in the head of a file without complete counts."""


class Response(Struct):
    """The output of the provider."""

    output: Any = None
    tokenUsage: dict[str, Any] | None = None
    cached: bool | None = None
    cost: Any = None
    error: Any = None


class Assertion(Struct):
    """An assertion, or a set of assertions."""

    type: str | None = None
    metric: Any = None
    weight: float | None = None
    threshold: float | None = None
    value: Raw = ABSENT
    config: Raw = ABSENT
    transform: Raw = ABSENT
    contextTransform: Raw = ABSENT

    def expected(self, rendered: Raw | None) -> str | None:
        """Return the value, with what else tells it from others of its name."""
        value = raw_text(self.value if rendered is None else rendered)
        said = {
            "value": value or "null",
            "config": raw_text(self.config),
            "transform": raw_text(self.transform),
            "contextTransform": raw_text(self.contextTransform),
        }
        if len(said) - 1 == [*said.values()].count(None):
            return value
        listed = (f'"{name}":{each}' for name, each in said.items() if each is not None)
        return f"{{{','.join(listed)}}}"


class Component(Struct):
    """The verdict of an assertion, or of a set of assertions."""

    passed: bool | None = msgspec.field(name="pass", default=None)
    score: float | None = None
    reason: Any = None
    assertion: Assertion | None = None
    componentResults: list[Component] | None = None
    metadata: dict[str, Raw] | None = None
    error: Any = None


class Grading(Struct):
    """The result of all assertions of a row."""

    reason: Any = None
    namedScoreWeights: dict[str, Any] | None = None
    componentResults: list[Component | None] | None = None


class Row(Struct):
    """One call of one prompt of one provider on one test."""

    promptIdx: int | None = None
    testIdx: int | None = None
    id: str | None = None
    promptId: str | None = None
    provider: str | Provider | None = None
    prompt: Prompt | None = None
    response: Response | None = None
    score: float | None = None
    success: bool | None = None
    failureReason: int | None = None
    error: Any = None
    gradingResult: Grading | None = None
    namedScores: dict[str, float | None] | None = None
    latencyMs: float | None = None
    cost: float | None = None
    tokenUsage: dict[str, Any] | None = None
    testCase: Raw = ABSENT
    vars: Raw = ABSENT
    description: str | None = None


class TestCase(Struct):
    """The content that identifies a test; its position does not."""

    id: Any = None
    description: str | None = None
    vars: dict[str, Any] | None = None
    asserts: Any = msgspec.field(name="assert", default=None)
    threshold: Any = None
    metadata: Any = None
    tags: Any = None
    options: Any = None
    provider: Any = None
    assertScoringFunction: Any = None


class Order(Struct):
    """The place of a row among the tests."""

    testIdx: int | None = None
    promptIdx: int | None = None
    id: str | None = None


class Asked(Order):
    """What tells the test of a row from others."""

    testCase: Raw = ABSENT
    vars: Raw = ABSENT
    description: Any = None


class TableHead(Struct):
    """The columns of a table."""

    prompts: list[HeadPrompt] = []


class Table(Struct):
    """Version 2 keeps its prompts in the head of a table."""

    head: TableHead | None = None


class Results(Struct):
    """The part of an export that holds rows."""

    version: int | None = None
    timestamp: str | None = None
    prompts: list[HeadPrompt] | None = None
    results: list[Raw] = []
    table: Table | None = None


class Options(Struct):
    """The metadata of a run."""

    repeat: int | None = None


class Config(Struct):
    """The configuration of the run."""

    description: str | None = None
    evaluateOptions: Options | None = None
    providers: Raw = ABSENT
    defaultTest: Raw = ABSENT
    tests: Raw = ABSENT


class Metadata(Struct):
    """The version that wrote the file."""

    promptfooVersion: str | None = None
    exportedAt: Any = None
    evaluationCreatedAt: Any = None


class Export(Struct):
    """A whole file."""

    results: Results
    evalId: str | None = None
    config: Config | None = None
    runtimeOptions: Options | None = None
    metadata: Metadata | None = None


Place = tuple[str, str, str]
"""Task, case and round."""

_JUDGE_BROKE = re.compile(
    # what the call of a model returned
    r"No (output|embedding)$|Embedding not found|Unknown error fetching"
    r"|([A-Z]\w* )?(API|HTTP)( call| response| request)? error\s*[:(]"
    r"|(HTTP )?[45]\d\d (Bad|Unauthorized|Forbidden|Request|Too Many|Internal|Service"
    r"|Gateway)\b|(Error: )?(Request timed out|fetch failed|Too many requests"
    r"|(connect )?E(CONN|TIMEDOUT|NOTFOUND|AI_)|Rate limit(ed| exceeded| reached))"
    r"|Could not perform remote grading|Remote grading failed"
    # what of it could not be read
    r"|Could not extract JSON|Invalid category value:|Error parsing output:"
    r"|Factuality checker output did not match|Model grader produced a malformed"
    r"|(LLM-proposed evaluation|G-Eval) (steps|result|step-generation|evaluation)\b"
    r"|LLM does not propose|Invalid select-best verdict"
    r"|[\w:-]+ produced malformed response",
    re.IGNORECASE,
)
"""Reasons that promptfoo writes for a judge that did not judge.

Before ``graderError``, and without it in factuality and closed-qa to this day.
"""
_PROGRAM_BROKE = re.compile(
    # its own program, and not one that it makes of the answer
    r"Custom function threw error: [\s\S]*?\bSyntaxError\b.*\n\s+at new Function\b.*"
    r"(?!\n.*\beval at\b)"
    r"|Custom function threw error: [\s\S]*?\bReferenceError\b.*\n(?!.*eval at eval)"
    r"|(Custom function threw error: )?(Custom function must return|Invariant failed"
    r"|Inline JavaScript execution)"
    r'|(Python|Ruby) code execution failed: (?![\s\S]*"<(string|unknown)>")[\s\S]*\b'
    r"(SyntaxError|IndentationError|TabError|NameError|ModuleNotFoundError|ImportError"
    r"|LoadError|spawn)\b"
    r"|(Python|Ruby) code execution failed: (Invalid JSON: |(Python|Ruby) assertion"
    r" must return)"
    r"|Webhook (error|response status)"
)
"""Reasons for which a test's own program says nothing of the answer."""
_PROGRAMS = re.compile(r"(not-)?(javascript|python|ruby|webhook)\b")


def _broke(each: Component) -> bool:
    """Return true if what should have judged broke, and says nothing of the answer."""
    if bytes((each.metadata or {}).get("graderError", ABSENT)) == b"true":
        return True
    kind = (each.assertion and each.assertion.type) or ""
    # `not-` makes a pass of a judge that broke
    if each.passed and not kind.startswith("not-"):
        return False
    return _is_breakage(each.reason, kind)


def _is_breakage(reason: Any, kind: str) -> bool:
    """Return true if the reason of an assertion is that its judge broke."""
    if not isinstance(reason, str) or not kind:
        return False
    if _PROGRAMS.match(kind):
        return _PROGRAM_BROKE.match(reason) is not None
    return not _RULES.fullmatch(kind) and _JUDGE_BROKE.match(reason.strip()) is not None


_LEFT_OUT = "[prompt stripped]"
"""What ``PROMPTFOO_STRIP_PROMPT_TEXT`` writes in place of every prompt."""
_ERROR = 2
"""``failureReason``: error of the provider. 1 is a failed assertion, 0 success."""


def error_of(row: Row) -> str | None:
    """Return the provider's error; ``error`` also has reasons of failed assertions."""
    broke = row.failureReason == _ERROR
    if row.failureReason is None:  # version 2 has no such field
        broke = row.gradingResult is None and bool(row.error)
    if not broke:
        return None
    said = row.error or (row.response.error if row.response else None)
    if not isinstance(said, str):
        said = text(said) if said else ""
    return said.strip() or "the provider gave no answer"


def status_of(row: Row, checks: Sequence[Check], asserted: Sequence[str]) -> Status:
    """Return promptfoo's own verdict; a pass without assertions is not a verdict.

    A row without a verdict is unevaluated, regardless of its assertions.

    If only assertions with judge errors failed, the verdict is unknown.

    Args:
        row: The row.
        checks: Its assertions, with their results.
        asserted: The types of the assertions of its test. Their results may be missing:
            ``PROMPTFOO_STRIP_GRADING_RESULT`` leaves them out.
    """
    if error_of(row) is not None:
        return "error"
    if row.success is None:
        return "unevaluated"
    grading = row.gradingResult
    if grading is None or not grading.componentResults:
        said = row.error or (grading and grading.reason)
        if not row.success:
            broke = any(_is_breakage(said, kind) for kind in asserted)
            return "unevaluated" if broke else "fail"
        return "pass" if asserted and grading is None else "unevaluated"
    if row.success:
        passed = (each for each in grading.componentResults if each and each.passed)
        return "unevaluated" if any(map(_broke, passed)) else "pass"
    failed = [each for each in checks if each.passed is not True]
    # a set that only fails by such members was not judged either
    members: dict[int | None, list[bool]] = {}
    for each in failed:
        members.setdefault(each.parent_position, []).append(each.passed is None)
    if failed and all(
        each.passed is None or all(members.get(each.position, [False]))
        for each in failed
    ):
        return "unevaluated"
    return "fail"


def _cost(row: Row) -> float | None:
    """Return the cost; a 0 of the row alone may be promptfoo's default for unknown.

    It counts if the answer came from the cache, or if the provider says 0 too.
    """
    response = row.response
    if row.cost or (response is not None and response.cached):
        return row.cost
    return number(response.cost) if response is not None else None


def _tokens(row: Row) -> tuple[int | None, int | None, int | None]:
    """Return the tokens of the prompt, of the answer, and in total.

    promptfoo writes zeros where the provider counts nothing. From the cache only the
    total is available.
    """
    response = row.response
    usage = (response.tokenUsage if response else None) or row.tokenUsage or {}
    given, made, total = map(integer, map(usage.get, ("prompt", "completion", "total")))
    is_cached = response is not None and bool(response.cached)
    if not given and not made and (total or not is_cached):
        given = made = None
    return given, made, total or (total if is_cached else None)


def round_of(row: Row, place: Place, n: int, status: Status) -> Round:
    """Return the row's answer."""
    task_id, case_id, round_id = place
    response = row.response
    output, parsed = answer(response.output if response else None)
    given, made, total = _tokens(row)
    about = {
        "row_id": row.id,
        "cost": _cost(row),
        "cached": response.cached if response else None,
        "total_tokens": total,
    }
    return Round(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=n - 1,
        run_index=n,
        raw_output=output,
        parsed_output=parsed,
        input_tokens=given,
        output_tokens=made,
        latency_ms=row.latencyMs,
        metadata=text({key: each for key, each in about.items() if each is not None}),
        error=error_of(row) if status == "error" else None,
        reported_status=status,
        is_cached=response.cached if response else None,
    )


def checks_of(row: Row, place: Place) -> Iterator[Check]:
    """Return the row's assertions, sets before their members."""
    grading = row.gradingResult
    position = 0
    beside = 0  # members of a set that follow it again
    parent: int | None = None
    for each in (grading.componentResults if grading else None) or []:
        if each is None:
            continue
        is_member = beside > 0
        yield _check(each, place, position, parent if is_member else None)
        beside -= is_member
        if each.assertion is None and each.componentResults:
            parent, beside = position, len(each.componentResults)
        position += 1


def _check(each: Component, place: Place, position: int, parent: int | None) -> Check:
    task_id, case_id, round_id = place
    about = each.metadata or {}
    assertion = each.assertion
    if assertion is None:
        assertion = decode(about.get("assertionSet", Raw(b"{}")), Assertion)
        assertion.type, assertion.value = "assert-set", ABSENT
    kind, metric = assertion.type or "assertion", assertion.metric
    broke = _broke(each)
    rendered = about.get("renderedAssertionValue")
    reason = each.reason if isinstance(each.reason, str | None) else text(each.reason)
    return Check(
        task_id=task_id,
        case_id=case_id,
        round_id=round_id,
        position=position,
        name=metric if isinstance(metric, str) and metric else kind,
        type=kind,
        passed=None if broke else each.passed,
        parent_position=parent,
        score=None if broke else each.score,
        weight=assertion.weight,
        threshold=assertion.threshold,
        expected=assertion.expected(rendered),
        reason=reason,
        error=(reason or "the grader broke") if broke else None,
    )


def _claim(column: PromptOnProvider) -> None:
    """Hand over the number of rows of a column, and its sums as means.

    A column's score is a sum in which an error counts 0; named scores are sums of
    value times weight, and plain sums in files without weights (0.120).
    """
    raw = column.prompt.metrics
    if not is_there(raw):
        return
    metrics = decode(raw, dict[str, Any])
    counts = [
        integer(metrics.get(f"test{of}Count")) or 0 for of in ("Pass", "Fail", "Error")
    ]
    weights = members(metrics.get("namedScoreWeights"))
    means = {}
    for name, total in [
        *members(metrics.get("namedScores")).items(),
        (ROW_SCORE, metrics.get("score")),
    ]:
        n, claimed = column.task.dimensions.n_values(name), number(total)
        is_plain = name == ROW_SCORE or weights.get(name, n) == n
        if n and claimed is not None and is_plain:
            means[name] = claimed / n
    column.task.claim(means, sum(counts) or None)


ROW_SCORE = "score"
"""Dimension of the row's own score, which promptfoo computes from all assertions."""


@dataclass
class PromptOnProvider:
    """One prompt on one provider."""

    index: int
    provider: str
    prompt: Prompt
    task: TaskWriter
    """``<eval id>/<column>``."""
    prompt_id: str | None
    """Id or label of the prompt in its rows, where they have one."""

    def has(self, provider: str, prompt_id: str | None) -> bool:
        """Return true if a row of this provider and prompt may be one of the column."""
        unknown = self.prompt_id is None or prompt_id is None
        return provider == self.provider and (unknown or prompt_id == self.prompt_id)


class Columns:
    """All columns of a file.

    Records are built here and not by `CaseWriter`, which takes a tenth longer: these
    files can be very large.

    Args:
        source: The file.
        export: The file without its rows; a JSONL file has nothing else.
        first_id: Id of the row that names the run, in a file without its own id.
    """

    def __init__(
        self,
        source: Source,
        export: Export | None = None,
        first_id: str | None = None,
    ) -> None:
        self._source = source
        self._is_lines = export is None
        self._run_id = export.evalId if export else None
        if first_id is not None:
            self._run_id = f"promptfoo-{first_id}"
        self._repeat = _repeat(export) if export else None
        self._heads: list[HeadPrompt] = []
        self._settings: dict[str, list[dict[str, Any]]] = {}
        """Settings of each provider, by its label or id, which several may have."""
        self._of_tests: dict[str, None] = {}
        """Settings of tests."""
        self._about: dict[str, Any] = {}
        """Fields of every task."""
        self._scoring: dict[str, Any] = {}
        if export is not None:
            self._read_head(export)
        self._columns: dict[Any, PromptOnProvider] = {}
        self._tests: dict[bytes, _Test] = {}
        self._of_name: dict[str, set[str]] = {}
        """Name → contents of the tests that have it."""
        self._seen = Occurrences()
        self._case_ids: dict[tuple[str, str | None, int], str] = {}
        """Id of a test, what it asserts, and which of its equals it is → its case."""
        self._ids = OwnIds("id")
        self._same_run = SameRun("promptfoo")
        self._unjudged: list[str] = []
        self._bare: dict[str, set[int]] = {}
        """Task → what was asked by tests that say nothing of themselves."""
        self._judges: dict[Judged, None] = {}
        self._prompt_vars: dict[str, set[str]] = {}
        """Variable of the prompt → its texts."""
        self._templates = " ".join(map(_slots, self._heads))

    def _read_head(self, export: Export) -> None:
        results, about, config = export.results, export.metadata, export.config
        head = results.table.head if results.table else None
        found = results.prompts or (head.prompts if head else [])
        redact = self._source.redact
        self._heads = decode(redact(text(found).encode()), list[HeadPrompt])
        begun = about.evaluationCreatedAt if about else None
        named = _TIME.search(export.evalId or "")
        self._about["created_at"] = (
            time(results.timestamp) or time(begun) or time(named and named[0])
        )
        if about is not None:
            self._about["tool_version"] = about.promptfooVersion
            self._about["written_at"] = time(about.exportedAt)
        if config is not None:
            described = redact((config.description or "").encode()).decode()
            self._about["title"] = short_name(described, 120)
            self._settings = _settings(config.providers, self._source)
            self._scoring = _scoring(config)

    def expect(self, rows: Iterable[Row]) -> None:
        """Name the cases of the tests that are coming.

        Args:
            rows: A row of each test, in the order of tests.
        """
        tests = []
        for row in rows:
            try:
                tests.append(self._test(row))
            except UNREADABLE:  # `add` reports it
                continue
        for test in tests:
            self._case_id(test, 1)

    def add(self, row: Row) -> Iterator[Record | Problem]:
        """Return the records of one row; no records for a repeated row."""
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return
        if self._run_id is None:  # JSONL names no run, nor do files before 2024
            self._run_id = f"promptfoo-{row.id or content_id(text(row))}"
        task, test = self._column(row).task, self._test(row)
        if test.is_bare and row.prompt:
            is_left_out = row.prompt.raw == _LEFT_OUT
            asked = row.testIdx if is_left_out else row.prompt.raw
            self._bare.setdefault(task.task_id, set()).add(hash(text(asked)))
        of_test = (test.name, test.content, test.expectation_hash or "")
        count = self._seen.next(task.task_id, *of_test)
        repeat = test.repeat or self._repeat
        occurrence = 1 if repeat is None else (count - 1) // repeat + 1
        case_id = self._case_id(test, occurrence)
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
        status = status_of(row, checks, test.asserted)
        if row.success is None and status != "error":
            self._unjudged.append(case_id)
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
        alike = Occurrences()
        for column in columns:
            prompt, task = column.prompt, column.task
            of_name = self._settings.get(column.provider, [])
            place = alike.next(column.provider, text([prompt.raw, prompt.label])) - 1
            own = of_name[place] if place < len(of_name) else {}
            label = short_name(prompt.label or prompt.display)
            task.describe(
                prompt_version=_version(prompt, label),
                prompt_name=_name(prompt),
                prompt_position=in_order.index(text(prompt.raw)),
                model=column.provider,
                provider=_told_apart(column.provider, own, of_name),
                settings=self._settings_of(own, prompt),
                run_id=self._run_id,
                run_hash=f"{self._same_run.hash()}/{column.index}",
                extras=prompts.about(
                    self._filled(prompt.raw),
                    prompt_id=prompt.id,
                    provider_config_ids=self._config_ids_of(column.provider),
                    **_filter_of(prompt),
                ),
                **self._about,
            )
            for judged in self._judges:
                task.judged_by(*judged)
            # the row's score is computed from the named ones: only it counts
            best: dict[str, Direction] = dict.fromkeys(task.dimensions, "higher_better")
            task.grade(directions=best, weights={ROW_SCORE: 1.0})
            yield from task.written()
        yield from self._ids.problems()
        yield from unjudged_problems("success", self._unjudged)
        n_bare = max(map(len, self._bare.values()), default=0)
        if n_bare > 1:
            yield warning(
                "tests_alike",
                f"{n_bare} tests ask different things and have no variables, no"
                " description and no id: in JSON only their place tells them apart, in"
                " JSONL they are rounds of one case. Give each an id in its metadata or"
                " write the file without PROMPTFOO_STRIP_TEST_VARS",
            )

    def _config_ids_of(self, provider: str) -> list[str]:
        """Return what the config may call a provider that gives itself another id."""
        if provider in self._settings:
            return []
        others = {column.provider for column in self._columns.values()}
        return [name for name in self._settings if name not in others]

    def _settings_of(self, own: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
        """Return the settings of a provider, of its prompt and of the tests."""
        said = {**own, **(members(yardstick(prompt.config)) if self._heads else {})}
        if self._of_tests:
            listed = list(self._of_tests)
            # there may be many
            said["tests"] = (
                listed[0] if len(listed) == 1 else content_id(sorted(listed))
            )
        return said

    @property
    def in_order(self) -> list[PromptOnProvider]:
        """By their index."""
        return sorted(self._columns.values(), key=lambda each: each.index)

    def _column(self, row: Row) -> PromptOnProvider:
        provider = _provider(row.provider)
        prompt = row.prompt or Prompt()
        heads = self._heads
        key: Any = row.promptIdx
        if key is None and self._is_lines:
            raise msgspec.ValidationError(
                "Expected `int`, got `null` - at `$.promptIdx`"
            )
        prompt_id = row.promptId or prompt.label
        column = self._columns.get(key)
        # version 2 has no index, and joined files have one index for several columns
        if key is None or (column is not None and not column.has(provider, prompt_id)):
            told = (provider, prompt.label or prompt.display or text(prompt.raw))
            same = [n for n, each in enumerate(heads) if told == _told_by(each)]
            key = same[0] if len(same) == 1 and same[0] != key else (told, prompt_id)
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
            column = PromptOnProvider(index, provider, head, task, prompt_id)
            self._columns[key] = column
        return column

    def _case_id(self, test: _Test, occurrence: int) -> str:
        """Return the case of a test, of which several may assert different things."""
        name = test.name
        if len(self._of_name[name]) > 1:
            name = f"{name}-{test.content[:_SUFFIX]}"
        key = (name, test.expectation_hash, occurrence)
        if key not in self._case_ids:
            number_of_name = self._seen.next(name)
            self._case_ids[key] = self._seen.named(name, number_of_name)
        return self._case_ids[key]

    def _test(self, row: Row) -> _Test:
        key = _key(row)
        if key not in self._tests:
            test = _Test.of(
                row, self._templates, self._source.given.prompt_vars, self._scoring
            )
            self._judges |= dict.fromkeys(test.judges)
            if test.settings:
                self._of_tests[test.settings] = None
            for variable, value in test.prompt_vars.items():
                self._prompt_vars.setdefault(variable, set()).add(value)
            self._of_name.setdefault(test.name, set()).add(test.content)
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


def _told_by(head: Prompt) -> tuple[str, str]:
    """The key of a prompt of the head, as in a row."""
    return _provider(head.provider), head.label or head.display or text(head.raw)


def _said(row: Row, status: Status, checks: Sequence[Check]) -> Iterator[Any]:
    """Yield the answer and its judgements, which tell two versions of a run apart."""
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
    # what was not judged has 1, what a broken judge should have judged 0: kept as
    # the tool's value, and no score
    unscored = {each.name for each in checks if each.passed is None}
    unscored -= {each.name for each in checks if each.passed is not None}
    if status == "unevaluated":
        unscored.add(ROW_SCORE)
    # a metric is a mean by weight: of weight 0 it is 0, whatever its assertions say
    weights = (row.gradingResult and row.gradingResult.namedScoreWeights) or {}
    weightless = {name for name, weight in weights.items() if weight == 0}
    return [
        Score(
            task_id=task_id,
            case_id=case_id,
            round_id=round_id,
            dimension_id=name,
            value=None if name in weightless else value,
            score=None if name in unscored | weightless else on_scale(value),
        )
        for name, value in {**(row.namedScores or {}), ROW_SCORE: row.score}.items()
    ]


@dataclass(frozen=True)
class _Test:
    """One test, common to all columns."""

    name: str
    """Its id or description by the author, else what it asks."""
    content: str
    """A hash of what it asks and of its options, without the assertions."""
    context: msgspec.Raw
    expected: Mapping[str, Any] | None
    """Variables that only assertions use, or ``None``."""
    expectation_hash: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    repeat: int | None
    asserted: Sequence[str]
    """Types of its assertions."""
    judges: Sequence[Judged]
    prompt_vars: Mapping[str, str]
    settings: str | None
    """Its options that are neither its judge's nor its assertions', as JSON."""

    @property
    def is_bare(self) -> bool:
        """Return true if nothing but its place tells it from others."""
        says_nothing = bytes(self.context) == b'{"vars":{}}' and not self.prompt_vars
        return says_nothing and self.name == self.content

    @classmethod
    def of(
        cls,
        row: Row,
        templates: str,
        prompt_vars: Sequence[str],
        scoring: Mapping[str, Any],
    ) -> _Test:
        """Read the test of a row.

        Args:
            row: Any row of the test.
            templates: The prompts of the run, with their variables.
            prompt_vars: Variables that are part of the prompt.
            scoring: Scoring functions of the config, by `_told_in_config`.
        """
        test = decode(row.testCase, TestCase) if is_there(row.testCase) else TestCase()
        given = test.vars
        filled = decode(row.vars, dict[str, Any]) if is_there(row.vars) else {}
        if given is None:
            given = filled
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
        conversation = metadata.get("conversationId")
        told = [asked, described]
        if isinstance(conversation, str | int):  # the same words in another context
            told.append(str(conversation))
        context: dict[str, Any] = {
            "description": described,
            "vars": asked,
            "files": _contents_of_files(asked, filled),
        }
        tags = metadata.get("tags", test.tags)
        options = test.options if isinstance(test.options, dict) else {}
        repeat = options.get("repeat")
        function = (
            test.assertScoringFunction
            or scoring.get(_told_in_config(test.description, given))
            or scoring.get("")
        )
        transform = options.get("transform") or options.get("postprocess")
        deciding = {
            "assertScoringFunction": function,
            "transform": transform,
            # what graders of red teams judge by
            "pluginConfig": metadata.get("pluginConfig"),
            "purpose": metadata.get("purpose"),
        }
        beside = yardstick({**options, "test provider": test.provider}, *_NO_SETTINGS)
        settings = text(dict(sorted(beside.items()))) if beside else None
        # a prefix or suffix of its own, or a provider, makes another question
        content = content_id([*told, settings] if settings else told)
        said = [{key: each} for key, each in deciding.items() if each]
        asserted = canonical([asserts, test.threshold, expected, *said])
        return cls(
            name=plain_name(own_id or case_name(described or asked or content)),
            content=content,
            context=Raw(text({k: v for k, v in context.items() if v is not None})),
            expected=expected or None,
            expectation_hash=hashlib.blake2b(asserted, digest_size=16).hexdigest()
            if asserts
            else None,
            tags=[tag for tag in tags if isinstance(tag, str)]
            if isinstance(tags, list)
            else [],
            metadata={key: each for key, each in metadata.items() if key != "id"},
            repeat=repeat if isinstance(repeat, int) and repeat > 0 else None,
            asserted=list(_types(asserts)),
            judges=list(_judges(asserts, options)),
            prompt_vars={
                key: value if isinstance(value, str) else text(value)
                for key, value in (given or {}).items()
                if key in prompt_vars
            },
            settings=settings,
        )


_SUFFIX = 6
"""Characters of the hash that tells two tests of one name apart."""
_SCRIPT = re.compile(r"\.([cm]?[jt]s|py)(:\w+)?$")


def _contents_of_files(
    asked: Mapping[str, Any], filled: Mapping[str, Any]
) -> dict[str, str] | None:
    """Return a hash of each file that is a variable, where a row has its content.

    A script may return something else in every run.
    """
    found = {
        name: content_id(filled[name])
        for name, value in asked.items()
        if isinstance(value, str)
        and value.startswith("file://")
        and not _SCRIPT.search(value)
        and filled.get(name) not in (None, value)
    }
    return found or None


_NO_SETTINGS = (
    *("provider", "rubricPrompt", "factuality", "transform", "postprocess", "repeat"),
    *("disableVarExpansion", "disableDefaultAsserts", "runSerially", "storeOutputAs"),
)
"""Options of a test that are said elsewhere, or decide nothing."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+$")
"""The time at the end of the id of a run."""


def _scoring(config: Config) -> dict[str, Any]:
    """Return the scoring functions of tests, and of all under an empty key.

    promptfoo loads them before it runs the tests, and writes no functions in rows.
    """
    written = (config.defaultTest, config.tests)
    if not any(b'"assertScoringFunction"' in bytes(each) for each in written):
        return {}
    said, tests = (decode(each, Any) if is_there(each) else None for each in written)
    default = members(said)
    found = {"": default.get("assertScoringFunction")}
    for test in map(members, tests if isinstance(tests, list) else ()):
        given = {**members(default.get("vars")), **members(test.get("vars"))}
        key = _told_in_config(test.get("description"), given)
        found[key] = test.get("assertScoringFunction")
    return found


def _told_in_config(description: Any, given: Mapping[str, Any] | None) -> str:
    """Return what tells a test from others, in the config as in its rows."""
    return text([description or None, sorted((given or {}).items())])


def _slots(prompt: Prompt) -> str:
    """Return the template of a prompt; the whole source of a function."""
    raw = prompt.raw if isinstance(prompt.raw, str) else text(prompt.raw)
    return " ".join(re.findall(r"\{[{%].*?[%}]\}", raw, re.DOTALL)) or raw


_RULES = re.compile(
    r"(not-)?(i?contains|equals|starts-with|regex|is-|javascript|python|ruby|webhook"
    r"|latency|cost|levenshtein|rouge|bleu|gleu|meteor|word-count|perplexity|tool-call"
    r"|finish-reason|guardrails|skill-used|trace-|trajectory:(tool|step)|max-score)\S*"
    r"|human|assert-set"
)
"""Types of assertions that ask no model; any other may."""


def _types(asserts: Sequence[Any]) -> Iterator[str]:
    """Yield the types of assertions, and of those in sets."""
    for each in map(members, asserts):
        if isinstance(kind := each.get("type"), str):
            yield kind
        if isinstance(inner := each.get("assert"), list):
            yield from _types(inner)


Judged = tuple[str, str, str, str]
"""Name of an assertion; model, template and rubric, empty if the file has none."""


def _judges(asserts: Sequence[Any], options: Mapping[str, Any]) -> Iterator[Judged]:
    """Return the judge of each assertion that a model judges."""
    for each in asserts:
        if not isinstance(each, dict):
            continue
        kind, metric = each.get("type"), each.get("metric")
        if isinstance(each.get("assert"), list):
            members_of_set = list(_judges(each["assert"], options))
            yield from members_of_set
            if isinstance(metric, str) and metric:  # a set is what its members make it
                yield from ((metric, *judged[1:]) for judged in members_of_set)
        if not isinstance(kind, str) or _RULES.fullmatch(kind):
            continue
        model = _models(each.get("provider") or options.get("provider"), kind)
        template, rubric = (
            value if isinstance(value, str) else text(value)
            for value in (
                each.get("rubricPrompt") or options.get("rubricPrompt") or "",
                each.get("value") or "",
            )
        )
        if kind.endswith("factuality") and options.get("factuality"):
            template = f"{template}\nfactuality: {text(options['factuality'])}".strip()
        yield (
            metric if isinstance(metric, str) and metric else kind,
            model,
            template,
            rubric,
        )


_OUTPUTS = {
    "similar": ("embedding",),
    "answer-relevance": ("text", "embedding"),
    "classifier": ("classification",),
    "moderation": ("moderation",),
}
"""Assertion → types of the providers that it asks; others ask for a text."""


def _models(given: Any, kind: str) -> str:
    """Return the models of a judge with their settings; empty for the default.

    Args:
        given: Its provider, or an object with one for each type of output.
        kind: The type of the assertion.
    """
    outputs = _OUTPUTS.get(kind.removeprefix("not-").partition(":")[0], ("text",))
    typed = [members(given)[each] for each in outputs if members(given).get(each)]
    return ", ".join(filter(None, map(_model, typed or [given])))


def _model(given: Any) -> str:
    """Return a model with its settings, without possible secrets."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    about = _in_order_of_names(
        yardstick({"transform": given.get("transform"), **members(given.get("config"))})
    )
    said = ", ".join(
        f"{key}={text(value) if isinstance(value, dict | list) else value}"
        for key, value in about.items()
        if value is not None
    )
    name = given.get("id") or given.get("modelName")  # as a loaded provider is written
    if not isinstance(name, str):  # of another form: all that it says
        name, said = text(_in_order_of_names(yardstick(given))), ""
    elif not said:
        return name
    in_one_line = " ".join(f"{name} ({said})".split()) if said else name
    return short_name(in_one_line, 120) or ""


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
    found = {
        key: value
        for key, value in asked.items()
        if key != "id"
        and templates
        and not _word(key).search(templates)
        and (has_id or _word(key).search(asserted) or _EXPECTATION.search(key))
    }
    return found if asked.keys() - found.keys() - {"id"} else {}


@lru_cache(1000)
def _word(key: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(key)}\b")


def _in_order_of_names(value: Any) -> Any:
    """Return a value with the members of objects in the order of their names."""
    if isinstance(value, list):
        return [_in_order_of_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _in_order_of_names(each) for key, each in sorted(value.items())}


_OF_PROVIDER = ("id", "label", "prompts", "delay", "config")


def _settings(providers: Raw, source: Source) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of the providers of each name, without possible secrets."""
    if not is_there(providers):
        return {}
    listed = decode(source.redact(bytes(providers)), Any)
    found: dict[str, list[dict[str, Any]]] = {}
    for each in listed if isinstance(listed, list) else [listed]:
        about = {"id": each} if isinstance(each, str) else members(each)
        if len(about) == 1 and "id" not in about:  # by its id: {"openai:o3": {...}}
            ((own_id, said),) = about.items()
            about = {"id": own_id, **members(said)}
        name = about.get("label") or about.get("id")
        if isinstance(name, str):
            rest = {
                key: value for key, value in about.items() if key not in _OF_PROVIDER
            }
            settings = yardstick({**rest, **members(about.get("config"))})
            found.setdefault(name, []).append(settings)
    return found


def _told_apart(
    name: str, own: dict[str, Any], all_of_name: Sequence[dict[str, Any]]
) -> str | None:
    """Return a name with the settings that others of it lack; ``None``: it is one."""
    differing = {
        key: value
        for key, value in own.items()
        if any(each.get(key) != value for each in all_of_name)
    }
    if not differing:
        return None
    said = ", ".join(
        f"{key}={value if isinstance(value, str) else text(value)}"
        for key, value in sorted(differing.items())
    )
    return short_name(" ".join(f"{name} ({said})".split()), 120)


def _provider(provider: str | Provider | None) -> str:
    if isinstance(provider, Provider):
        provider = provider.label or provider.id
    return provider or "unknown"


def _own_id(*candidates: Any) -> str | None:
    """Return the first id that an author gave to a test."""
    said = (plain_name(str(each)) for each in candidates if isinstance(each, str | int))
    return next((short_name(each, 120) for each in said if each), None)


def _version(prompt: Prompt, label: str | None) -> str:
    """Return the label; if it contains the prompt, its name and promptfoo's hash."""
    name, known = _name(prompt), (prompt.id or "")[:7]
    if name and known and label != short_name(name):
        return f"{name} {known}"
    return label or known or "unknown"


_LONGEST_LABEL = 200


def _filter_of(prompt: Prompt) -> dict[str, str]:
    """Return the label, or how a long one begins: ``--filter-prompts`` finds it.

    Of a prompt from a file it begins with the file, and goes on with a text that an
    edit changes.
    """
    label, raw = prompt.label or prompt.display or "", prompt.raw
    if isinstance(raw, str) and raw and label.endswith(raw):
        file = label.removesuffix(raw)
        return {"prompt_label_begins": file or label[:_LONGEST_LABEL]}
    if len(label) > _LONGEST_LABEL:
        return {"prompt_label_begins": label[:_LONGEST_LABEL]}
    return {"prompt_label": label}


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
    return short_name(label) or None


FORMS = ("json", "jsonl", "other")

_FILES = ToolFiles("promptfoo", "0.120.8, 0.121.20 and 0.123.1")


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``results.version``, and JSONL rows with ``promptIdx``."""
    if _is_other(head):
        return "other"
    if {"promptIdx", "testIdx"} <= head.keys:
        return "jsonl"
    if "results" not in head.keys:
        return None
    below = head.keys_below("results")
    is_export = "version" in below and bool(below & {"results", "prompts", "table"})
    return "json" if is_export else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the export as records, row by row; tasks and claims come last."""
    if source.form == "other":
        yield Problem(
            "says_less",
            f"{source.path.name} is promptfoo's, in a form that says no more than its"
            " JSON: write `promptfoo eval --output results.json` and load that",
            severity="warning",
        )
    elif source.form == "jsonl":
        first_id, tests = _in_order(source)
        columns = Columns(source, first_id=first_id)
        columns.expect(tests)
        for number, line in lines(source):
            yield from _row(columns, line, line=number)
        yield from columns.closing()
    else:
        yield from _document(source)


def _is_other(head: Head) -> bool:
    """Recognise CSV, YAML, XML or JUnit of promptfoo."""
    if {"Status", "Score", "Named Scores"} <= head.columns:
        return True
    if head.data.startswith(b"evalId:"):
        return head.has(b"\nresults:")
    return head.data.lstrip().startswith(b"<") and (
        head.has(b"<promptfoo>", b"<evalId>")
        or head.has(b"<testsuites", b'name="promptfoo"')
    )


def _document(source: Source) -> Iterator[Record | Problem]:
    # Only the slices of the rows are kept; they are decoded one by one.
    data = source.mend(file_bytes(source))
    redact = source.redact_parts(data)
    export = _FILES.decoded(data, Export)
    del data
    results = export.results
    columns = Columns(source, export)
    asked = [_asked(raw) for raw in results.results]
    columns.expect(_tests_of(asked, source))
    for place in sorted(range(len(asked)), key=lambda each: asked[each].testIdx or 0):
        raw, pointer = results.results[place], f"/results/results/{place}"
        yield from _row(columns, redact(bytes(raw)), pointer=pointer)
    yield from columns.closing()
    in_order = columns.in_order
    for column in in_order:
        _claim(column)
        yield from column.task.written()


def _repeat(export: Export) -> int | None:
    """Return how often each test was repeated; before 0.121 it may be missing."""
    if export.runtimeOptions is not None:
        return export.runtimeOptions.repeat or 1
    options = export.config.evaluateOptions if export.config else None
    return options.repeat if options else None


def _row(
    columns: Columns,
    written: bytes,
    *,
    line: int | None = None,
    pointer: str | None = None,
) -> Iterator[Record | Problem]:
    try:
        row = decode(written, Row)
        yield from columns.add(row)
    except UNREADABLE as error:
        yield _FILES.problem(error, line=line, pointer=pointer, raw=written)


def _asked(raw: Raw) -> Asked:
    try:
        return decode(raw, Asked)
    except UNREADABLE:
        return Asked()  # `_row` reports the error


def _tests_of(asked: Iterable[Asked], source: Source | None = None) -> list[Row]:
    """Return a row of each test, in the order of tests."""
    tests: dict[bytes, tuple[int, Row]] = {}
    for row in asked:
        place, key = row.testIdx or 0, _key(row)
        if key in tests:
            earliest, test = tests[key]
            tests[key] = min(earliest, place), test
            continue
        described = row.description if isinstance(row.description, str) else None
        # copies: a slice would keep the whole line
        said, given = bytes(row.testCase), bytes(row.vars)
        if source is not None:
            said, given = (each and source.redact(each) for each in (said, given))
            described = described and decode(
                source.redact(text(described).encode()), str
            )
        test = Row(testCase=Raw(said), vars=Raw(given), description=described)
        tests[key] = place, test
    return [row for _, row in sorted(tests.values(), key=lambda each: each[0])]


def _in_order(source: Source) -> tuple[str | None, list[Row]]:
    """Return the id of the first row, and a row of each test, in the order of tests.

    A JSONL file has its rows as they end, which is another order in every run.
    """
    first: tuple[int, int, str] | None = None

    def asked() -> Iterator[Asked]:
        nonlocal first
        for _, line in lines(source):
            row = _asked(Raw(line))
            if row.id:
                named = row.testIdx or 0, row.promptIdx or 0, row.id
                first = min(first or named, named)
            yield row

    tests = _tests_of(asked())
    return first and first[-1], tests


def _key(row: Row | Asked) -> bytes:
    """Return a hash of the test of a row."""
    written = b"\n".join((bytes(row.testCase), bytes(row.vars)))
    return hashlib.blake2b(written, digest_size=16).digest()
