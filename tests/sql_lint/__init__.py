"""The functions that dbt provides to templates and the linter does not.

The linter only looks at layout, so a macro that is dispatched, or
that it cannot read, is replaced by a call of its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable


def _as_sql(argument: object) -> str:
    """An argument as SQL; a list is its elements, an empty one a null."""
    return (
        ", ".join(argument or ["null"]) if isinstance(argument, list) else str(argument)
    )


def _call(name: str) -> Callable[..., str]:
    return lambda *args: f"{name}({', '.join(map(_as_sql, args))})"


class _Adapter:
    def dispatch(self, name: str, package: str | None = None) -> Callable[..., str]:
        return _call(name)

    def quote(self, name: str) -> str:
        return f'"{name}"'


adapter = _Adapter()
multiset_overlap, n_different, n_found = map(
    _call, ("multiset_overlap", "n_different", "n_found")
)
model = {"resource_type": "unit_test"}
flags = {"FULL_REFRESH": False}
globals()["return"] = lambda value: value

fromjson = json.loads
