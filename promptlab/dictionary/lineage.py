"""Lineage of every table, parsed from the SQL that builds run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from promptlab.build.plan import Plan

_RELATION = re.compile(r'"(\w+)"\."(\w+)"')
_SHOWN = ("raw", "policy", "marts")
_BOOKKEEPING = re.compile(r"raw\.\w*builds|intermediate\.int_\w+_to_build")
"""Build bookkeeping: it decides which rows a build computes, not their values."""


@dataclass(frozen=True)
class Lineage:
    """The dependencies of tables; a name is ``schema.table``."""

    reads: Mapping[str, frozenset[str]]
    """Model → the tables that its query names."""

    @classmethod
    def of(cls, plan: Plan) -> Lineage:
        """Read the lineage of a plan.

        The record of builds and what it leaves to build are left out: all models read
        them, and no number comes from them.
        """
        reads = {}
        for node in plan.nodes:
            if node.schema is None or node.kind == "seed":
                continue
            name = f"{node.schema}.{node.name}"
            named = {".".join(pair) for pair in _RELATION.findall(node.query)}
            left_out = {n for n in named if _BOOKKEEPING.fullmatch(n)} | {name}
            reads[name] = frozenset(named - left_out)
        return cls(reads)

    def sources(self, name: str) -> list[str]:
        """Return the marts that a mart builds on, and its other sources.

        A mart selects from intermediate models, so it builds on another mart if it has
        all sources of that mart. Sources of a listed mart are left out, also raw tables
        and seeds.
        """
        return sorted(self._sources[name])

    def steps(self, name: str) -> list[str]:
        """Return the models between a mart and its sources."""
        behind = self._behind(self._sources[name])
        shown = (each for each in self._models[name] if not _is_shown(each))
        return sorted(each for each in shown if each not in behind)

    def uses(self, name: str) -> list[str]:
        """Return the marts that have a table among their sources."""
        return sorted(each for each, found in self._sources.items() if name in found)

    @cached_property
    def _sources(self) -> dict[str, set[str]]:
        marts = [name for name in self.reads if name.startswith("marts.")]
        found = {}
        for name in marts:
            own = self._models[name]
            on = {m for m in marts if m in own or self._is_built_on(m, name)}
            candidates = on | {each for each in own if _is_shown(each)}
            found[name] = candidates - self._behind(on)
        return found

    def _is_built_on(self, mart: str, other: str) -> bool:
        """Return true if another mart has all parents of this mart, and more."""
        models = self._models[mart]
        computes = any(each.startswith("intermediate.") for each in models)
        return computes and models < self._models[other]

    def _behind(self, names: Iterable[str]) -> set[str]:
        """Return the parents of the listed marts, and the marts that they build on."""
        marts = [name for name in names if name.startswith("marts.")]
        models = set().union(*(self._models[mart] for mart in marts))
        others = (m for m in self._models if m.startswith("marts."))
        built_on = {m for m in others if any(self._is_built_on(m, n) for n in marts)}
        return models | built_on

    @cached_property
    def _models(self) -> dict[str, frozenset[str]]:
        """Model → all its ancestors."""
        found: dict[str, frozenset[str]] = {}

        def walk(name: str) -> frozenset[str]:
            if name not in found:
                near = self.reads.get(name, frozenset())
                found[name] = near.union(*(walk(each) for each in near))
            return found[name]

        for name in self.reads:
            walk(name)
        return found


def _is_shown(name: str) -> bool:
    return name.startswith(tuple(f"{schema}." for schema in _SHOWN))
