"""Newly failing cases are asked again: what is printed, loaded and decided."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult
from promptlab.errors import NothingToDo, UsageError
from promptlab.history import judge, recheck
from promptlab.operations.purge import purge
from promptlab.reports import Edition
from promptlab.reports.gate.policy import built_in_policy, parse_policy
from promptlab.reports.title import read_title
from promptlab.warehouse import Warehouse
from tests.history.test_reference_runs import GOOD, decide, write, write_titled

AT = datetime(2026, 3, 1, tzinfo=UTC)
ONE = {f"c{n}": "y" for n in range(10)}
SURE = {f"c{n}": "yyy" for n in range(10)}
FEW_FALL = SURE | {f"f{n}": "yyn" for n in range(20)}
ALL_FALL = SURE | {f"f{n}": "nnn" for n in range(20)} | {"c0": "yyn"}

ROUNDS = {
    "broken": ("n" * 10, "y" * 10, "do_not_ship", "1 case broke (c0); 0 of 10 new answers right, 10 of 10 before"),
    "chance": ("y" * 9 + "n", "y" * 10, "ship", "1 case newly fails (c0); "),
    "never right": ("n" * 10, "n" * 10, "ship", "the re-check did not confirm a break"),
    "too few": ("n" * 4, "y" * 10, "run_again", "1 case newly fails (c0)"),
    "new side": ("n" * 10, None, "do_not_ship", "0 of 10 new answers right"),
    "new side, 1 right": ("n" * 9 + "y", None, "do_not_ship", "1 of 10 new answers right"),
    "new side, 2 right": ("n" * 8 + "yy", None, "ship", "the re-check did not confirm a break"),
}  # fmt: skip
"""Title → new rounds of ``c0`` now and before, one letter each, ``y`` is right; the
decision, and what its headline says."""

OTHERWISE = {
    "pass score": {"parameters": {"match_rule": "exact", "pass_score": 0}},
    "match rule": {"parameters": {"match_rule": "contains"}},
    "scoring mode": {"scoring_mode": "lower_better"},
    "weight": {"weight": 0},
    "dimension": {"dimension_id": "other", "parameters": {"scorer": "accuracy"}},
}
"""Title → how its new rounds are judged, unlike those before."""

MUST_HAVES = {
    "1 lost, lost again": (1, "run_again", [True] * 10, "do_not_ship"),
    "1 lost, kept": (1, "run_again", [False] * 10, "ship"),
    "1 lost, not judged": (1, "run_again", [None] * 10, "run_again"),
    "3 lost, lost again": (3, "do_not_ship", [True] * 10, "do_not_ship"),
    "3 lost, kept": (3, "do_not_ship", [False] * 10, "ship"),
    "3 lost, not judged": (3, "do_not_ship", [None] * 10, "do_not_ship"),
}
"""Title → rounds of three that lose their must-have, and the decision; the new rounds,
and the decision about these."""

REFUSED = {
    "both right": ({"c0": "y" * 10, "c1": "y" * 10}, "ship", "did not confirm a break"),
    "one broke": ({"c0": "n" * 10, "c1": "y" * 10}, "do_not_ship", "1 case broke (c0)"),
    # one of the cases was not asked again: the first decision stays
    "one asked": ({"c0": "y" * 10}, "do_not_ship", "2 cases broke (c0, c1); more than chance"),
}  # fmt: skip
"""Title → new rounds of the two cases that broke; the decision, and what it says."""

PURGED = {"both purged": ("now", "before"), "old side purged": ("before",)}
"""Title → which of its new rounds are deleted."""

CORRECTED = "old side corrected"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Runs of every title: a baseline, and a candidate in which cases newly fail."""
    folder = tmp_path_factory.mktemp("first")
    files = folder / "in"
    files.mkdir()
    one_fails = ("plain", "cached", "copies", "other prompt", *ROUNDS, *OTHERWISE)
    for title in (*one_fails, *PURGED, CORRECTED):
        write_titled(files, title, "old", 1, ONE)
        write_titled(files, title, "new", 4, ONE | {"c0": "n"}, "v2")
    for title in REFUSED:
        for day in range(1, 5):
            write_titled(files, title, f"old{day}", day, SURE)
        write_titled(files, title, "new", 6, SURE | {"c0": "nnn", "c1": "nnn"}, "v2")
    write_titled(files, "all fall", "old", 1, FEW_FALL)
    write_titled(files, "all fall", "new", 4, ALL_FALL, "v2")
    for name, day, answers, prompt in (
        ("old", 1, GOOD, "v1"), ("new", 4, GOOD | {"c0": "yyn"}, "v2"),
    ):  # fmt: skip
        file = write_titled(files, "tagged", name, day, answers, prompt)
        document = json.loads(file.read_text("utf-8"))
        document["cases"][0]["tags"] = ["safety"]
        file.write_text(json.dumps(document), "utf-8")
    for title, (lost, *_) in MUST_HAVES.items():
        _results(files, title, "old", 1, [False] * 3)
        _results(files, title, "new", 2, [n < lost for n in range(3)])
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.ingest(files).n_rejected == 0
    with warehouse.writable() as con:
        con.execute(
            "update raw.rounds set is_cached = true where task_id = 'cached-new'"
        )
    warehouse.build()
    return warehouse


