"""The head of a memory-benchmark file: the tested system, the sizes, and its run.

A run is `<dataset>/<timestamp>[/<memory system>]`, read from the path. Known
layouts are

    {dataset}/{stamp}/{task}.json
    {dataset}/{stamp}/{memory system}/{task}_{HHMM}.json
    {dataset}/{memory system}/{task}_{stamp}.json

with stamps YYMMDD or YYMMDD_HHMM, in UTC; the last one also with HHMM alone, which
names no day: such a run is called `undated`. On any other path the name of the
folder replaces the timestamp, so that files of one folder are one run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from promptlab.contracts.memory import (
    DatasetStatistics,
    ExperimentInfo,
    InvalidQuestion,
    MemoryRunFile,
    TestSummary,
)
from promptlab.ingest.memory.findings import Findings, tolerant
from promptlab.json_text.places import Keys
from promptlab.json_text.writing import shown

UNDATED = "undated"

_STAMP = re.compile(r"\d{6}(_\d{4})?")
_FILE_STAMP = re.compile(r"(?P<task>.+?)_(?P<stamp>\d{6}_\d{4}|\d{6}|\d{4})")
_CLOCK = re.compile(r"\d{4}")


@dataclass(frozen=True)
class RunName:
    """The values of a path; *stamp* and *memory_system* as written there."""

    stamp: str
    memory_system: str | None
    started_at: datetime | None
    """The stamp as a time in UTC, to the minute if the file's name contains it."""
    task: str
    """The file's name without its stamp."""
    folder_of_dataset: str | None
    """The folder at the position of the data set; ``None`` if the layout is unknown."""
    is_guessed: bool
    """The path has no stamp: *stamp* is `UNDATED` or the folder's name."""

    def run_id(self, dataset: str) -> str:
        """Return the run's id for a data set."""
        parts = [dataset, self.stamp, self.memory_system]
        return "/".join(part for part in parts if part)


def run_name(path: PurePath, *, dataset: str | None, task_id: str | None) -> RunName:
    """Read the run from a path.

    Args:
        path: The file's path, as far as known.
        dataset: The data set as the file itself names it.
        task_id: The task as named in the file: distinguishes a stamp in the file's
            name from a task whose own name ends like one.
    """
    folders = ["", "", "", *path.parent.parts]
    grandparent, parent = folders[-2], folders[-1]
    task, file_stamp = _split_stem(path.stem, task_id)
    clock = file_stamp if file_stamp and _CLOCK.fullmatch(file_stamp) else None
    if _moment(parent):
        return RunName(parent, None, _moment(parent, clock), task, grandparent, False)
    if _moment(grandparent):
        return RunName(
            grandparent, parent, _moment(grandparent, clock), task, folders[-3], False
        )
    has_system = bool(grandparent) and grandparent == dataset
    system = parent if has_system else None
    own_folder = dataset if dataset in (parent, grandparent) else None
    if file_stamp and not clock:
        return RunName(file_stamp, system, _moment(file_stamp), task, own_folder, False)
    if clock and has_system:
        return RunName(UNDATED, system, None, task, own_folder, True)
    name = parent if parent.strip("/\\") and parent != dataset else UNDATED
    return RunName(name, None, None, task, own_folder, True)


def _split_stem(stem: str, task_id: str | None) -> tuple[str, str | None]:
    """Split a file's name into task and stamp."""
    if stem == task_id:
        return stem, None
    match = _FILE_STAMP.fullmatch(stem)
    if not match or not (_CLOCK.fullmatch(match["stamp"]) or _moment(match["stamp"])):
        return stem, None
    return match["task"], match["stamp"]


def _moment(stamp: str, clock: str | None = None) -> datetime | None:
    """Return a stamp as a time; ``None`` if the day does not exist."""
    if not _STAMP.fullmatch(stamp):
        return None
    day, _, own_clock = stamp.partition("_")
    try:
        moment = datetime.strptime(f"{day}{own_clock or clock or '0000'}", "%y%m%d%H%M")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC)


