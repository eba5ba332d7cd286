"""The kind of a file, from its content and never from its name."""

from __future__ import annotations

import re

from ingest.json_tokens import STRING

HEAD_BYTES = 1 << 20
"""As much of a file as is looked at."""

_KEY = re.compile(rf"\s*({STRING})\s*:".encode())
_NOT_A_RECORD = re.compile(rb"\s*(?://[^\n]*\n\s*)*")
_PIPELINE = re.compile(rb"^steps[ \t]*:", re.MULTILINE)
# Each says the kind by itself, so that what follows it need not be read.
_TELLING = {b"case_results", b"cases", b"test_results", b"experiment_info"}
# Every byte that matters to nesting, and strings as wholes.
_STRUCTURE = re.compile(rf"{STRING}|[][{{}},]".encode())


def recognise(head: bytes) -> str | None:
    """The kind of a file from its first bytes; ``None`` when it is none of ours.

    Args:
        head: the first ``HEAD_BYTES`` bytes, or the whole of a smaller file.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in head[:4096]:
        return None
    start = _NOT_A_RECORD.match(head).end()  # type: ignore[union-attr]  # may match nothing
    if head[start : start + 1] in (b"{", b"["):
        return _kind_of_keys(_keys_of_first_object(head, start)) or _kind_of_lines(head)
    if _PIPELINE.search(head):
        return "pipeline"
    return _kind_of_lines(head)


def _kind_of_lines(head: bytes) -> str | None:
    """By the first line that looks like a record, where the file begins with none."""
    for line in head.split(b"\n")[:1000]:
        if line.lstrip()[:1] == b"{":
            kind = _kind_of_keys(_keys_of_first_object(line, line.index(b"{")))
            if kind in {"testset", "results", "scores"}:
                return kind
    return None


def _keys_of_first_object(head: bytes, start: int) -> set[str]:
    """The top keys of the first object, up to one that tells the kind."""
    keys: set[str] = set()
    opening = head.find(b"{", start)
    if opening < 0:
        return keys
    depth, position = 1, opening + 1
    expects_key = True
    while depth:
        if depth == 1 and expects_key:
            key = _KEY.match(head, position)
            if key is not None:
                keys.add(key[1][1:-1].decode("utf-8", "replace"))
                if key[1][1:-1] in _TELLING:
                    break
                position = key.end()
            expects_key = False
        token = _STRUCTURE.search(head, position)
        if token is None:
            break
        position = token.end()
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif token[0] == b"," and depth == 1:
            expects_key = True
    return keys


def _kind_of_keys(keys: set[str]) -> str | None:
    if "case_results" in keys:  # an AnalysisResult is ours, and no input
        return None
    if "cases" in keys or {"task", "dimensions"} <= keys:
        return "analysis"
    if "test_results" in keys or "experiment_info" in keys:
        return "memory"
    if {"task_id", "case_id", "dimension_id"} <= keys:
        return "scores"
    if "sample_id" in keys:
        return "results"
    if {"id", "entity_id", "variant"} <= keys:  # a result whose sample_id is called id
        return "results"
    if "id" in keys:
        return "testset"
    return None
