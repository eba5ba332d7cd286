"""The result of every format: rows for the raw tables, and problems of the file.

Rows are kept column by column. Column names are those of ``raw.sql``, which stays the
only schema; ``load_id``, and ``file_uri`` where a table has it, are added when the rows
are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from promptlab.ingest.reading.problems import Problem

Columns = Mapping[str, Sequence[Any]]
"""Column → its values, a list or polars series, one per row; all of one length."""

Rows = dict[str, Columns]
"""Raw table → its columns. A table without rows may be absent."""


Key = tuple[str, ...]
"""Key of a live object: its kind, then the parts of its id."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a file that another file must define."""

    kind: Literal["testset", "dimension"]
    name: str
    task_id: str
    """The task that uses the name."""
    place: Problem
    """The warning if it is not defined, without its message."""


@dataclass
class Reading:
    """The content of one file: rows of its valid records, problems of the others.

    The loader adds ``load_id`` (and ``file_uri`` where a table has it) to the rows.
    """

    rows: Rows
    """Raw table → its columns, as ``raw.sql`` names them, without ``load_id``."""

    problems: list[Problem] = field(default_factory=list)
    """In the order of the file; a rejected record has at least one ``reject``."""

    records_loaded: int = 0
    """Records (cases, results, scores, answers) whose rows are in ``rows``."""

    records_rejected: int = 0
    """Records left out; ``problems`` says why."""

    rejected: bool = False
    """The whole file is unusable: ``rows`` is empty, nothing may be loaded."""

    keys: list[Key] = field(default_factory=list)
    """The live objects that this file owns, as (kind, id, …): ``("task", "run-1")``,
    ``("testset", "x")``, ``("pipeline", "p")``, ``("memory", "run", "task")``,
    ``("scores", uri)``. Loading the file replaces their earlier rows.
    """

    references: list[Reference] = field(default_factory=list)
    """Ids that the file uses and other files define."""

    runs: dict[str, str] = field(default_factory=dict)
    """Task → hash of its run and of its answers, for files of other tools: equal for
    copies of one version of a run.
    """

    written: dict[str, datetime] = field(default_factory=dict)
    """Task → time at which the tool wrote this version of its run, if known."""


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Turn rows into columns.

    Args:
        names: The columns, in the order of each row's values.
        rows: One sequence of values per row.

    Raises:
        ValueError: A row does not have one value per name.
    """
    columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
    if len(columns) != len(names):
        raise ValueError(f"rows of {len(columns)} values for the columns {names}")
    return dict(zip(names, columns, strict=True))


def height(columns: Columns) -> int:
    """Return how many rows the columns have."""
    return len(next(iter(columns.values()))) if columns else 0