@dataclass
class MemoryHead:
    """The part of the file before its rounds."""

    dataset: str
    task_id: str
    run_id: str
    run: RunName
    statistics: DatasetStatistics
    summary: TestSummary
    invalid_questions: list[InvalidQuestion]
    extras: dict[str, Any]


def read_head(
    document: dict[str, Any], path: PurePath, findings: Findings
) -> MemoryHead | None:
    """Read everything except the rounds.

    Returns:
        ``None``, with a reject, if the data set is unknown.
    """
    extras: dict[str, Any] = {}
    info, extras["experiment_info"] = tolerant(
        ExperimentInfo, document.get("experiment_info"), ("experiment_info",), findings
    )
    task_id = None if info.task_id is None else str(info.task_id)
    run = run_name(path, dataset=info.dataset, task_id=task_id)
    dataset = info.dataset or run.folder_of_dataset
    if not dataset:
        findings.reject(
            "no_dataset",
            "neither experiment_info.dataset nor the folder names the data set."
            ' Add "dataset" to experiment_info, or move the file to'
            " {dataset}/{timestamp}/{task}.json.",
            ("experiment_info", "dataset"),
        )
        return None
    _warn_of_guesses(info, run, run.run_id(dataset), findings)
    statistics, invalid, extras["dataset_statistics"] = _read_statistics(
        document.get("dataset_statistics"), findings
    )
    summary, extras["test_summary"] = tolerant(
        TestSummary, document.get("test_summary"), ("test_summary",), findings
    )
    for name in document:
        if name not in MemoryRunFile.model_fields:
            findings.unknown((name,))
            extras[name] = document[name]
    return MemoryHead(
        dataset=dataset,
        task_id=task_id or run.task,
        run_id=run.run_id(dataset),
        run=run,
        statistics=statistics,
        summary=summary,
        invalid_questions=invalid,
        extras=extras,
    )


def _warn_of_guesses(
    info: ExperimentInfo, run: RunName, run_id: str, findings: Findings
) -> None:
    if info.dataset is None:
        findings.warn(
            "dataset_from_path",
            f"no data set is named; the folder's name {shown(run.folder_of_dataset)}"
            " is taken.",
            ("experiment_info", "dataset"),
        )
    if info.task_id is None:
        findings.warn(
            "task_from_path",
            f"no task is named; the file's name {shown(run.task)} is taken.",
            ("experiment_info", "task_id"),
        )
    elif not isinstance(info.task_id, str):
        findings.warn(
            "task_id_not_text",
            f'{info.task_id} is read as the text "{info.task_id}".',
            ("experiment_info", "task_id"),
        )
    if run.is_guessed:
        findings.warn(
            "run_without_timestamp",
            f"the path has no timestamp; the run is called {shown(run_id)}. Expected"
            " {dataset}/{YYMMDD_HHMM}/{task}.json.",
        )


def _read_statistics(
    value: Any, findings: Findings
) -> tuple[DatasetStatistics, list[InvalidQuestion], Any]:
    """Read ``dataset_statistics``; leave out malformed questions."""
    path: Keys = ("dataset_statistics",)
    invalid_questions = (
        value.get("invalid_questions") if isinstance(value, dict) else None
    )
    if not isinstance(invalid_questions, list):
        statistics, rest = tolerant(DatasetStatistics, value, path, findings)
        return statistics, [], rest
    members = {name: value[name] for name in value if name != "invalid_questions"}
    statistics, rest = tolerant(DatasetStatistics, members, path, findings)
    questions, unknown_by_place = [], {}
    for place, entry in enumerate(invalid_questions):
        question, unknown = tolerant(
            InvalidQuestion, entry, (*path, "invalid_questions", place), findings
        )
        questions.append(question)
        if unknown:
            unknown_by_place[str(place)] = unknown
    if unknown_by_place:
        rest["invalid_questions"] = unknown_by_place
    return statistics, questions, rest
