"""Which scorers are installed, and making one by its name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from promptlab.errors import SettingsError, UsageError, did_you_mean
from promptlab.scorers.protocol import Scorer

GROUP = "promptlab.scorers"
"""The group of entry points; see docs/scorers.md."""


def scorer_names() -> list[str]:
    """Return the names of all installed scorers, sorted; none is imported."""
    return sorted(_installed())


def load_scorer(name: str) -> Scorer:
    """Import the scorer of this name and create an instance.

    Raises:
        UsageError: no package provides it, or several do.
        SettingsError: it cannot be imported or created, or is not a scorer.
    """
    installed = _installed()
    if name not in installed:
        raise UsageError(unknown_scorer(name, installed))
    found = installed[name]
    if len(found) > 1:
        raise UsageError(
            f"scorer `{name}`: several packages bring it:"
            f" {', '.join(map(_origin, found))}; uninstall all but one"
        )
    return _made(found[0])


def unknown_scorer(name: str, known: Iterable[str]) -> str:
    """Return the sentence for a scorer that no package brings."""
    names = sorted(known)
    hint = did_you_mean(name, names)
    return (
        f"there is no scorer `{name}`{hint} (installed: {', '.join(names) or 'none'};"
        f" a package brings one as an entry point of the group `{GROUP}`)"
    )


def _installed() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        twins = found.setdefault(entry.name, [])
        # one package may be seen twice, say by its checkout and its installation
        if all(twin.value != entry.value for twin in twins):
            twins.append(entry)
    return found


def _made(entry: EntryPoint) -> Scorer:
    try:
        loaded = entry.load()
        scorer = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # the code of others may raise anything
        raise SettingsError(
            f"scorer `{entry.name}` ({_origin(entry)}) cannot be loaded:"
            f" {type(error).__name__}: {error}"
        ) from error
    fault = _fault(entry.name, scorer)
    if fault:
        raise SettingsError(
            f"scorer `{entry.name}` ({_origin(entry)}) is no scorer: {fault}"
        )
    made: Scorer = scorer
    return made


def _fault(name: str, scorer: Any) -> str | None:
    """Say what keeps an object from being a scorer of this name."""
    if not callable(getattr(scorer, "score", None)):
        return "it has no method `score(dimension, case)`"
    own_name = getattr(scorer, "name", None)
    if own_name != name:
        return f"its `name` is {own_name!r}, expected {name!r}, as it is registered"
    version = getattr(scorer, "version", None)
    if not isinstance(version, str) or not version.strip():
        return f'its `version` is {version!r}, expected a text such as "1"'
    scale = getattr(scorer, "scale", None)
    if (
        not isinstance(scale, int | float)
        or isinstance(scale, bool)
        or not math.isfinite(scale)
        or scale <= 0
    ):
        return f"its `scale` is {scale!r}, expected a number above 0 such as 1.0"
    return None


def _origin(entry: EntryPoint) -> str:
    package = f"{entry.dist.name} " if entry.dist else ""
    return f"{package}{entry.value}"
