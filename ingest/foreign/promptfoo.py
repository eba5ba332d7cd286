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
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_float,
    as_int,
    as_object,
    as_share,
    as_time,
    short_name,
    text_and_json,
)
from promptlab.ingest.foreign.documents import (
    ABSENT,
    UNREADABLE,
    ToolFiles,
    decode,
    is_there,
    lines,
    raw_text,
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
    CaseWriter,
    Check,
    Direction,
    Record,
    Round,
    RoundWriter,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import canonical, compact
from promptlab.steps import steps_of


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


class Tokens(Struct, gc=False):
    """The tokens of an answer."""

    prompt: Any = None
    completion: Any = None
    total: Any = None


class Response(Struct, gc=False):
    """The output of the provider."""

    output: Any = None
    tokenUsage: Tokens | None = None
    cached: bool | None = None
    cost: Any = None
    error: Any = None
    metadata: Raw = ABSENT


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


class AboutComponent(Struct, gc=False):
    """What the tool says of a verdict."""

    graderError: Any = None
    assertionSet: Raw = ABSENT
    renderedAssertionValue: Raw = ABSENT


class Component(Struct, gc=False):
    """The verdict of an assertion, or of a set of assertions."""

    passed: bool | None = msgspec.field(name="pass", default=None)
    score: float | None = None
    reason: Any = None
    assertion: Raw = ABSENT
    componentResults: list[Raw] | None = None
    metadata: AboutComponent | None = None


class Grading(Struct, gc=False):
    """The result of all assertions of a row."""

    reason: Any = None
    namedScoreWeights: Raw = ABSENT
    componentResults: list[Component | None] | None = None


class Row(Struct, gc=False):
    """One call of one prompt of one provider on one test."""

    promptIdx: int | None = None
    testIdx: int | None = None
    id: str | None = None
    promptId: str | None = None
    provider: str | Provider | None = None
    prompt: Raw = ABSENT
    response: Response | None = None
    score: float | None = None
    success: bool | None = None
    failureReason: int | None = None
    error: Any = None
    gradingResult: Grading | None = None
    namedScores: dict[str, float | None] | None = None
    latencyMs: float | None = None
    cost: float | None = None
    tokenUsage: Tokens | None = None
    testCase: Raw = ABSENT
    vars: Raw = ABSENT
    description: str | None = None


class TestCase(Struct, gc=False):
    """The content that identifies a test; its position does not."""

    id: Any = None
    description: str | None = None
    vars: Raw = ABSENT
    metadata: Any = None
    tags: Any = None
    asserts: Raw = msgspec.field(name="assert", default=ABSENT)
    threshold: Raw = ABSENT
    options: Raw = ABSENT
    provider: Raw = ABSENT
    assertScoringFunction: Raw = ABSENT


class TableHead(Struct):
    """The columns of a table."""

    prompts: list[Prompt] = []


class Table(Struct):
    """Version 2 keeps its prompts in the head of a table."""

    head: TableHead | None = None


class Results(Struct):
    """The part of an export that holds rows."""

    version: int | None = None
    timestamp: str | None = None
    prompts: list[Prompt] | None = None
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


def _broke(each: Component, kind: str) -> bool:
    """Return true if what should have judged broke, and says nothing of the answer."""
    if each.metadata is not None and each.metadata.graderError is True:
        return True
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
        said = compact(said) if said else ""
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
    if grading is None or not checks:
        said = row.error or (grading and grading.reason)
        if not row.success:
            broke = any(_is_breakage(said, kind) for kind in asserted)
            return "unevaluated" if broke else "fail"
        return "pass" if asserted and grading is None else "unevaluated"
    broken = [each for each in checks if each.passed is None]
    if row.success:  # not by a judge that broke and is negated
        is_sure = not any(each.type.startswith("not-") for each in broken)
        return "pass" if is_sure else "unevaluated"
    failed = [each for each in checks if each.passed is False]
    # a set that only fails by such members was not judged either
    sets = {each.parent_position for each in broken}
    sets -= {each.parent_position for each in failed}
    is_judged = any(each.position not in sets for each in failed)
    return "unevaluated" if broken and not is_judged else "fail"


def _cost(row: Row) -> float | None:
    """Return the cost; a 0 of the row alone may be promptfoo's default for unknown.

    It counts if the answer came from the cache, or if the provider says 0 too.
    """
    response = row.response
    if row.cost or (response is not None and response.cached):
        return row.cost
    return as_float(response.cost) if response is not None else None


def _tokens(row: Row) -> tuple[int | None, int | None, int | None]:
    """Return the tokens of the prompt, of the answer, and in total.

    promptfoo writes zeros where the provider counts nothing. From the cache only the
    total is available.
    """
    response = row.response
    usage = (response.tokenUsage if response else None) or row.tokenUsage
    if usage is None:
        return None, None, None
    given, made = as_int(usage.prompt), as_int(usage.completion)
    total = as_int(usage.total)
    is_cached = response is not None and bool(response.cached)
    if not given and not made and (total or not is_cached):
        given = made = None
    return given, made, total or (total if is_cached else None)


class AboutRound(Struct, omit_defaults=True, gc=False):
    """What else is known of a round."""

    row_id: str | None = None
    cost: float | None = None
    cached: bool | None = None
    total_tokens: int | None = None


def write_round(row: Row, case: CaseWriter, status: Status) -> RoundWriter:
    """Write the row's answer: not by the case, which takes longer by a twentieth."""
    task, response = case.task, row.response
    task.n_rounds[case.id] = n = task.n_rounds[case.id] + 1
    written = RoundWriter(task, case.id, f"{case.id}-{n}")
    cached = response.cached if response else None
    output, parsed = text_and_json(response.output if response else None)
    given, made, total = _tokens(row)
    task.write(
        Round(
            task_id=task.task_id,
            case_id=case.id,
            round_id=written.round_id,
            position=n - 1,
            run_index=n,
            raw_output=output,
            parsed_output=parsed,
            input_tokens=given,
            output_tokens=made,
            latency_ms=row.latencyMs,
            metadata=compact(AboutRound(row.id, _cost(row), cached, total)),
            error=error_of(row) if status == "error" else None,
            reported_status=status,
            is_cached=cached,
            steps=_steps(response) if response else None,
        )
    )
    return written


def _steps(response: Response) -> str | None:
    """Return the messages and tool calls of an agent.

    Multi-turn providers keep ``messages`` and agents ``toolCalls`` in the metadata; a
    model that is asked once puts its calls into the output, alone or in a message.
    """
    about, output = as_object(_decoded(response.metadata)), response.output
    if isinstance(output, dict):
        output = output.get("tool_calls")
    calls = about.get("toolCalls") or (output if _are_calls(output) else None)
    messages = about.get("messages")
    return steps_of(messages, calls) if messages or calls else None


def _are_calls(output: Any) -> bool:
    """Return true for the shape of calls that chat APIs return."""
    return isinstance(output, list) and any(
        as_object(each).get("type") in ("function", "function_call", "tool_use")
        for each in output
    )


def checks_of(row: Row, case: CaseWriter) -> list[Check]:
    """Return the assertions of the next round of a case, sets before their members."""
    task_id, case_id = case.task.task_id, case.id
    round_id = f"{case_id}-{case.task.n_rounds[case_id] + 1}"
    grading = row.gradingResult
    checks: list[Check] = []
    beside = 0  # members of a set that follow it again
    parent: int | None = None
    for each in (grading and grading.componentResults) or ():
        if each is None:
            continue
        about, position = each.metadata, len(checks)
        is_set = not is_there(each.assertion)
        said = (about.assertionSet if about else ABSENT) if is_set else each.assertion
        rendered = bytes(about.renderedAssertionValue) if about else b""
        told = _asserted(bytes(said), rendered, is_set=is_set)
        kind, name, weight, threshold, expected = told
        broke = _broke(each, "" if is_set else kind)
        reason = each.reason
        if not isinstance(reason, str | None):
            reason = compact(reason)
        checks.append(
            Check(
                task_id=task_id,
                case_id=case_id,
                round_id=round_id,
                position=position,
                name=name,
                type=kind,
                passed=None if broke else each.passed,
                parent_position=parent if beside > 0 else None,
                score=None if broke else each.score,
                weight=weight,
                threshold=threshold,
                expected=expected,
                reason=reason,
                error=(reason or "the grader broke") if broke else None,
            )
        )
        beside -= beside > 0
        if is_set and each.componentResults:
            parent, beside = position, len(each.componentResults)
    return checks


Asserted = tuple[str, str, float | None, float | None, str | None]
"""Type, name, weight and threshold of an assertion, and what it expects."""


@lru_cache(4096)
def _asserted(written: bytes, rendered: bytes, *, is_set: bool) -> Asserted:
    """Read an assertion, or a set of them; most rows repeat those of others.

    What it expects is its value, with what else tells it from others of its name.
    """
    given = decode(written or b"{}", Assertion)
    kind = "assert-set" if is_set else given.type or "assertion"
    value = None if is_set else raw_text(Raw(rendered) if rendered else given.value)
    beside = {
        "config": raw_text(given.config),
        "transform": raw_text(given.transform),
        "contextTransform": raw_text(given.contextTransform),
    }
    listed = [f'"{name}":{each}' for name, each in beside.items() if each is not None]
    expected = f'{{"value":{value or "null"},{",".join(listed)}}}' if listed else value
    name = given.metric if isinstance(given.metric, str) and given.metric else kind
    return kind, name, given.weight, given.threshold, expected


def _claim(column: Column) -> None:
    """Hand over the number of rows of a column, and the mean of their scores.

    The file has their sum, in which an error counts 0. Sums of named scores are by
    weight, or not, as versions go, and the score is made of them.
    """
    metrics = as_object(_decoded(column.prompt.metrics))
    counts = [
        as_int(metrics.get(f"test{of}Count")) or 0 for of in ("Pass", "Fail", "Error")
    ]
    n, total = (
        column.task.dimensions.n_values(ROW_SCORE),
        as_float(metrics.get("score")),
    )
    if metrics:
        mean = {} if total is None or not n else {ROW_SCORE: total / n}
        column.task.claim(mean, sum(counts) or None)


ROW_SCORE = "score"
"""Dimension of the row's own score, which promptfoo computes from all assertions."""


class Column(Struct):
    """One prompt on one provider."""

    index: int
    provider: str
    prompt: Prompt
    task: TaskWriter
    """``<eval id>/<column>``."""


class Columns:
    """All columns of a file.

    Args:
        source: The file.
        export: The file without its rows; a JSONL file has nothing else.
    """

    def __init__(self, source: Source, export: Export | None = None) -> None:
        self._source = source
        self.are_lines = export is None
        self._run_id = export.evalId if export else None
        self._repeat = _repeat(export) if export else None
        self._heads: list[Prompt] = []
        self._settings: dict[str, list[dict[str, Any]]] = {}
        """Settings of each provider, by its label or id, which several may have."""
        self._about: dict[str, Any] = {}
        """Fields of every task."""
        self._scoring: list[str] = []
        if export is not None:
            self._read_head(export)
        self._columns: dict[Any, Column] = {}
        self._judgings: dict[Any, _Judging] = {}
        self._tests: dict[int, _Test] = {}
        self._of_name: dict[str, set[str]] = {}
        """Name → contents of the tests that have it."""
        self._seen = Occurrences()
        self._counts: dict[tuple[str, _Key], int] = {}
        """Task and key of a test → its rows so far."""
        self._case_ids: dict[tuple[_Key, int], str] = {}
        """Key of a test, and which of its equals it is → its case."""
        self._ids = OwnIds("id")
        self._same_run = SameRun("promptfoo")
        self._unjudged: list[str] = []
        self._bare: dict[str, set[int]] = {}
        """Task → what was asked by tests that say nothing of themselves."""
        self._prompt_vars: dict[str, set[str]] = {}
        """Variable of the prompt → its texts."""
        self._templates = " ".join(map(_slots, self._heads))

    def _read_head(self, export: Export) -> None:
        results, about, config = export.results, export.metadata, export.config
        head = results.table.head if results.table else None
        self._heads = results.prompts or (head.prompts if head else [])
        begun = about.evaluationCreatedAt if about else None
        named = _TIME.search(export.evalId or "")
        self._about["created_at"] = (
            as_time(results.timestamp) or as_time(begun) or as_time(named and named[0])
        )
        if about is not None:
            self._about["tool_version"] = about.promptfooVersion
            self._about["written_at"] = as_time(about.exportedAt)
        if config is not None:
            self._about["title"] = short_name(config.description or "", 120)
            self._settings = _settings(config.providers)
            tests = bytes(config.defaultTest), bytes(config.tests)
            self._scoring = [
                e.decode() for each in tests for e in _SCORING.findall(each)
            ]

    def expect(self, rows: Iterable[tuple[Row, _Test]]) -> None:
        """Name the run and the cases of the rows that are coming.

        A JSONL file names no run, and has its rows as they end, which is another order
        in every run.
        """
        rows = list(rows)
        if self._run_id is None:
            named = [(e.testIdx or 0, e.promptIdx or 0, e.id) for e, _ in rows if e.id]
            # nor do files before 2024
            own_id = (
                min(named)[-1] if named else content_id([compact(e) for e, _ in rows])
            )
            self._run_id = f"promptfoo-{own_id}"
        for test in dict.fromkeys(test for _, test in rows):
            self._case_id(test, 1)

    def add(self, row: Row, test: _Test) -> list[Record | Problem]:
        """Return the records of one row; no records for a repeated row.

        Raises:
            msgspec.DecodeError: It is of no column.
        """
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return []
        task = self._column(row)
        if test.is_bare and is_there(row.prompt):
            raw = _prompt(row).raw
            asked = row.testIdx if raw == _LEFT_OUT else raw
            self._bare.setdefault(task.task_id, set()).add(hash(compact(asked)))
        counted = (task.task_id, test.key)
        count = self._counts.get(counted, 0)
        repeat = test.repeat or self._repeat or math.inf
        case_id = self._case_id(test, 1 if count < repeat else 1 + int(count // repeat))
        is_known = case_id in task.n_rounds
        case = CaseWriter(task, case_id) if is_known else test.write(task, case_id)
        checks = checks_of(row, case)
        status = status_of(row, checks, test.judging.types)
        written = write_round(row, case, status)
        for check in checks:
            task.write(check)
        self._counts[counted] = count + 1
        if status != "error":
            _write_scores(row, written, checks, status)
            if row.success is None:
                self._unjudged.append(case_id)
        # JSONL does not number repeats: rows are identified by their ids
        output = row.response.output if row.response else None
        said = [(each.name, each.passed, each.score, each.reason) for each in checks]
        told = (
            row.id or compact(row),
            status,
            row.score,
            output,
            row.namedScores,
            said,
        )
        self._same_run.add_written(canonical(told))
        return task.written()

    def closing(self) -> Iterator[Record | Problem]:
        """Return tasks and dimensions, which are known when all rows are read."""
        columns = sorted(self._columns.values(), key=lambda each: each.index)
        in_order = list(dict.fromkeys(compact(each.prompt.raw) for each in columns))
        alike = Occurrences()
        judges = {each: None for of in self._judgings.values() for each in of.judges}
        for column in columns:
            prompt, task = column.prompt, column.task
            of_name = self._settings.get(column.provider, [])
            place = alike.next(column.provider, compact([prompt.raw, prompt.label])) - 1
            own = of_name[place] if place < len(of_name) else {}
            label = short_name(prompt.label or prompt.display)
            task.describe(
                prompt_version=_version(prompt, label),
                prompt_name=_name(prompt),
                prompt_position=in_order.index(compact(prompt.raw)),
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
            for judged in judges:
                task.judge(*judged)
            # the row's score is computed from the named ones: only it counts
            best: dict[str, Direction] = dict.fromkeys(task.dimensions, "higher_better")
            # a metric of weight 0 never has a value, so it has no score to miss
            graded = list(filter(task.dimensions.has_numbers, task.dimensions.graded()))
            task.grade(graded, best, {ROW_SCORE: 1.0})
            if not self.are_lines:
                _claim(column)
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

    def problem(self, error: Exception, place: int, raw: bytes | Raw) -> Problem:
        """Return the reject of a row at a line, or at a place in the list."""
        if self.are_lines:
            return _FILES.problem(error, line=place, raw=bytes(raw))
        pointer = f"/results/results/{place}"
        return _FILES.problem(error, pointer=pointer, raw=bytes(raw))

    def _config_ids_of(self, provider: str) -> list[str]:
        """Return what the config may call a provider that gives itself another id."""
        if provider in self._settings:
            return []
        others = {column.provider for column in self._columns.values()}
        return [name for name in self._settings if name not in others]

    def _settings_of(self, own: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
        """Return the settings of a provider, of its prompt and of the tests."""
        said = {**own, **(as_object(yardstick(prompt.config)) if self._heads else {})}
        listed = list(
            dict.fromkeys(
                each.settings for each in self._judgings.values() if each.settings
            )
        )
        if listed:  # there may be many
            said["tests"] = (
                listed[0] if len(listed) == 1 else content_id(sorted(listed))
            )
        return said

    def _column(self, row: Row) -> TaskWriter:
        provider = _provider(row.provider)
        # joined files have one index for several columns
        key: Any = (row.promptIdx, provider, row.promptId)
        if row.promptIdx is None:
            if self.are_lines:
                raise msgspec.ValidationError(
                    "Expected `int`, got `null` - at `$.promptIdx`"
                )
            key = _told_by(_prompt(row), provider)  # version 2
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._new_column(row, provider)
        return column.task

    def _new_column(self, row: Row, provider: str) -> Column:
        heads, prompt = self._heads, _prompt(row)
        told = _told_by(prompt, provider)
        taken = {each.index for each in self._columns.values()}
        index = row.promptIdx
        if index is None or index in taken:
            same = [n for n, each in enumerate(heads) if told == _told_by(each)]
            index = same[0] if len(same) == 1 else max(len(heads), len(taken))
        while index in taken:
            index += 1
        head = heads[index] if 0 <= index < len(heads) else prompt
        head.id = head.id or row.promptId
        task_id = f"{self._run_id}/{index}"
        task = TaskWriter("promptfoo", task_id, self._source, self._same_run,
                          is_share=lambda _name: True)  # fmt: skip
        return Column(index, provider, head, task)

    def _case_id(self, test: _Test, occurrence: int) -> str:
        """Return the case of a test, of which several may assert different things."""
        key = (test.key, occurrence)
        case_id = self._case_ids.get(key)
        if case_id is None:
            name = test.name
            if len(self._of_name[name]) > 1:
                name = f"{name}-{test.content[:_SUFFIX]}"
            case_id = self._seen.named(name, self._seen.next(name))
            self._case_ids[key] = case_id
        return case_id

    def test(self, row: Row) -> _Test:
        """Return the test of a row.

        Raises:
            msgspec.DecodeError: It cannot be read.
        """
        key = hash((bytes(row.testCase), bytes(row.vars)))  # texts would take memory
        test = self._tests.get(key)
        if test is None:
            test = self._tests[key] = self._read_test(row)
            self._of_name.setdefault(test.name, set()).add(test.content)
        return test

    def _read_test(self, row: Row) -> _Test:
        test = decode(row.testCase, TestCase) if is_there(row.testCase) else TestCase()
        filled = decode(row.vars, dict[str, Any]) if is_there(row.vars) else {}
        given = filled
        if is_there(test.vars) and bytes(test.vars) != bytes(row.vars):
            given = decode(test.vars, dict[str, Any])
        overrides = self._source.overrides
        for name in overrides.prompt_vars:
            if name in given:
                value = given[name]
                value = value if isinstance(value, str) else compact(value)
                self._prompt_vars.setdefault(name, set()).add(value)
        not_asked = {"_conversation", *overrides.prompt_vars}
        asked = {key: given[key] for key in given if key not in not_asked}
        parts = [test.asserts, test.options, test.provider, test.threshold]
        key = tuple(map(bytes, [*parts, test.assertScoringFunction]))
        judging = self._judgings.get(key)
        if judging is None:
            judging = self._judgings[key] = _Judging.of(test)
        metadata = as_object(test.metadata)
        own_id = _own_id(test.id, metadata.get("id"), asked.get("id"))
        expected = self._expected(asked, judging, own_id)
        asked = {key: asked[key] for key in asked if key not in expected}
        described = test.description or row.description
        content_of = [asked, described]
        conversation = metadata.get("conversationId")
        if isinstance(conversation, str | int):  # the same words in another context
            content_of.append(str(conversation))
        if judging.settings:  # a prefix or a provider of its own asks something else
            content_of.append(judging.settings)
        content = content_id(content_of)
        name = plain_name(own_id or case_name(described or asked or content))
        files = _contents_of_files(asked, filled)
        context = {"description": described, "vars": asked, "files": files}
        context = {key: each for key, each in context.items() if each is not None}
        expectation_hash = None
        if judging.written:
            # what graders of red teams judge by
            of_graders = metadata.get("pluginConfig"), metadata.get("purpose")
            of_test = canonical([expected, self._scoring, *of_graders])
            asserted = hashlib.blake2b(judging.asserted + of_test, digest_size=16)
            expectation_hash = asserted.hexdigest()
        tags = metadata.get("tags", test.tags)
        repeat = judging.repeat
        return _Test(
            name=name,
            content=content,
            key=(name, content, expectation_hash or ""),
            judging=judging,
            repeat=repeat if isinstance(repeat, int) and repeat > 0 else None,
            is_bare=not given and name == content and len(context) == 1,
            context=context,
            note=compact({"variables": expected}) if expected else None,
            expectation_hash=expectation_hash,
            tags=[tag for tag in tags if isinstance(tag, str)]
            if isinstance(tags, list)
            else [],
            metadata={key: each for key, each in metadata.items() if key != "id"},
        )

    def _expected(
        self, asked: Mapping[str, Any], judging: _Judging, own_id: str | None
    ) -> dict[str, Any]:
        """Return the variables that are for assertions: no prompt of the run uses them.

        A variable that no assertion uses either may be for the provider, and
        distinguish tests. It is an expectation if the test has an id, or if its name
        says so: it stays one if the last assertion that used it is removed.

        Return nothing if this would leave no input, or if the prompts are unknown.
        """
        found = {}
        for key in asked if self._templates else ():
            place = judging.uses.get(key)
            if place is None:
                word = re.compile(rf"\b{re.escape(key)}\b")
                place = "asked"
                if key != "id" and not word.search(self._templates):
                    is_named = _EXPECTATION.search(key) or word.search(judging.written)
                    place = "expected" if is_named else "unused"
                judging.uses[key] = place
            if place == "expected" or (own_id and place == "unused"):
                found[key] = asked[key]
        return found if found and asked.keys() - found.keys() - {"id"} else {}

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


def _told_by(prompt: Prompt, provider: str | None = None) -> tuple[str, str]:
    """Return what tells a prompt of the head from others, as in a row."""
    name = prompt.label or prompt.display or compact(prompt.raw)
    return provider or _provider(prompt.provider), name


def _prompt(row: Row) -> Prompt:
    return decode(row.prompt, Prompt) if is_there(row.prompt) else Prompt()


def _write_scores(
    row: Row, written: RoundWriter, checks: Sequence[Check], status: Status
) -> None:
    # what was not judged has 1, what a broken judge should have judged 0: kept as
    # the tool's value, and no score
    unscored = {each.name for each in checks if each.passed is None}
    if unscored:
        unscored -= {each.name for each in checks if each.passed is not None}
    if status == "unevaluated":
        unscored.add(ROW_SCORE)
    grading = row.gradingResult
    weights = bytes(grading.namedScoreWeights) if grading else b""
    weightless = _weightless(weights) if weights else ()
    named = {**row.namedScores, ROW_SCORE: row.score} if row.namedScores else None
    for name, value in (named or {ROW_SCORE: row.score}).items():
        if name in weightless:
            written.score(name, None)
        else:
            written.score(name, value, None if name in unscored else as_share(value))


@lru_cache(1000)
def _weightless(weights: bytes) -> frozenset[str]:
    """Return the metrics of weight 0: a mean by weight, whatever the assertions say."""
    given = as_object(decode(weights, Any))
    return frozenset(name for name, weight in given.items() if weight == 0)


class _Judging(Struct):
    """What a test asserts and with which options, as many tests of a run do."""

    written: str
    """Its assertions as JSON; empty without any."""
    asserted: bytes
    """All that decides over an answer but judges, which are records of their own."""
    types: list[str]
    judges: list[Judged]
    repeat: Any
    settings: str | None
    """Its options that neither judge nor say how often, as JSON."""
    uses: dict[str, str] = {}
    """Variable of a test → whether it is ``asked``, ``expected`` or ``unused``."""

    @classmethod
    def of(cls, test: TestCase) -> _Judging:
        asserts, options = _decoded(test.asserts), as_object(_decoded(test.options))
        asserts = asserts if isinstance(asserts, list) else []
        scoring = test.threshold, test.assertScoringFunction
        judging = {name: options.get(name) for name in ("transform", "postprocess")}
        rest = {**options, "test provider": _decoded(test.provider)}
        settings = yardstick(rest, *judging, *_OF_JUDGE, *_NO_SETTINGS)
        return cls(
            written=compact(asserts) if asserts else "",
            asserted=canonical([asserts, judging, *map(_decoded, scoring)]),
            types=[kind for kind, *_ in _flat(asserts)],
            judges=list(_judges(asserts, options)),
            repeat=options.get("repeat"),
            settings=compact(dict(sorted(settings.items()))) if settings else None,
        )


def _decoded(raw: Raw) -> Any:
    return decode(raw, Any) if is_there(raw) else None


_Key = tuple[str, str, str]
"""Name, content and hash of the expectations, which equal tests have in common."""


class _Test(Struct, eq=False):
    """One test, common to all columns."""

    name: str
    """Its id or description by the author, else what it asks."""
    content: str
    """A hash of what it asks and of its options, without the assertions."""
    judging: _Judging
    repeat: int | None
    is_bare: bool
    """True if nothing but its place tells it from others."""
    context: dict[str, Any]
    note: str | None
    """Variables that only assertions use, as JSON."""
    expectation_hash: str | None
    tags: list[str]
    metadata: dict[str, Any]
    key: _Key

    def write(self, task: TaskWriter, case_id: str) -> CaseWriter:
        """Write the case, and what it expects."""
        case = task.case(
            case_id,
            self.context,
            tags=self.tags,
            categories=self.metadata,
            expectation_hash=self.expectation_hash,
        )
        if self.note is not None:
            note = ("expected", 0, self.note, "manual_note")
            task.write(Baseline(task.task_id, case_id, *note))
        return case


_SUFFIX = 6
"""Characters of the hash that tells two tests of one name apart."""
_SCRIPT = re.compile(r"\.([cm]?[jt]s|py)(:\w+)?$")


def _contents_of_files(
    asked: Mapping[str, Any], filled: Mapping[str, Any]
) -> dict[str, str] | None:
    """Return a hash of each file that is a variable, where a row has its content.

    A script may return something else in every run.
    """
    found = {}
    for name, value in asked.items():
        if not isinstance(value, str) or not value.startswith("file://"):
            continue
        if not _SCRIPT.search(value) and filled.get(name) not in (None, value):
            found[name] = content_id(filled[name])
    return found or None


_OF_JUDGE = ("provider", "rubricPrompt", "factuality")
"""Options of a test, and of an assertion, that say who judges and how."""
_NO_SETTINGS = (
    *("repeat", "disableVarExpansion", "disableDefaultAsserts", "runSerially"),
    "storeOutputAs",
)
"""Options that decide nothing."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+$")
"""The time at the end of the id of a run."""


_SCORING = re.compile(rb'"assertScoringFunction"\s*:\s*("(?:[^"\\]|\\.)*")')
"""Functions in a config: promptfoo loads them, and writes none of them in rows."""


def _slots(prompt: Prompt) -> str:
    """Return the template of a prompt; the whole source of a function."""
    raw = prompt.raw if isinstance(prompt.raw, str) else compact(prompt.raw)
    return " ".join(re.findall(r"\{[{%].*?[%}]\}", raw, re.DOTALL)) or raw


_RULES = re.compile(
    r"(not-)?(i?contains|equals|starts-with|regex|is-|javascript|python|ruby|webhook"
    r"|latency|cost|levenshtein|rouge|bleu|gleu|meteor|word-count|perplexity|tool-call"
    r"|finish-reason|guardrails|skill-used|trace-|trajectory:(tool|step)|max-score)\S*"
    r"|human|assert-set"
)
"""Types of assertions that ask no model; any other may."""


Judged = tuple[str, str, str, str]
"""Name of an assertion; model, template and rubric, empty if the file has none."""
_OUTPUTS = ("text", "embedding", "classification", "moderation")
"""Types of the models that judge, where there are several."""


def _flat(
    asserts: Any, of_set: Any = None
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield each assertion, also inside sets: type, what it says, metric of its set."""
    for each in map(as_object, asserts if isinstance(asserts, list) else ()):
        if isinstance(kind := each.get("type"), str):
            yield kind, each, of_set
        yield from _flat(each.get("assert"), each.get("metric"))


def _judges(asserts: Any, options: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield the judge of each assertion that a model judges, also for its set.

    Its template is all that the assertion and the options say of it.
    """
    for kind, said, of_set in _flat(asserts):
        if _RULES.fullmatch(kind):
            continue
        told = {name: said.get(name) or options.get(name) for name in _OF_JUDGE}
        provider = told["provider"]
        if isinstance(provider, str):
            del told["provider"]
        template = yardstick(told, "id", "label")
        rubric = said.get("value") or ""
        for name in (said.get("metric") or kind, of_set):
            if isinstance(name, str):
                yield (
                    name,
                    _model(provider),
                    canonical(template).decode() if template else "",
                    rubric if isinstance(rubric, str) else compact(rubric),
                )


def _model(provider: Any) -> str:
    """Return the ids of a provider, or of those of each type."""
    about = as_object(provider) or {"id": provider}
    typed = [_model(about[each]) for each in _OUTPUTS if about.get(each)]
    own = about.get("id")
    return ", ".join(typed) or (own if isinstance(own, str) else "")


_EXPECTATION = re.compile(
    r"(^|[_\W])(answer|correct|expected|gold(en)?|ideal|reference|solution|target|truth"
    r"|want(ed)?)($|[_\W])",
    re.IGNORECASE,
)
"""Usual names of variables with what is expected."""


_OF_PROVIDER = ("id", "label", "prompts", "delay", "config")


def _settings(providers: Raw) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of the providers of each name, without possible secrets."""
    if not is_there(providers):
        return {}
    listed = decode(providers, Any)
    found: dict[str, list[dict[str, Any]]] = {}
    for each in listed if isinstance(listed, list) else [listed]:
        about = {"id": each} if isinstance(each, str) else as_object(each)
        if len(about) == 1 and "id" not in about:  # by its id: {"openai:o3": {...}}
            ((own_id, said),) = about.items()
            about = {"id": own_id, **as_object(said)}
        name = about.get("label") or about.get("id")
        if isinstance(name, str):
            rest = {
                key: value for key, value in about.items() if key not in _OF_PROVIDER
            }
            if name != about.get("id"):  # the model behind a label
                rest["provider"] = about.get("id")
            settings = yardstick({**rest, **as_object(about.get("config"))})
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
        f"{key}={value if isinstance(value, str) else compact(value)}"
        for key, value in sorted(differing.items())
    )
    return short_name(" ".join(f"{name} ({said})".split()), 120)


def _provider(provider: str | Provider | None) -> str:
    if isinstance(provider, Provider):
        provider = provider.label or provider.id
    return provider or "unknown"


def _own_id(*candidates: Any) -> str | None:
    """Return the first id that an author gave to a test."""
    for each in candidates:
        if isinstance(each, (str, int)) and (name := plain_name(str(each))):
            return short_name(name, 120)
    return None


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
HASHES_ANSWERS = True

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
        yield from _records(Columns(source), lines(source))
    else:
        export = _FILES.document(source, Export)
        yield from _records(Columns(source, export), enumerate(export.results.results))


def _records(
    columns: Columns, written: Iterable[tuple[int, bytes | Raw]]
) -> Iterator[Record | Problem]:
    """Yield the records of rows as they are written, each with its line or place."""
    rows: list[tuple[int, bytes | Raw, Row, _Test]] = []
    for place, raw in written:
        try:
            row = decode(raw, Row)
            rows.append((place, raw, row, columns.test(row)))
        except UNREADABLE as error:
            yield columns.problem(error, place, raw)
    rows.sort(key=lambda each: each[2].testIdx or 0)
    columns.expect((row, test) for _, _, row, test in rows)
    for place, raw, row, test in rows:
        try:
            yield from columns.add(row, test)
        except UNREADABLE as error:
            yield columns.problem(error, place, raw)
    yield from columns.closing()


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


def _repeat(export: Export) -> int | None:
    """Return how often each test was repeated; before 0.121 it may be missing."""
    if export.runtimeOptions is not None:
        return export.runtimeOptions.repeat or 1
    options = export.config.evaluateOptions if export.config else None
    return options.repeat if options else None
