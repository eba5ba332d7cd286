"""Rules: DuckDB's expression on the left, Spark's on the right.

Both are SQL with placeholders, such as ``$list``. The right side may be a function of
the texts of the placeholders; ``$rest`` is the rest of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp


class Untranslatable(ValueError):
    """There is no rule for an expression of DuckDB."""


class Sql(str):
    """A part of the query in Spark's words, and how DuckDB's was read."""

    nodes: list[exp.Expr]
    texts: list[str]

    @property
    def node(self) -> exp.Expr:
        """Its only expression."""
        [node] = self.nodes
        return node


Build: TypeAlias = Callable[..., str]


@dataclass(frozen=True)
class Rule:
    """An expression of DuckDB, and the same for Spark."""

    duckdb: str
    spark: str | Build

    def write(self, parts: dict[str, Sql]) -> str:
        """Return Spark's expression.

        Raises:
            Untranslatable: the rule does not apply to these texts.
        """
        if isinstance(self.spark, str):
            return fill(self.spark, **parts)
        return self.spark(**parts)


def fill(template: str, **texts: str) -> str:
    """Replace ``$name`` by its text; names without a text stay."""
    return re.sub(r"\$([a-z_][a-z_0-9]*)", lambda m: texts.get(m[1], m[0]), template)


def quoted(text: str) -> str:
    """Return a literal. For Spark a quote is not doubled, and a backslash is one."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return "(" + ' || "\'" || '.join(f"'{part}'" for part in text.split("'")) + ")"


def literal(sql: str) -> str | None:
    """Return the text of a literal, ``None`` for any other expression."""
    if isinstance(sql, Sql) and len(sql.nodes) == 1:
        node = sql.node
        if isinstance(node, exp.Literal) and node.is_string:
            return str(node.this)
    return None
