"""Raw tables only grow, so any way to load the same files gives the same.

Files of one run, of other kinds and of one tool are loaded in any partition into calls,
with their records in any order; what was loaded before a file had its last content
leaves nothing behind. Several worlds, each with all files under ids of its own and in
an order of its own, are in one warehouse, since most of the time goes into builds.
Neither does what was purged leave anything, whenever that was.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from promptlab.errors import NothingToDo
from promptlab.operations.health import examine
from promptlab.operations.purge import compact, purge
from promptlab.warehouse import Warehouse
from tests.conftest import EXHAUSTIVE
from tests.marts import only

only_facts = only("fct_task_summaries", "fct_case_results", "fct_labels")

HERE = "@here"
"""Stands in files for the name of their world, so that no id is in two worlds."""
WORLDS = ("one", "two", "three")

# What of the warehouse says nothing of when and in which load something came.
FACTS = {
    "tasks": "select task_id, title, testset_ref, created_at from live.tasks",
    "cases": "select task_id, case_id, tags from live.cases",
    "rounds": "select task_id, case_id, round_id, raw_output from live.rounds",
    "scores": "select task_id, case_id, round_id, score from live.scores",
    "labels": "select round_id, label from live.labels",
    "testsets": "select testset_id, case_id, inputs from staging.stg_testsets__test_cases",
    "summaries": "select task_id, n_cases, n_fail, overall_score"
    " from marts.fct_task_summaries",
    "results": "select task_id, case_id, status from marts.fct_case_results",
    "judged": "select task_id, case_id, labeler, label from marts.fct_labels",
}


def _result(run: str, case: str, answer: str, tag: str) -> dict[str, Any]:
    return {
        "sample_id": case,
        "run_id": run,
        "round_id": f"{case}-1{HERE}",
        "entity_type": "prompt",
        "entity_id": f"p{HERE}",
        "variant": "v1",
        "raw_output": answer,
        "final_output": {"answer": answer},
        "testset": f"suite{HERE}",
        "tags": [tag],
        "created_at": "2026-01-02T00:00:00Z",
    }


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _shard(name: str, cases: str, answer: str) -> tuple[str, str]:
    return f"{name}.jsonl", _lines(
        [_result(f"R{HERE}", each, answer, name) for each in cases]
    )


def _scores(cases: str, score: float) -> tuple[str, str]:
    rows = [
        {"task_id": f"R{HERE}", "case_id": each, "score": score}
        | {"round_id": f"{each}-1{HERE}"}
        | {"dimension_id": "quality", "scorer": "judge", "scale": 1}
        for each in cases
    ]
    return "scores.jsonl", _lines(rows)


def _labels(cases: str, label: str) -> tuple[str, str]:
    rows = "".join(f"R{HERE},{each},{each}-1{HERE},ann,{label}\n" for each in cases)
    return "labels.csv", "task_id,case_id,round_id,labeler,label\n" + rows


def _tool(answer: str) -> tuple[str, str]:
    row = {
        "promptIdx": 0,
        "testIdx": 0,
        "prompt": {"raw": "ask", "label": "ask"},
        "provider": {"id": "m"},
        "vars": {"q": f"1 {HERE}"},
        "response": {"output": f"{answer}{HERE}"},
        "success": True,
        "score": 1,
        "id": f"row{HERE}",
    }
    document = {
        "evalId": f"eval-1{HERE}",
        "results": {
            "version": 3,
            "timestamp": "2026-01-02T00:00:00Z",
            "prompts": [],
            "results": [row],
            "stats": {},
        },
        "config": {"description": f"tool {HERE}"},
    }
    return f"tool-{answer}.json", json.dumps(document)


def _analysis(cases: str, answer: str) -> tuple[str, str]:
    document = {
        "task": {
            "task_id": f"A{HERE}",
            "title": f"own {HERE}",
            "prompt_version": "v1",
            "model": "m",
            "created_at": "2026-01-02T00:00:00Z",
            "triggered_by": "ci",
        },
        "cases": [
            {
                "case_id": each,
                "rounds": [
                    {"round_id": f"{each}-{n}{HERE}", "run_index": n}
                    | {"raw_output": answer}
                    for n in (1, 2)
                ],
                "baselines": [],
            }
            for each in cases
        ],
        "dimensions": [],
    }
    return "own.json", json.dumps(document)


TESTSET = (
    f"suite{HERE}.jsonl",
    _lines(
        [
            {"id": each, "inputs": {"q": each}, "expected_outputs": {"answer": "new"}}
            for each in "stuv"
        ]
    ),
)
# of each file its contents, the last one first
FILES: list[list[tuple[str, str]]] = [
    [TESTSET],
    [_shard("a", "st", "new"), _shard("a", "stu", "old")],
    [_shard("b", "uv", "new"), _shard("b", "v", "other")],
    [_shard("c", "v", "new")],
    [_scores("su", 0.5), _scores("s", 1)],
    [_tool("yes")],
    [_labels("su", "pass"), _labels("s", "fail")],
    [_analysis("stu", "new"), _analysis("sv", "old")],
]


def _in_any_order(file: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Return a file with its records in another order."""
    name, text = file
    if name == "own.json":
        document = json.loads(text)
        draw.shuffle(document["cases"])
        for case in document["cases"]:
            draw.shuffle(case["rounds"])
        return name, json.dumps(document)
    head, records = [], text.splitlines(keepends=True)
    if name.endswith(".csv"):
        head, records = records[:1], records[1:]
    draw.shuffle(records)
    return name, "".join([*head, *records])


