"""Inspect AI: logs as ``.eval`` (a zip archive) and as ``.json``.

Tried on logs of 0.3.41, 0.3.58, 0.3.75, 0.3.95, 0.3.108, 0.3.154 and 0.3.285 (log
version 2). Older versions compress archives with deflate, newer ones with Zstandard.

One log is one task. A case is a sample, by its id in the log; a round is an epoch.
Inspect has no pass rule: scores stay scores. The letters are C 1, P 0.5, I 0, N 0. A
scorer with other letters, such as grades A to E, has labels.

`log` defines the JSON; `run` converts it with `samples`, `scores`, `judges` and
`settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw

from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    Refused,
    ToolFiles,
    decode,
    file_bytes,
)
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.inspect_ai.judges import name_as_in_scores
from promptlab.ingest.foreign.inspect_ai.log import Log, Sample, SampleScores
from promptlab.ingest.foreign.inspect_ai.run import Run
from promptlab.ingest.foreign.inspect_ai.scores import find_label_scorers
from promptlab.ingest.foreign.writing import Record
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source

if TYPE_CHECKING:
    from promptlab.ingest.foreign.archives import Archive

__all__ = ["FORMS", "recognise", "translate"]

FORMS = ("eval", "json")

_FILES = ToolFiles("Inspect", "versions 0.3.41 to 0.3.285")
_encode = msgspec.json.Encoder().encode
T = TypeVar("T", Log, Sample)

_HEADER = "header.json"
_SUMMARIES = "summaries.json"
_START = "_journal/start.json"
"""Written first; the only file of an unfinished run in addition to its samples."""


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``eval.task`` and ``eval.model``, or an archive."""
    if head.is_zip:
        named = head.has(_START.encode()) or head.has(b"samples/", _HEADER.encode())
        return "eval" if named else None
    return "json" if {"task", "model"} <= head.keys_below("eval") else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the log as records, sample by sample; task and claims come last."""
    if source.form == "eval":
        from promptlab.ingest.foreign.archives import Archive

        with Archive(source.path, source.limits.max_file) as archive:
            yield from _archive(archive, source)
    else:
        log = _FILES.decoded(source.mend(file_bytes(source)), Log)
        raws = log.samples or []
        log.samples = None
        samples = ((f"/samples/{place}", bytes(raw)) for place, raw in enumerate(raws))
        yield from _log(log, samples, source, _scores(raws))


def _archive(archive: Archive, source: Source) -> Iterator[Record | Problem]:
    name = _HEADER if _HEADER in archive else _START
    if name not in archive:
        problem = Problem("broken_archive", f"no {_HEADER} and no {_START} in it")
        raise Refused(problem)
    log = _FILES.decoded(source.mend(archive.read(name)), Log)
    if name == _START:
        log.status = "started"
    names = sorted(n for n in archive.names("samples/") if n.endswith(".json"))
    scores = _scores(source.mend(archive.read(name)) for name in names)
    if _SUMMARIES in archive:  # the scores of all samples, in one small file
        with suppress(*UNREADABLE):
            scores = iter(decode(archive.read(_SUMMARIES), list[SampleScores]))
    samples = ((name, source.mend(archive.read(name))) for name in names)
    yield from _log(log, samples, source, scores)


def _scores(samples: Iterable[bytes | Raw]) -> Iterator[SampleScores]:
    for written in samples:
        with suppress(*UNREADABLE):  # `_log` reports it
            yield decode(written, SampleScores)


def _log(
    log: Log,
    samples: Iterator[tuple[str, bytes]],
    source: Source,
    scores: Iterable[SampleScores],
) -> Iterator[Record | Problem]:
    name_as_in_scores(log.eval.scorers or [])
    label_scorers = find_label_scorers(scores, log)
    run = Run(_redacted(log, source.redact), source, label_scorers)
    for place, written in samples:
        # only its records stay in memory: a sample may be very large
        try:
            sample = _redacted(decode(written, Sample), source.redact)
            yield from run.add(sample, written)
        except UNREADABLE as error:
            raw = source.redact(written)
            yield _FILES.problem(error, pointer=place, raw=raw)
        del written
    yield from run.closing()


def _redacted(part: T, redact: Callable[[bytes], bytes]) -> T:
    """Return a decoded part of a log, redacted: most of the log is not decoded."""
    written = _encode(part)
    redacted = redact(written)
    return part if redacted is written else decode(redacted, type(part))
