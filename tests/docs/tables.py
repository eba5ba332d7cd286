"""docs/tables.md, made from raw.sql, the contracts and the dbt project's YAML files.

``pytest --update-golden`` writes it; a test fails when it is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel

from promptlab.contracts import analysis_input, evaluation, memory, pipeline, testset
from promptlab.contracts.scores import ScoreRecord

ROOT = Path(__file__).resolve().parents[2]
RAW_SQL = ROOT / "ingest" / "raw" / "raw.sql"
DBT = ROOT / "dbt_project"

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

TEXTS = {
    "load_id": "Load that wrote the row.",
    "file_uri": "Absolute path of the file.",
    "line": "Line of the file, from 1.",
    "position": "Place in the file, from 0.",
    "testset_id": "Path of the testset below the ingested folder, without suffix.",
    "case_id": "The case, unique in its task or testset.",
    "task_id": "The task; unique over the whole warehouse.",
    "pipeline_id": "The pipeline.",
    "step_id": "Id of the step.",
    "run_id": "Run of the memory benchmark.",
    "extras": "What the file has beyond the format, kept as it came.",
    "schema_versions.version": "Version of the raw layer.",
    "schema_versions.applied_at": "When the warehouse took it on, UTC.",
    "schema_versions.ingest_version": "Version of promptlab that did.",
    "loads.load_id": "Number of the load, counted up.",
    "loads.source_name": "Path below the ingested folder without suffix; the stem of a "
    "file named itself.",
    "loads.sha256": "Hash of the file's bytes.",
    "loads.bytes": "Size of the file.",
    "loads.started_at": "When reading began, UTC.",
    "loads.finished_at": "When reading ended, UTC.",
    "loads.ingest_version": "Version of promptlab that read it.",
    "rejects.load_id": "Load that found it.",
    "rejects.code": "Kind of problem, such as `wrong_type`.",
    "rejects.message": "What was found, what was expected, one fix.",
    "testsets.feature": "First part of the name `<feature>_<type>_<version>`; "
    "null where the name is another.",
    "testsets.type": "Second part of the name.",
    "testsets.version": "Third part of the name.",
    "testsets.cases": "Cases that were loaded.",
    "test_cases.evaluation_config": "How to judge, as written.",
    "expectations.tolerance": "Largest difference of a number that still matches.",
    "pipelines.raw_data": "The whole file, as JSON.",
    "tasks.pipeline_ref": "What the file says of its pipeline.",
    "reported_checks.round_id": "The round, unique in its case.",
    "reported_checks.type": "Kind of assertion, as the tool names it.",
    "reported_checks.weight": "Weight of the assertion, where the tool says it.",
    "reported_checks.threshold": "Score from which it holds, where the tool says it.",
    "reported_checks.expected": "What was asserted, as JSON.",
    "reported_checks.reason": "Why it holds or does not, in the tool's words.",
    "reported_scores.round_id": "The round, unique in its case.",
    "reported_scores.dimension_id": "Scorer, metric or assertion, as the tool names it.",
    "reported_scores.summary": "Why, in the tool's words.",
    "reported_scores.payload": "What else the tool says of it.",
    "reported_totals.dimension_id": "Dimension that the total is about; null: none.",
    "rounds.reported_must_have_pass": "Evaluation results: `must_have_pass` as given.",
    "named_baselines.title": "Title whose tasks are compared with it.",
    "named_baselines.testset_id": "Testset of those tasks; null: any.",
    "named_baselines.set_at": "When it was set, UTC.",
    "requested_comparisons.baseline_task_id": "The task to compare with.",
    "requested_comparisons.candidate_task_id": "The task that is compared.",
    "requested_comparisons.requested_at": "When it was asked for, UTC.",
    "memory_runs.task_id": "The conversation, a file.",
    "memory_tests.task_id": "The conversation, a file.",
    "memory_answers.task_id": "The conversation, a file.",
    "memory_invalid_questions.task_id": "The conversation, a file.",
    "memory_timings.task_id": "The conversation, a file.",
    "memory_runs.dataset": "Name of the data set.",
    "memory_runs.memory_system": "The system that was tested, where the path names it.",
    "memory_tests.range_start": "First question of the round.",
    "memory_tests.range_end": "Last question of the round.",
    "memory_answers.question_text": "The question.",
    "memory_invalid_questions.position": "Place in the list, from 0.",
    "memory_timings.min_ms": "Shortest call, in milliseconds (summary).",
    "memory_timings.max_ms": "Longest call, in milliseconds (summary).",
    "memory_timings.count": "Calls (summary).",
}
"""Column, or table.column, that neither raw.sql nor a contract describes."""


class Column(NamedTuple):
    """One line of the page."""

    name: str
    type: str
    text: str


class Table(NamedTuple):
    """One table of the page."""

    name: str
    text: str
    columns: list[Column]


def page() -> str:
    """Return docs/tables.md."""
    marts = list(_marts())
    lines = [_HEAD, f"## Marts\n\n{_MARTS}\n"]
    lines += _overview([table for _, table in marts], "marts")
    for folder, found in groupby(marts, key=itemgetter(0)):
        lines.append(f"### {GROUPS.get(folder, folder.capitalize())}\n")
        for _, mart in found:
            lines += _section(mart, "marts")
    for heading, schema, tables in (
        (f"## Policy\n\n{_POLICY}\n", "policy", list(_seeds())),
        (f"## Raw tables\n\n{_RAW}\n", "raw", raw_tables()),
    ):
        lines.append(heading)
        for table in tables:
            lines += _section(table, schema)
    return "\n".join(lines).rstrip() + "\n"


def mart_tables() -> list[Table]:
    """Return every mart that a YAML file describes."""
    return [table for _, table in _marts()]


def raw_tables() -> list[Table]:
    """Return every table that raw.sql makes, in its order."""
    tables = []
    for comment, name, body in _RAW_TABLE.findall(RAW_SQL.read_text("utf-8")):
        text = " ".join(line.lstrip("- ") for line in comment.splitlines())
        columns = [
            Column(
                found["name"],
                found["type"],
                _raw_text(name, found["name"], found["comment"]),
            )
            for found in _RAW_COLUMN.finditer(body)
        ]
        tables.append(Table(name, text or _source_texts()[name], columns))
    return tables


_RAW_TABLE = re.compile(
    r"((?:^-- [^\n]*\n)*)create table if not exists raw\.(\w+) \(\n(.*?)\n\);",
    re.MULTILINE | re.DOTALL,
)
_RAW_COLUMN = re.compile(
    r'^ +"?(?P<name>\w+)"? (?P<type>\w+)(?: not null)?,?(?: +-- (?P<comment>.*))?$',
    re.MULTILINE,
)


def _raw_text(table: str, column: str, comment: str | None) -> str:
    own = TEXTS.get(f"{table}.{column}")
    if comment or own:
        return _sentence(comment or own or "")
    for contract in CONTRACTS.get(table, ()):
        field = contract.model_fields.get(column)
        if field is not None and field.description:
            text = field.description.removeprefix("Ours: ")
            return _sentence(text.replace("``", "`"))
    return _sentence(TEXTS.get(column, ""))


def _source_texts() -> dict[str, str]:
    file = DBT / "models" / "staging" / "_raw__sources.yml"
    tables = _yaml(file)["sources"][0]["tables"]
    own = {"schema_versions": "One version of the raw layer."}
    return own | {table["name"]: table["description"] for table in tables}


def _marts() -> Iterator[tuple[str, Table]]:
    docs = _docs_blocks()
    found: dict[str, list[Table]] = {}
    for file in sorted((DBT / "models" / "marts").rglob("*.yml")):
        for model in _yaml(file).get("models", ()):
            if "columns" in model:
                table = _described(model, docs)
                found.setdefault(file.parent.name, []).append(table)
    order = [*GROUPS, *sorted(found)]
    for folder in dict.fromkeys(folder for folder in order if folder in found):
        # dimensions before facts
        for table in sorted(found[folder], key=lambda each: each.name):
            yield folder, table


def _seeds() -> Iterator[Table]:
    docs = _docs_blocks()
    for file in sorted((DBT / "seeds").rglob("*.yml")):
        for seed in _yaml(file)["seeds"]:
            types = seed.get("config", {}).get("column_types", {})
            yield _described(seed, docs, types)


def _described(
    node: dict[str, Any],
    docs: Mapping[str, str],
    types: Mapping[str, str] | None = None,
) -> Table:
    return Table(
        node["name"],
        " ".join(node["description"].split()),
        [
            Column(
                column["name"],
                column.get("data_type") or (types or {}).get(column["name"], ""),
                _sentence(_with_docs(column.get("description", ""), docs)),
            )
            for column in node["columns"]
        ],
    )


def _docs_blocks() -> dict[str, str]:
    """Return name → text of every ``{% docs %}`` block of the project."""
    pattern = re.compile(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", re.DOTALL)
    files = sorted((DBT / "models").rglob("*.md"))
    return dict(pair for file in files for pair in pattern.findall(file.read_text()))


def _with_docs(text: str, docs: Mapping[str, str]) -> str:
    reference = re.compile(r"{{ doc\([\"'](\w+)[\"']\) }}")
    return reference.sub(lambda found: docs[found[1]], text)


def _sentence(text: str) -> str:
    """Return a description as a cell of a Markdown table, with a full stop."""
    text = " ".join(text.split()).replace("|", "\\|").replace("`None`", "null")
    # what stands between backticks is every second part
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    text = "`".join(parts)
    return text if text.endswith((".", ":", "…")) or not text else text + "."


def _overview(tables: Sequence[Table], schema: str) -> list[str]:
    lines = ["| table | |", "| --- | --- |"]
    for table in tables:
        first = _sentence(table.text.split(". ")[0])
        lines.append(f"| [`{table.name}`](#{schema}{table.name}) | {first} |")
    return [*lines, ""]


def _section(table: Table, schema: str) -> list[str]:
    lines = [f"#### `{schema}.{table.name}`", "", _sentence(table.text), ""]
    lines += ["| column | type | |", "| --- | --- | --- |"]
    lines += [f"| `{c.name}` | {c.type} | {c.text} |" for c in table.columns]
    return [*lines, ""]


def _yaml(file: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(file.read_text("utf-8"))
    assert isinstance(loaded, dict), file
    return loaded


_HEAD = """\
# Tables

