"""docs/tables.md: the data dictionary as a page of the documentation.

``pytest --update-golden`` writes them; a test fails when they are stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptlab import dictionary
from promptlab.build import plan
from promptlab.build.plan import DescribedTable
from promptlab.dictionary import Lineage

ROOT = Path(__file__).resolve().parents[2]


def page() -> str:
    """Return docs/tables.md."""
    built = plan.load()
    told, lineage = built.descriptions, Lineage.of(built)
    groups = dictionary.mart_groups(built)
    lines = [_HEAD, f"## Marts\n\n{_MARTS}\n"]
    lines += _overview([mart for found in groups.values() for mart in found])
    for heading, found in groups.items():
        lines.append(f"### {heading}\n")
        for mart in found:
            lines += _section(mart, "####", lineage)
    for heading, text, others in (
        ("## Policy", _POLICY, told.policy),
        ("## Raw tables", _RAW, dictionary.raw(built)),
    ):
        lines.append(f"{heading}\n\n{text}\n")
        for table in others:
            lines += _section(table, "###", lineage)
    return "\n".join(lines).rstrip() + "\n"


def _overview(found: Sequence[DescribedTable]) -> list[str]:
    lines = ["| table | |", "| --- | --- |"]
    for table in found:
        lines.append(f"| {_link(table.relation)} | {_cell(table.first_sentence)} |")
    return [*lines, ""]


def _section(table: DescribedTable, level: str, lineage: Lineage) -> list[str]:
    lines = [f"{level} `{table.relation}`", "", _cell(table.text), ""]
    made_of = lineage.sources(table.relation) if table.schema == "marts" else []
    for words, names in (
        ("Made of", made_of),
        ("Goes into", lineage.uses(table.relation)),
    ):
        if names:
            lines += [f"{words}: {', '.join(map(_link, names))}.", ""]
    lines += ["| column | type | |", "| --- | --- | --- |"]
    lines += [f"| `{c.name}` | {c.type} | {_cell(c.text)} |" for c in table.columns]
    return [*lines, ""]


def _link(relation: str) -> str:
    anchor = relation.replace(".", "")
    return f"[`{relation.removeprefix('marts.')}`](#{anchor})"


def _cell(text: str) -> str:
    """Return a description as a cell of a Markdown table."""
    # every second part is text between backticks
    parts = text.replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


_HEAD = """\
# Tables

<!-- Generated: `pytest --update-golden tests/docs` writes this page. -->

A warehouse is one DuckDB file. `promptlab query "select …"` reads it, and so does every
DuckDB client from 1.3 on ([cookbook](cookbook.md#from-a-notebook)). `promptlab docs` writes
this page as one HTML file.

| schema | holds | rely on it |
| --- | --- | --- |
| `marts` | the numbers: [below](#marts) | yes, names and types are a contract |
| `policy` | grades, severities, thresholds, names: [below](#policy) | yes |
| `raw` | what the files say, nothing computed: [below](#raw-tables) | yes |
| `staging`, `intermediate` | the way from raw to marts | no |

Scores, shares and ends of intervals are 0 to 1, 1 best. Missing is null, never 0. Times
are UTC. Lists and maps are JSON; `->>` takes a text out of them. Marts hold codes
and facts; `promptlab sentences` writes them out. What the numbers mean is in
[numbers.md](numbers.md).
"""

_MARTS = """\
Built by `promptlab run` or `promptlab build`; the reports read nothing else. Each table names
the tables it is made of; a mart that is made of all that another mart is made of names that
mart. [dbt's documentation](dbt.md#lineage) draws every model."""

_POLICY = """\
What is decided, not measured: the seeds of the dbt project (`dbt_project/seeds/` of a
checkout). Change a row, build again, and every task is judged by the new policy."""

_RAW = """\
Written by `promptlab ingest`, defined by `ingest/raw/raw.sql`. Only live rows are here: a
task, testset, pipeline or memory file that is loaded again replaces its own rows;
`raw.loads` and `raw.rejects` keep the history."""
