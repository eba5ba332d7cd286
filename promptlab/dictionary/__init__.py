"""The data dictionary: every table and column, and the lineage of each mart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel

from promptlab.build.plan import (
    DescribedColumn,
    DescribedTable,
    Exposure,
    Plan,
    sentence,
)
from promptlab.contracts import analysis_input, memory, testset
from promptlab.contracts.analysis_input import ScoreRecord
from promptlab.contracts.base import descriptions
from promptlab.version import __version__

GROUPS = {
    "core": "Tasks, cases, rounds",
    "matching": "Expectations and what came",
    "scoring": "Scores, alerts, evidence",
    "history": "One task against another",
    "memory": "The memory benchmark",
}
"""Folder of models/marts → heading, in this order; other folders follow."""

CONTRACTS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "test_cases": (testset.TestCase,),
    "pipelines": (testset.Pipeline,),
    "pipeline_steps": (testset.PipelineStep,),
    "tasks": (analysis_input.TestTaskMeta, analysis_input.AnalysisInput),
    "cases": (analysis_input.TestCaseBundle,),
    "rounds": (analysis_input.RoundRun, analysis_input.EvaluationRecord),
    "baselines": (analysis_input.BaselineSpec,),
    "rules": (analysis_input.BaselineSpec,),
    "golden_checks": (analysis_input.BaselineSpec,),
    "dimension_configs": (analysis_input.DimensionConfig,),
    "scores": (ScoreRecord,),
    "memory_runs": (
        memory.DatasetStatistics,
        memory.TestSummary,
        memory.ExperimentInfo,
    ),
    "memory_tests": (memory.RoundHead,),
    "memory_answers": (memory.RoundHead, memory.Question),
    "memory_invalid_questions": (memory.InvalidQuestion,),
    "memory_timings": (memory.StageTiming,),
}
"""Raw table → contracts whose fields have the names of its columns."""


def mart_groups(plan: Plan) -> dict[str, list[DescribedTable]]:
    """Heading → the marts below it, dimensions before facts."""
    folders = sorted({mart.folder for mart in plan.descriptions.marts} - GROUPS.keys())
    groups: dict[str, list[DescribedTable]] = {}
    for folder in [*GROUPS, *folders]:
        found = [mart for mart in plan.descriptions.marts if mart.folder == folder]
        heading = GROUPS.get(folder, folder.capitalize())
        groups[heading] = sorted(found, key=lambda mart: mart.name)
    return groups


def raw(plan: Plan) -> list[DescribedTable]:
    """Every table of raw.sql, in its order."""
    sql = resources.files("promptlab.ingest.raw").joinpath("raw.sql").read_text("utf-8")
    everywhere = dict(_COLUMN_OF_MANY.findall(sql))
    tables = []
    bodies: dict[str, str] = {}
    for comment, name, body, like in _TABLE.findall(sql):
        bodies[name] = body or bodies[like]
        text = " ".join(line.lstrip("- ") for line in comment.splitlines())
        columns = [
            DescribedColumn(
                found["name"],
                found["type"],
                sentence(
                    found["comment"]
                    or _of_contract(like or name, found["name"])
                    or everywhere.get(found["name"], "")
                ),
            )
            for found in _COLUMN.finditer(bodies[name])
        ]
        text = sentence(text or plan.descriptions.raw[name])
        tables.append(DescribedTable("raw", name, text, columns))
    return tables


_COLUMN_OF_MANY = re.compile(r"^--   (\w+): +(.*)$", re.MULTILINE)
_TABLE = re.compile(
    r"((?:^-- [^\n]*\n)*)create table if not exists raw\.(\w+)"
    r" (?:\(\n(.*?)\n\)|as from raw\.(\w+) limit 0);",
    re.MULTILINE | re.DOTALL,
)
_COLUMN = re.compile(
    r'^ +"?(?P<name>\w+)"? (?P<type>\w+)(?: not null)?,?(?: +-- (?P<comment>.*))?$',
    re.MULTILINE,
)


def _of_contract(table: str, column: str) -> str:
    for contract in CONTRACTS.get(table, ()):
        if found := descriptions(contract).get(column):
            return found.removeprefix("Ours: ").replace("``", "`")
    return ""


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


def page(plan: Plan) -> str:
    """Return the page of the tables of a plan, as HTML."""
    lineage = Lineage.of(plan)
    told, raw_tables = plan.descriptions, raw(plan)
    known = {each.relation for each in [*told.marts, *told.policy, *raw_tables]}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            version=__version__,
            groups=mart_groups(plan).items(),
            policy=told.policy,
            raw=raw_tables,
            readers=_readers(told.readers),
            lineage=lineage,
            known=known,
        )
    )


def _environment() -> Environment:
    env = Environment(
        loader=PackageLoader("promptlab.dictionary", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"code": _code, "short": _short}
    return env


def _readers(readers: list[Exposure]) -> dict[str, list[str]]:
    """Mart → labels of its readers."""
    found: dict[str, list[str]] = {}
    for reader in readers:
        for name in reader.marts:
            found.setdefault(f"marts.{name}", []).append(reader.label)
    return found


def _short(name: str) -> str:
    """Return the displayed name: a mart's without its schema."""
    return name.removeprefix("marts.")


def _code(text: str) -> Markup:
    """Return a description as HTML; only code marks are converted."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
