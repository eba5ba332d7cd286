"""promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``.

Tried on 0.120.8, 0.121.20 and 0.123.1 (results version 3); version 2 is read by its
published shape. Its CSV, YAML, XML and JUnit files contain less of the same run: they
are skipped with a message that names the right format.

One file, a task per column (prompt and provider). A case is a test: vars, description,
conversation; of tests that differ in assertions, threshold or options alone each is a
case. ``--repeat`` writes no number, so equal tests are rounds of one case, up to the
number of repeats in the file.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
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
    as_list,
    as_object,
    as_share,
    as_time,
    first_member,
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
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.identity import (
    Occurrences,
    OwnIds,
    SameRun,
    case_name,
    content_id,
)
from promptlab.ingest.foreign.scorings import error_text, unjudged_problems
from promptlab.ingest.foreign.writing import (
    Baseline,
    CaseWriter,
    Check,
    Record,
    RoundWriter,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import canonical, compact
from promptlab.steps import steps_of

EMPTY = Raw(b"{}")
_NO_ANSWER = 2

# ---------- what promptfoo writes


class Prompt(Struct):
    """A prompt; in the head of a file with the counts of its column."""

    raw: Any = None
    label: str | None = None
    display: str | None = None
    """The label, in version 2."""
    id: str | None = None
    provider: Any = None
    """A name, or an object with a label and an id."""
    metrics: Any = None
    config: Any = None

    def __post_init__(self) -> None:
        self.label = self.label or self.display


class Tokens(Struct, gc=False):
    """The tokens of an answer; zeros where the provider counts none."""

    prompt: Any = None
    completion: Any = None
    total: Any = None
    """All that is known of an answer from the cache."""


class AboutResponse(Struct, gc=False):
    """The messages of a provider of several turns, or the calls of an agent."""

    messages: Any = None
    toolCalls: Any = None


class Response(Struct, gc=False):
    """The output of the provider."""

    output: Any = None
    tokenUsage: Tokens | None = None
    cached: bool | None = None
    cost: Any = None
    error: Any = None
    metadata: AboutResponse | list[Any] | str | float | bool | None = None
    """Of any form, as a provider likes."""


class AboutComponent(Struct, gc=False):
    """What the tool says of a verdict."""

    graderError: Any = None
    assertionSet: Raw = ABSENT
    renderedAssertionValue: Raw = ABSENT


class Component(Struct, gc=False):
    """The verdict of an assertion, or of a set, which its members follow once more."""

    passed: bool | None = msgspec.field(name="pass", default=None)
    score: float | None = None
    reason: Any = None
    assertion: Raw = ABSENT
    """Nothing for a set."""
    componentResults: list[Raw] | None = None
    metadata: AboutComponent | None = None


class Grading(Struct, gc=False):
    """The result of all assertions of a row."""

    reason: Any = None
    namedScoreWeights: Any = None
    componentResults: list[Component | None] | None = None


class Row(Struct, gc=False):
    """One call of one prompt of one provider on one test."""

    promptIdx: int | None = None
    testIdx: int | None = None
    id: str | None = None
    promptId: str | None = None
    provider: Any = None
    """A name, or an object with a label and an id."""
    prompt: Raw = EMPTY
    response: Response | None = None
    score: float | None = None
    """Computed from all assertions."""
    success: bool | None = None
    failureReason: int | None = None
    """0: success. 1: an assertion failed. 2: `_NO_ANSWER` of the provider."""
    error: Any = None
    """The error of the provider; else why an assertion failed."""
    gradingResult: Grading | None = None
    namedScores: dict[str, float | None] | None = None
    latencyMs: float | None = None
    cost: float | None = None
    """0 may mean unknown."""
    tokenUsage: Tokens | None = None
    testCase: Raw = EMPTY
    vars: Raw = EMPTY
    """Those of the test, filled: with the content of a file in place of its name."""
    description: str | None = None

    def __post_init__(self) -> None:
        if self.failureReason is None:  # version 2 has no such field
            is_error = self.gradingResult is None and self.error
            self.failureReason = _NO_ANSWER if is_error else 0
        self.prompt = self.prompt if is_there(self.prompt) else EMPTY
        self.testCase = self.testCase if is_there(self.testCase) else EMPTY


class TestCase(Struct, gc=False):
    """The content that identifies a test; its position does not."""

    id: Any = None
    description: str | None = None
    vars: dict[str, Any] | None = None
    metadata: Any = None
    tags: Any = None
    asserts: Raw = msgspec.field(name="assert", default=ABSENT)
    options: Raw = ABSENT
    provider: Raw = ABSENT
    threshold: Raw = ABSENT
    assertScoringFunction: Raw = ABSENT


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


class Results(Struct):
    """The part of an export that holds rows."""

    timestamp: str | None = None
    prompts: list[Prompt] | None = None
    table: Raw = ABSENT
    """In version 2 its head has the prompts."""
    results: list[Raw] = []

    def __post_init__(self) -> None:
        if self.prompts is None and is_there(self.table):
            heads = first_member(decode(self.table, Any), "head.prompts")
            self.prompts = msgspec.convert(heads or [], list[Prompt])


class Config(Struct):
    """The configuration of the run."""

    description: str | None = None
    evaluateOptions: Any = None
    providers: Any = None
    defaultTest: Raw = ABSENT
    tests: Raw = ABSENT


class Metadata(Struct):
    """The version that wrote the file."""

    promptfooVersion: str | None = None
    exportedAt: Any = None


class Export(Struct):
    """A whole file."""

    results: Results
    evalId: str | None = None
    config: Config | None = None
    runtimeOptions: Any = None
    """Since 0.121."""
    metadata: Metadata | None = None


# ---------- the file

FORMS = ("json", "jsonl", "other")
HASHES_ANSWERS = True

_FILES = ToolFiles("promptfoo", "0.120.8, 0.121.20 and 0.123.1")


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``results.version``, and JSONL rows with ``promptIdx``."""
    is_table = {"Status", "Score", "Named Scores"} <= head.columns
    is_yaml = head.data.startswith(b"evalId:") and head.has(b"\nresults:")
    is_xml = head.data.lstrip().startswith(b"<") and (
        head.has(b"<promptfoo>", b"<evalId>")
        or head.has(b"<testsuites", b'name="promptfoo"')
    )
    if is_table or is_yaml or is_xml:
        return "other"
    if {"promptIdx", "testIdx"} <= head.keys:
        return "jsonl"
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
        yield from _records(source, Export(Results()), lines(source))
    else:
        export = _FILES.document(source, Export)
        yield from _records(source, export, enumerate(export.results.results))


