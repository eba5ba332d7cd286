"""Take anything away from a passing candidate: the gate may say all but "Ship".

Each change of a candidate is a separate title, and all are built together. What may
ship judges nothing, and is listed: a new field of a format is a hole until it is there.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.gate import GateResult
from promptlab.history import judge, record
from promptlab.ingest.raw.requests import record_decisions
from promptlab.reports.gate.policy import Policy, built_in_policy, parse_policy
from promptlab.reports.gate.verdict import gate_results
from promptlab.settings import Settings, TitleSettings
from promptlab.warehouse import Warehouse
from tests.history.runs import Run, answer, even

N = 6
"""Cases; the first of them is changed."""

Way = tuple[Any, ...]
Files = dict[str, Any]
"""The parts of a run: a list is written as JSON lines."""


def _analysis(title: str, day: int) -> Files:
    task_id = f"{title}-{day}"
    cases = [f"c{n}" for n in range(N)]
    scorers: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
        "accuracy": ({}, {"min_score": 0.8}, "higher_better"),
        "rules": ({}, {"min_score": 0.5}, "higher_better"),
        "expectations": ({}, {}, "higher_better"),
        "kept": (
            {"scorer": "keywords", "must": ["yes"], "pass_score": 1},
            {},
            "higher_better",
        ),
        "latency": ({}, {"max_ms": 1000}, "lower_better"),
        "judge": ({"pass_score": 0.5}, {"max_variance": 0.1}, "higher_better"),
    }
    return {
        "run": {
            "task": {
                "task_id": task_id,
                "title": title,
                "prompt_version": "v1",
                "model": "m",
                "triggered_by": "ci",
                "env": {},
                "created_at": f"2026-01-0{day}T00:00:00Z",
            },
            "cases": [
                {
                    "case_id": case,
                    "context": {"q": case},
                    "tags": ["critical"],
                    "rounds": [
                        {
                            "round_id": f"{case}-{n}",
                            "run_index": n,
                            "raw_output": "yes",
                            "parsed_output": {"reply": "yes"},
                            "latency_ms": 100,
                            "input_tokens": 5,
                            "executed_at": "2026-01-01T00:00:00Z",
                            "metadata": {},
                        }
                        for n in (1, 2)
                    ],
                    "baselines": [
                        {
                            "baseline_id": "g",
                            "type": "golden_answer",
                            "payload": {"text": "yes"},
                            "owner": "us",
                            "confidence": 1.0,
                        },
                        {
                            "baseline_id": "r",
                            "type": "rules",
                            "payload": {"non_empty": True},
                            "owner": "us",
                        },
                    ],
                }
                for case in cases
            ],
            "dimensions": [
                {
                    "dimension_id": name,
                    "name": name,
                    "weight": 1 / len(scorers),
                    "parameters": parameters,
                    "target": target,
                    "scoring_mode": mode,
                }
                for name, (parameters, target, mode) in scorers.items()
            ],
            "extras": {"testset": f"{title}-testset"},
        },
        "scores": [
            {
                "task_id": task_id,
                "case_id": case,
                "round_id": f"{case}-{n}",
                "dimension_id": "judge",
                "score": 1,
                "scorer": "critic",
                "payload": {"must_have_pass": True},
            }
            for case in cases
            for n in (1, 2)
        ],
        "testset": [
            {"id": case, "inputs": {"q": case}, "expected_outputs": {"reply": "yes"}}
            for case in cases
        ],
    }


def _results(title: str, day: int) -> Files:
    cases = [f"s{n}" for n in range(N)]
    return {
        "run": [
            {
                "sample_id": case,
                "entity_type": "pipeline",
                "entity_id": title,
                "variant": "v1",
                "overall_score": 8,
                "execution_time": 1.0,
                "step_outputs": {"a": {"reply": "yes"}},
                "final_output": {"out": "fine"},
                "failed_steps": [],
                "testset": f"{title}-testset",
                "run_id": f"{title}-{day}",
                "created_at": f"2026-01-0{day}T08:00:00Z",
            }
            for case in cases
        ],
        "testset": [
            {
                "id": case,
                "inputs": {"q": case},
                "expected_outputs": {"out": "fine"},
                "intermediate_expectations": {"a": {"reply": "yes"}},
            }
            for case in cases
        ],
    }


def _promptfoo(title: str, day: int) -> Files:
    def assertion(kind: str) -> dict[str, Any]:
        return {"type": kind, "value": "sea"}

    def component(kind: str) -> dict[str, Any]:
        return {"pass": True, "score": 1, "reason": "ok", "assertion": assertion(kind)}

    kinds = ("contains", "llm-rubric")
    return {
        "run": {
            "evalId": f"{title}-{day}",
            "config": {"description": title},
            "results": {
                "version": 3,
                "timestamp": f"2026-01-0{day}T00:00:00.000Z",
                "prompts": [
                    {"raw": "Where?", "label": f"p{n}", "provider": "echo"}
                    for n in (0, 1)
                ],
                "results": [
                    {
                        "id": f"{title}-{day}-{n}-{prompt}",
                        "promptIdx": prompt,
                        "testIdx": n,
                        "success": True,
                        "score": 1,
                        "prompt": {"raw": "Where?", "label": f"p{prompt}"},
                        "provider": {"id": "echo"},
                        "response": {"output": "the sea"},
                        "testCase": {"vars": {"n": n}, "assert": []},
                        "gradingResult": {
                            "componentResults": [component(each) for each in kinds]
                        },
                    }
                    for n in range(N)
                    for prompt in (0, 1)
                ],
            },
        }
    }


FORMS: dict[str, tuple[Any, set[str]]] = {
    "analysis": (
        _analysis,
        {
            *("run task prompt_version", "run task model", "run task triggered_by"),
            *("run task created_at", "run task env"),
            *("run cases tags", "run cases tags 0", "run dimensions name"),
            *(f"run cases rounds {each}" for each in ("input_tokens", "metadata")),
            # the text says the same
            "run cases rounds parsed_output",
            *("run cases rounds executed_at", "run cases rounds run_index"),
            *("run cases baselines owner", "run cases baselines baseline_id"),
            "run cases baselines confidence",
            *("scores created_at",),
        },
    ),
    "results": (
        _results,
        {
            *("run entity_type", "run variant", "run execution_time"),
            *("run created_at", "run failed_steps"),
        },
    ),
    "promptfoo": (
        _promptfoo,
        {
            *("run results version", "run results timestamp", "run results prompts"),
            "run results results id",
            *(f"run results prompts {each}" for each in ("raw", "label", "provider")),
            *(f"run results results {each}" for each in ("prompt", "response")),
            *("run results results prompt raw", "run results results prompt label"),
            *("run results results response output", "run results results testIdx"),
            # the head of the file says it too
            "run results results promptIdx",
            *("run results results testCase assert",),
            "run results results gradingResult componentResults score",
            "run results results gradingResult componentResults reason",
        },
    ),
}
"""How a run is written, and the places that judge nothing. Numbers of items are left
out."""

NOT_CHANGED = {
    *("run task task_id", "run task title", "run extras testset"),
    *("run evalId", "run config description", "run config"),
    *("run entity_id", "run testset", "run run_id"),
}
"""The part that distinguishes the titles."""


def _ways(value: Any, way: Way = ()) -> Iterator[Way]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from _ways(each, (*way, key))
    if way:
        yield way


def _named(part: str, way: Way) -> str:
    return " ".join([part, *(str(each) for each in way if not isinstance(each, int))])


def _changes(files: Files) -> Iterator[tuple[str, str, str, Way]]:
    """Yield what is changed, how, and the part and the way to it."""
    for part, value in files.items():
        for way in _ways(value):
            items = [each for each in way if isinstance(each, int)]
            if items[:1] not in ([], [0]) and "dimensions" not in way:
                continue  # the first case stands for all of them
            if _named(part, way) in NOT_CHANGED:
                continue
            old = value
            for key in way:
                old = old[key]
            # removing nothing is not a change
            nothing = ("null", "text") if old in ({}, []) else ()
            for how in nothing or ("removed", "null", "empty", "text"):
                yield _named(part, way), how, part, way


def _changed(files: Files, how: str, part: str, way: Way) -> Files:
    changed = copy.deepcopy(files)
    holder = changed[part]
    for key in way[:-1]:
        holder = holder[key]
    old = holder[way[-1]]
    if how == "removed":
        del holder[way[-1]]
    elif how == "empty":
        holder[way[-1]] = {dict: {}, list: []}.get(type(old), "")
    else:
        holder[way[-1]] = None if how == "null" else "x"
    return changed


def _write(folder: Path, title: str, day: int, files: Files) -> None:
    for part, value in files.items():
        name = f"{title}-{part}" if part == "testset" else f"{title}-{day}.{part}"
        file = folder / f"{name}.json{'l' * isinstance(value, list)}"
        lines = value if isinstance(value, list) else [value]
        file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")


def _changes_of(form: str) -> dict[str, tuple[str, str, str, Way]]:
    """Title → what is changed in its second night; the first is as it was."""
    make, _ = FORMS[form]
    changes = [("nothing", "", "", ()), *_changes(make("x", 2))]
    return {f"{form}{n}": change for n, change in enumerate(changes)}


def _changed_nights(form: str) -> dict[str, tuple[Files, Files]]:
    make, _ = FORMS[form]
    nights = {}
    for title, (_, how, part, way) in _changes_of(form).items():
        after = make(title, 2)
        if part:
            after = _changed(after, how, part, way)
        if part != "testset":
            after.pop("testset", None)
        nights[title] = (make(title, 1), after)
    return nights


def _weightless(title: str, day: int, name: str, target: dict[str, Any]) -> Files:
    files = _analysis(title, day)
    for dimension in files["run"]["dimensions"]:
        if dimension["dimension_id"] == name:
            dimension |= {"weight": 0, "parameters": {}, "target": target}
    for score in files["scores"]:
        score["payload"] = {}
    if day == 2:
        del files["testset"]
    return files


def _named_nights() -> dict[str, tuple[Files, Files]]:
    """The judge of the second stops after the first case."""
    nights = {
        title: (_weightless(title, 1, "judge", {}), _weightless(title, 2, "judge", {}))
        for title in ("judged", "not judged")
    }
    nights["not judged"][1]["scores"] = nights["not judged"][1]["scores"][:2]
    return nights


def _target_nights() -> dict[str, tuple[Files, Files]]:
    nights = {
        title: tuple(
            _weightless(title, day, "latency", {"max_ms": 1000}) for day in (1, 2)
        )
        for title in ("measured", "unmeasured", "removed")
    }
    for case in nights["unmeasured"][1]["run"]["cases"][1:]:
        for each in case["rounds"]:
            each["latency_ms"] = None
    run = nights["removed"][1]["run"]
    run["dimensions"] = [
        each for each in run["dimensions"] if each["dimension_id"] != "latency"
    ]
    return nights


def _fewer_cases() -> tuple[Files, Files]:
    nights = (_results("fewer cases", 1), _results("fewer cases", 2))
    assert len(nights[1]["testset"]) == N
    for part in ("run", "testset"):
        del nights[1][part][1:]
    return nights


def _tagged() -> tuple[Files, Files]:
    nights = (_results("tagged", 1), _results("tagged", 2))
    for files in nights:
        for case in files["testset"][:2]:
            case["tags"] = ["safety"]
    del nights[1]["testset"][0]
    return nights


def _musts_kept(title: str, kept: tuple[int, ...]) -> tuple[Files, Files]:
    """All rounds pass; of the second night some lose their must-have."""
    return tuple(
        {
            "run": [
                {
                    "run_id": f"{title}-{day}", "sample_id": f"s{case}",
                    "round_id": f"{case}-{n}", "entity_id": title, "variant": "v",
                    "status": "pass", "overall_score": 9, "must_have_pass": bool(is_kept),
                    "final_output": f"answer {day} {n}",
                    "created_at": f"2026-03-0{day}T00:00:00Z",
                }
                for case in range(8)
                for n, is_kept in enumerate(rounds)
            ]
        }
        for day, rounds in enumerate(((1, 1, 1), kept), 1)
    )  # fmt: skip


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two nights of every title; tests judge the second, each with its policy."""
    folder = tmp_path_factory.mktemp("two_nights")
    nights = {
        "fewer cases": _fewer_cases(),
        "tagged": _tagged(),
        "one must lost": _musts_kept("one must lost", (0, 1, 1)),
        "two musts lost": _musts_kept("two musts lost", (0, 0, 1)),
    }
    nights |= _named_nights() | _target_nights()
    for form in FORMS:
        nights |= _changed_nights(form)
    warehouse = Warehouse(folder / "w.duckdb")
    for day in (1, 2):
        (folder / str(day)).mkdir()
        for title, files in nights.items():
            _write(folder / str(day), title, day, files[day - 1])
        warehouse.ingest(folder / str(day))
        warehouse.build()
    return warehouse


