"""Scoring a stored task with Python scorers: read it, score, write the files."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.contracts.analysis_input import (
    BaselineSpec,
    DimensionConfig,
    RoundRun,
    ScoreRecord,
    TestCaseBundle,
)
from promptlab.errors import (
    NothingToDo,
    PromptlabError,
    SettingsError,
    UsageError,
    did_you_mean,
)
from promptlab.relations import Row, dictionaries
from promptlab.reports.files import folder_name, write_file
from promptlab.scorers import RoundScore, Scorer
from promptlab.seeds import builtin_scorers
from promptlab.task_ids import STORED, resolve_task

if TYPE_CHECKING:
    import duckdb

    from promptlab.warehouse_file import WarehouseFile


# ---------- installed scorers


GROUP = "promptlab.scorers"
"""The group of entry points; see docs/scorers.md."""


def scorer_names() -> list[str]:
    """Return the names of all installed scorers, sorted; none is imported."""
    return sorted(_installed())


def load_scorer(name: str) -> Scorer:
    """Import the scorer of this name and create an instance.

    Raises:
        UsageError: no package provides it, or several do.
        SettingsError: it cannot be imported or created, or is not a scorer.
    """
    installed = _installed()
    if name not in installed:
        raise UsageError(unknown_scorer(name, installed))
    entries = installed[name]
    if len(entries) > 1:
        raise UsageError(
            f"scorer `{name}`: several packages bring it:"
            f" {', '.join(map(_origin, entries))}; uninstall all but one"
        )
    return _create(entries[0])


def unknown_scorer(name: str, installed: Iterable[str]) -> str:
    """Return the message for a scorer that no package provides."""
    names = sorted(installed)
    hint = did_you_mean(name, names)
    return (
        f"there is no scorer `{name}`{hint} (installed: {', '.join(names) or 'none'};"
        f" a package brings one as an entry point of the group `{GROUP}`)"
    )


def _installed() -> dict[str, list[EntryPoint]]:
    entries: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        same_name = entries.setdefault(entry.name, [])
        # one package may be seen twice, say by its checkout and its installation
        if all(other.value != entry.value for other in same_name):
            same_name.append(entry)
    return entries


def _create(entry: EntryPoint) -> Scorer:
    try:
        loaded = entry.load()
        scorer = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # the code of others may raise anything
        raise SettingsError(
            f"scorer `{entry.name}` ({_origin(entry)}) cannot be loaded:"
            f" {type(error).__name__}: {error}"
        ) from error
    fault = _fault(entry.name, scorer)
    if fault:
        raise SettingsError(
            f"scorer `{entry.name}` ({_origin(entry)}) is no scorer: {fault}"
        )
    checked: Scorer = scorer
    return checked


def _fault(name: str, scorer: Any) -> str | None:
    """Return why an object is not a scorer of this name."""
    if not callable(getattr(scorer, "score", None)):
        return "it has no method `score(dimension, case)`"
    own_name = getattr(scorer, "name", None)
    if own_name != name:
        return f"its `name` is {own_name!r}, expected {name!r}, as it is registered"
    version = getattr(scorer, "version", None)
    if not isinstance(version, str) or not version.strip():
        return f'its `version` is {version!r}, expected a text such as "1"'
    scale = getattr(scorer, "scale", None)
    if (
        not isinstance(scale, int | float)
        or isinstance(scale, bool)
        or not math.isfinite(scale)
        or scale <= 0
    ):
        return f"its `scale` is {scale!r}, expected a number above 0 such as 1.0"
    return None


def _origin(entry: EntryPoint) -> str:
    package = f"{entry.dist.name} " if entry.dist else ""
    return f"{package}{entry.value}"


# ---------- a stored task, read back from the raw tables: it need not be built


@dataclass(frozen=True)
class StoredTask:
    """The data of a task that scorers need."""

    task_id: str
    dimensions: list[DimensionConfig]
    """As the task configures them, in its order."""
    cases: list[TestCaseBundle]
    """With their rounds and baselines, in its order."""


def read_task(con: duckdb.DuckDBPyConnection, task: str) -> StoredTask:
    """Read one task.

    *task* is as `promptlab.task_ids.resolve_task` takes it.

    Raises:
        NothingToDo: the warehouse holds no task, or not the one that a word means.
        UsageError: no task, or several, begin with ``wanted``, or it is a memory run.
    """
    memory_run = con.execute(
        "select run_id from raw.memory_runs where run_id = ? limit 1", [task]
    ).fetchone()
    if memory_run is not None:
        raise UsageError(
            f"{task} is a memory run: its files hold the scores of its answers, and"
            " scorers do not run on it; name another task (`promptlab runs` lists them)"
        )
    task_id = resolve_task(con, task, tasks=STORED)
    return StoredTask(task_id, _dimensions(con, task_id), _cases(con, task_id))


_IS_LIVE = """
    load_id in (
        select load_id from live.objects where kind = 'task' and object_id = task_id
    )
