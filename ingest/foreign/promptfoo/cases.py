"""The tests of a promptfoo file, and the cases that they become."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from promptlab.contracts.base import plain_name
from promptlab.ingest.foreign.casts import as_object, short_name, text_and_json
from promptlab.ingest.foreign.documents import decode
from promptlab.ingest.foreign.identity import Occurrences, case_name, content_id
from promptlab.ingest.foreign.promptfoo.assertions import Judge, Judging, judging_of
from promptlab.ingest.foreign.promptfoo.export import (
    Config,
    Export,
    Prompt,
    Row,
    TestCase,
    decode_object,
)
from promptlab.ingest.foreign.writing import Baseline, CaseWriter, TaskWriter
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import canonical, compact

Key = tuple[str, str, str]
"""Name, content and hash of the expectations, which equal tests have in common."""


class Test(Struct, eq=False):
    """One test, common to all columns."""

    name: str
    """The author's id or description, else the inputs."""
    content: str
    """A hash of the inputs and options, without the assertions."""
    key: Key
    judging: Judging
    is_bare: bool
    """True if only its place distinguishes it from others."""
    context: dict[str, Any]
    expected: dict[str, Any]
    """Variables that only assertions use."""
    expectation_hash: str | None
    tags: list[str]
    metadata: dict[str, Any]

    def write(self, task: TaskWriter, case_id: str) -> CaseWriter:
        """Write the case, and its expected variables."""
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
        self._occurrences = Occurrences()
        self._contents: defaultdict[str, set[str]] = defaultdict(set)
        """Name → contents of the tests that have it."""
        self._case_ids: dict[tuple[Key, int], str] = {}
        """Key of a test, and its place among equal tests → its case."""
        self._prompt_vars = source.overrides.prompt_vars
        self._no_inputs = {"_conversation", *self._prompt_vars}
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
            test = self._tests[key] = self._new(row)
            self._contents[test.name].add(test.content)
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
            if len(self._contents[name]) > 1:
                name = f"{name}-{test.content[:6]}"
            case_id = Occurrences.named(name, self._occurrences.next(name))
            self._case_ids[key] = case_id
        return case_id

    def _new(self, row: Row) -> Test:
        test = decode_object(row.testCase, TestCase)
        variables = test.vars
        if variables is None:
            variables = as_object(decode(row.vars, Any))
        inputs = self._without_prompt_vars(variables)
        metadata = as_object(test.metadata)
        judging = judging_of(test)
        own_id = _own_id(test.id, metadata.get("id"), inputs.get("id"))
        expected = self._expected(inputs, judging, own_id)
        inputs = {key: value for key, value in inputs.items() if key not in expected}
        description = test.description or row.description
        content = _content(inputs, description, metadata, judging)
        name = plain_name(own_id or case_name(description or inputs or content))
        files = _hashes_of_files(inputs, row)
        context = {"description": description, "vars": inputs, "files": files}
        expectation_hash = self._expectation_hash(expected, metadata, judging)
        tags = metadata.get("tags", test.tags)
        if not isinstance(tags, list):
            tags = []
        return Test(
            name=name,
            content=content,
            key=(name, content, expectation_hash or ""),
            judging=judging,
            is_bare=not (own_id or description or variables),
            context={key: part for key, part in context.items() if part is not None},
            expected=expected,
            expectation_hash=expectation_hash,
            tags=[tag for tag in tags if isinstance(tag, str)],
            metadata={key: value for key, value in metadata.items() if key != "id"},
        )

    def _without_prompt_vars(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables that are inputs; keep the texts of prompt variables."""
        for name in self._prompt_vars:
            if name in variables:
                text, _ = text_and_json(variables[name])
                self._texts[name].add(text or "null")
        no_inputs = self._no_inputs
        return {key: value for key, value in variables.items() if key not in no_inputs}

    def _expected(
        self, inputs: Mapping[str, Any], judging: Judging, own_id: str | None
    ) -> dict[str, Any]:
        """Return the variables that are for assertions: no prompt of the run uses them.

        A variable that no assertion uses either may be for the provider, and
        distinguish tests. It is an expectation if the test has an id, or if the
        variable has a usual name of an expectation: it stays one if the last assertion
        that used it is removed.

        Return nothing if this would leave no input, or if the prompts are unknown.
        """
        uses = ("expected", "unused") if own_id else ("expected",)
        expected = {
            key: value
            for key, value in inputs.items()
            if _use_of(key, self._templates, judging.asserts) in uses
        }
        has_inputs = expected and inputs.keys() - expected.keys() - {"id"}
        return expected if has_inputs else {}

    def _expectation_hash(
        self,
        expected: Mapping[str, Any],
        metadata: Mapping[str, Any],
        judging: Judging,
    ) -> str | None:
        """Return a hash of all that decides the verdict; ``None`` without assertions.

        Graders of red teams judge by two members of the metadata.
        """
        if not judging.asserts:
            return None
        red_team = metadata.get("pluginConfig"), metadata.get("purpose")
        expectations = canonical([expected, self._scoring, *red_team])
        data = judging.pass_rule + expectations
        return hashlib.blake2b(data, digest_size=16).hexdigest()

    @property
    def judges(self) -> Iterable[Judge]:
        """The judges of all tests."""
        judgings = (test.judging for test in self._tests.values())
        return dict.fromkeys(judge for judging in judgings for judge in judging.judges)

    @property
    def settings(self) -> dict[str, str]:
        """The options of the tests that are settings: there may be many."""
        settings = {test.judging.settings for test in self._tests.values()}
        distinct = sorted(filter(None, settings))
        if not distinct:
            return {}
        return {"tests": distinct[0] if len(distinct) == 1 else content_id(distinct)}

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
"""Usual names of variables with an expected value."""


def _own_id(*candidates: Any) -> str | None:
    """Return the first id that an author gave to a test."""
    for candidate in candidates:
        if isinstance(candidate, str | int) and (name := plain_name(str(candidate))):
            return short_name(name, 120)
    return None


def _content(
    inputs: Mapping[str, Any],
    description: str | None,
    metadata: Mapping[str, Any],
    judging: Judging,
) -> str:
    """Return a hash of the inputs and options of a test."""
    parts: list[Any] = [inputs, description]
    conversation = metadata.get("conversationId")
    if isinstance(conversation, str | int):  # the same words in another context
        parts.append(str(conversation))
    if judging.settings:  # a prefix or another provider changes the question
        parts.append(judging.settings)
    return content_id(parts)


def _slots(prompt: Prompt) -> str:
    """Return the template of a prompt; the whole source of a function."""
    raw = prompt.raw if isinstance(prompt.raw, str) else compact(prompt.raw)
    return " ".join(re.findall(r"\{[{%].*?[%}]\}", raw, re.DOTALL)) or raw


@lru_cache(4096)
def _use_of(name: str, templates: str, asserts: str) -> str:
    """Return the use of a variable: ``input``, ``expected`` or ``unused``."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    if not templates or name == "id" or word.search(templates):
        return "input"
    is_expected = _EXPECTATION.search(name) or word.search(asserts)
    return "expected" if is_expected else "unused"


def _hashes_of_files(inputs: Mapping[str, Any], row: Row) -> dict[str, str] | None:
    """Return a hash of each file that is a variable, where a row has its content.

    A script may return something else in every run.
    """
    files = {
        name: file
        for name, file in inputs.items()
        if isinstance(file, str) and file.startswith("file://")
    }
    if not files:
        return None
    filled = as_object(decode(row.vars, Any))
    return {
        name: content_id(filled[name])
        for name, file in files.items()
        if not _SCRIPT.search(file) and filled.get(name) not in (None, file)
    } or None