def _decisions(
    warehouse: Warehouse, *titles: str, policy: Policy | None = None
) -> dict[str, str]:
    """Return the decision about the second night of some titles."""
    with warehouse.connect() as con:
        results = gate_results(
            con, [f"{title}-2" for title in titles], policy, lang="en"
        )
    return {title: results[f"{title}-2"].decision for title in titles}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_that_judged_may_go_and_the_gate_say_ship(
    form: str, two_nights: Warehouse
) -> None:
    _, harmless = FORMS[form]
    changes = _changes_of(form)
    with two_nights.connect() as con:
        found = con.execute(
            "select title, list(task_id) from marts.dim_tasks"
            " where created_at > '2026-01-01 12:00' and task_id not like '%-1'"
            " and task_id not like '%-1/%' and title in (select unnest(?))"
            " group by title",
            [list(changes)],
        ).fetchall()
        results = gate_results(
            con, [task for _, tasks in found for task in tasks], lang="en"
        )
    ships = {
        title
        for title, tasks in found
        if {results[task].decision for task in tasks} <= {"ship", "first_run"}
    }
    assert f"{form}0" in ships
    holes = [
        (name, how)
        for title, (name, how, _, _) in changes.items()
        if title != f"{form}0" and title in ships and name not in harmless
    ]
    assert sorted(set(holes)) == []


