"""View of the verdict of a task, with links to its cases."""

from __future__ import annotations

from collections.abc import Callable

from promptlab.contracts.gate import GateResult
from promptlab.reports.printing.filters import Filters
from promptlab.reports.sentences.headline import pieces
from promptlab.reports.texts.catalogue import catalogue
from promptlab.reports.views.pieces import CaseRef, HeadlineView


def headline_view(
    result: GateResult, ref: Callable[[str], CaseRef], filters: Filters | None = None
) -> HeadlineView:
    """Return the view of the verdict.

    Args:
        result: The gate's result.
        ref: The position of a case on the page.
        filters: Format values; in the language of *result* by default.
    """
    first, *rest = pieces(result, filters or Filters(catalogue(result.lang)))
    return HeadlineView(
        result,
        first.text,
        [(p.text, None if p.case_id is None else ref(p.case_id)) for p in rest],
    )
