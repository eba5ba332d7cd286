"""The supported tools, and which of them wrote a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from promptlab.ingest.foreign.file_head import Head

TOOLS = (
    "promptfoo",
    "inspect_ai",
    "openai_evals",
    "openai_evals_api",
    "lm_eval",
    "deepeval",
    "langfuse",
    "langsmith",
    "mlflow",
    "pydantic_evals",
    "ragas",
    "every_eval_ever",
    "helm",
    "azure_ai_evaluation",
    "evalscope",
    "opencompass",
    "memory_benchmarks",
    "table",
)
"""Modules of this package; also the names in ``--kind`` and the load log."""


def tool(name: str) -> Any:
    """Return the module of a tool; the package's docstring describes its parts."""
    return import_module(f"promptlab.ingest.foreign.{name}")


def recognise(head: Head) -> tuple[str, str] | None:
    """Return the tool that wrote a file, and its form; None: not a known tool."""
    if not head.may_be_foreign:
        return None
    for name in TOOLS:
        form = tool(name).recognise(head)
        if form is not None:
            return name, form
    return None


def order_of(name: str, form: str | None) -> int:
    """Return the rank of a form among those of its tool, the most complete first."""
    forms: Sequence[str] = tool(name).FORMS
    return forms.index(form) if form in forms else len(forms)