"""


def _dimensions(con: duckdb.DuckDBPyConnection, task_id: str) -> list[DimensionConfig]:
    return [
        DimensionConfig(
            **row
            | {
                "target": json.loads(row["target"]),
                "parameters": json.loads(row["parameters"]),
            }
        )
        for row in dictionaries(
            con,
            "select dimension_id, name, weight, target, parameters, scoring_mode"
            f" from raw.dimension_configs where task_id = ? and {_IS_LIVE}"
            " order by position",
            [task_id],
        )
    ]


def _cases(con: duckdb.DuckDBPyConnection, task_id: str) -> list[TestCaseBundle]:
    rounds = _by_case(
        con,
        "select case_id, round_id, run_index, input_tokens, output_tokens,"
        " latency_ms, metadata, parsed_output,"
        # a result of the evaluator has outputs where a run has the model's text
        " coalesce(raw_output, final_output ->> '$', parsed_output ->> '$', '')"
        " as raw_output,"
        # it may lack the time, too; the task's time replaces it
        " coalesce(rounds.executed_at, tasks.created_at) as executed_at"
        " from live.rounds as rounds join live.tasks as tasks using (task_id)"
        " where task_id = ? order by position",
        task_id,
    )
    baselines = _by_case(
        con,
        "select case_id, baseline_id, type, payload, owner, confidence"
        f" from raw.baselines where task_id = ? and {_IS_LIVE} order by position",
        task_id,
    )
    return [
        TestCaseBundle(
            case_id=row["case_id"],
            context=json.loads(row["context"]),
            tags=json.loads(row["tags"]),
            cluster=row["cluster"],
            rounds=[_round(round_row) for round_row in rounds[row["case_id"]]],
            baselines=[
                BaselineSpec(**baseline | {"payload": json.loads(baseline["payload"])})
                for baseline in baselines[row["case_id"]]
            ],
        )
        for row in dictionaries(
            con,
            "select case_id, context, tags, cluster from live.cases"
            " where task_id = ? order by position",
            [task_id],
        )
    ]


def _round(row: Row) -> RoundRun:
    parsed = json.loads(row["parsed_output"]) if row["parsed_output"] else None
    latency = row["latency_ms"]
    return RoundRun(
        **row
        | {
            "parsed_output": parsed if isinstance(parsed, dict) else None,
            "metadata": json.loads(row["metadata"]),
            "latency_ms": None if latency is None else round(latency),
        }
    )


def _by_case(
    con: duckdb.DuckDBPyConnection, query: str, task_id: str
) -> defaultdict[str, list[Row]]:
    rows_by_case: defaultdict[str, list[Row]] = defaultdict(list)
    for row in dictionaries(con, query, [task_id]):
        rows_by_case[row.pop("case_id")].append(row)
    return rows_by_case


# ---------- one case, with a scorer that may fail


@dataclass(frozen=True)
class CaseScores:
    """The scores of one case."""

    records: list[ScoreRecord]
    """One per round that was scored or whose scoring failed, in the case's order."""
    faults: list[str]
    """Errors of the scorer, a sentence each; empty without errors."""


def score_case(
    scorer: Scorer, task_id: str, dimension: DimensionConfig, case: TestCaseBundle
) -> CaseScores:
    """Score one case.

    An invalid score becomes null with the reason as its summary. If the scorer stopped
    half-way or named an unknown round, the rounds without a score become null, too.

    Raises:
        PromptlabError: the scorer cannot work at all, and says what is missing.
    """
    records: dict[str, ScoreRecord] = {}
    faults: list[str] = []
    reason = None
    rounds = [round_.round_id for round_ in case.rounds]

    def record(round_id: str, **fields: Any) -> ScoreRecord:
        return ScoreRecord(
            task_id=task_id,
            case_id=case.case_id,
            round_id=round_id,
            dimension_id=dimension.dimension_id,
            scale=float(scorer.scale),
            scorer=scorer.name,
            **{"scorer_version": scorer.version} | fields,
        )

    try:
        for score in _scores(scorer, dimension, case):
            round_error = _round_error(score, rounds, records)
            if round_error:
                reason = reason or round_error
                faults.append(round_error)
                continue
            score_error = _score_error(score, scorer.scale)
            if score_error:
                faults.append(f"round {score.round_id}: {score_error}")
                records[score.round_id] = record(
                    score.round_id, score=None, summary=f"scorer failed: {score_error}"
                )
            else:
                records[score.round_id] = record(score.round_id, **_fields(score))
    except PromptlabError:
        raise
    except Exception as error:  # noqa: BLE001 - the code of others may raise anything
        reason = f"{type(error).__name__}: {error}"
        faults.append(reason)
    if reason:
        for round_id in rounds:
            if round_id not in records:
                records[round_id] = record(
                    round_id, score=None, summary=f"scorer failed: {reason}"
                )
    return CaseScores(
        [records[round_id] for round_id in rounds if round_id in records], faults
    )


