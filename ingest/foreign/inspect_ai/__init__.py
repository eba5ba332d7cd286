"""Inspect AI: logs as ``.eval`` (a zip archive) and as ``.json``.

Tried on logs of 0.3.41, 0.3.58, 0.3.75, 0.3.95, 0.3.108, 0.3.154 and 0.3.285 (log
version 2). Older versions compress archives with deflate, newer ones with Zstandard.

One log is one task. A case is a sample, by its own id; a round is an epoch. Inspect has
no pass rule: scores stay scores. The letters are C 1, P 0.5, I 0, N 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from promptlab.ingest.foreign.documents import Refused, decode
from promptlab.ingest.foreign.heads import Head
from promptlab.ingest.foreign.inspect_ai.log import LogReading
from promptlab.ingest.foreign.inspect_ai.structs import Log, Sample
from promptlab.ingest.foreign.records import Record
from promptlab.ingest.foreign.tool_files import UNREADABLE, ToolFiles, file_bytes
from promptlab.ingest.reading.problems import Problem

if TYPE_CHECKING:
    from promptlab.ingest.foreign.archives import Archive
    from promptlab.ingest.reading.source import Source

T = TypeVar("T", Log, Sample)

FORMS = ("eval", "json")

_FILES = ToolFiles("Inspect", "versions 0.3.41 to 0.3.285")
_encode = msgspec.json.Encoder().encode

_HEADER = "header.json"
_START = "_journal/start.json"
"""Written first; the only files of an unfinished run."""


def recognise(head: Head) -> str | None:
    """Recognise JSON with ``eval.task`` and ``eval.model``, or an archive."""
    if head.is_zip:
        named = head.has(_START.encode()) or head.has(b"samples/", _HEADER.encode())
        return "eval" if named else None
    return "json" if {"task", "model"} <= head.keys_below("eval") else None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the log as records, sample by sample; task and totals come last."""
    if source.form == "eval":
        from promptlab.ingest.foreign.archives import Archive

        with Archive(source.path, source.limits.max_file) as archive:
            yield from _archive(archive, source)
    else:
        log = _FILES.decoded(file_bytes(source), Log)
        samples = (
            (f"/samples/{place}", bytes(raw))
            for place, raw in enumerate(log.samples or [])
        )
        log.samples = None
        yield from _log(log, samples, source)


def _archive(archive: Archive, source: Source) -> Iterator[Record | Problem]:
    name = _HEADER if _HEADER in archive else _START
    if name not in archive:
        problem = Problem("broken_archive", f"no {_HEADER} and no {_START} in it")
        raise Refused(problem)
    log = _FILES.decoded(archive.read(name), Log)
    if name == _START:
        log.status = "started"
    names = sorted(each for each in archive.names("samples/") if each.endswith(".json"))
    yield from _log(log, ((each, archive.read(each)) for each in names), source)


def _log(
    log: Log, samples: Iterator[tuple[str, bytes]], source: Source
) -> Iterator[Record | Problem]:
    reading = LogReading(_redacted(log, source.redact), source)
    for place, written in samples:
        yield from _sample(place, written, reading, source)
        del written  # one sample at a time: it may be very large
    yield from reading.closing()


def _sample(
    place: str, written: bytes, reading: LogReading, source: Source
) -> list[Record | Problem]:
    """Return the records of one sample; nothing else of it stays in memory."""
    try:
        return list(reading.add(_redacted(decode(written, Sample), source.redact)))
    except UNREADABLE as error:
        raw = source.redact(written)
        return [_FILES.problem(error, pointer=place, raw=raw)]


def _redacted(found: T, redact: Callable[[bytes], bytes]) -> T:
    """Return the parts of a log that are kept, redacted; most of it is not kept."""
    written = _encode(found)
    redacted = redact(written)
    return found if redacted is written else decode(redacted, type(found))
