"""The languages of results and reports: one file of ``reports/texts`` each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

TEXTS = Path(__file__).resolve().parent / "reports" / "texts"


@cache
def languages() -> tuple[str, ...]:
    """The codes of all languages, sorted: ``("en", "zh")``."""
    return tuple(sorted(file.stem for file in TEXTS.glob("*.toml")))
