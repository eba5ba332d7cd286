"""DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json``, ``test_run_*.json``.

Tried on 4.3.1, on files of 4.x with traces, and on one of February 2024. A file is a
run and one task. The folder that DeepEval fills has a run up to three times: bare,
wrapped in ``testRunData``, and partial, as it was written on the way
(``.temp_test_run_data.json``): it is loaded once.

A metric is a check with DeepEval's verdict, and a score. Its direction is not in the
file: a metric that succeeds below its threshold and fails above it is better the lower
it is. A metric that broke has judged nothing, though DeepEval fails the test case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.deepeval.runs import RunReading
from promptlab.ingest.foreign.deepeval.structs import File, TestCase, TestRun
from promptlab.ingest.foreign.documents import is_there
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.identity import copy_problem
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.runs import Part, Run, by_folder
from promptlab.ingest.foreign.tool_files import ToolFiles
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.reading.source import Source

FORMS = ("bare", "wrapped")

_FILES = ToolFiles("DeepEval", "4.3.1 and files of 2024")
_PARTIAL = ".temp_test_run_data.json"
_KEYS = frozenset({"metricsScores", "metricScores", "hyperparameters", "testFile"})


def recognise(head: Head) -> str | None:
    """Test cases with what metrics said of them, bare or wrapped."""
    if "testRunData" in head.keys:
        return "wrapped" if "testCases" in head.keys_below("testRunData") else None
    if "testCases" not in head.keys:
        return None
    judged = head.has(b'"metricsData"') or head.has(b'"metricsMetadata"')
    return "bare" if judged or head.keys & _KEYS else None


def gather(parts: Sequence[Part]) -> Iterator[Run]:
    """Add files of an unfinished run to the run of their folder."""
    for files in by_folder(parts):
        partial = [part for part in files if part.path.name == _PARTIAL]
        ended = [part for part in files if part not in partial]
        ended.sort(key=lambda part: FORMS.index(part.form))
        for place, part in enumerate(ended or partial):
            yield part, tuple(partial) if ended and place == 0 else ()


def translate(source: Source) -> Iterator[Record | Problem]:
    """The run, and of what was written on the way what the run does not have."""
    reading = _read(source)
    yield from reading.records()
    for companion in source.companions:
        partial = _read(source, companion)
        if partial.rows <= reading.rows:
            yield copy_problem(companion.resolve().as_posix(), source.uri)
        else:
            yield from partial.records()


def _read(source: Source, path: Path | None = None) -> RunReading:
    file = _FILES.document(source, File, path)
    wrapped = file.testRunData
    run = _FILES.decoded(bytes(wrapped), TestRun) if is_there(wrapped) else file
    return RunReading(run, list(_cases(run)), source)


def _cases(run: TestRun) -> Iterator[TestCase | Problem]:
    """Each test case; one of another shape is rejected alone."""
    yield from _FILES.items(run.testCases, TestCase, "/testCases")
    of_talks = run.conversationalTestCases or []
    yield from _FILES.items(of_talks, TestCase, "/conversationalTestCases")
