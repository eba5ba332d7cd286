"""What an ingest will read: the files, their kinds, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingest.files.finding import FoundFile, find_files
from ingest.foreign.gathering import gathered
from ingest.foreign.registry import TOOLS, order_of
from ingest.foreign.registry import recognise as recognise_foreign
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
    return sorted(gathered(planned), key=_place)


def _place(one: tuple[FoundFile, str | None]) -> tuple[int, int]:
    """The place in the order; of a run in two forms the one that says most is first."""
    found, kind = one
    if kind is None:
        return len(KINDS), 0
    return KINDS.index(kind), order_of(kind, found.form) if kind in TOOLS else 0


def _with_kind(found: FoundFile, kind: str) -> tuple[FoundFile, str | None]:
    if kind not in {"auto", *TOOLS}:
        return found, kind
    try:
        with found.path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        if found.named:
            raise InputError(f"{found.path}: cannot be read: {reason}") from None
        return replace(found, fault=reason), None
    foreign = recognise_foreign(head)
    if foreign is not None and kind in {"auto", foreign[0]}:
        return replace(found, form=foreign[1]), foreign[0]
    return found, _recognise(found, head) if kind == "auto" else kind


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
            " with `test_results`), or results of one of these tools:"
            f" {', '.join(TOOLS)}; --kind says which, if it is one"
        )
    return kind
