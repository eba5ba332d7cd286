"""The shared table of matching cases: ``data/matching_cases.jsonl``.

One JSON object a line. ``expected`` is what step ``s`` is expected to give, ``actual``
what it gave (``"actual_missing": true``: nothing), ``config`` the case's
``evaluation_config``. ``verdict`` and ``failures`` (pointer and reason, in the order of
the checks) were reasoned out by hand from the rules, not copied from a run. The
evaluator and the warehouse are both held to this table.

``expected`` and ``actual`` must be read as text: ``1e2``, ``-0`` or a key that comes
twice do not survive a JSON reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

TABLE = Path(__file__).parent / "data" / "matching_cases.jsonl"


class MatchingCase(NamedTuple):
    """One line of the table."""

    id: str
    rule: str
    expected: str
    """JSON text."""

    actual: str | None
    """JSON text; ``None``: the step is missing."""

    config: dict[str, Any]
    verdict: str
    failures: list[tuple[str, str]]
    """Pointer and reason."""


def matching_cases() -> list[MatchingCase]:
    """Read the table."""
    return [_case(line) for line in TABLE.read_bytes().splitlines()]


def _case(line: bytes) -> MatchingCase:
    raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    known = {
        name: msgspec.json.decode(raw[name])
        for name in ("id", "rule", "config", "verdict", "failures")
    }
    return MatchingCase(
        id=known["id"],
        rule=known["rule"],
        expected=bytes(raw["expected"]).decode(),
        actual=None if "actual_missing" in raw else bytes(raw["actual"]).decode(),
        config=known["config"],
        verdict=known["verdict"],
        failures=[(each["pointer"], each["reason"]) for each in known["failures"]],
    )