def _write(folder: Path, file: tuple[str, str]) -> Path:
    """Write a file of the world that the folder is named after."""
    name, text = (each.replace(HERE, f"@{folder.name}") for each in file)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _ingest(
    warehouse: Warehouse, paths: Sequence[Path], *, purged_too: bool = False
) -> int:
    """Load files, of which labels need a call of their kind; return how many are new."""
    labels = [path for path in paths if path.suffix == ".csv"]
    others = [path for path in paths if path not in labels]
    return sum(
        warehouse.ingest(*files, kind=kind, purged_too=purged_too).n_loaded
        for files, kind in ((others, "auto"), (labels, "labels"))
        if files
    )


def _facts(warehouse: Warehouse) -> dict[str, dict[str, list[list[str]]]]:
    """Return what is known of each world, as texts, without its name."""
    with warehouse.built() as con:
        found = {name: con.execute(sql).fetchall() for name, sql in FACTS.items()}
    of_worlds: dict[str, dict[str, list[list[str]]]] = {}
    for name, rows in found.items():
        for row in rows:
            cells = [str(cell) for cell in row]
            [world] = {each for each in WORLDS if f"@{each}" in " ".join(cells)}
            of_worlds.setdefault(world, {}).setdefault(name, []).append(
                sorted(cell.replace(f"@{world}", "") for cell in cells)
            )
    for facts in of_worlds.values():
        for rows in facts.values():
            rows.sort()
    return of_worlds


@functools.cache
def _expected() -> dict[str, list[list[str]]]:
    """Load the last contents in one call, and build once."""
    with TemporaryDirectory() as name:
        warehouse, folder = Warehouse(Path(name) / "plain.duckdb"), Path(name) / "one"
        _ingest(warehouse, [_write(folder, versions[0]) for versions in FILES])
        warehouse.build()
        facts = _facts(warehouse)["one"]
        assert facts.keys() == FACTS.keys()
        return facts


def _calls(draw: random.Random) -> list[list[tuple[str, str]]]:
    """Return what one world loads, call by call.

    Which shard has a round last counts; so of each round one shard is the last.
    """
    earlier = [each for versions in FILES for each in versions[1:]]
    earlier = draw.sample(earlier, draw.randint(0, len(earlier)))
    last = [_in_any_order(versions[0], draw) for versions in FILES]
    # shards that have a round in common, and scores and labels of their answers,
    # keep their order: the later one counts
    order = [*last[1:5], last[6]]
    for anywhere in (last[0], last[5], last[7]):
        order.insert(draw.randint(0, len(order)), anywhere)
    return [*([each] for each in earlier), *_parts(order, draw)]