def _scores(
    scorer: Scorer, dimension: DimensionConfig, case: TestCaseBundle
) -> Iterator[Any]:
    # copies: a scorer that writes into its arguments changes nothing for the next case
    scores = scorer.score(dimension.model_copy(deep=True), case.model_copy(deep=True))
    try:
        return iter(scores)
    except TypeError:
        raise TypeError(
            f"score() gave {_shown(scores)}, expected a list of RoundScore"
        ) from None


def _round_error(
    score: Any, rounds: list[str], records: dict[str, ScoreRecord]
) -> str | None:
    """Return why a score does not belong to a round of the case."""
    if not isinstance(score, RoundScore):
        return f"found {_shown(score)}, expected a RoundScore"
    if score.round_id not in rounds:
        return f"scored round {score.round_id!r}, which is not in the case"
    if score.round_id in records:
        return f"scored round {score.round_id!r} twice; the first score counts"
    return None


def _score_error(score: RoundScore, scale: float) -> str | None:
    """Return the error in a score of an existing round."""
    value = score.score
    if value is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"score is {_shown(value)}, expected a number or None"
        if not math.isfinite(value) or not 0 <= value <= scale:
            return f"score is {value!r}, expected 0 to {scale:g}"
    for key in ("summary", "version"):
        text = getattr(score, key)
        if text is not None and not isinstance(text, str):
            return f"{key} is {_shown(text)}, expected a text or None"
    try:
        json.dumps(dict(score.payload), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return f"payload is no JSON object: {error}"
    return None


def _fields(score: RoundScore) -> dict[str, Any]:
    version = {} if score.version is None else {"scorer_version": score.version}
    return {
        "score": None if score.score is None else round(float(score.score), 6),
        "summary": score.summary,
        "payload": json.loads(json.dumps(dict(score.payload))),
        **version,
    }


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}…" if len(text) > 60 else text


# ---------- the task


SEMANTIC = "semantic"
"""The scorer of ``accuracy`` with ``match_rule: semantic``."""


def scorer_of(dimension: DimensionConfig) -> str:
    """Return the dimension's scorer, as SQL determines it."""
    name = dimension.parameters.get("scorer")
    return (name.strip() if isinstance(name, str) else "") or dimension.dimension_id


def python_scorer_of(dimension: DimensionConfig) -> str:
    """Return the name of the Python scorer for the dimension.

    ``parameters.scorer_name`` comes first: SQL takes no other scorer's scores then.
    """
    name = dimension.parameters.get("scorer_name")
    if isinstance(name, str) and name:
        return name
    return SEMANTIC if _is_semantic(dimension) else scorer_of(dimension)


def is_scored_by_sql(dimension: DimensionConfig) -> bool:
    """Return true if SQL scores the dimension itself and ignores ``raw.scores``."""
    scorer = scorer_of(dimension)
    return (
        scorer != "judge"
        and scorer in builtin_scorers()
        and not _is_semantic(dimension)
    )


def why_not_scored(dimension: DimensionConfig, installed: Collection[str]) -> str:
    """Return why no installed scorer serves a dimension; empty if one does."""
    name = python_scorer_of(dimension)
    if is_scored_by_sql(dimension):
        return f"`{scorer_of(dimension)}` is built in: `promptlab build` scores it"
    if name not in installed:
        return f"no scorer `{name}` is installed"
    return ""


def _is_semantic(dimension: DimensionConfig) -> bool:
    return (
        scorer_of(dimension) == "accuracy"
        and dimension.parameters.get("match_rule") == SEMANTIC
    )


Plan = list[tuple[DimensionConfig, str]]
"""Dimensions with the name of the scorer that each gets."""

SHOWN_FAULTS = 10
"""Maximum number of warnings that are reported for one dimension."""


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
    """Cases in which the scorer made an error."""
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
        """Rounds with null: they could not be judged, or the scorer failed."""
        return len(self.records) - self.scored

    @property
    def left_out(self) -> int:
        """Rounds for which the scorer returned nothing."""
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

    The warehouse is read first and closed while the scorers run. A dimension whose
    scorer cannot work is not scored; the others are.

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
        on_warning: called with a sentence for each error of a scorer.

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
    results = [
        _score_dimension(stored, dimension, name, on_case, on_warning)
        for dimension, name in plan
    ]
    files = _write(stored.task_id, results, warehouse.settings.out, out)
    return Scoring(stored.task_id, results, files)