@pytest.mark.parametrize("is_named", [False, True])
def test_a_dimension_that_a_policy_names_has_to_score_as_many_cases(
    two_nights: Warehouse, is_named: bool
) -> None:
    """Its weight is 0: without the policy it judges nothing."""
    rules = parse_policy("[dimensions.judge]\nmin_score = 0.5", "policy.toml")
    policy = Policy("policy.toml", rules) if is_named else None
    found = _decisions(two_nights, "judged", "not judged", policy=policy)
    assert found == {
        "judged": "ship",
        "not judged": "cannot_tell" if is_named else "ship",
    }


def test_a_dimension_that_judged_by_its_target_alone_has_to_judge_again(
    two_nights: Warehouse,
) -> None:
    assert _decisions(two_nights, "measured", "unmeasured", "removed") == {
        "measured": "ship",
        "unmeasured": "cannot_tell",
        "removed": "cannot_tell",
    }


def test_cases_that_the_testset_and_the_run_lose_together_are_missing(
    two_nights: Warehouse,
) -> None:
    assert _decisions(two_nights, "fewer cases") == {"fewer cases": "cannot_tell"}


@pytest.mark.parametrize(
    ("rules", "decision"),
    [
        ("must_pass_tags = ['safety']", "cannot_tell"),
        ("[tags.safety]\nmin_pass_rate = 0.5", "cannot_tell"),
        ("", "ship"),
    ],
)
def test_a_case_that_left_the_testset_may_have_had_a_tag(
    two_nights: Warehouse, rules: str, decision: str
) -> None:
    text = f"{rules}\n[regression]\nmin_coverage = 0.5"
    policy = Policy("p.toml", parse_policy(text, "p.toml"))
    assert _decisions(two_nights, "tagged", policy=policy) == {"tagged": decision}


