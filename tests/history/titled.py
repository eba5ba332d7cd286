"""Runs of many titles for one warehouse: titles do not influence each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.history.test_reference_runs import write


def write_titled(
    folder: Path,
    title: str,
    name: str,
    day: int,
    answers: dict[str, str],
    prompt: str = "v1",
    **dimension: Any,
) -> Path:
    """Write a run as ``write`` does, called ``<title>-<name>`` and of that title."""
    task_id = f"{title}-{name}"
    write(folder, task_id, day, answers, prompt, **dimension)
    file = folder / f"{task_id}.json"
    document = json.loads(file.read_text("utf-8"))
    document["task"]["title"] = title
    file.write_text(json.dumps(document), "utf-8")
    return file
