"""The house keeps its order: every room is in the contract of imports, names are one."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("promptlab", "ingest", "reports")


def test_the_whole_house_has_the_rooms_of_promptlab_in_their_order():
    house, rooms = (_layers(name) for name in ("The house", "The rooms of promptlab"))

    in_promptlab = [
        [name.removeprefix("promptlab.") for name in floor if "." in name]
        for floor in house
    ]

    assert in_promptlab == rooms


def test_a_class_name_is_given_once():
    homes = defaultdict(list)
    for module, name in _classes():
        homes[name.lstrip("_")].append(module)

    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def _layers(name: str) -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c["name"].startswith(name)]
    return [[one.strip(" ()") for one in floor.split("|")] for floor in layers]


def _classes() -> Iterator[tuple[str, str]]:
    """Modules and their classes; a tool's own structs keep the tool's own names."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            if "foreign" in file.parts and file.name == "structs.py":
                continue
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    yield file.relative_to(ROOT).as_posix(), node.name
