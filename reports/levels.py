"""Changes of a variant's level beyond chance, in words: slower, dearer, better.

They come from ``fct_level_changes``. A fall in quality is left out: the decision of the
gate names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from promptlab.contracts.pages import LevelChange
from promptlab.reports.queries import Row, of_contract, select
from promptlab.reports.sentences import Speech

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.gate import GateResult
    from promptlab.reports.report_options import ReportOptions

_QUALITY = ("overall_score", "pass_rate")

Levels = dict[tuple[str, str], list[Row]]
"""Title and variant to its rows of ``fct_level_changes``."""


def read_levels(con: duckdb.DuckDBPyConnection, **where: Any) -> Levels:
    """Return the changes beyond chance, the worse ones first."""
    levels: Levels = {}
    for row in select(
        con,
        "fct_level_changes",
        order="is_worse desc, measure desc",
        is_beyond_chance=True,
        **where,
    ):
        levels.setdefault((row["title"], row["variant"]), []).append(row)
    return levels


def level_changes_of(
    gate: GateResult, levels: Levels, speech: Speech, options: ReportOptions
) -> list[LevelChange]:
    """Return the changes that the page of a result names."""
    rows = levels.get((gate.title, gate.variant), [])
    return [
        of_contract(LevelChange, row, text=_text(row, speech, options))
        for row in _shown(rows, gate)
    ]


def _shown(rows: Iterable[Row], gate: GateResult) -> Iterable[Row]:
    """Return the changes that the decision does not name already.

    Of quality, that is a rise of the pass rate (or of the score, without verdicts) of a
    result that the gate does not refuse.
    """
    quality = "pass_rate" if gate.n_judged else "overall_score"
    is_refused = gate.decision == "do_not_ship"
    for row in rows:
        has_risen = row["measure"] == quality and not row["is_worse"]
        if row["measure"] not in _QUALITY or (has_risen and not is_refused):
            yield row


def _text(row: Row, speech: Speech, options: ReportOptions) -> str:
    """Return ``2.6 times slower since 24 Nov: 880 ms → 2.3 s``."""
    way = "worse" if row["is_worse"] else "better"
    return speech.text(
        f"level.{row['measure']}_{way}", row | {"at": options.generated_at}
    )
