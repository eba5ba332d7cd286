"""The supported tools: one line each, in the order of recognition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from promptlab.ingest.foreign.heads import Head

if TYPE_CHECKING:
    from promptlab.ingest.foreign.records import Record
    from promptlab.ingest.foreign.runs import Gather
    from promptlab.ingest.reading.problems import Problem
    from promptlab.ingest.reading.source import Source

TOOLS = (
    "promptfoo",
    "inspect_ai",
    "openai_evals",
    "lm_eval",
    "deepeval",
    "langsmith",
    "mlflow",
    "pydantic_evals",
    "ragas",
    "every_eval_ever",
    "helm",
    "azure_ai_evaluation",
    "memory_benchmarks",
    "table",
)
"""Modules of this package; also the names in ``--kind`` and the load log."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool's reader; the package's docstring describes its parts."""

    name: str
    forms: tuple[str, ...]
    recognise: Callable[[Head], str | None]
    translate: Callable[[Source], Iterator[Record | Problem]]
    gather: Gather | None


@cache
def tool(name: str) -> Tool:
    """The reader of a tool."""
    module: Any = import_module(f"promptlab.ingest.foreign.{name}")
    return Tool(
        name,
        module.FORMS,
        module.recognise,
        module.translate,
        getattr(module, "gather", None),
    )


def recognise(data: bytes) -> tuple[str, str] | None:
    """Return the tool that wrote a file, and its form; None: not a known tool.

    Args:
        data: The file's first bytes.
    """
    head = Head(data)
    if not head.may_be_foreign:
        return None
    for name in TOOLS:
        form = tool(name).recognise(head)
        if form is not None:
            return name, form
    return None


def order_of(name: str, form: str | None) -> int:
    """Return the rank of a form among those of its tool, the most complete first."""
    forms: Sequence[str] = tool(name).forms
    return forms.index(form) if form in forms else len(forms)
