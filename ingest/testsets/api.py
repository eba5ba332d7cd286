"""Python API for testsets: load, validate, filter."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from promptlab.contracts.testset import TestCase
from promptlab.errors import InputError
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.testsets.reader import read_cases
from promptlab.ingest.testsets.records import CaseRecord
from promptlab.paths import check_regular


def load_testset(path: str | Path) -> list[TestCase]:
    """Read a testset file (JSONL, version 1.0 or 2.0 of the format).

    Args:
        path: The file.

    Returns:
        Its cases, in the order of the file.

    Raises:
        InputError: The file cannot be read, or a record has errors; the message
            lists every error as ``file:line:column: pointer: message``.
    """
    records = _read(path)
    rejects = [
        problem
        for record in records
        for problem in record.problems
        if problem.severity == "reject"
    ]
    if rejects:
        raise InputError("\n".join(_line(path, one) for one in rejects))
    return [record.case for record in records if record.case is not None]


def validate_testset(path: str | Path) -> list[Problem]:
    """Return every problem of a testset file: rejects and warnings, in file order.

    Raises:
        InputError: The file cannot be read.
    """
    return [problem for record in _read(path) for problem in record.problems]


def filter_by_tags(
    cases: Iterable[TestCase],
    include: Collection[str] | None = None,
    exclude: Collection[str] | None = None,
) -> list[TestCase]:
    """Return the cases with a tag of *include* and without tags of *exclude*.

    Args:
        cases: The cases; their order is kept.
        include: One of these tags is enough; ``None``: every case.
        exclude: Cases with any of these tags are excluded; overrides *include*.
    """
    wanted = None if include is None else frozenset(_tags(include))
    unwanted = frozenset(_tags(exclude or ()))
    return [
        case
        for case in cases
        if (wanted is None or not wanted.isdisjoint(case.tags))
        and unwanted.isdisjoint(case.tags)
    ]


def _tags(tags: Collection[str]) -> Collection[str]:
    return [tags] if isinstance(tags, str) else tags


def _read(path: str | Path) -> list[CaseRecord]:
    file = Path(path)
    try:
        check_regular(file)
        data = file.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{file}: cannot be read: {reason}") from None
    return list(read_cases(data))


def _line(path: str | Path, problem: Problem) -> str:
    place = ":".join(
        str(part) for part in (path, problem.line, problem.column) if part is not None
    )
    pointer = f"{problem.pointer}: " if problem.pointer else ""
    return f"{place}: {pointer}{problem.message}"