<!-- Generated: `pytest --update-golden tests/docs` writes this page. -->

A warehouse is one DuckDB file. `promptlab query "select …"` reads it, and so does every
DuckDB client.

| schema | holds | rely on it |
| --- | --- | --- |
| `marts` | the numbers: [below](#marts) | yes, names and types are a contract |
| `policy` | grades, severities, thresholds, names: [below](#policy) | yes |
| `raw` | what the files say, nothing computed: [below](#raw-tables) | yes |
| `staging`, `intermediate` | the way from raw to marts | no |

Scores, shares and ends of intervals are 0 to 1, 1 best. Missing is null, never 0. Times
are UTC. Lists and maps are JSON; `->>` takes a text out of them. Texts for people stand
twice: `message` in Chinese, `message_en` in English. What the numbers mean is in
[numbers.md](numbers.md).
"""

_MARTS = "Built by `promptlab run` or `promptlab build`; the reports read nothing else."

_POLICY = """\
What is decided, not measured: the seeds of the dbt project (`dbt_project/seeds/` of a
checkout). Change a row, build again, and every task is judged by the new policy."""

_RAW = """\
Written by `promptlab ingest`, defined by `ingest/raw/raw.sql`. Only live rows are here: a
task, testset, pipeline or memory file that is loaded again replaces its own rows;
`raw.loads` and `raw.rejects` keep the history."""
