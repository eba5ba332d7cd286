"""The house keeps its order: every room is in the contract of imports."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_whole_house_has_the_rooms_of_promptlab_in_their_order():
    house, rooms = (_layers(name) for name in ("The house", "The rooms of promptlab"))

    in_promptlab = [
        [name.removeprefix("promptlab.") for name in floor if "." in name]
        for floor in house
    ]

    assert in_promptlab == rooms


def _layers(name: str) -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c["name"].startswith(name)]
    return [[one.strip(" ()") for one in floor.split("|")] for floor in layers]