@pytest.mark.parametrize(
    ("title", "on_check", "expected"),
    [
        ("one must lost", "pass", "pass"),
        ("one must lost", "run_again", "check"),
        ("two musts lost", "pass", "fail"),
        ("two musts lost", "run_again", "fail"),
    ],
)
def test_must_haves_that_most_rounds_lose_are_lost_although_the_rounds_pass(
    two_nights, title, on_check, expected
):
    rules = f"must_pass = 'majority'\non_check = '{on_check}'"
    policy = built_in_policy()._replace(
        rules=parse_policy(f"[regression]\nallow_must_have_lost = false\n{rules}", "p")
    )
    [result] = judge(two_nights, f"{title}-2", policy, lang="en")
    verdicts = {rule.rule: rule.verdict for rule in result.rules}
    assert verdicts["regression.allow_must_have_lost"] == expected


def test_scores_from_outside_do_not_judge_the_answers_of_a_later_run(tmp_path):
    """The file that was loaded before does not judge them either; another one does."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = [Run(name, "suite", day, {"judge": even(1.0, 8)}, parameters={"judge": {"pass_score": 0.5}}) for day, name in (
        (1, "old"), (2, "pr"),
    )]  # fmt: skip
    for run in files:
        run.write(tmp_path / run.task_id)
        warehouse.ingest(tmp_path / run.task_id)
    later = replace(files[1], day=3)
    (tmp_path / "pr/pr.json").write_text(json.dumps(later.document()), "utf-8")
    loaded = warehouse.ingest(tmp_path / "pr")
    assert "8 scores from outside judged the answers of that run" in str(
        [problem.message for each in loaded.files for problem in each.problems]
    )
    warehouse.build()
    [result] = judge(warehouse, "pr", built_in_policy(), lang="en")
    assert result.decision == "cannot_tell"
    assert warehouse.ingest(tmp_path / "pr").n_unchanged == 2
    shutil.copy(tmp_path / "pr/pr.scores.jsonl", tmp_path / "new.scores.jsonl")
    warehouse.ingest(tmp_path / "new.scores.jsonl")
    warehouse.build()
    [result] = judge(warehouse, "pr", built_in_policy(), lang="en")
    assert result.decision == "ship", result.headline


@dataclass
class Nights:
    """Three nights of some titles, as each was found before the next one came."""

    warehouse: Warehouse
    codes: dict[str, dict[int, int]]
    """Title → the nights of which the gate was asked, and its exit codes."""
    judged: dict[int, GateResult]
    """What the gate said of a title whose first night is an outage."""
    problems: dict[str, list[str]]
    """Title → what was said of the files of its third night."""


@pytest.fixture(scope="module")
def three_nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """The scores of all nights of a title are in one file that is written anew."""
    folder = tmp_path_factory.mktemp("three_nights")
    warehouse = Warehouse(folder / "w.duckdb")
    asked = {"gated": (1, 2, 3), "not gated": (3,), "scores lost": (1, 2, 3)}
    nights = Nights(warehouse, {title: {} for title in asked}, {}, {})
    before = ""
    for day, share in enumerate((1.0, 1.0, 0.2), 1):
        for title in asked:
            name = f"{title}-{day}"
            run = Run(name, title, day, {"judge": even(share, 8)}, parameters={"judge": {"pass_score": 0.5}})  # fmt: skip
            run.write(folder / name)
            scores = folder / f"{title}.jsonl"
            (folder / name / f"{name}.scores.jsonl").rename(scores)
            if title == "scores lost":  # with one of those of the run before
                now = scores.read_text("utf-8")
                scores.write_text(before + now, "utf-8")
                before = now.splitlines(keepends=True)[0]
            loaded = warehouse.ingest(folder / name, scores)
            nights.problems[title] = [
                problem.code for each in loaded.files for problem in each.problems
            ]
        warehouse.ingest(_outage_night(folder, day))
        warehouse.build()
        policy = built_in_policy()
        with warehouse.kept_open():
            for title, days in asked.items():
                if day in days:
                    found = answer(f"gate '{title}-{day}'", warehouse)
                    nights.codes[title][day] = found.code
            [result] = judge(warehouse, f"outage-{day}", policy, lang="en")
            nights.judged[day] = result
            record(warehouse, [result], policy)
    return nights


def _outage_night(folder: Path, day: int) -> Path:
    """The first night was an outage: what fails in the next one may have broken."""
    statuses = {
        1: dict.fromkeys("abcde", "error") | dict.fromkeys("fghij", "pass"),
        2: dict.fromkeys("ab", "fail") | dict.fromkeys("cdefghij", "pass"),
        3: dict.fromkeys("abcdefghij", "pass"),
    }[day]
    lines = [
        {
            "run_id": f"outage-{day}", "sample_id": case, "round_id": f"{case}-1",
            "entity_id": "outage", "variant": "v", "status": status,
            "final_output": None if status == "error" else f"answer {day}",
            "error": "timeout" if status == "error" else None,
            "created_at": f"2026-03-0{day}T00:00:00Z",
        }
        for case, status in statuses.items()
    ]  # fmt: skip
    file = folder / f"outage-{day}.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return file


@pytest.mark.parametrize(
    ("title", "codes"), [("gated", {1: 0, 2: 0, 3: 1}), ("not gated", {3: 1})]
)
def test_a_file_of_scores_that_is_written_anew_each_night_keeps_the_baseline(
    three_nights, title, codes
):
    assert three_nights.codes[title] == codes


def test_a_run_that_lost_its_scores_is_no_baseline_any_more(three_nights, tmp_path):
    """A file of scores is written anew, with one of those of the run before."""
    assert "scores_lost" in three_nights.problems["scores lost"]
    assert three_nights.codes["scores lost"] == {1: 0, 2: 4, 3: 4}
    # that it is judged again is recorded, also with the same decision
    db = three_nights.warehouse.settings.db
    warehouse = Warehouse(shutil.copy(db, tmp_path / "w.duckdb"))
    with warehouse.writable() as con:
        [policy] = con.execute(
            "select distinct policy_hash from raw.decisions"
        ).fetchall()
        for _ in range(2):
            record_decisions(con, [("scores lost-1", "first_run")], policy[0])
    decided = warehouse.sql(
        "from marts.fct_decisions where task_id = 'scores lost-1' order by decided_at"
    )
    assert decided["n_scores"].to_list() == [8, 1]


def test_a_failing_case_that_gave_no_answer_in_the_baseline_is_not_compared(
    three_nights,
):
    said = [
        (result.decision, result.not_compared.n)
        for result in three_nights.judged.values()
    ]
    assert said == [("do_not_ship", 0), ("cannot_tell", 2), ("ship", 0)]


@pytest.fixture(scope="module")
def both_lose(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """In the third night something stops judging all runs, and what it judged is worse.

    A testset is called like another one; a setting names one of two dimensions; the
    files of scores come without one of them.
    """
    folder = tmp_path_factory.mktemp("both_lose")
    db = folder / "w.duckdb"
    for day in (1, 2, 3):
        files = _results("testset", day)
        for row in files["run"][: 5 if day == 3 else 0]:
            row["final_output"] = {"out": "wrong"}
        _write(folder, "testset", day, {"run": files["run"]})
        for place in ("sets", "archive")[: 2 if day == 3 else 1]:
            (folder / place).mkdir(exist_ok=True)
            _write(folder / place, "testset", day, {"testset": files["testset"]})
        for title in ("setting", "scores"):
            scores = {
                name: {f"c{n}": best + n * day % 5 / 50 for n in range(12)}
                for name, best in (("tone", 0.8), ("help", 0.2 if day == 3 else 0.8))
            }
            Run(f"{title}-{day}", title, day, scores).write(folder / title)
        for file in folder.glob("scores/*.scores.jsonl" if day == 3 else "none"):
            lines = file.read_text("utf-8").splitlines(keepends=True)
            file.write_text("".join(each for each in lines if '"help"' not in each))
        setting = TitleSettings(primary="tone") if day == 3 else TitleSettings()
        warehouse = Warehouse(db, settings=Settings(titles={"setting": setting}))
        warehouse.ingest(folder)
        for asked in (1, 2, 3) if day == 3 else (day,):
            with warehouse.kept_open():
                warehouse.build()
                for title in ("testset", "setting", "scores"):
                    answer(f"gate {title}-{asked}", warehouse)
    return warehouse


@pytest.mark.parametrize("title", ["testset", "setting", "scores"])
def test_what_baseline_and_candidate_lose_together_is_missing(both_lose, title):
    decisions = both_lose.sql(
        "select task_id, decision from marts.fct_decisions where task_id like $1 || '-%'"
        " order by decided_at",
        [title],
    ).rows()
    assert (f"{title}-2", "ship") in decisions
    assert dict(decisions)[f"{title}-3"] == "cannot_tell"
    gaps = both_lose.sql(
        "select gap from marts.fct_yardstick_gaps where candidate_task_id = $1",
        [f"{title}-3"],
    )["gap"]
    lost = {"baseline_unjudged", "baseline_of_another_testset"}
    unjudged = lost if title == "testset" else set()
    assert set(gaps) == {"baseline_unscored"} | unjudged


def test_a_gap_names_a_dimension_of_ours_in_the_language_of_the_gate(both_lose):
    [gate] = both_lose.gate("testset-3", lang="en")
    assert "“Expectations” counted" in gate.model_dump_json()
    assert "期望匹配" not in gate.model_dump_json()
