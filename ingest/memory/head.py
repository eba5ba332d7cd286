"""The head of a memory-benchmark file: the tested system and the sizes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from promptlab.contracts.memory import (
    DatasetStatistics,
    ExperimentInfo,
    InvalidQuestion,
    MemoryRunFile,
    TestSummary,
)
from promptlab.ingest.memory.findings import Findings
from promptlab.ingest.memory.paths import RunName, run_name
from promptlab.ingest.memory.tolerance import tolerant
from promptlab.json_text.places import Keys
from promptlab.json_text.writing import shown


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

    Args:
        document: The file's JSON object.
        path: Path of the file.
        findings: Receives the problems.

    Returns:
        ``None``, with a reject, if the data set is unknown.
    """
    extras: dict[str, Any] = {}
    info, extras["experiment_info"] = tolerant(
        ExperimentInfo, document.get("experiment_info"), ("experiment_info",), findings
    )
    said = None if info.task_id is None else str(info.task_id)
    run = run_name(path, dataset=info.dataset, task_id=said)
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
    _tell_what_was_guessed(info, run, run.run_id(dataset), findings)
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
        task_id=said or run.task,
        run_id=run.run_id(dataset),
        run=run,
        statistics=statistics,
        summary=summary,
        invalid_questions=invalid,
        extras=extras,
    )


def _tell_what_was_guessed(
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
    here: Keys = ("dataset_statistics",)
    listed = value.get("invalid_questions") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        statistics, rest = tolerant(DatasetStatistics, value, here, findings)
        return statistics, [], rest
    others = {name: value[name] for name in value if name != "invalid_questions"}
    statistics, rest = tolerant(DatasetStatistics, others, here, findings)
    questions, odd = [], {}
    for place, entry in enumerate(listed):
        question, left = tolerant(
            InvalidQuestion, entry, (*here, "invalid_questions", place), findings
        )
        questions.append(question)
        if left:
            odd[str(place)] = left
    if odd:
        rest["invalid_questions"] = odd
    return statistics, questions, rest