def _records(
    source: Source, export: Export, written: Iterable[tuple[int, bytes | Raw]]
) -> Iterator[Record | Problem]:
    """Yield the records of rows as they are written, each with its line or place."""
    run, tests = Run(source, export), Tests(source, export)

    def problem(error: Exception, place: int, raw: bytes | Raw) -> Problem:
        if source.form == "jsonl":
            return _FILES.problem(error, line=place, raw=bytes(raw))
        pointer = f"/results/results/{place}"
        return _FILES.problem(error, pointer=pointer, raw=bytes(raw))

    rows: list[tuple[int, bytes | Raw, Row, Test]] = []
    for place, raw in written:
        try:
            row = decode(raw, Row)
            rows.append((place, raw, row, tests.read(row)))
        except UNREADABLE as error:
            yield problem(error, place, raw)
    # JSONL has rows as they end, which is another order in every run
    rows.sort(key=lambda each: each[2].testIdx or 0)
    run.name([row for _, _, row, _ in rows])
    tests.name(test for *_, test in rows)
    for place, raw, row, test in rows:
        try:
            yield from run.add(row, test, tests)
        except UNREADABLE as error:
            yield problem(error, place, raw)
    yield from run.closing(tests)


# ---------- the run and its columns

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+$")
"""The end of an id of promptfoo: when the run began, in UTC."""

ROW_SCORE = "score"
"""Dimension of the row's own score: only it counts, as the named ones are its parts."""


class Column(Struct):
    """One prompt on one provider."""

    index: int
    provider: str
    prompt: Prompt
    task: TaskWriter
    """``<eval id>/<column>``."""


