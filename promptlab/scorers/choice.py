"""Which installed scorer a dimension asks for, if any (rules: docs/scorers.md)."""

from __future__ import annotations

from collections.abc import Collection

from promptlab.contracts.analysis_input import DimensionConfig
from promptlab.seeds import builtin_scorers

SEMANTIC = "semantic"
"""The scorer of ``accuracy`` with ``match_rule: semantic``."""


def scorer_of(dimension: DimensionConfig) -> str:
    """Return what SQL takes the dimension's scorer to be."""
    named = dimension.parameters.get("scorer")
    return (named.strip() if isinstance(named, str) else "") or dimension.dimension_id


def wanted_scorer(dimension: DimensionConfig) -> str:
    """Return the name under which a Python scorer would serve the dimension.

    ``parameters.scorer_name`` comes first: SQL takes no other scorer's scores then.
    """
    named = dimension.parameters.get("scorer_name")
    if isinstance(named, str) and named:
        return named
    return SEMANTIC if _is_semantic(dimension) else scorer_of(dimension)


def is_scored_by_sql(dimension: DimensionConfig) -> bool:
    """Say whether SQL scores the dimension itself and ignores ``raw.scores``."""
    scorer = scorer_of(dimension)
    return (
        scorer != "judge"
        and scorer in builtin_scorers()
        and not _is_semantic(dimension)
    )


def why_not_scored(dimension: DimensionConfig, installed: Collection[str]) -> str:
    """Return the reason why no installed scorer serves a dimension; empty if one does.

    Args:
        dimension: the dimension as its task configures it.
        installed: names of the installed scorers.
    """
    wanted = wanted_scorer(dimension)
    if is_scored_by_sql(dimension):
        return f"`{scorer_of(dimension)}` is built in: `promptlab build` scores it"
    if wanted not in installed:
        return f"no scorer `{wanted}` is installed"
    return ""


def _is_semantic(dimension: DimensionConfig) -> bool:
    return (
        scorer_of(dimension) == "accuracy"
        and dimension.parameters.get("match_rule") == SEMANTIC
    )
