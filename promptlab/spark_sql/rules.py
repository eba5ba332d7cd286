"""What a rule is: DuckDB's expression on the left, Spark's on the right.

Both are SQL with placeholders, as ``$list``. On the right may stand a function of the
texts that the placeholders stand for; ``$rest`` is all that is left of a list.
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

    def write(self, found: dict[str, Sql]) -> str:
        """Return Spark's expression.

        Raises:
            Untranslatable: the rule does not hold for these texts.
        """
        if isinstance(self.spark, str):
            return fill(self.spark, **found)
        return self.spark(**found)


def fill(template: str, **texts: str) -> str:
    """Put texts in the place of ``$name``; names that are not given stay."""
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
