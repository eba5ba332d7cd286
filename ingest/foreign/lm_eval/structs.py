"""What lm-evaluation-harness writes, as far as it is read."""

from __future__ import annotations

from typing import Any

import msgspec

from promptlab.ingest.foreign.tool_files import ToolFiles

FILES = ToolFiles("lm-eval", "0.4.13 and 0.3")


class Results(msgspec.Struct, rename={"n_samples": "n-samples", "n_shot": "n-shot"}):
    """The aggregate file."""

    results: dict[str, dict[str, Any]]
    group_subtasks: dict[str, list[str]] = {}
    configs: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    n_shot: dict[str, Any] = {}
    n_samples: dict[str, dict[str, Any]] = {}
    higher_is_better: dict[str, dict[str, bool | None]] = {}
    config: dict[str, Any] = {}
    system_instruction: str | None = None
    date: Any = None
    git_hash: str | None = None
    lm_eval_version: str | None = None
    model_name: str | None = None
    task_hashes: dict[str, Any] = {}


class Row(msgspec.Struct):
    """One document under one filter; metrics stand beside these by their names."""

    doc_id: Any = None
    doc: Any = None
    target: Any = None
    resps: Any = None
    filtered_resps: Any = None
    filter: str = "none"
    metrics: list[str] = []
    doc_hash: str | None = None