@pytest.mark.parametrize("seed", range(10 if EXHAUSTIVE else 1))
@only_facts
def test_any_partition_and_order_of_files_and_their_versions_gives_the_same(
    seed: int,
) -> None:
    draw = random.Random(seed)
    built_after = draw.randint(0, 6)
    with TemporaryDirectory() as name:
        folder = Path(name)
        warehouse = Warehouse(folder / "w.duckdb")
        calls = {world: _calls(draw) for world in WORLDS}
        paths: list[Path] = []
        with warehouse.kept_open():
            for step in range(max(map(len, calls.values()))):
                now = [
                    _write(folder / world, file)
                    for world in WORLDS
                    for call in calls[world][step : step + 1]
                    for file in call
                ]
                _ingest(warehouse, now)
                paths += now
                if step == built_after:
                    warehouse.build()
        # a copy of the folder changes nothing
        copies = folder / "copies"
        shutil.copytree(folder / "one", copies)
        warehouse.ingest(*copies.glob("tool-*"))
        warehouse.build()
        found, expected = _facts(warehouse), _expected()
        for world in WORLDS:
            assert found[world] == expected, world
        with suppress(NothingToDo):
            compact(warehouse)
        warehouse.build(full_refresh=True)
        assert _facts(warehouse) == found
        assert _ingest(warehouse, sorted({*paths})) == 0


TASKS = ("R", "A", "eval-1/0")


@pytest.mark.parametrize("seed", range(10 if EXHAUSTIVE else 2))
@only_facts
def test_a_purge_leaves_what_the_files_say_of_the_others(seed: int) -> None:
    """Before or after a build and a compaction; and all of it can come back."""
    draw = random.Random(seed)
    tasks = draw.sample(TASKS, draw.randint(1, len(TASKS)))
    with TemporaryDirectory() as name:
        warehouse, folder = Warehouse(Path(name) / "w.duckdb"), Path(name) / "one"
        earlier = [old for _, *before in FILES for old in before]
        _ingest(warehouse, [_write(folder, file) for file in earlier])
        last = [_write(folder, versions[0]) for versions in FILES]
        _ingest(warehouse, last)
        if draw.random() < 0.5:
            warehouse.build()
        if draw.random() < 0.5:
            compact(warehouse)
        purge(warehouse, tasks=[_id_in_one(task) for task in tasks])
        warehouse.build()
        expected = {
            fact: left
            for fact, rows in _expected().items()
            if (left := [row for row in rows if _is_of_others(fact, row, tasks)])
        }
        assert _facts(warehouse)["one"] == expected
        assert _ingest(warehouse, last) == 0
        with suppress(NothingToDo):
            compact(warehouse)
        warehouse.build(full_refresh=True)
        assert _facts(warehouse)["one"] == expected
        findings = list(examine(warehouse))
        assert [finding for finding in findings if finding.state == "fail"] == []
        _ingest(warehouse, last, purged_too=True)
        warehouse.build()
        assert _facts(warehouse)["one"] == _expected()


def _id_in_one(task: str) -> str:
    """Return the id of a task in the world `one`."""
    name, slash, rest = task.partition("/")
    return f"{name}@one{slash}{rest}"


def _is_of_others(fact: str, row: Sequence[str], tasks: Sequence[str]) -> bool:
    if fact == "testsets":
        return True
    return "R" not in tasks if fact == "labels" else not {*row} & {*tasks}


def _parts(files: list[tuple[str, str]], draw: random.Random) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for file in files:
        if parts[-1] and draw.random() < 0.5:
            parts.append([])
        parts[-1].append(file)
    return parts
