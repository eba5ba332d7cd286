"""Scoring a stored task with Python scorers: read it, score, write the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.contracts.analysis_input import DimensionConfig
from promptlab.contracts.scores import ScoreRecord
from promptlab.errors import NothingToDo, PromptlabError, UsageError
from promptlab.reports.files import folder_name, write_file
from promptlab.scorers.case_scores import score_case
from promptlab.scorers.registry import load_scorer, scorer_names, unknown_scorer
from promptlab.scorers.stored_task import StoredTask, read_task
from promptlab.seeds import builtin_scorers

if TYPE_CHECKING:
    from promptlab.warehouse_file import WarehouseFile


SEMANTIC = "semantic"
"""The scorer of ``accuracy`` with ``match_rule: semantic``."""


def scorer_of(dimension: DimensionConfig) -> str:
    """Return what SQL takes the dimension's scorer to be."""
    named = dimension.parameters.get("scorer")
    return (named.strip() if isinstance(named, str) else "") or dimension.dimension_id


def wanted_scorer(dimension: DimensionConfig) -> str:
    """Return the name under which a Python scorer would serve the dimension.

    ``parameters.scorer_name`` comes first: SQL takes no other scorer's scores then.
    """
    named = dimension.parameters.get("scorer_name")
    if isinstance(named, str) and named:
        return named
    return SEMANTIC if _is_semantic(dimension) else scorer_of(dimension)


def is_scored_by_sql(dimension: DimensionConfig) -> bool:
    """Say whether SQL scores the dimension itself and ignores ``raw.scores``."""
    scorer = scorer_of(dimension)
    return (
        scorer != "judge"
        and scorer in builtin_scorers()
        and not _is_semantic(dimension)
    )


def why_not_scored(dimension: DimensionConfig, installed: Collection[str]) -> str:
    """Return the reason why no installed scorer serves a dimension; empty if one does.

    Args:
        dimension: the dimension as its task configures it.
        installed: names of the installed scorers.
    """
    wanted = wanted_scorer(dimension)
    if is_scored_by_sql(dimension):
        return f"`{scorer_of(dimension)}` is built in: `promptlab build` scores it"
    if wanted not in installed:
        return f"no scorer `{wanted}` is installed"
    return ""


def _is_semantic(dimension: DimensionConfig) -> bool:
    return (
        scorer_of(dimension) == "accuracy"
        and dimension.parameters.get("match_rule") == SEMANTIC
    )


Plan = list[tuple[DimensionConfig, str]]
"""Dimensions with the name of the scorer that each gets."""

SHOWN_FAULTS = 10
"""Warnings of one dimension that are said one by one."""


@dataclass
class DimensionScores:
    """The result of one dimension."""

    dimension_id: str
    scorer: str
    rounds: int
    """Rounds of the task."""
    records: list[ScoreRecord] = field(default_factory=list)
    """One per round that got a score, or null with a reason."""
    failed_cases: int = 0
    """Cases with which the scorer did something wrong."""
    error: str | None = None
    """The error, if the scorer cannot run at all."""
    file: Path | None = None
    """The file of the records."""

    @property
    def scored(self) -> int:
        """Rounds with a score."""
        return sum(record.score is not None for record in self.records)

    @property
    def without_score(self) -> int:
        """Rounds with null: not to be judged, or the scorer failed."""
        return len(self.records) - self.scored

    @property
    def left_out(self) -> int:
        """Rounds of which the scorer said nothing."""
        return self.rounds - len(self.records)


@dataclass
class Scoring:
    """The result of one task."""

    task_id: str
    dimensions: list[DimensionScores]
    files: list[Path]
    """The scores, to be ingested."""


def score_task(
    warehouse: WarehouseFile,
    task: str = "latest",
    *,
    dimensions: Sequence[str] = (),
    scorer: str | None = None,
    out: Path | None = None,
    on_start: Callable[[int], None] = lambda _cases: None,
    on_case: Callable[[], None] = lambda: None,
    on_warning: Callable[[str], None] = lambda _sentence: None,
) -> Scoring:
    """Score a task with the scorers that its dimensions name.

    The warehouse is read first and then let go while the scorers run. A dimension
    whose scorer cannot work is given up; the others are still scored.

    Args:
        warehouse: where the task is.
        task: a task id, a unique prefix, ``latest``, ``previous`` or ``baseline``.
        dimensions: only these; all that an installed scorer serves when empty.
        scorer: with ``dimensions``: this one, whatever they name; without: only the
            dimensions that name it.
        out: one file for all scores; ``<out>/scores/<task>.<dimension>.jsonl`` when
            not given.
        on_start: called with the number of cases to score, all dimensions together.
        on_case: called after each of them.
        on_warning: called with a sentence whenever a scorer does something wrong.

    Raises:
        NothingToDo: no task, or none of its dimensions has an installed scorer.
        UsageError: an unknown task, dimension or scorer.
    """
    # the baseline is read from the marts, everything else from the raw tables
    reading = warehouse.built if task == "baseline" else warehouse.connect
    with reading() as con:
        stored = read_task(con, task)
    plan = _plan(stored, dimensions, scorer, on_warning)
    on_start(len(plan) * len(stored.cases))
    found = [
        _score_dimension(stored, dimension, name, on_case, on_warning)
        for dimension, name in plan
    ]
    files = _write(stored.task_id, found, warehouse.settings.out, out)
    return Scoring(stored.task_id, found, files)