def _plan(
    stored: StoredTask,
    dimension_ids: Sequence[str],
    scorer: str | None,
    on_warning: Callable[[str], None],
) -> Plan:
    installed = scorer_names()
    if scorer is not None and scorer not in installed:
        raise UsageError(unknown_scorer(scorer, installed))
    if dimension_ids:
        chosen = [
            _dimension(stored, dimension_id)
            for dimension_id in dict.fromkeys(dimension_ids)
        ]
        plan = [(d, _scorer_for(d, scorer, installed)) for d in chosen]
    else:
        plan = [
            (d, python_scorer_of(d))
            for d in stored.dimensions
            if not why_not_scored(d, installed)
            and scorer in (None, python_scorer_of(d))
        ]
    if not plan:
        raise NothingToDo(_why_nothing(stored, scorer, installed))
    for dimension, name in plan:
        scorer_name = dimension.parameters.get("scorer_name")
        if scorer_name and scorer_name != name:
            on_warning(
                f"{dimension.dimension_id}: its parameters.scorer_name asks for"
                f" {scorer_name!r}, so the scores of `{name}` will not count"
            )
    return plan


def _dimension(stored: StoredTask, dimension_id: str) -> DimensionConfig:
    for dimension in stored.dimensions:
        if dimension.dimension_id == dimension_id:
            return dimension
    names = ", ".join(d.dimension_id for d in stored.dimensions) or "none"
    raise UsageError(
        f"{stored.task_id}: configures no dimension `{dimension_id}` (it has: {names})"
    )


def _scorer_for(
    dimension: DimensionConfig, scorer: str | None, installed: Collection[str]
) -> str:
    name = scorer or python_scorer_of(dimension)
    if is_scored_by_sql(dimension):
        raise UsageError(
            f"{dimension.dimension_id}: `{scorer_of(dimension)}` is built in and takes"
            " no scores from outside; `promptlab build` scores it"
        )
    if name not in installed:
        raise UsageError(f"{dimension.dimension_id}: {unknown_scorer(name, installed)}")
    return name


def _why_nothing(
    stored: StoredTask, scorer: str | None, installed: Collection[str]
) -> str:
    if not stored.dimensions:
        return f"{stored.task_id}: configures no dimensions, so there is none to score"
    reasons = [
        f"  {d.dimension_id}: "
        + (
            why_not_scored(d, installed)
            or f"names `{python_scorer_of(d)}`, not {scorer}"
        )
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
    result = DimensionScores(
        dimension_id=dimension.dimension_id,
        scorer=name,
        rounds=sum(len(case.rounds) for case in stored.cases),
    )
    try:
        scorer = load_scorer(name)
        for case in stored.cases:
            scores = score_case(scorer, stored.task_id, dimension, case)
            result.records += scores.records
            result.failed_cases += bool(scores.faults)
            if scores.faults and result.failed_cases <= SHOWN_FAULTS:
                more = len(scores.faults) - 1
                on_warning(
                    f"{dimension.dimension_id}: scorer `{name}`, case {case.case_id}:"
                    f" {scores.faults[0]}{f' (and {more} more)' if more else ''}"
                )
            on_case()
    except PromptlabError as error:
        result.records, result.error = [], str(error)
        on_warning(f"{dimension.dimension_id}: not scored: {error}")
    if result.failed_cases > SHOWN_FAULTS:
        on_warning(
            f"{dimension.dimension_id}: scorer `{name}` failed with"
            f" {result.failed_cases} cases; the summaries of their scores say why"
        )
    return result


def _write(
    task_id: str, results: Sequence[DimensionScores], folder: Path, out: Path | None
) -> list[Path]:
    scored = [result for result in results if result.records]
    if out is not None:
        records = [record for result in scored for record in result.records]
        if not records:
            return []
        file = write_file(out.parent, "", out.name, _jsonl(records))
        for result in scored:
            result.file = file
        return [file]
    for result in scored:
        name = f"{_file_name(task_id, result.dimension_id)}.jsonl"
        result.file = write_file(folder, "scores", name, _jsonl(result.records))
    return [result.file for result in scored if result.file]


def _file_name(task_id: str, dimension_id: str) -> str:
    """Return a name that no other task and dimension have, safe anywhere.

    The warehouse identifies the scores by this name: a second run replaces them.
    """
    if "." in dimension_id:  # with one more dot, the end of the task's id is unknown
        return folder_name(json.dumps([task_id, dimension_id], ensure_ascii=False))
    return folder_name(f"{task_id}.{dimension_id}")


def _jsonl(records: Sequence[ScoreRecord]) -> bytes:
    return "".join(f"{record.model_dump_json()}\n" for record in records).encode()
