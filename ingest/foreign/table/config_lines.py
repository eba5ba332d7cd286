"""A mapping of a table as the lines of a config."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from promptlab.contracts.table_mapping import TableMapping


def mapping_name(path: Path) -> str:
    """Return the name of the mapping of a file, a bare key of TOML."""
    return re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "table"


def mapping_as_toml(
    header: str, mapping: TableMapping, notes: Iterable[str] = ()
) -> str:
    """Return the section of a config with a mapping.

    Args:
        header: Its name in the config.
        mapping: What the columns mean.
        notes: Comments, a line each.
    """
    lines = [f"[{header}]  # what the columns mean; guessed, correct it"]
    for name in TableMapping.model_fields:
        value = getattr(mapping, name)
        if value and name not in ("fixed", "scales"):
            shown = _toml(value) if isinstance(value, str) else _toml_list(value)
            lines.append(f"{name} = {shown}")
    missing = [n for n in ("model", "prompt_version") if getattr(mapping, n) is None]
    said = ", ".join(f'{name} = "…"' for name in missing)
    if missing:
        lines.append(f"# fixed = {{ {said} }}  # the same for the whole table")
    lines += [f"# {_in_one_line(each)}" for each in notes]
    return "\n".join(lines) + "\n"


def _toml_list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_toml, values))}]"


def _toml(value: str) -> str:
    # a JSON string is a TOML string, but for the one control character it may hold
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_one_line(text: str) -> str:
    return "".join(" " if ord(each) < 32 or each == "\x7f" else each for each in text)
