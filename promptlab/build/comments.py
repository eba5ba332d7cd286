"""Comments on the marts and their columns, from the descriptions of the dbt project."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import msgspec


class MartComments(msgspec.Struct, frozen=True):
    """A mart with the comments on it and on its columns."""

    name: str
    text: str
    columns: dict[str, str]


def read_comments(manifest: Any) -> list[MartComments]:
    """Read the descriptions of the marts from dbt's manifest."""
    return [
        MartComments(
            node.name,
            _sentence(node.description),
            {c.name: _sentence(c.description) for c in node.columns.values()},
        )
        for _, node in sorted(manifest.nodes.items())
        if node.resource_type == "model" and node.schema == "marts"
    ]


def comments_in(lang: str) -> dict[str, str]:
    """Return the comments in a language by the descriptions in English."""
    file = resources.files("promptlab.build").joinpath(f"{lang}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _sentence(text: str) -> str:
    """Return a description on one line, with a full stop."""
    text = " ".join(text.split())
    return text if text.endswith((".", ":", "…")) or not text else text + "."
