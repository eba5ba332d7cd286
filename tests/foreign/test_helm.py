"""HELM: a run is a folder; perturbations are separate cases, trials are rounds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

RIVERS = DATA / "helm" / "rivers,model=acme_early"


@pytest.fixture(scope="module")
def rivers() -> Reading:
    return reading_of(RIVERS)


def test_a_folder_is_a_task(rivers: Reading) -> None:
    (task,) = table(rivers, "tasks").rows(named=True)
    assert task["title"] == "rivers:continent=all"
    assert task["model"] == "acme/early"
    assert (
        task["prompt_version"] == "multiple_choice_joint, 0-shot, Answer about rivers."
    )
    assert task["created_at"].isoformat() == "2026-03-01T12:00:00+00:00"


def test_a_perturbed_instance_is_a_case_of_its_own(rivers: Reading) -> None:
    assert table(rivers, "cases")["case_id"].to_list() == ["id0", "id1", "id1/typos"]


def test_trials_are_rounds(rivers: Reading) -> None:
    rounds = table(rivers, "rounds").filter(case_id="id1").sort("run_index")
    assert rounds["raw_output"].to_list() == [" A", " B"]
    assert rounds["latency_ms"].to_list() == [250.0, 250.0]
    assert rounds["input_tokens"].to_list() == [12, 12]
    assert json.loads(rounds["metadata"][1])["choice"] == "North Sea"


def test_what_is_about_the_request_is_no_dimension(rivers: Reading) -> None:
    dimensions = table(rivers, "dimension_configs")
    assert dimensions.select("dimension_id", "is_graded").rows() == [
        ("inference_runtime", False),
        ("exact_match", True),
        ("logprob", False),
    ]


NAMED = {"class_name": "m.Basic", "args": {"names": ["exact_match"]}}


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"metric_specs": [{**NAMED, "args": {"names": ["exact_match"], "strip": True}}]},
            {"exact_match"}),
        ({"metric_specs": [{**NAMED, "class_name": "m.Own"}]}, {"exact_match"}),
        ({"metric_specs": [NAMED, {"class_name": "m.Judge", "args": {"model": "b"}}]},
            {"inference_runtime", "logprob"}),
        ({"metric_specs": [NAMED, {"class_name": "m.Judge", "args": {}}]},
            {"inference_runtime", "logprob"}),
        ({"annotators": [{"class_name": "a.Judge", "args": {"model": "b"}}]},
            {"inference_runtime", "logprob"}),
        ({"adapter_spec": {"model": "acme/early", "multi_label": True}}, None),
        ({"adapter_spec": {"model": "acme/early", "output_mapping_pattern": "(.)"}}, None),
        ({"adapter_spec": {"model": "acme/early", "multi_label": False}}, set()),
        ({"metric_specs": [{**NAMED, "args": {"names": ["exact_match", "f1"]}}]}, set()),
    ],
)  # fmt: skip
def test_a_metric_of_another_class_or_with_other_arguments_is_another_yardstick(
    tmp_path: Path, changes: dict[str, Any], changed: set[str] | None
) -> None:
    """None: every metric, as all answers are mapped to references."""
    folder = Path(shutil.copytree(RIVERS, tmp_path / RIVERS.name))
    spec = json.loads((folder / "run_spec.json").read_text("utf-8"))
    found = []
    for each in ({}, changes):
        written = json.dumps(spec | {"metric_specs": [NAMED]} | each)
        (folder / "run_spec.json").write_text(written, "utf-8")
        dimensions = table(reading_of(folder), "dimension_configs")
        found.append(dict(dimensions.select("dimension_id", "parameters").rows()))
    before, after = found
    differ = {name for name, each in after.items() if each != before[name]}
    assert differ == (set(after) if changed is None else changed)


@pytest.mark.parametrize(
    "said",
    [
        {"extra_data": {"checklist": ["names the sea"]}},
        {"sub_split": "hard"},
        {"contrast_inputs": [{"text": "Which lake?"}]},
        {"references": [{"output": {"text": "North Sea"}, "tags": ["rank=1"]}]},
    ],
    ids=lambda said: next(iter(said)),
)
def test_all_that_the_metrics_of_a_scenario_may_use_is_a_content_of_the_case(
    rivers: Reading, said: dict[str, Any], tmp_path: Path
) -> None:
    def change(_: int, state: dict[str, Any]) -> None:
        state["instance"] |= said

    cases = table(_changed(tmp_path / "run", change), "cases")
    assert (cases["context"] != table(rivers, "cases")["context"]).all()


def test_what_came_to_nothing_is_no_score(rivers: Reading) -> None:
    names = table(rivers, "reported_scores")["dimension_id"]
    assert "training_co2_cost" not in names
    assert names.len() == 3 * 2 * 3


def test_the_stats_of_all_metrics_of_an_instance_count(tmp_path: Path) -> None:
    folder = tmp_path / RIVERS.name
    shutil.copytree(RIVERS, folder)
    file = folder / "per_instance_stats.json"
    held = json.loads(file.read_text("utf-8"))
    others = [
        each
        | {
            "stats": [
                {"name": {"name": name}, "count": count, "mean": 0.25}
                for name, count in (("toxic_frac", 1), ("exact_match", 0))
            ]
        }
        for each in held
    ]
    file.write_text(json.dumps(held + others), "utf-8")
    reading = reading_of(folder)
    scores = table(reading, "reported_scores").group_by("dimension_id").len()
    counts = dict(scores.rows())
    assert counts == {
        "exact_match": 6,
        "inference_runtime": 6,
        "logprob": 6,
        "toxic_frac": 6,
    }
    matches = table(reading, "reported_scores").filter(dimension_id="exact_match")
    assert set(matches["value"]) == {0.0, 1.0}
    assert table(reading, "rounds")["input_tokens"].to_list() == [12] * 6


def test_splits_and_perturbations_are_tags(rivers: Reading) -> None:
    tags = table(rivers, "cases").group_by("tags").len().sort("tags").rows()
    assert tags == [
        ('["test","group:rivers"]', 2), ('["test/typos","group:rivers"]', 1)
    ]  # fmt: skip


def test_a_part_without_its_run_is_refused_in_words(tmp_path: Path) -> None:
    alone = Path(shutil.copy(RIVERS / "per_instance_stats.json", tmp_path))
    reading = reading_of(alone)
    assert reading.rejected
    assert "run_spec.json" in reading.problems[0].message


def test_what_helm_summarize_adds_is_no_run(tmp_path: Path) -> None:
    folder = tmp_path / RIVERS.name
    shutil.copytree(RIVERS, folder)
    spec = json.loads((folder / "run_spec.json").read_text("utf-8"))
    state = json.loads((folder / "scenario_state.json").read_text("utf-8"))
    instance = state["request_states"][0]["instance"]
    (folder / "instances.json").write_text(json.dumps([instance]), "utf-8")
    (tmp_path / "run_specs.json").write_text(json.dumps([spec]), "utf-8")
    (run,) = (file for file, kind in plan([tmp_path]) if kind is not None)
    assert run.path.name == "run_spec.json"
    assert table(reading_of(folder), "rounds").height == 6


def test_a_run_without_scores_is_read_and_reported(tmp_path: Path) -> None:
    for name in ("run_spec.json", "scenario_state.json"):
        shutil.copy(RIVERS / name, tmp_path)
    reading = reading_of(tmp_path)
    assert reading.records_loaded == 6
    assert [p.code for p in reading.problems] == ["files_missing"]


def test_completions_of_another_shape_are_no_answer(tmp_path: Path) -> None:
    folder = tmp_path / RIVERS.name
    shutil.copytree(RIVERS, folder)
    file = folder / "scenario_state.json"
    state = json.loads(file.read_text("utf-8"))
    for each, odd in zip(state["request_states"], ("sea", [3], {}, []), strict=False):
        each["result"]["completions"] = odd
    file.write_text(json.dumps(state), "utf-8")
    assert table(reading_of(folder), "rounds")["raw_output"].null_count() >= 2


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"prob": 0.1}, {"prob": 0.5}, ["typos (prob=0.1)", "typos (prob=0.5)"]),
        ({}, {"seed": 1}, ["typos", "typos (seed=1)"]),
    ],
)
def test_perturbations_of_one_name_are_distinguished_by_their_settings(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], names: list[str]
) -> None:
    """Six suffixes of one name are in a run of HELM's own; seeds may be several."""
    folder = tmp_path / RIVERS.name
    shutil.copytree(RIVERS, folder)

    def doubled(part: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = []
        for row in rows:
            text = json.dumps(row)
            versions = [first, second] if '"typos"' in text else [{}]
            for each in versions:
                typos = json.dumps({"name": "typos", **each})[1:-1]
                found.append(json.loads(text.replace('"name": "typos"', typos)))
        assert len(found) > len(rows), part
        return found

    state = folder / "scenario_state.json"
    document = json.loads(state.read_text("utf-8"))
    document["request_states"] = doubled("states", document["request_states"])
    state.write_text(json.dumps(document), "utf-8")
    stats = folder / "per_instance_stats.json"
    rows = doubled("stats", json.loads(stats.read_text("utf-8")))
    stats.write_text(json.dumps(rows), "utf-8")
    assert table(reading_of(folder), "cases")["case_id"].to_list() == [
        "id0",
        "id1",
        *(f"id1/{name}" for name in names),
    ]


def _changed(folder: Path, change: Callable[[int, dict[str, Any]], None]) -> Reading:
    """Read the run with its request states changed."""
    shutil.copytree(RIVERS, folder)
    file = folder / "scenario_state.json"
    document = json.loads(file.read_text("utf-8"))
    for place, state in enumerate(document["request_states"]):
        change(place, state)
    file.write_text(json.dumps(document), "utf-8")
    return reading_of(folder)


def _media(name: str, folder: str) -> dict[str, Any]:
    picture = {"content_type": "image/png", "location": f"{folder}/{name}.png"}
    return {"multimedia_content": {"media_objects": [picture]}}


def _context(folder: Path, part: str, said: dict[str, Any]) -> list[str]:
    """Return the contexts where inputs or references say something else."""

    def change(_: int, state: dict[str, Any]) -> None:
        instance = state["instance"]
        if part == "input":
            instance["input"] = {"text": "", **said}
        for each in instance["references"] if part == "references" else ():
            each["output"] = {"text": "", **said}

    return table(_changed(folder, change), "cases")["context"].to_list()


@pytest.mark.parametrize("part", ["input", "references"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"messages": [{"content": "Nile?"}]}, {"messages": [{"content": "Rhine?"}]}),
        (_media("nile", "v1/scenarios/a"), _media("rhine", "v1/scenarios/a")),
        (_media("nile", "https://a.example"), _media("nile", "https://b.example")),
    ],
)
def test_other_messages_and_media_are_other_contents_of_a_case(
    tmp_path: Path, part: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """The id of an instance is its place in the scenario."""
    one, other = (
        _context(tmp_path / name, part, each)
        for name, each in (("first", first), ("second", second))
    )
    assert all(a != b for a, b in zip(one, other, strict=True))


def test_the_folder_that_holds_the_media_is_no_content(tmp_path: Path) -> None:
    first, second = (
        _context(tmp_path / name, "input", _media("nile", f"/home/{name}/scenarios/a"))
        for name in ("first", "second")
    )
    assert first == second


def test_what_is_asked_as_text_alone_is_a_text(rivers: Reading) -> None:
    first = json.loads(table(rivers, "cases")["context"][0])
    assert isinstance(first["input"], str)
    assert all(isinstance(each, str) for each in first["choices"])


def _cached(folder: Path, *cached: int) -> Reading:
    """Read the run a day later; answers at these places came from the cache."""

    def change(place: int, state: dict[str, Any]) -> None:
        state["result"]["cached"] = place in cached
        state["result"]["request_datetime"] += 0 if place in cached else 86400

    return _changed(folder, change)


def test_an_answer_from_the_cache_is_marked(rivers: Reading, tmp_path: Path) -> None:
    assert not table(rivers, "rounds")["is_cached"].any()
    rounds = table(_cached(tmp_path / "next", 0, 1), "rounds")
    assert rounds["is_cached"].to_list() == [True] * 2 + [False] * 4


@pytest.mark.parametrize(
    ("cached", "day"), [((0, 1), "2026-03-02"), (range(6), "2026-03-01")]
)
def test_a_run_with_cached_answers_is_a_run_of_its_own(
    rivers: Reading, tmp_path: Path, cached: Sequence[int], day: str
) -> None:
    """Its time is that of its new answers, if it has any."""
    (before,) = table(rivers, "tasks").rows(named=True)
    (task,) = table(_cached(tmp_path / "next", *cached), "tasks").rows(named=True)
    assert task["task_id"] != before["task_id"]
    assert task["created_at"].date().isoformat() == day
