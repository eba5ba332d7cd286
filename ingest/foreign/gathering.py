"""Group the files of runs that are several files; one leads the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlab.ingest.foreign.registry import TOOLS, tool
from promptlab.ingest.foreign.runs import Part

if TYPE_CHECKING:
    from promptlab.ingest.files.finding import FoundFile

Planned = tuple["FoundFile", "str | None"]
"""A file and its kind."""


def gathered(planned: Iterable[Planned]) -> list[Planned]:
    """Group the files of each run by the rules of its tool; leave others unchanged.

    Args:
        planned: Files with their kinds; those of other tools also with their forms.
    """
    result: list[Planned] = []
    of_tool: dict[str, list[FoundFile]] = defaultdict(list)
    for found, kind in planned:
        if kind in TOOLS and tool(kind).gather is not None:
            of_tool[kind].append(found)
        else:
            result.append((found, kind))
    for kind, files in of_tool.items():
        gather = tool(kind).gather
        assert gather is not None
        by_path = {found.path: found for found in files}
        parts = [Part(found.path, found.form or "") for found in files]
        for lead, others in gather(parts):
            found = by_path[lead.path]
            if others:
                companions = tuple(other.path for other in others)
                found = replace(found, companions=companions)
            result.append((found, kind))
    return result
