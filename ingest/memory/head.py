"""The head of a memory-benchmark file: all of it except the rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from promptlab.contracts.memory_run import ExperimentInfo, MemoryRunFile
from promptlab.ingest.memory.run_names import RunName, run_name
from promptlab.ingest.memory.tolerant import Extras, FileProblems, read_tolerantly
from promptlab.json_text.writing import shown


@dataclass
class MemoryHead:
    """The part of the file before its rounds, and the names of its run and task."""

    dataset: str
    task_id: str
    run_id: str
    run: RunName
    file: MemoryRunFile
    """The file without its rounds."""
    extras: Extras


def read_head(
    document: dict[str, Any], path: PurePath, problems: FileProblems
) -> MemoryHead | None:
    """Read everything except the rounds.

    Returns:
        ``None``, with a reject, if the data set is unknown.
    """
    file, extras = read_tolerantly(
        MemoryRunFile, document | {"test_results": []}, (), problems
    )
    info = file.experiment_info
    task_id = None if info.task_id is None else str(info.task_id)
    run = run_name(path, dataset=info.dataset, task_id=task_id)
    dataset = info.dataset or run.folder_of_dataset
    if not dataset:
        problems.reject(
            "no_dataset",
            "neither experiment_info.dataset nor the folder names the data set."
            ' Add "dataset" to experiment_info, or move the file to'
            " {dataset}/{timestamp}/{task}.json.",
            ("experiment_info", "dataset"),
        )
        return None
    _warn_of_guesses(info, run, run.run_id(dataset), problems)
    return MemoryHead(
        dataset, task_id or run.task, run.run_id(dataset), run, file, extras
    )


def _warn_of_guesses(
    info: ExperimentInfo, run: RunName, run_id: str, problems: FileProblems
) -> None:
    if info.dataset is None:
        problems.warn(
            "dataset_from_path",
            f"no data set is named; the folder's name {shown(run.folder_of_dataset)}"
            " is taken.",
            ("experiment_info", "dataset"),
        )
    if info.task_id is None:
        problems.warn(
            "task_from_path",
            f"no task is named; the file's name {shown(run.task)} is taken.",
            ("experiment_info", "task_id"),
        )
    elif not isinstance(info.task_id, str):
        problems.warn(
            "task_id_not_text",
            f'{info.task_id} is read as the text "{info.task_id}".',
            ("experiment_info", "task_id"),
        )
    if run.is_guessed:
        problems.warn(
            "run_without_timestamp",
            f"the path has no timestamp; the run is called {shown(run_id)}. Expected"
            " {dataset}/{YYMMDD_HHMM}/{task}.json.",
        )
