"""The run of a promptfoo file: a task for each column."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from promptlab.ingest.foreign import prompts
from promptlab.ingest.foreign.casts import (
    as_int,
    as_object,
    as_time,
    first_member,
    short_name,
)
from promptlab.ingest.foreign.identity import Occurrences, OwnIds, SameRun, content_id
from promptlab.ingest.foreign.promptfoo.answers import (
    ROW_SCORE,
    write_round,
    write_scores,
)
from promptlab.ingest.foreign.promptfoo.cases import Key, Test, Tests
from promptlab.ingest.foreign.promptfoo.columns import (
    Column,
    claim_totals,
    column_names,
    distinct_name,
    prompt_filter,
    prompt_name,
    prompt_version,
    provider_name,
    settings_by_name,
)
from promptlab.ingest.foreign.promptfoo.export import (
    Config,
    Export,
    Metadata,
    Prompt,
    Row,
    decode_object,
)
from promptlab.ingest.foreign.promptfoo.verdicts import checks_of, status_of
from promptlab.ingest.foreign.scorings import unjudged_problems
from promptlab.ingest.foreign.writing import (
    CaseWriter,
    Check,
    Record,
    Status,
    TaskWriter,
)
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source
from promptlab.json_text.writing import canonical, compact

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+$")
"""The end of an id of promptfoo: the start of the run, in UTC."""


class Run:
    """All columns of a file.

    Args:
        source: The file.
        export: The file without its rows; a JSONL file has nothing else.
    """

    def __init__(self, source: Source, export: Export) -> None:
        config, metadata = export.config or Config(), export.metadata or Metadata()
        start = _TIME.search(export.evalId or "")
        self._source = source
        self._run_id = export.evalId
        self._description: dict[str, Any] = {
            "created_at": as_time(export.results.timestamp)
            or as_time(start and start[0]),
            "tool_version": metadata.promptfooVersion,
            "written_at": as_time(metadata.exportedAt),
            "title": short_name(config.description, 120),
        }
        self._heads = export.results.prompts or []
        self._settings = settings_by_name(config.providers)
        # before 0.121 a file may lack the number of repeats
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
        """Task → questions of tests that only their place distinguishes."""

    def name(self, rows: Sequence[Row]) -> None:
        """Name a run without an id after its rows: a JSONL file has no id."""
        if self._run_id is None:
            ids = [
                (row.testIdx or 0, row.promptIdx or 0, row.id) for row in rows if row.id
            ]
            # rows before 2024 have no ids either
            own_id = min(ids)[-1] if ids else content_id([compact(row) for row in rows])
            self._run_id = f"promptfoo-{own_id}"

    # ---------- rows

    def add(self, row: Row, test: Test, tests: Tests) -> list[Record | Problem]:
        """Return the records of one row; no records for a repeated row."""
        if self._ids.again(row.id, row.promptIdx, row.testIdx):
            return []
        task = self._column(row).task
        if test.is_bare:
            self._bare[task.task_id].add(_question(row))
        case = self._case(test, task, tests)
        checks = checks_of(row, case)
        status = status_of(row, checks, test.judging.types)
        answer = write_round(row, case, status)
        for check in checks:
            task.write(check)
        if status != "error":
            write_scores(row, answer, checks, status)
            if row.success is None:
                self._unjudged.append(case.id)
        self._same_run.add_written(_content(row, status, checks))
        return task.written()

    def _case(self, test: Test, task: TaskWriter, tests: Tests) -> CaseWriter:
        """Return the case of the next row of a test; write it if it is new."""
        key = (task.task_id, test.key)
        repeat = test.judging.repeat or self._repeat
        case_id = tests.case_id(test, int(self._n_rows[key] // repeat))
        self._n_rows[key] += 1
        is_known = case_id in task.n_rounds
        return CaseWriter(task, case_id) if is_known else test.write(task, case_id)

    def _column(self, row: Row) -> Column:
        provider = provider_name(row.provider)
        # joined files have one index for several columns
        key: Any = (row.promptIdx, provider, row.promptId)
        if row.promptIdx is None:  # version 2
            key = column_names(decode_object(row.prompt, Prompt), provider)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._new_column(row, provider)
        return column

    def _new_column(self, row: Row, provider: str) -> Column:
        prompt = decode_object(row.prompt, Prompt)
        prompt.config = None  # in a row it holds options of the test
        index = self._free_index(row.promptIdx, column_names(prompt, provider))
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

    def _free_index(self, index: int | None, names: tuple[str, str]) -> int:
        """Return the index of a new column: its own, else by its names, else free."""
        used = {column.index for column in self._columns.values()}
        if index is None or index in used:
            heads = [
                column_names(head, provider_name(head.provider)) for head in self._heads
            ]
            index = heads.index(names) if names in heads else len(heads)
        while index in used:
            index += 1
        return index

    # ---------- the end of the file

    def closing(self, tests: Tests) -> Iterator[Record | Problem]:
        """Return tasks and dimensions, which are known when all rows are read."""
        columns = sorted(self._columns.values(), key=lambda column: column.index)
        raw_prompts = [compact(column.prompt.raw) for column in columns]
        positions = {raw: n for n, raw in enumerate(dict.fromkeys(raw_prompts))}
        same_name = Occurrences()
        judges, options = tests.judges, tests.settings
        for column, raw in zip(columns, raw_prompts, strict=True):
            prompt, task = column.prompt, column.task
            n = same_name.next(column.provider, compact([prompt.raw, prompt.label]))
            task.describe(
                prompt_version=prompt_version(prompt),
                prompt_name=prompt_name(prompt),
                prompt_position=positions[raw],
                run_id=self._run_id,
                run_hash=f"{self._same_run.hash()}/{column.index}",
                extras=prompts.about(
                    tests.filled(prompt.raw),
                    prompt_id=prompt.id,
                    provider_config_ids=self._config_ids_of(column.provider),
                    **prompt_filter(prompt),
                ),
                **self._model(column, n - 1, options),
                **self._description,
            )
            for judge in judges:
                task.judge(*judge)
            names = task.dimensions
            # a metric of weight 0 never has a value, so it has no score to miss
            graded = list(filter(names.has_numbers, names.graded()))
            task.grade(graded, dict.fromkeys(names, "higher_better"), {ROW_SCORE: 1.0})
            claim_totals(column)
            yield from task.written()
        yield from self._ids.problems()
        yield from unjudged_problems("success", self._unjudged)
        yield from self._bare_tests()

    def _model(
        self, column: Column, place: int, options: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return model, provider and settings of a column.

        Args:
            column: The column.
            place: Its place among the columns of its prompt and provider name.
            options: Settings of the tests.
        """
        providers = self._settings.get(column.provider, [])
        settings = providers[place] if place < len(providers) else {}
        prompt_settings = as_object(yardstick(column.prompt.config))
        return {
            "model": column.provider,
            "provider": distinct_name(column.provider, settings, providers),
            "settings": {**settings, **prompt_settings, **options},
        }

    def _config_ids_of(self, provider: str) -> list[str]:
        """Return the names in the config that a provider with its own id may have."""
        if provider in self._settings:
            return []
        others = {column.provider for column in self._columns.values()}
        return [name for name in self._settings if name not in others]

    def _bare_tests(self) -> Iterator[Problem]:
        n_bare = max(map(len, self._bare.values()), default=0)
        if n_bare > 1:
            yield warning(
                "tests_alike",
                f"{n_bare} tests ask different things and have no variables, no"
                " description and no id: in JSON only their place tells them apart, in"
                " JSONL they are rounds of one case. Give each an id in its metadata or"
                " write the file without PROMPTFOO_STRIP_TEST_VARS",
            )


def _question(row: Row) -> object:
    """Return the prompt of a row; the place of its test if the prompt is left out."""
    prompt = bytes(row.prompt)
    return row.testIdx if b"[prompt stripped]" in prompt else prompt


def _content(row: Row, status: Status, checks: Sequence[Check]) -> bytes:
    """Return the content of a row for the hash of its run.

    JSONL does not number repeats, so the id of a row distinguishes them.
    """
    own_id = row.id or compact(row)
    output = row.response.output if row.response else None
    verdicts = [
        (check.name, check.passed, check.score, check.reason) for check in checks
    ]
    return canonical((own_id, status, row.score, output, row.namedScores, verdicts))
