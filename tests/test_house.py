"""The house keeps its order: every room is in the contract of imports, names are one."""

from __future__ import annotations

import ast
import re
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


def test_nothing_outside_ingest_writes_to_the_raw_tables():
    writes = re.compile(r"(insert into|update|delete from) raw\.", re.IGNORECASE)

    found = [module for module, text in _modules() if writes.search(text)]

    assert "ingest/raw/requests.py" in found
    assert [each for each in found if not each.startswith("ingest/")] == []


def _layers(name: str) -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c["name"].startswith(name)]
    return [[one.strip(" ()") for one in floor.split("|")] for floor in layers]


def _modules() -> Iterator[tuple[str, str]]:
    """Every module of the house and its text."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")


def _classes() -> Iterator[tuple[str, str]]:
    """Modules and their classes; a tool's own structs keep the tool's own names."""
    for module, text in _modules():
        if module.startswith("ingest/foreign/") and module.endswith("/structs.py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                yield module, node.name
