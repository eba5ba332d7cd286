"""Builds of some marts alone: of the models that they are made of, and no others.

A whole build of a few rounds takes a second, most of it to plan queries of marts that a
test asks nothing. A test or a fixture that asks some marts names them, as
``@only("dim_tasks")``; the others are not there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from promptlab.build import plan

GATE = (
    "dim_tasks",
    "dim_task_baselines",
    "fct_case_odds",
    "fct_gaps",
    "fct_gate_facts",
    "fct_task_summaries",
    "fct_verdicts",
)
"""What the gate reads."""

_ALWAYS = ("fct_rounds", "fct_memory_answers")
"""What a build asks how much there is to build."""
_MARK = "fct_task_summaries"
"""What every reader asks whether there are marts; without rows where it is not named."""
_RELATION = re.compile(r'"\w+"\."\w+"')

_whole = plan.load
_asked: list[tuple[str, ...]] = []


def _load() -> plan.Plan:
    if _asked:
        return _part(_asked[-1])
    return _ours() if plan.dbt_project() == _PROJECT else _whole()


plan.load = _load
_PROJECT = plan.dbt_project()


@functools.cache
def _ours() -> plan.Plan:
    """Return the plan of this checkout: no test changes its 350 files."""
    return _whole()


@contextmanager
def only(*marts: str) -> Iterator[None]:
    """Let builds make these marts alone; also a decorator of what returns at its end."""
    _asked.append(marts)
    try:
        yield
    finally:
        _asked.pop()


@functools.cache
def _part(marts: tuple[str, ...]) -> plan.Plan:
    found = _ours()
    reads = {
        node.relation: set(_RELATION.findall(node.query)) - {node.relation}
        for node in found.nodes
        if node.schema is not None
    }
    names = {f'"marts"."{name}"' for name in (*marts, *_ALWAYS)}
    assert names <= reads.keys(), names - reads.keys()
    for statement in (*found.forget, *found.remember):
        names |= set(_RELATION.findall(statement)) & reads.keys()
    names |= {node.relation for node in found.nodes if node.schema == "live"}
    while (
        more := {each for name in names for each in reads[name] & reads.keys()} - names
    ):
        names |= more
    mark = f'"marts"."{_MARK}"'
    kept = [
        node
        if node.relation in names or node.schema is None
        else msgspec.structs.replace(node, empty_if=[[]])
        for node in found.nodes
        if (
            set(_RELATION.findall(node.query)) & reads.keys() <= names
            if node.schema is None
            else node.relation in {*names, mark}
        )
    ]
    return msgspec.structs.replace(
        found,
        nodes=kept,
        comments=[each for each in found.comments if f'"marts"."{each.name}"' in names],
    )
