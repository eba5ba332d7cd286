"""What an ingest will read: the files, their kinds, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingest.files.finding import FoundFile, find_files
from ingest.formats import KINDS
from ingest.kinds import HEAD_BYTES, recognise
from promptlab.errors import InputError, UsageError


def plan(
    paths: Sequence[Path], kind: str = "auto"
) -> list[tuple[FoundFile, str | None]]:
    """The files below ``paths`` and their kinds, in the order they are to be read.

    Pipelines come first, so that testsets can be checked against their steps.

    Raises:
        InputError: a path that cannot be read; a file named itself that is empty or
            of no known kind.
        UsageError: there is no kind of that name.
    """
    if kind not in {"auto", *KINDS}:
        raise UsageError(f"--kind {kind}: there is no such kind; {', '.join(KINDS)}")
    planned: list[tuple[FoundFile, str | None]] = []
    for found in find_files(paths):
        if found.fault:
            planned.append((found, None))
        else:
            planned.append(_with_kind(found, kind))
    order = {name: place for place, name in enumerate(KINDS)}
    return sorted(planned, key=lambda one: order.get(one[1] or "", len(order)))


def _with_kind(found: FoundFile, kind: str) -> tuple[FoundFile, str | None]:
    if kind != "auto":
        return found, kind
    try:
        with found.path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        if found.named:
            raise InputError(f"{found.path}: cannot be read: {reason}") from None
        return replace(found, fault=reason), None
    return found, _recognise(found, head)


def _recognise(found: FoundFile, head: bytes) -> str | None:
    kind = recognise(head)
    if kind is None and found.named:
        what = "is empty" if not head.strip() else "is of no known kind"
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            what = "is UTF-16, not UTF-8: save it as UTF-8"
        raise InputError(
            f"{found.path}: {what}; expected one of: testset (JSONL with `id`),"
            " pipeline (YAML with `steps`), analysis (JSON with `task` and `cases`),"
            " results (with `sample_id`), scores (with `dimension_id`), memory (JSON"
            " with `test_results`); --kind says which, if it is one"
        )
    return kind
