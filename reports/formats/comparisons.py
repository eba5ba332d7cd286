"""Comparisons and gates as text: Markdown for a CI step, JUnit XML for its tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptlab.contracts.comparison import Comparison
from promptlab.contracts.gate import GateResult
from promptlab.reports.pages.render import environment, render

MOST_BYTES = 60_000
_CASES = (50, 25, 10, 0)
_SUBJECTS = 40
"""Maximum number of listed dimensions, and of tags."""


def comparison_markdown(
    comparison: Comparison,
    gate: GateResult | None = None,
    *,
    templates: Path | None = None,
) -> str:
    """Return *comparison* as Markdown of at most 60 KB.

    Args:
        comparison: The comparison, with the cases to list.
        gate: The gate's result; it is printed first.
        templates: Folder whose files replace the built-in ones of the same name.
    """
    env = environment(comparison.lang, templates)
    changed = [c for c in comparison.cases if c.change != "same"]
    for most in _CASES:
        page = render(
            env,
            "comparison.md.j2",
            comparison=comparison,
            gate=gate,
            cases=changed[:most],
            n_more=comparison.counts.changed - len(changed[:most]),
            most=_SUBJECTS,
        )
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def gate_markdown(result: GateResult, *, templates: Path | None = None) -> str:
    """Return *result* as Markdown.

    Args:
        result: The gate's result.
        templates: Folder whose files replace the built-in ones of the same name.
    """
    return render(environment(result.lang, templates), "gate.md.j2", result=result)


def gate_junit(results: Sequence[GateResult], *, templates: Path | None = None) -> str:
    """Return *results* as JUnit XML: a suite per task, a test per rule.

    A rule that could not be judged is an error, because CI must not show it as passed.

    Args:
        results: The gate's results, of at least one task.
        templates: Folder whose files replace the built-in ones of the same name.
    """
    return render(
        environment(results[0].lang, templates),
        "gate.junit.xml.j2",
        suites=[(result, _counts([result])) for result in results],
        counts=_counts(results),
    )


def _counts(results: Sequence[GateResult]) -> dict[str, int]:
    verdicts = [rule.verdict for result in results for rule in result.rules]
    return {
        "all": len(verdicts),
        "fail": verdicts.count("fail"),
        "inconclusive": verdicts.count("inconclusive") + verdicts.count("check"),
        "skipped": verdicts.count("skipped"),
    }
