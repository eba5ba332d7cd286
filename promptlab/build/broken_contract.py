"""Find the rows that violate the contract of a model: DuckDB only names the rule.

DuckDB aborts the transaction, so the parents of the model are computed again, and each
rule of its contract is run as a data test that returns the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from promptlab.build.plan import Node
from promptlab.errors import BuildError

if TYPE_CHECKING:
    from promptlab.build.plan import Plan

_OF_A_ROW = re.compile(r"(?:constraint (?P<name>\w+) )?check \((?P<rule>.*)\)")
_OF_A_COLUMN = re.compile(
    r"(?P<column>\w+) .*?(?P<not_null> not null)?(?: check \((?P<rule>.*)\))?"
)


class BrokenContract(BuildError):
    """A row of a model violates a rule of its contract."""

    def __init__(self, node: Node, message: str) -> None:
        """Store the model and DuckDB's message."""
        super().__init__(f"{node.kind} {node.name}: {message}")
        self.node = node


def plan_that_names_rows(plan: Plan, node: Node) -> Plan:
    """Return the plan up to a model, with each rule of its contract as a data test."""
    before = plan.nodes[: plan.nodes.index(node)]
    return msgspec.structs.replace(plan, nodes=[*before, *_rules_as_tests(node)])


def _rules_as_tests(node: Node) -> Iterator[Node]:
    for name, rule in _rules(node.contract):
        yield Node(
            name=f"{name} of {node.name}",
            kind="test",
            sql=["select * from (", *node.sql, f") where not ({rule})"],
        )


def _rules(contract: list[str]) -> Iterator[tuple[str, str]]:
    """Return name and condition of each rule; the default name is the condition."""
    for line in contract:
        if found := _OF_A_ROW.fullmatch(line):
            yield found["name"] or f"`{found['rule']}`", found["rule"]
        elif found := _OF_A_COLUMN.fullmatch(line):
            if found["not_null"]:
                rule = f"{found['column']} is not null"
                yield f"`{rule}`", rule
            if found["rule"]:
                yield f"`{found['rule']}`", found["rule"]
