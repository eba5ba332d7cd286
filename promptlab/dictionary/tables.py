"""The tables of a warehouse, from the plan and ``raw.sql``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

from pydantic import BaseModel

from promptlab.build.descriptions import DescribedColumn, DescribedTable, sentence
from promptlab.build.plan import Plan
from promptlab.contracts import analysis_input, evaluation, memory, pipeline, testset
from promptlab.contracts.scores import ScoreRecord

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
    "pipelines": (pipeline.Pipeline,),
    "pipeline_steps": (pipeline.PipelineStep,),
    "tasks": (analysis_input.TestTaskMeta, analysis_input.AnalysisInput),
    "cases": (analysis_input.TestCaseBundle,),
    "rounds": (analysis_input.RoundRun, evaluation.EvaluationRecord),
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
    for comment, name, body in _TABLE.findall(sql):
        text = " ".join(line.lstrip("- ") for line in comment.splitlines())
        columns = [
            DescribedColumn(
                found["name"],
                found["type"],
                sentence(
                    found["comment"]
                    or _of_contract(name, found["name"])
                    or everywhere.get(found["name"], "")
                ),
            )
            for found in _COLUMN.finditer(body)
        ]
        text = sentence(text or plan.descriptions.raw[name])
        tables.append(DescribedTable("raw", name, text, columns))
    return tables


_COLUMN_OF_MANY = re.compile(r"^--   (\w+): +(.*)$", re.MULTILINE)
_TABLE = re.compile(
    r"((?:^-- [^\n]*\n)*)create table if not exists raw\.(\w+) \(\n(.*?)\n\);",
    re.MULTILINE | re.DOTALL,
)
_COLUMN = re.compile(
    r'^ +"?(?P<name>\w+)"? (?P<type>\w+)(?: not null)?,?(?: +-- (?P<comment>.*))?$',
    re.MULTILINE,
)


def _of_contract(table: str, column: str) -> str:
    for contract in CONTRACTS.get(table, ()):
        found = contract.model_fields.get(column)
        if found is not None and found.description:
            return found.description.removeprefix("Ours: ").replace("``", "`")
    return ""
