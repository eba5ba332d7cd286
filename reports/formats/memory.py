"""The page and the JSON of one memory run."""

from __future__ import annotations

from pathlib import Path

from promptlab.contracts.memory_result import MemoryResult
from promptlab.reports.pages.links import NOWHERE, Links
from promptlab.reports.pages.render import environment, render
from promptlab.reports.views.memory import arrange_memory


def to_memory_html(
    result: MemoryResult, *, templates: Path | None = None, links: Links = NOWHERE
) -> str:
    """Return the report of a memory run as one self-contained page.

    Args:
        result: The result.
        templates: Folder whose files replace the built-in ones of the same name.
        links: Links of the page.
    """
    env = environment(result.lang, templates)
    view = arrange_memory(result)
    return render(env, "memory.html.j2", result=result, view=view, links=links)


def to_memory_json(result: MemoryResult) -> str:
    """Return *result* as JSON: keys in the contract's order, letters unescaped."""
    return result.as_json() + "\n"