def _plan(
    stored: StoredTask,
    wanted: Sequence[str],
    scorer: str | None,
    on_warning: Callable[[str], None],
) -> Plan:
    installed = scorer_names()
    if scorer is not None and scorer not in installed:
        raise UsageError(unknown_scorer(scorer, installed))
    if wanted:
        chosen = [_dimension(stored, one) for one in dict.fromkeys(wanted)]
        plan = [(d, _scorer_for(d, scorer, installed)) for d in chosen]
    else:
        plan = [
            (d, wanted_scorer(d))
            for d in stored.dimensions
            if not why_not_scored(d, installed) and scorer in (None, wanted_scorer(d))
        ]
    if not plan:
        raise NothingToDo(_nothing(stored, scorer, installed))
    for dimension, name in plan:
        asked = dimension.parameters.get("scorer_name")
        if asked and asked != name:
            on_warning(
                f"{dimension.dimension_id}: its parameters.scorer_name asks for"
                f" {asked!r}, so the scores of `{name}` will not count"
            )
    return plan


def _dimension(stored: StoredTask, dimension_id: str) -> DimensionConfig:
    for dimension in stored.dimensions:
        if dimension.dimension_id == dimension_id:
            return dimension
    there = ", ".join(d.dimension_id for d in stored.dimensions) or "none"
    raise UsageError(
        f"{stored.task_id}: configures no dimension `{dimension_id}` (it has: {there})"
    )


def _scorer_for(
    dimension: DimensionConfig, scorer: str | None, installed: Collection[str]
) -> str:
    name = scorer or wanted_scorer(dimension)
    if is_scored_by_sql(dimension):
        raise UsageError(
            f"{dimension.dimension_id}: `{scorer_of(dimension)}` is built in and takes"
            " no scores from outside; `promptlab build` scores it"
        )
    if name not in installed:
        raise UsageError(f"{dimension.dimension_id}: {unknown_scorer(name, installed)}")
    return name


def _nothing(stored: StoredTask, scorer: str | None, installed: Collection[str]) -> str:
    if not stored.dimensions:
        return f"{stored.task_id}: configures no dimensions, so there is none to score"
    reasons = [
        f"  {d.dimension_id}: "
        + (why_not_scored(d, installed) or f"names `{wanted_scorer(d)}`, not {scorer}")
        for d in stored.dimensions
    ]
    return "\n".join(
        [f"{stored.task_id}: no dimension for an installed scorer", *reasons]
    )


def _score_dimension(
    stored: StoredTask,
    dimension: DimensionConfig,
    name: str,
    on_case: Callable[[], None],
    on_warning: Callable[[str], None],
) -> DimensionScores:
    found = DimensionScores(
        dimension_id=dimension.dimension_id,
        scorer=name,
        rounds=sum(len(case.rounds) for case in stored.cases),
    )
    try:
        scorer = load_scorer(name)
        for case in stored.cases:
            scores = score_case(scorer, stored.task_id, dimension, case)
            found.records += scores.records
            found.failed_cases += bool(scores.faults)
            if scores.faults and found.failed_cases <= SHOWN_FAULTS:
                more = len(scores.faults) - 1
                on_warning(
                    f"{dimension.dimension_id}: scorer `{name}`, case {case.case_id}:"
                    f" {scores.faults[0]}{f' (and {more} more)' if more else ''}"
                )
            on_case()
    except PromptlabError as error:
        found.records, found.error = [], str(error)
        on_warning(f"{dimension.dimension_id}: not scored: {error}")
    if found.failed_cases > SHOWN_FAULTS:
        on_warning(
            f"{dimension.dimension_id}: scorer `{name}` failed with"
            f" {found.failed_cases} cases; the summaries of their scores say why"
        )
    return found


def _write(
    task_id: str, found: Sequence[DimensionScores], folder: Path, out: Path | None
) -> list[Path]:
    full = [each for each in found if each.records]
    if out is not None:
        records = [record for each in full for record in each.records]
        if not records:
            return []
        file = write_file(out.parent, "", out.name, _jsonl(records))
        for each in full:
            each.file = file
        return [file]
    for each in full:
        name = f"{_file_name(task_id, each.dimension_id)}.jsonl"
        each.file = write_file(folder, "scores", name, _jsonl(each.records))
    return [each.file for each in full if each.file]


def _file_name(task_id: str, dimension_id: str) -> str:
    """Return a name that no other task and dimension have, safe anywhere.

    The name is what the warehouse knows the scores by: a second run replaces them.
    """
    if "." in dimension_id:  # a dot more would leave open where the task ends
        return folder_name(json.dumps([task_id, dimension_id], ensure_ascii=False))
    return folder_name(f"{task_id}.{dimension_id}")


def _jsonl(records: Sequence[ScoreRecord]) -> bytes:
    return "".join(f"{record.model_dump_json()}\n" for record in records).encode()