class Run:
    """All columns of a file.

    Args:
        source: The file.
        export: The file without its rows; a JSONL file has nothing else.
    """

    def __init__(self, source: Source, export: Export) -> None:
        config, about = export.config or Config(), export.metadata or Metadata()
        begun = _TIME.search(export.evalId or "")
        self._source = source
        self._run_id = export.evalId
        self._about: dict[str, Any] = {
            "created_at": as_time(export.results.timestamp)
            or as_time(begun and begun[0]),
            "tool_version": about.promptfooVersion,
            "written_at": as_time(about.exportedAt),
            "title": short_name(config.description, 120),
        }
        self._heads = export.results.prompts or []
        self._settings = _settings(config.providers)
        # before 0.121 a file may not say how often its tests were repeated
        options = export.runtimeOptions or config.evaluateOptions
        unknown = math.inf if export.runtimeOptions is None else 1
        self._repeat = as_int(first_member(options, "repeat")) or unknown
        self._columns: dict[Any, Column] = {}
        self._n_rows: defaultdict[tuple[str, Key], int] = defaultdict(int)
        """Task and key of a test → its rows so far."""
        self._ids = OwnIds("id")
        self._same_run = SameRun("promptfoo")
        self._unjudged: list[str] = []
        self._bare: defaultdict[str, set[object]] = defaultdict(set)
        """Task → what tests ask that say nothing of themselves."""

    def name(self, rows: Sequence[Row]) -> None:
        """Name a run that has no id after its rows: a JSONL file names none."""
        if self._run_id is None:
            ids = [(e.testIdx or 0, e.promptIdx or 0, e.id) for e in rows if e.id]
            # nor do rows before 2024
            own_id = min(ids)[-1] if ids else content_id([compact(e) for e in rows])
            self._run_id = f"promptfoo-{own_id}"

    def add(self, row: Row, test: Test, tests: Tests) -> list[Record | Problem]:
        """Return the records of one row; no records for a repeated row."""
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return []
        task = self._column(row).task
        if test.is_bare:
            prompt = bytes(row.prompt)
            asked = row.testIdx if b"[prompt stripped]" in prompt else prompt
            self._bare[task.task_id].add(asked)
        so_far = (task.task_id, test.key)
        repeat = test.judging.repeat or self._repeat
        case_id = tests.case_id(test, int(self._n_rows[so_far] // repeat))
        self._n_rows[so_far] += 1
        is_known = case_id in task.n_rounds
        case = CaseWriter(task, case_id) if is_known else test.write(task, case_id)
        checks = checks_of(row, case)
        status = status_of(row, checks, test.judging.types)
        answer = write_round(row, case, status)
        for check in checks:
            task.write(check)
        if status != "error":
            _write_scores(row, answer, checks, status)
            if row.success is None:
                self._unjudged.append(case_id)
        # JSONL does not number repeats: rows are identified by their ids
        output = row.response.output if row.response else None
        judged = [(each.name, each.passed, each.score, each.reason) for each in checks]
        own_id = row.id or compact(row)
        content = (own_id, status, row.score, output, row.namedScores, judged)
        self._same_run.add_written(canonical(content))
        return task.written()

    def _column(self, row: Row) -> Column:
        provider = _provider(row.provider)
        # joined files have one index for several columns
        key: Any = (row.promptIdx, provider, row.promptId)
        if row.promptIdx is None:  # version 2
            key = _names(decode(row.prompt, Prompt), provider)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._new_column(row, provider)
        return column

    def _new_column(self, row: Row, provider: str) -> Column:
        prompt, index = decode(row.prompt, Prompt), row.promptIdx
        prompt.config = None  # in a row it holds options of the test
        taken = {each.index for each in self._columns.values()}
        if index is None or index in taken:
            known = [_names(each, _provider(each.provider)) for each in self._heads]
            own = _names(prompt, provider)
            index = known.index(own) if own in known else len(known)
        while index in taken:
            index += 1
        if 0 <= index < len(self._heads):
            prompt = self._heads[index]
        prompt.id = prompt.id or row.promptId
        task = TaskWriter(
            "promptfoo",
            f"{self._run_id}/{index}",
            self._source,
            self._same_run,
            is_share=lambda _name: True,
        )
        return Column(index, provider, prompt, task)

    def closing(self, tests: Tests) -> Iterator[Record | Problem]:
        """Return tasks and dimensions, which are known when all rows are read."""
        columns = sorted(self._columns.values(), key=lambda each: each.index)
        in_order = list(dict.fromkeys(compact(each.prompt.raw) for each in columns))
        alike = Occurrences()
        judges, options = tests.judges, tests.settings
        for column in columns:
            prompt, task, provider = column.prompt, column.task, column.provider
            of_name = self._settings.get(provider, [])
            place = alike.next(provider, compact([prompt.raw, prompt.label])) - 1
            own = of_name[place] if place < len(of_name) else {}
            settings = {**own, **as_object(yardstick(prompt.config)), **options}
            task.describe(
                prompt_version=_version(prompt),
                prompt_name=_name(prompt),
                prompt_position=in_order.index(compact(prompt.raw)),
                model=provider,
                provider=_distinct(provider, own, of_name),
                settings=settings,
                run_id=self._run_id,
                run_hash=f"{self._same_run.hash()}/{column.index}",
                extras=prompts.about(
                    tests.filled(prompt.raw),
                    prompt_id=prompt.id,
                    provider_config_ids=self._config_ids_of(provider),
                    **_filter_of(prompt),
                ),
                **self._about,
            )
            for judge in judges:
                task.judge(*judge)
            names = task.dimensions
            # a metric of weight 0 never has a value, so it has no score to miss
            graded = list(filter(names.has_numbers, names.graded()))
            task.grade(graded, dict.fromkeys(names, "higher_better"), {ROW_SCORE: 1.0})
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

    def _config_ids_of(self, provider: str) -> list[str]:
        """Return what the config may call a provider that gives itself another id."""
        if provider in self._settings:
            return []
        others = {column.provider for column in self._columns.values()}
        return [name for name in self._settings if name not in others]


def _claim(column: Column) -> None:
    """Hand over the number of rows of a column, and the mean of their scores.

    The file has their sum, in which an error counts 0. Sums of named scores are by
    weight, or not, as versions go, and the score is made of them.
    """
    metrics, task = as_object(column.prompt.metrics), column.task
    counts = [
        as_int(metrics.get(f"test{of}Count")) or 0 for of in ("Pass", "Fail", "Error")
    ]
    total, n = as_float(metrics.get("score")), task.dimensions.n_values(ROW_SCORE)
    if metrics:
        means = {} if total is None or not n else {ROW_SCORE: total / n}
        task.claim(means, sum(counts) or None)


# ---------- providers and prompts


def _provider(provider: Any) -> str:
    about = as_object(provider) or {"id": provider}
    named = about.get("label") or about.get("id")
    return named if isinstance(named, str) else "unknown"


def _names(prompt: Prompt, provider: str) -> tuple[str, str]:
    """Return the names of a column, which are the same in the head and in a row."""
    return provider, prompt.label or compact(prompt.raw)


_NOT_SETTINGS = ("id", "label", "prompts", "delay", "config")


def _settings(providers: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of the providers of each name, without possible secrets."""
    by_name: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in providers if isinstance(providers, list) else [providers]:
        about = {"id": each} if isinstance(each, str) else as_object(each)
        if len(about) == 1 and "id" not in about:  # by its id: {"openai:o3": {...}}
            ((own_id, of_id),) = about.items()
            about = {"id": own_id, **as_object(of_id)}
        name = about.get("label") or about.get("id")
        if isinstance(name, str):
            rest = {k: v for k, v in about.items() if k not in _NOT_SETTINGS}
            if name != about.get("id"):  # the model behind a label
                rest["provider"] = about.get("id")
            by_name[name].append(yardstick({**rest, **as_object(about.get("config"))}))
    return by_name


def _distinct(
    name: str, own: Mapping[str, Any], all_of_name: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return a name with the settings that others of it lack; ``None``: it is one."""
    differing = [
        f"{key}={value if isinstance(value, str) else compact(value)}"
        for key, value in sorted(own.items())
        if any(each.get(key) != value for each in all_of_name)
    ]
    if not differing:
        return None
    return short_name(" ".join(f"{name} ({', '.join(differing)})".split()), 120)


_LONGEST_LABEL = 200


def _file_label(prompt: Prompt) -> str | None:
    """Return the label without the text of the prompt, which an edit would change.

    promptfoo labels a prompt from a file ``file: text``, and one without a label by its
    text. ``None`` for another label.
    """
    label, raw = prompt.label or "", prompt.raw
    if isinstance(raw, str) and raw and label.endswith(raw):
        return label.removesuffix(raw)
    return None


def _name(prompt: Prompt) -> str | None:
    """Return the label, or of a prompt from a file the name of the file."""
    file = _file_label(prompt)
    if file is None:
        return short_name(prompt.label) or None
    name = re.split(r"[\\/]", file.rstrip().removesuffix(":"))[-1]
    # the author's label in `label: file`
    return short_name(re.sub(r"(?<=\S): [^\s/\\]+\.\w{1,5}$", "", name)) or None


def _version(prompt: Prompt) -> str:
    """Return the label; if it contains the prompt, its name and promptfoo's hash."""
    name, label, known = _name(prompt), short_name(prompt.label), (prompt.id or "")[:7]
    if name and known and label != name:
        return f"{name} {known}"
    return label or known or "unknown"


def _filter_of(prompt: Prompt) -> dict[str, str]:
    """Return the label, or how a long one begins: ``--filter-prompts`` finds it."""
    label, file = prompt.label or "", _file_label(prompt)
    if file is None and len(label) <= _LONGEST_LABEL:
        return {"prompt_label": label}
    return {"prompt_label_begins": file or label[:_LONGEST_LABEL]}


# ---------- tests

Key = tuple[str, str, str]
"""Name, content and hash of the expectations, which equal tests have in common."""


class Test(Struct, eq=False):
    """One test, common to all columns."""

    name: str
    """Its id or description by the author, else what it asks."""
    content: str
    """A hash of what it asks and of its options, without the assertions."""
    key: Key
    judging: Judging
    is_bare: bool
    """True if nothing but its place tells it from others."""
    context: dict[str, Any]
    expected: dict[str, Any]
    """Variables that only assertions use."""
    expectation_hash: str | None
    tags: list[str]
    metadata: dict[str, Any]

    def write(self, task: TaskWriter, case_id: str) -> CaseWriter:
        """Write the case, and what it expects."""
        if self.expected:
            note = ("expected", 0, compact({"variables": self.expected}), "manual_note")
            task.write(Baseline(task.task_id, case_id, *note))
        return task.case(
            case_id,
            self.context,
            tags=self.tags,
            categories=self.metadata,
            expectation_hash=self.expectation_hash,
        )


class Tests:
    """The tests of a file, and the names of their cases."""

    def __init__(self, source: Source, export: Export) -> None:
        config = export.config or Config()
        # promptfoo loads functions before it runs the tests, and writes none in rows
        self._scoring = [
            function.decode()
            for tests in (config.defaultTest, config.tests)
            for function in _SCORING.findall(bytes(tests))
        ]
        self._templates = " ".join(map(_slots, export.results.prompts or ()))
        self._tests: dict[int, Test] = {}
        self._seen = Occurrences()
        self._of_name: defaultdict[str, set[str]] = defaultdict(set)
        """Name → contents of the tests that have it."""
        self._case_ids: dict[tuple[Key, int], str] = {}
        """Key of a test, and which of its equals it is → its case."""
        self._prompt_vars = source.overrides.prompt_vars
        self._texts: defaultdict[str, set[str]] = defaultdict(set)
        """Variable that is a part of the prompt → its texts."""

    def read(self, row: Row) -> Test:
        """Return the test of a row.

        Raises:
            msgspec.DecodeError: It cannot be read.
        """
        key = hash((bytes(row.testCase), bytes(row.vars)))  # texts would take memory
        test = self._tests.get(key)
        if test is None:
            test = self._tests[key] = self._new(row, decode(row.testCase, TestCase))
            self._of_name[test.name].add(test.content)
        return test

    def name(self, tests: Iterable[Test]) -> None:
        """Name the case of each test, before a second one of equal tests has a name."""
        for test in dict.fromkeys(tests):
            self.case_id(test, 0)

    def case_id(self, test: Test, place: int) -> str:
        """Return the case of a test; *place* is its place among equal tests."""
        key = (test.key, place)
        case_id = self._case_ids.get(key)
        if case_id is None:
            name = test.name
            if len(self._of_name[name]) > 1:
                name = f"{name}-{test.content[:6]}"
            case_id = self._seen.named(name, self._seen.next(name))
            self._case_ids[key] = case_id
        return case_id

    def _new(self, row: Row, test: TestCase) -> Test:
        written = test.vars
        if written is None:
            written = as_object(decode(row.vars, Any))
        for name in self._prompt_vars:
            if name in written:
                self._texts[name].add(text_and_json(written[name])[0] or "null")
        not_asked = {"_conversation", *self._prompt_vars}
        asked = {key: each for key, each in written.items() if key not in not_asked}
        metadata = as_object(test.metadata)
        judging = _judging(
            *map(bytes, (test.asserts, test.options, test.provider)),
            *map(bytes, (test.threshold, test.assertScoringFunction)),
        )
        own_id = _own_id(test.id, metadata.get("id"), asked.get("id"))
        expected = self._expected(asked, judging, own_id)
        asked = {key: each for key, each in asked.items() if key not in expected}
        described = test.description or row.description
        content_of: list[Any] = [asked, described]
        conversation = metadata.get("conversationId")
        if isinstance(conversation, str | int):  # the same words in another context
            content_of.append(str(conversation))
        if judging.settings:  # a prefix or a provider of its own asks something else
            content_of.append(judging.settings)
        content = content_id(content_of)
        name = plain_name(own_id or case_name(described or asked or content))
        files = _contents_of_files(asked, row)
        context = {"description": described, "vars": asked, "files": files}
        expectation_hash = None
        if judging.asserts:
            # what graders of red teams judge by
            of_graders = metadata.get("pluginConfig"), metadata.get("purpose")
            of_test = canonical([expected, self._scoring, *of_graders])
            asserted = hashlib.blake2b(judging.pass_rule + of_test, digest_size=16)
            expectation_hash = asserted.hexdigest()
        tags = metadata.get("tags", test.tags)
        return Test(
            name=name,
            content=content,
            key=(name, content, expectation_hash or ""),
            judging=judging,
            is_bare=not (own_id or described or written),
            context={key: each for key, each in context.items() if each is not None},
            expected=expected,
            expectation_hash=expectation_hash,
            tags=[tag for tag in tags if isinstance(tag, str)]
            if isinstance(tags, list)
            else [],
            metadata={key: each for key, each in metadata.items() if key != "id"},
        )

    def _expected(
        self, asked: Mapping[str, Any], judging: Judging, own_id: str | None
    ) -> dict[str, Any]:
        """Return the variables that are for assertions: no prompt of the run uses them.

        A variable that no assertion uses either may be for the provider, and
        distinguish tests. It is an expectation if the test has an id, or if its name
        says so: it stays one if the last assertion that used it is removed.

        Return nothing if this would leave no input, or if the prompts are unknown.
        """
        uses = ("expected", "unused") if own_id else ("expected",)
        expected = {
            key: each
            for key, each in asked.items()
            if _use_of(key, self._templates, judging.asserts) in uses
        }
        return expected if asked.keys() - expected.keys() - {"id"} else {}

    @property
    def judges(self) -> Iterable[Judged]:
        """The judges of all tests."""
        judgings = (test.judging for test in self._tests.values())
        return dict.fromkeys(judge for each in judgings for judge in each.judges)

    @property
    def settings(self) -> dict[str, str]:
        """The options of the tests that are settings: there may be many."""
        settings = {test.judging.settings for test in self._tests.values()}
        each = sorted(filter(None, settings))
        if not each:
            return {}
        return {"tests": each[0] if len(each) == 1 else content_id(each)}

    def filled(self, template: Any) -> Any:
        """Return a prompt with the variables that are part of it.

        A variable with several values in a run is not replaced.
        """
        if isinstance(template, str):
            for name, (value, *others) in self._texts.items():
                if not others:
                    slot = re.compile(r"\{\{\s*" + re.escape(name) + r"\s*\}\}")
                    template = slot.sub(lambda _: value, template)  # noqa: B023
        return template


_SCORING = re.compile(rb'"assertScoringFunction"\s*:\s*("(?:[^"\\]|\\.)*")')
_SCRIPT = re.compile(r"\.([cm]?[jt]s|py)(:\w+)?$")
_EXPECTATION = re.compile(
    r"(^|[_\W])(answer|correct|expected|gold(en)?|ideal|reference|solution|target|truth"
    r"|want(ed)?)($|[_\W])",
    re.IGNORECASE,
)
"""Usual names of variables with what is expected."""


def _own_id(*candidates: Any) -> str | None:
    """Return the first id that an author gave to a test."""
    for each in candidates:
        if isinstance(each, str | int) and (name := plain_name(str(each))):
            return short_name(name, 120)
    return None


def _slots(prompt: Prompt) -> str:
    """Return the template of a prompt; the whole source of a function."""
    raw = prompt.raw if isinstance(prompt.raw, str) else compact(prompt.raw)
    return " ".join(re.findall(r"\{[{%].*?[%}]\}", raw, re.DOTALL)) or raw


@lru_cache(4096)
def _use_of(name: str, templates: str, asserts: str) -> str:
    """Return for what a variable is: ``asked``, ``expected`` or ``unused``."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    if not templates or name == "id" or word.search(templates):
        return "asked"
    is_expected = _EXPECTATION.search(name) or word.search(asserts)
    return "expected" if is_expected else "unused"


def _contents_of_files(asked: Mapping[str, Any], row: Row) -> dict[str, str] | None:
    """Return a hash of each file that is a variable, where a row has its content.

    A script may return something else in every run.
    """
    files = {
        name: file
        for name, file in asked.items()
        if isinstance(file, str) and file.startswith("file://")
    }
    filled = as_object(decode(row.vars, Any)) if files else {}
    return {
        name: content_id(filled[name])
        for name, file in files.items()
        if not _SCRIPT.search(file) and filled.get(name) not in (None, file)
    } or None


# ---------- what tests assert, and who judges

Judged = tuple[str, str, str, str]
"""Name of an assertion; model, template and rubric, empty if the file has none."""

_RULES = re.compile(
    r"(not-)?(i?contains|equals|starts-with|regex|is-|javascript|python|ruby|webhook"
    r"|latency|cost|levenshtein|rouge|bleu|gleu|meteor|word-count|perplexity|tool-call"
    r"|finish-reason|guardrails|skill-used|trace-|trajectory:(tool|step)|max-score)\S*"
    r"|human|assert-set"
)
"""Types of assertions that ask no model; any other may."""
_OF_JUDGE = ("provider", "rubricPrompt", "factuality")
"""Options of a test, and of an assertion, that say who judges and how."""
_OF_ASSERTIONS = ("transform", "postprocess")
"""Options of a test that change what is judged."""
_NO_SETTINGS = (
    *("repeat", "disableVarExpansion", "disableDefaultAsserts", "runSerially"),
    "storeOutputAs",
)
"""Options that decide nothing."""
_OUTPUTS = ("text", "embedding", "classification", "moderation")
"""Types of the models that judge, where there are several."""


class Judging(Struct, eq=False):
    """What a test asserts and with which options, as many tests of a run do."""

    asserts: str
    """Its assertions as JSON; empty without any."""
    pass_rule: bytes
    """All that decides over an answer, but judges, which are records of their own."""
    types: list[str]
    judges: list[Judged]
    repeat: int | None
    settings: str | None
    """Its options that neither judge nor say how often, as JSON."""


@lru_cache(4096)
def _judging(
    asserts: bytes, options: bytes, provider: bytes, *scoring: bytes
) -> Judging:
    """Read what a test asserts; most tests repeat that of others."""
    listed, chosen, own_provider, *rest = (
        decode(each or b"null", Any) for each in (asserts, options, provider, *scoring)
    )
    asserted: list[Any] = as_list(listed)
    of_test = as_object(chosen)
    judging = {name: of_test.get(name) for name in _OF_ASSERTIONS}
    settings = yardstick(
        {**of_test, "test provider": own_provider},
        *(*_OF_ASSERTIONS, *_OF_JUDGE, *_NO_SETTINGS),
    )
    repeat = of_test.get("repeat")
    return Judging(
        asserts=compact(asserted) if asserted else "",
        pass_rule=canonical([asserted, judging, *rest]),
        types=[kind for kind, *_ in _with_members(asserted)],
        judges=list(_judges(asserted, of_test)),
        repeat=repeat if isinstance(repeat, int) and repeat > 0 else None,
        settings=compact(dict(sorted(settings.items()))) if settings else None,
    )


def _with_members(
    asserts: Any, of_set: Any = None
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield each assertion, also inside sets: type, what it says, metric of its set."""
    for each in map(as_object, as_list(asserts)):
        if isinstance(kind := each.get("type"), str):
            yield kind, each, of_set
        yield from _with_members(each.get("assert"), each.get("metric"))


def _judges(asserts: Any, options: Mapping[str, Any]) -> Iterator[Judged]:
    """Yield the judge of each assertion that a model judges, also for its set.

    Its template is all that the assertion and the options say of it.
    """
    for kind, about, of_set in _with_members(asserts):
        if _RULES.fullmatch(kind):
            continue
        judge = {name: about.get(name) or options.get(name) for name in _OF_JUDGE}
        model = _model(judge["provider"])
        if isinstance(judge["provider"], str):
            del judge["provider"]
        template = yardstick(judge, "id", "label")
        rubric = about.get("value") or ""
        for name in (about.get("metric") or kind, of_set):
            if isinstance(name, str):
                yield (
                    name,
                    model,
                    canonical(template).decode() if template else "",
                    rubric if isinstance(rubric, str) else compact(rubric),
                )


def _model(provider: Any) -> str:
    """Return the ids of a provider, or of those of each type."""
    about = as_object(provider) or {"id": provider}
    typed = [_model(about[each]) for each in _OUTPUTS if about.get(each)]
    own = about.get("id")
    return ", ".join(typed) or (own if isinstance(own, str) else "")


# ---------- answers


def write_round(row: Row, case: CaseWriter, status: Status) -> RoundWriter:
    """Write the row's answer."""
    response = row.response or Response()
    asked, answered, total = _tokens(row, response)
    about = {
        "row_id": row.id,
        "cost": _cost(row, response),
        "cached": response.cached,
        "total_tokens": total,
    }
    return case.round(
        response.output,
        input_tokens=asked,
        output_tokens=answered,
        latency_ms=row.latencyMs,
        metadata=about,
        error=_error(row, response) if status == "error" else None,
        status=status,
        is_cached=response.cached,
        steps=_steps(response),
    )


def _error(row: Row, response: Response) -> str:
    text = error_text(row.error or response.error) or ""
    return text.strip() or "the provider gave no answer"


def _cost(row: Row, response: Response) -> float | None:
    """Return the cost; a 0 counts if the answer was cached, or the provider says it."""
    return row.cost if row.cost or response.cached else as_float(response.cost)


def _tokens(row: Row, response: Response) -> tuple[int | None, int | None, int | None]:
    """Return the tokens of the prompt, of the answer, and in total."""
    usage = response.tokenUsage or row.tokenUsage or Tokens()
    asked, answered = as_int(usage.prompt), as_int(usage.completion)
    total = as_int(usage.total)
    if not asked and not answered and (total or not response.cached):
        asked = answered = None
    return asked, answered, total or (total if response.cached else None)


def _steps(response: Response) -> str | None:
    """Return the messages and tool calls of an agent.

    A model that is asked once puts its calls into the output, alone or in a message.
    """
    about, output = response.metadata, response.output
    if not isinstance(about, AboutResponse):
        about = AboutResponse()
    if isinstance(output, dict):
        output = output.get("tool_calls")
    calls = about.toolCalls or (output if _are_calls(output) else None)
    return steps_of(about.messages, calls) if about.messages or calls else None


def _are_calls(output: Any) -> bool:
    """Return true for the shape of calls that chat APIs return."""
    return isinstance(output, list) and any(
        as_object(each).get("type") in ("function", "function_call", "tool_use")
        for each in output
    )


def _write_scores(
    row: Row, answer: RoundWriter, checks: Sequence[Check], status: Status
) -> None:
    # what was not judged has 1, what a broken judge should have judged 0: kept as
    # the tool's value, and no score
    unscored = {each.name for each in checks if each.passed is None}
    if unscored:
        unscored -= {each.name for each in checks if each.passed is not None}
    if status == "unevaluated":
        unscored.add(ROW_SCORE)
    weights = as_object(row.gradingResult and row.gradingResult.namedScoreWeights)
    for name, value in {**(row.namedScores or {}), ROW_SCORE: row.score}.items():
        if weights.get(name) == 0:  # a mean by weight, whatever the assertions say
            answer.score(name, None)
        else:
            answer.score(name, value, None if name in unscored else as_share(value))


# ---------- verdicts


def checks_of(row: Row, case: CaseWriter) -> list[Check]:
    """Return the assertions of the next round of a case, sets before their members."""
    task_id, case_id = case.task.task_id, case.id
    round_id = f"{case_id}-{case.task.n_rounds[case_id] + 1}"
    grading = row.gradingResult
    checks: list[Check] = []
    beside = 0  # members of a set that follow it again
    parent: int | None = None
    for each in filter(None, (grading and grading.componentResults) or ()):
        about, position = each.metadata or AboutComponent(), len(checks)
        is_set = not is_there(each.assertion)
        kind, name, weight, threshold, expected = _parts_of_assertion(
            bytes(about.assertionSet if is_set else each.assertion),
            bytes(about.renderedAssertionValue),
            is_set=is_set,
        )
        reason, _ = text_and_json(each.reason)
        broke = about.graderError is True or (
            # `not-` makes a pass of a judge that broke
            (not each.passed or kind.startswith("not-")) and _is_breakage(reason, kind)
        )
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


@lru_cache(4096)
def _parts_of_assertion(
    written: bytes, rendered: bytes, *, is_set: bool
) -> tuple[str, str, float | None, float | None, str | None]:
    """Return type, name, weight and threshold of an assertion, and what it expects.

    That is its value, with what else tells it from others of its name. Most rows repeat
    the assertions of others.
    """
    about = decode(written or b"{}", Assertion)
    kind = "assert-set" if is_set else about.type or "assertion"
    value = None if is_set else raw_text(Raw(rendered) if rendered else about.value)
    beside = {
        "config": raw_text(about.config),
        "transform": raw_text(about.transform),
        "contextTransform": raw_text(about.contextTransform),
    }
    listed = [f'"{name}":{each}' for name, each in beside.items() if each is not None]
    expected = f'{{"value":{value or "null"},{",".join(listed)}}}' if listed else value
    name = about.metric if isinstance(about.metric, str) and about.metric else kind
    return kind, name, about.weight, about.threshold, expected


def status_of(row: Row, checks: Sequence[Check], asserted: Sequence[str]) -> Status:
    """Return promptfoo's own verdict; a pass without assertions is not a verdict.

    A row without a verdict is unevaluated, regardless of its assertions. If only
    assertions with judge errors failed, the verdict is unknown.

    Args:
        row: The row.
        checks: Its assertions, with their results.
        asserted: The types of the assertions of its test. Their results may be missing:
            ``PROMPTFOO_STRIP_GRADING_RESULT`` leaves them out.
    """
    grading = row.gradingResult
    if row.failureReason == _NO_ANSWER:
        return "error"
    if row.success is None:
        return "unevaluated"
    if not checks:
        if row.success:
            return "pass" if asserted and grading is None else "unevaluated"
        reason = row.error or (grading and grading.reason)
        broke = any(_is_breakage(reason, kind) for kind in asserted)
        return "unevaluated" if broke else "fail"
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


_PROGRAMS = re.compile(r"(not-)?(javascript|python|ruby|webhook)\b")


def _is_breakage(reason: Any, kind: str) -> bool:
    """Return true if the reason of an assertion is that what judges it broke."""
    if not isinstance(reason, str):
        return False
    if _PROGRAMS.match(kind):
        return _PROGRAM_BROKE.match(reason) is not None
    return not _RULES.fullmatch(kind) and _JUDGE_BROKE.match(reason.strip()) is not None


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