@pytest.fixture(scope="module")
def again(first: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The same, with what was answered when cases were asked again."""
    folder = tmp_path_factory.mktemp("again")
    warehouse = copy_of(first, folder)
    for title, (now, before, *_) in ROUNDS.items():
        ask_again(warehouse, folder, title, now, before)
    ask_again(warehouse, folder, "copies", "n" * 10, "y" * 10)
    ask_again(warehouse, folder, "tagged", "n" * 10, "y" * 10)
    ask_again(warehouse, folder, "all fall", "y" * 10, "y" * 10)
    file = write_titled(folder, "other prompt", "now", 5, {"c0": "y" * 10}, "v3")
    warehouse.ingest(file, recheck_of="other prompt-new")
    for title, dimension in OTHERWISE.items():
        file = write_titled(
            folder, title, "now", 5, {"c0": "y" * 10}, "v2", **dimension
        )
        warehouse.ingest(file, recheck_of=f"{title}-new")
    for title, (rounds, *_) in REFUSED.items():
        file = write_titled(folder, title, "now", 7, rounds, "v2")
        warehouse.ingest(file, recheck_of=f"{title}-new")
        # the old prompt was asked again as another run of it
        file = write_titled(folder, title, "before", 7, dict.fromkeys(rounds, "y" * 10))
        warehouse.ingest(file, recheck_of=f"{title}-old2")
    for title, (_, _, lost, _) in MUST_HAVES.items():
        file = _results(folder, title, "now", 3, lost)
        warehouse.ingest(file, recheck_of=f"{title}-new")
        file = _results(folder, title, "before", 3, [False] * 10)
        warehouse.ingest(file, recheck_of=f"{title}-old")
    with warehouse.writable() as con:
        con.execute(
            "update raw.rounds set is_cached = true where task_id = 'copies-now'"
        )
    warehouse.build()
    return warehouse


def copy_of(warehouse: Warehouse, folder: Path) -> Warehouse:
    return Warehouse(shutil.copy(warehouse.settings.db, folder / "w.duckdb"))


def ask_again(
    warehouse: Warehouse, folder: Path, title: str, now: str, before: str | None
) -> None:
    """Load new rounds of ``c0`` of both sides."""
    file = write_titled(folder, title, "now", 5, {"c0": now}, "v2")
    warehouse.ingest(file, recheck_of=f"{title}-new")
    if before is not None:
        file = write_titled(folder, title, "before", 5, {"c0": before})
        warehouse.ingest(file, recheck_of=f"{title}-old")


def _results(
    folder: Path, title: str, name: str, day: int, lost: list[bool | None]
) -> Path:
    """Answers that pass, one per round, to each of eight cases; the must-have of the
    first is lost, kept or not judged."""
    lines = [
        {
            "sample_id": f"s{case}", "entity_id": title, "variant": "v",
            "status": "fail" if is_lost and case == 0 else "pass",
            "inputs": {"q": case}, "final_output": {"n": n},
            "run_id": f"{title}-{name}", "created_at": f"2026-03-{day:02}T00:00:00Z",
            "overall_score": 9,
        }
        | ({} if is_lost is None else {"must_have_pass": not (is_lost and case == 0)})
        for case in range(8 if day < 3 else 1)
        for n, is_lost in enumerate(lost)
    ]  # fmt: skip
    file = folder / f"{title}-{name}.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return file


def judged(warehouse: Warehouse, title: str) -> GateResult:
    [result] = judge(warehouse, f"{title}-new", built_in_policy(), lang="en")
    return result


def test_a_newly_failing_case_is_run_again_first(first):
    result = judged(first, "plain")
    assert result.decision == "run_again"
    said = "`promptlab recheck` prints how to run them again (20 calls)"
    assert said in result.headline


@pytest.mark.parametrize("title", ROUNDS)
def test_the_new_rounds_of_both_sides_decide(again, title):
    _, _, decided, said = ROUNDS[title]
    result = judged(again, title)
    assert result.decision == decided
    assert said in result.headline


def test_answers_to_another_prompt_are_no_recheck_and_the_gate_says_so(again):
    result = judged(again, "other prompt")
    assert result.decision == "run_again"
    [rule] = [each for each in result.rules if each.rule == "regression.on_check"]
    assert "answers of another model, to another prompt" in rule.note


@pytest.mark.parametrize("title", OTHERWISE)
def test_new_rounds_that_are_judged_in_another_way_do_not_count(again, title):
    result = judged(again, title)
    assert result.decision == "run_again"
    [rule] = [each for each in result.rules if each.rule == "regression.on_check"]
    assert "were judged in another way" in rule.note


def test_a_recheck_is_no_step_of_the_history(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for name, day, answers, prompt in (
        ("old", 1, ONE, "v1"), ("new", 4, ONE | {"c0": "n"}, "v2"),
    ):  # fmt: skip
        warehouse.ingest(write_titled(tmp_path, "suite", name, day, answers, prompt))
    warehouse.build()
    ask_again(warehouse, tmp_path, "suite", "n" * 10, "y" * 10)
    warehouse.build()
    with warehouse.examining() as con:

        def tasks(table: str) -> set[str]:
            rows = con.execute(f"select distinct task_id from marts.{table}").fetchall()
            return {row[0] for row in rows}

        runs = {"suite-old", "suite-new"}
        assert tasks("dim_tasks") == {*runs, "suite-now", "suite-before"}
        for table in ("fct_trends", "fct_leaderboard", "fct_case_history"):
            assert tasks(table) <= runs
        for table in ("dim_task_baselines", "dim_runs"):
            column = "run_id" if table == "dim_runs" else "task_id"
            found = con.execute(f"select {column} from marts.{table}").fetchall()
            assert {row[0] for row in found} == runs
        assert con.execute(
            "select newest_task_id, n_tasks from marts.dim_variants"
        ).fetchall() == [("suite-new", 2)]
        references = con.execute(
            "select reference_task_id from intermediate.int_reference_runs"
        ).fetchall()
        view = read_title(con, "suite", lambda _: None, Edition(AT, "en"))
    assert references == [("suite-old",)]
    assert [run["task_id"] for run in view["runs"]] == ["suite-new", "suite-old"]
    assert (view["n_runs"], view["n_variants_more"]) == (2, 0)
    assert warehouse.to_report(everything=True) == ["suite-old", "suite-new"]
    assert warehouse.result("latest").task.task_id == "suite-new"
    warehouse.ingest(write_titled(tmp_path, "suite", "later", 9, ONE, "v2"))
    warehouse.build()
    assert baseline_of(warehouse, "suite-later") == "suite-new"


def test_a_full_refresh_and_a_purge_of_the_recheck_agree_with_a_build(again, tmp_path):
    warehouse = copy_of(again, tmp_path)

    def row() -> tuple:
        with warehouse.examining() as con:
            [found] = con.execute(
                "select recheck_reference, n_rounds_rechecked, is_rechecked"
                " from marts.fct_verdict_cases"
                " where case_id = 'c0' and task_id = 'broken-new'"
            ).fetchall()
            return found

    assert row() == ("rechecked", 10, True)
    warehouse.build(full_refresh=True)
    assert row() == ("rechecked", 10, True)
    purge(warehouse, tasks=["broken-before"])
    warehouse.build()
    assert row() == ("none", 10, True)


def baseline_of(warehouse: Warehouse, task_id: str) -> str | None:
    found = warehouse.sql("from marts.dim_task_baselines where task_id = $1", [task_id])
    return found["baseline_task_id"][0]


@dataclass
class Unsettled:
    """What was shipped after a re-check that is purged or corrected then."""

    warehouse: Warehouse
    decisions: dict[str, list[str]]
    """Title → what the gate said before the re-check, after it, and of the next run."""
    rechecks: dict[str, str]
    """Title → the re-checks of what was shipped, after the purge."""


@pytest.fixture(scope="module")
def unsettled(first: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Unsettled:
    folder = tmp_path_factory.mktemp("unsettled")
    warehouse = copy_of(first, folder)
    decisions: dict[str, list[str]] = {title: [] for title in (*PURGED, CORRECTED)}

    def gate(name: str, *titles: str) -> None:
        with warehouse.kept_open():
            for title in titles:
                decisions[title].append(decide(warehouse, f"{title}-{name}"))

    gate("new", *PURGED)
    for title in PURGED:
        ask_again(warehouse, folder, title, "y" * 10, "y" * 10)
    half = "y" * 5 + "n" * 5
    ask_again(warehouse, folder, CORRECTED, half, half)
    warehouse.build()
    gate("new", *decisions)
    purge(
        warehouse,
        tasks=[f"{title}-{side}" for title, sides in PURGED.items() for side in sides],
    )
    with warehouse.examining() as con:
        rechecks = con.execute(
            "select task_id, rechecks from raw.decisions where decision = 'ship'"
        ).fetchall()
    file = write_titled(folder, CORRECTED, "before", 5, {"c0": "y" * 10})
    warehouse.ingest(file, recheck_of=f"{CORRECTED}-old")
    for title in decisions:
        file = write_titled(folder, title, "next", 6, ONE | {"c0": "n"}, "v2")
        warehouse.ingest(file)
    warehouse.build()
    gate("next", *PURGED)
    return Unsettled(warehouse, decisions, dict(rechecks))


@pytest.mark.parametrize("title", PURGED)
def test_what_a_purged_recheck_shipped_is_shipped_no_more(unsettled, title):
    assert unsettled.decisions[title] == ["run_again", "ship", "run_again"]
    rechecks = unsettled.rechecks[f"{title}-new"]
    assert not any(f"{title}-{side}" in rechecks for side in PURGED[title])
    assert baseline_of(unsettled.warehouse, f"{title}-next") == f"{title}-old"


def test_a_corrected_recheck_of_the_old_side_unsettles_what_it_shipped(unsettled):
    assert unsettled.decisions[CORRECTED] == ["ship"]
    next_run, old = f"{CORRECTED}-next", f"{CORRECTED}-old"
    assert baseline_of(unsettled.warehouse, next_run) == old


def test_cached_answers_of_a_recheck_count_once(again):
    result = judged(again, "copies")
    assert result.decision == "run_again"
    [case] = result.cases
    assert case.text == (
        "0 of 1 now, 1 of 1 before; asked again: 0 of 1, baseline 10 of 10"
        " (9 copies left out)"
    )
    assert any("copies of one answer" in (rule.note or "") for rule in result.rules)


def test_answers_from_a_cache_tell_nothing_new(first):
    result = judged(first, "cached")
    assert result.decision == "cannot_tell"
    assert "10 of 10 answers came from the cache" in result.headline


def test_a_must_have_tag_that_fails_once_in_three_is_run_again(first, again):
    def verdicts(warehouse: Warehouse, rules: str) -> list[str]:
        policy = built_in_policy()._replace(rules=parse_policy(rules, "p"))
        [result] = judge(warehouse, "tagged-new", policy, lang="en")
        return [rule.verdict for rule in result.rules]

    majority = "[tags.safety]\nmust_pass = 'majority'"
    assert verdicts(first, majority) == ["check"]
    assert verdicts(first, "[tags.safety]\nmust_pass = 'every_round'") == ["fail"]
    assert verdicts(first, "must_pass_tags = ['safety']") == ["check"]
    assert verdicts(first, "[tags.safety]\nfalse_alarm = 0.05") == ["pass"]
    assert verdicts(again, majority) == ["fail"]


def test_what_a_recheck_names_has_to_be_there(first, tmp_path):
    file = write_titled(tmp_path, "plain", "now", 5, {"c0": "n"})
    with pytest.raises(UsageError, match="there is no such task"):
        copy_of(first, tmp_path).ingest(file, recheck_of="nothing")


def test_a_recheck_repeats_no_recheck(again, tmp_path):
    file = write_titled(tmp_path, "broken", "thrice", 6, {"c0": "n"})
    said = r"is a re-check itself; name what .*: broken-new"
    with pytest.raises(UsageError, match=said):
        copy_of(again, tmp_path).ingest(file, recheck_of="broken-now")


def test_a_recheck_never_replaces_the_task_that_it_asks_again(first, tmp_path):
    warehouse = copy_of(first, tmp_path)
    new = write_titled(tmp_path, "plain", "new", 5, {"c0": "nnn"})
    [file] = warehouse.ingest(new, recheck_of="plain-new").files
    assert file.status == "rejected"
    assert "give the new rounds an id of their own" in file.problems[0].message
    warehouse.build()
    assert judged(warehouse, "plain").decision == "run_again"


def test_cases_of_other_tools_are_listed(first, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = str(first.settings.db)
    assert run_cli(["recheck", "plain-new", "--format", "json", "--db", db]) == 0
    [case] = json.loads(capsys.readouterr().out)
    assert (case["case_id"], case["n_rounds"], case["baseline_task_id"]) == (
        "c0",
        10,
        "plain-old",
    )
    assert run_cli(["recheck", "plain-new", "--db", db]) == 0
    script = capsys.readouterr().out
    assert "#   c0 (m): 0 of 1 now, 1 of 1 before" in script
    assert "NEW_FILES --recheck-of=plain-new" in script
    assert "OLD_FILES --recheck-of=plain-old" in script


PROMPTFOO = {
    "source_kind": "promptfoo", "run_id": "eval-2", "title": "support",
    "variant": "acme/a × p", "task_id": "eval-2/0", "provider": "acme/a (x)",
    "model": "a", "commit_sha": "b" * 40, "prompt_hash": "2", "env": None,
    "task_file": None, "baseline_task_id": "eval-1/0", "baseline_run_id": "eval-1",
    "baseline_commit": "a" * 40, "baseline_prompt_hash": "1",
    "baseline_prompt": '"Old {{q}}"', "case_id": "refund", "n_rounds": 10,
    "n_passed_now": 0, "n_rounds_now": 3, "n_passed_before": 33,
    "n_rounds_before": 33, "n_alike": 1,
    "context": '{"description": "refund (late)", "vars": {"q": "?"}}',
}  # fmt: skip
INSPECT = PROMPTFOO | {
    "source_kind": "inspect_ai", "title": "triage", "task_file": "evals/t.py",
    "model": "acme/a", "env": '{"depth": "2"}',
}  # fmt: skip


@pytest.fixture
def printed(monkeypatch):
    """The script for these cases."""

    def of(*cases: dict, **options):
        module = "promptlab.history"
        monkeypatch.setattr(f"{module}.selected_tasks", lambda _con, _wanted: ["t"])
        monkeypatch.setattr(
            f"{module}.dictionaries", lambda *_: [dict(case) for case in cases]
        )
        return recheck(None, "latest", Path("again"), **options)

    return of


def test_promptfoo_runs_the_cases_on_both_sides(printed):
    script = printed(PROMPTFOO, tool_args="-c evals/p.yaml").script
    call = (
        "npx promptfoo eval --filter-pattern='^(refund \\(late\\))$'"
        " --filter-providers='acme\\/a \\(x\\)' --repeat 10 --no-cache --no-table"
        " -c evals/p.yaml"
    )
    assert script.splitlines()[3:] == [
        "# support: 1 case, 10 rounds each on both sides",
        "#   refund (acme/a × p): 0 of 3 now, 33 of 33 before",
        f'{call} -o "$out/1-new.json" || [ $? -eq 100 ]',
        'promptlab ingest "$out/1-new.json" --recheck-of=eval-2',
        f'git worktree add --force --detach "$out/base" {"a" * 40}',
        f'(cd "$out/base/$(git rev-parse --show-prefix)" && {call}'
        ' -o "$out/1-old.json" || [ $? -eq 100 ])',
        'git worktree remove --force "$out/base"',
        'promptlab ingest "$out/1-old.json" --recheck-of=eval-1',
        "",
        "promptlab build",
        "# then: promptlab gate",
    ]


def test_without_a_commit_promptfoo_gets_the_old_prompt(printed, tmp_path):
    found = printed(PROMPTFOO | {"baseline_commit": None})
    assert "# The baseline's commit is not known" in found.script
    assert ' -p "$out/1-old-prompt-1.txt" -o "$out/1-old.json"' in found.script
    found.write(tmp_path)
    assert (tmp_path / "1-old-prompt-1.txt").read_text("utf-8") == "Old {{q}}"


def test_where_the_old_side_is_not_known_nothing_is_run_for_it(printed):
    same = {"baseline_commit": None, "baseline_prompt_hash": "2"}
    script = printed(PROMPTFOO | same).script
    assert "1-old" not in script
    assert "# The old side is not known" in script


def test_promptfoo_tests_without_a_description_are_found_by_their_variables(printed):
    bare = PROMPTFOO | {"context": '{"vars": {"q": "?"}}'}
    twice = PROMPTFOO | {"n_alike": 2}
    for case in (bare, twice):
        found = printed(case)
        assert '--filter-failing="$out/1-cases.json"' in found.script
        [row] = json.loads(found.files["1-cases.json"])["results"]["results"]
        assert row == {"success": False, "vars": {"q": "?"}}


def test_inspect_runs_the_samples_on_both_sides(printed):
    script = printed(INSPECT, INSPECT | {"case_id": "ship it"}).script
    call = (
        "inspect eval ./evals/t.py@triage --model=acme/a -T depth=2"
        " --sample-id='refund,ship it' --epochs 10 --log-dir"
    )
    assert f'{call} "$out/1-new"\n' in script
    assert f'&& {call} "$out/1-old")\n' in script
    assert 'promptlab ingest "$out/1-new" --recheck-of=eval-2/0\n' in script
    assert 'promptlab ingest "$out/1-old" --recheck-of=eval-1/0\n' in script


def test_nothing_that_a_file_says_is_executed(printed, tmp_path):
    hostile = "x\ntouch owned; $(touch owned) `touch owned` 'touch owned'"
    said = dict.fromkeys(("run_id", "title", "variant", "task_id", "provider", "model", "commit_sha", "baseline_task_id", "baseline_run_id", "baseline_commit", "case_id"), hostile)  # fmt: skip
    said |= {
        "context": json.dumps({"description": hostile}),
        "env": json.dumps({hostile: hostile}),
        "baseline_prompt": json.dumps(hostile),
        "task_file": hostile,
    }
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("npx", "inspect", "promptlab", "git"):
        (tools / tool).write_text("#!/bin/sh\nexit 0\n")
        (tools / tool).chmod(0o755)
    for case in (PROMPTFOO, INSPECT, PROMPTFOO | {"source_kind": "table"}):
        found = printed(case | said | {"run_id": case["source_kind"] + hostile})
        subprocess.run(
            ["sh", "-c", found.script],
            cwd=tmp_path,
            env={"PATH": f"{tools}:/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )
    assert not (tmp_path / "owned").exists()
    assert not list(tmp_path.rglob("owned"))


def test_where_no_case_newly_fails_there_is_nothing_to_run(printed):
    with pytest.raises(NothingToDo, match="no case to run again"):
        printed()


@pytest.mark.parametrize("title", MUST_HAVES)
def test_a_recheck_of_a_must_have_is_decided_by_the_must_have(first, again, title):
    _, at_first, _, decided = MUST_HAVES[title]
    assert judged(first, title).decision == at_first
    assert judged(again, title).decision == decided


@pytest.mark.parametrize("title", REFUSED)
def test_a_recheck_of_all_cases_also_decides_about_a_refused_run(first, again, title):
    _, decided, said = REFUSED[title]
    assert judged(first, title).decision == "do_not_ship"
    result = judged(again, title)
    assert result.decision == decided
    assert said in result.headline
    assert "baseline 10 of 10" in result.cases[0].text


def test_a_recheck_of_one_case_says_nothing_about_a_fall_of_all_others(again):
    result = judged(again, "all fall")
    assert result.decision == "do_not_ship"
    assert "more than chance" in result.headline


def test_a_recheck_takes_no_id_of_a_run_or_of_another_recheck(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    write(tmp_path, "old", 1, ONE)
    write(tmp_path, "new", 4, ONE | {"c0": "n"}, "v2")
    warehouse.ingest(tmp_path)
    write(tmp_path, "again", 5, {"c0": "n" * 10}, "v2")
    warehouse.ingest(tmp_path / "again.json", recheck_of="new")
    for task_id, of in (("old", "new"), ("new", "old"), ("again", "old")):
        write(tmp_path, task_id, 6, {"c0": "y" * 10}, "v2")
        [file] = warehouse.ingest(tmp_path / f"{task_id}.json", recheck_of=of).files
        assert file.status == "rejected"
        assert "give the new rounds an id of their own" in file.problems[0].message
    write(tmp_path, "again", 7, {"c0": "y" * 10}, "v2")
    [file] = warehouse.ingest(tmp_path / "again.json", recheck_of="new").files
    assert file.status == "loaded"
