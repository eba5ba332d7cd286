"""Raw tables only grow, so any way to load the same files gives the same.

Files of one run, of other kinds and of one tool are loaded in any partition into calls,
with their records in any order; what was loaded before a file had its last content
leaves nothing behind. Neither does what was purged, whenever that was.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from promptlab.errors import NothingToDo
from promptlab.operations.health import examine
from promptlab.operations.purge import compact, purge
from promptlab.warehouse import Warehouse
from tests.marts import only

only_facts = only("fct_task_summaries", "fct_case_results", "fct_labels")

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
        "round_id": f"{case}-1",
        "entity_type": "prompt",
        "entity_id": "p",
        "variant": "v1",
        "raw_output": answer,
        "final_output": {"answer": answer},
        "testset": "suite",
        "tags": [tag],
        "created_at": "2026-01-02T00:00:00Z",
    }


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _shard(name: str, cases: str, answer: str) -> tuple[str, str]:
    return f"{name}.jsonl", _lines([_result("R", each, answer, name) for each in cases])


def _scores(cases: str, score: float) -> tuple[str, str]:
    rows = [
        {"task_id": "R", "case_id": each, "round_id": f"{each}-1", "score": score}
        | {"dimension_id": "quality", "scorer": "judge", "scale": 1}
        for each in cases
    ]
    return "scores.jsonl", _lines(rows)


def _labels(cases: str, label: str) -> tuple[str, str]:
    rows = "".join(f"R,{each},{each}-1,ann,{label}\n" for each in cases)
    return "labels.csv", "task_id,case_id,round_id,labeler,label\n" + rows


def _tool(answer: str) -> tuple[str, str]:
    row = {
        "promptIdx": 0,
        "testIdx": 0,
        "prompt": {"raw": "ask", "label": "ask"},
        "provider": {"id": "m"},
        "vars": {"q": "1"},
        "response": {"output": answer},
        "success": True,
        "score": 1,
        "id": "row",
    }
    document = {
        "evalId": "eval-1",
        "results": {
            "version": 3,
            "timestamp": "2026-01-02T00:00:00Z",
            "prompts": [],
            "results": [row],
            "stats": {},
        },
        "config": {"description": "tool"},
    }
    return f"tool-{answer}.json", json.dumps(document)


def _analysis(cases: str, answer: str) -> tuple[str, str]:
    document = {
        "task": {
            "task_id": "A",
            "title": "own",
            "prompt_version": "v1",
            "model": "m",
            "created_at": "2026-01-02T00:00:00Z",
            "triggered_by": "ci",
        },
        "cases": [
            {
                "case_id": each,
                "rounds": [
                    {"round_id": f"{each}-{n}", "run_index": n, "raw_output": answer}
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
    "suite.jsonl",
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
    name, text = file
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def _ingest(warehouse: Warehouse, *paths: Path, purged_too: bool = False) -> int:
    """Load files, of which labels need a call of their kind; return how many are new."""
    labels = [path for path in paths if path.suffix == ".csv"]
    others = [path for path in paths if path not in labels]
    return sum(
        warehouse.ingest(*files, kind=kind, purged_too=purged_too).n_loaded
        for files, kind in ((others, "auto"), (labels, "labels"))
        if files
    )


def _facts(warehouse: Warehouse) -> dict[str, Any]:
    with warehouse.built() as con:
        return {
            name: sorted(con.execute(query).fetchall(), key=str)
            for name, query in FACTS.items()
        }


@functools.cache
def _expected() -> dict[str, Any]:
    """Load the last contents in one call, and build once."""
    with TemporaryDirectory() as name:
        warehouse = Warehouse(Path(name) / "plain.duckdb")
        _ingest(warehouse, *(_write(Path(name), versions[0]) for versions in FILES))
        warehouse.build()
        facts = _facts(warehouse)
        assert all(facts.values())
        return facts


@given(
    data=st.data(),
    seed=st.integers(0, 1 << 16),
    built_after=st.integers(0, 6),
)
@settings(max_examples=3, deadline=None, phases=(Phase.generate,))
@only_facts
def test_any_partition_and_order_of_files_and_their_versions_gives_the_same(
    data: st.DataObject, seed: int, built_after: int
) -> None:
    """Which shard has a round last counts; so of each round one shard is the last."""
    draw = random.Random(seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        warehouse = Warehouse(folder / "w.duckdb")
        earlier = [each for versions in FILES for each in versions[1:]]
        earlier = data.draw(st.lists(st.sampled_from(earlier), max_size=4, unique=True))
        last = [_in_any_order(versions[0], draw) for versions in FILES]
        # shards that have a round in common, and scores and labels of their answers,
        # keep their order: the later one counts
        order = [*last[1:5], last[6]]
        for anywhere in (last[0], last[5], last[7]):
            order.insert(draw.randint(0, len(order)), anywhere)
        for step, call in enumerate(
            [*([each] for each in earlier), *_parts(order, draw)]
        ):
            for file in call:
                _write(folder, file)
            _ingest(warehouse, *(folder / file for file, _ in call))
            if step == built_after:
                warehouse.build()
        # a copy of the folder changes nothing
        copies = folder / "copies"
        copies.mkdir()
        warehouse.ingest(_write(copies, last[5]))
        warehouse.build()
        found = _facts(warehouse)
        assert found == _expected()
        with suppress(NothingToDo):
            compact(warehouse)
        warehouse.build(full_refresh=True)
        assert _facts(warehouse) == found
        assert _ingest(warehouse, *(folder / file for file, _ in last)) == 0


TASKS = ["R", "A", "eval-1/0"]


@given(
    tasks=st.lists(st.sampled_from(TASKS), min_size=1, unique=True),
    seed=st.integers(0, 1 << 16),
    is_compact=st.booleans(),
)
@settings(max_examples=2, deadline=None, phases=(Phase.generate,))
@only_facts
def test_a_purge_leaves_what_the_files_say_of_the_others(
    tasks: list[str], seed: int, is_compact: bool
) -> None:
    """Before or after a build and a compaction; and all of it can come back."""
    draw = random.Random(seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        warehouse = Warehouse(folder / "w.duckdb")
        for back in (1, 0):
            for versions in FILES:
                if versions[back:]:
                    _ingest(warehouse, _write(folder, versions[back]))
        last = [folder / versions[0][0] for versions in FILES]
        if draw.random() < 0.5:
            warehouse.build()
        if is_compact:
            compact(warehouse)
        purge(warehouse, tasks=tasks)
        warehouse.build()
        expected = {
            fact: [row for row in rows if _is_of_others(fact, row, tasks)]
            for fact, rows in _expected().items()
        }
        assert _facts(warehouse) == expected
        assert _ingest(warehouse, *last) == 0
        with suppress(NothingToDo):
            compact(warehouse)
        warehouse.build(full_refresh=True)
        assert _facts(warehouse) == expected
        assert [
            finding for finding in examine(warehouse) if finding.state == "fail"
        ] == []
        _ingest(warehouse, *last, purged_too=True)
        warehouse.build()
        assert _facts(warehouse) == _expected()


def _is_of_others(fact: str, row: tuple[Any, ...], tasks: Sequence[str]) -> bool:
    if fact == "testsets":
        return True
    return row[0] not in tasks if fact != "labels" else "R" not in tasks


def _parts(files: list[tuple[str, str]], draw: random.Random) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for file in files:
        if parts[-1] and draw.random() < 0.5:
            parts.append([])
        parts[-1].append(file)
    return parts
