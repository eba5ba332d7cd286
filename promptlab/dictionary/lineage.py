"""What every table is made of, read from the SQL that builds run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from promptlab.build.plan import Plan

_RELATION = re.compile(r'"(\w+)"\."(\w+)"')
_SHOWN = ("raw", "policy", "marts")
_BOOKKEEPING = re.compile(r"raw\.\w*builds$")
"""What was built when: it decides which rows a build computes, not what they are."""


@dataclass(frozen=True)
class Lineage:
    """Which table reads which; a name is ``schema.table``."""

    reads: Mapping[str, frozenset[str]]
    """Model → the tables that its query names."""

    @classmethod
    def of(cls, plan: Plan) -> Lineage:
        """Read the lineage of a plan.

        The lists of what a build computes are left out, like the record of builds: all
        models read them, and no number comes from them.
        """
        lists = {".".join(_RELATION.findall(batch)[0]) for batch in plan.batches}
        reads = {}
        for node in plan.nodes:
            if node.schema is None or node.kind == "seed":
                continue
            name = f"{node.schema}.{node.name}"
            named = {".".join(pair) for pair in _RELATION.findall(node.query)}
            left_out = {n for n in named if _BOOKKEEPING.match(n)} | lists | {name}
            reads[name] = frozenset(named - left_out)
        return cls(reads)

    def sources(self, name: str) -> list[str]:
        """The marts, policies and raw tables that a table is made of, step by step.

        Those that reach it only through another mart are that mart's sources.
        """
        return sorted(self._sources[name])

    def nearest(self, name: str) -> list[str]:
        """The sources that no other source of the table is made of."""
        found = self._sources[name]
        farther = set().union(*(self._origins(each) for each in found))
        return sorted(found - farther)

    def steps(self, name: str) -> list[str]:
        """The models between a table and its sources, those next to it first."""
        return [each for each in self._walk(name) if not _is_shown(each)]

    def uses(self, name: str) -> list[str]:
        """The marts that have a table among their sources."""
        return sorted(each for each, found in self._sources.items() if name in found)

    def graphs(self) -> list[dict[str, list[str]]]:
        """The marts and raw tables as graphs that share no table, the largest first.

        Each is name → nearest sources, policies left out.
        """
        parents: dict[str, list[str]] = {}
        for name in self._sources:
            parents[name] = [n for n in self.nearest(name) if _is_drawn(n)]
        for name in sorted(set().union(*parents.values())):
            parents.setdefault(name, [])
        groups: list[set[str]] = []
        for name, above in parents.items():
            linked = {name, *above}
            touching = [group for group in groups if group & linked]
            groups = [group for group in groups if group not in touching]
            groups.append(linked.union(*touching))
        graphs = [{n: parents[n] for n in parents if n in group} for group in groups]
        return sorted(graphs, key=len, reverse=True)

    @cached_property
    def _sources(self) -> dict[str, set[str]]:
        return {
            name: {each for each in self._walk(name) if _is_shown(each)}
            for name in self.reads
            if name.startswith("marts.")
        }

    def _walk(self, name: str) -> list[str]:
        """All that a table reads, breadth first, and not beyond what is shown."""
        found: dict[str, None] = dict.fromkeys(sorted(self.reads[name]))
        queue = list(found)
        for each in queue:
            if not _is_shown(each):
                more = [m for m in sorted(self.reads.get(each, ())) if m not in found]
                found.update(dict.fromkeys(more))
                queue += more
        return list(found)

    def _origins(self, name: str) -> set[str]:
        """The sources of a table, theirs, and so on."""
        own = self._sources.get(name, set())
        return own.union(*(self._origins(each) for each in own))


def _is_shown(name: str) -> bool:
    return name.startswith(tuple(f"{schema}." for schema in _SHOWN))


def _is_drawn(name: str) -> bool:
    return not name.startswith("policy.")
