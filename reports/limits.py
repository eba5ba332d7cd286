"""Limits of the lists in a report; the rest is only counted."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ListLimits:
    """The maximum length of each list; ``None`` lists all.

    Cases are the worst ones, in the order of ``views.task.worst_first``.
    """

    cases: int | None = None
    rounds: int | None = None
    """Rounds per case, those that did not pass first."""
    checks: int | None = None
    """Scopes, and differences, per case; other assertions per round."""
    changes: int | None = None
    """Cases of the comparison with the baseline: the worst first, the same last."""
    fields: int = 30
    """Fields per case: of inputs, expectations and notes, and steps of a round."""
    is_short: bool = False
    """True if less of each case is listed because its texts are very long."""

    def shortened(self) -> ListLimits:
        """Return limits for a page on which otherwise only a few cases would fit."""
        return replace(self, rounds=1, checks=4, fields=4, is_short=True)


WHOLE = ListLimits(changes=1_000)
"""Limits of a file for programs: everything, but only the worst changes, since
`compare` lists all of them and a case with all its scores is long."""
SHOWN = ListLimits(cases=200, rounds=5, checks=20, changes=50)
"""Limits of a page for people."""
