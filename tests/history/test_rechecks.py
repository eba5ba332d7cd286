"""Newly failing cases are asked again: what is printed, loaded and decided."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.errors import NothingToDo, UsageError
from promptlab.history import judge, recheck
from promptlab.operations.purge import purge
from promptlab.reports import Edition
from promptlab.reports.gate.policy import built_in_policy, parse_policy
from promptlab.reports.title import read_title
from promptlab.warehouse import Warehouse
from tests.history.test_reference_runs import GOOD, write

AT = datetime(2026, 3, 1, tzinfo=UTC)
ONE = {f"c{n}": "y" for n in range(10)}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of one round, and a candidate in which a case newly fails."""
    folder = tmp_path_factory.mktemp("recheck")
    files = folder / "in"
    files.mkdir()
    write(files, "old", 1, ONE)
    write(files, "new", 4, ONE | {"c0": "n"}, "v2")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()
    return warehouse.settings.db


@pytest.fixture
def warehouse(first: Path, tmp_path: Path) -> Warehouse:
    db = tmp_path / "w.duckdb"
    db.write_bytes(first.read_bytes())
    return Warehouse(db)


def ask_again(
    warehouse: Warehouse, folder: Path, now: str, before: str | None = None
) -> None:
    """Load new rounds of ``c0``, one letter each, ``y`` is right; and build."""
    for name, of, rounds in (("now", "new", now), ("before", "old", before)):
        if rounds is None:
            continue
        files = folder / name
        files.mkdir(parents=True)
        prompt = "v2" if of == "new" else "v1"
        write(files, f"again-{name}", 5, {"c0": rounds}, prompt)
        warehouse.ingest(files, recheck_of=of)
    warehouse.build()


def decision(warehouse: Warehouse) -> tuple[str, str]:
    [result] = judge(warehouse, "new", built_in_policy(), lang="en")
    return result.decision, result.headline


def test_a_newly_failing_case_is_run_again_first(warehouse):
    decided, said = decision(warehouse)
    assert decided == "run_again"
    assert "`promptlab recheck` prints how to run them again (20 calls)" in said


@pytest.mark.parametrize(
    ("now", "before", "decided", "said"),
    [
        ("n" * 10, "y" * 10, "do_not_ship", "1 case broke (c0); 0 of 10 new answers right, 10 of 10 before"),
        ("y" * 9 + "n", "y" * 10, "ship", "1 case newly fails (c0); "),
        ("n" * 10, "n" * 10, "ship", "the re-check did not confirm a break"),
        ("n" * 4, "y" * 10, "run_again", "1 case newly fails (c0)"),
        ("n" * 10, None, "do_not_ship", "0 of 10 new answers right"),
        ("n" * 9 + "y", None, "do_not_ship", "1 of 10 new answers right"),
        ("n" * 8 + "yy", None, "ship", "the re-check did not confirm a break"),
    ],
)  # fmt: skip
def test_the_new_rounds_of_both_sides_decide(
    warehouse, tmp_path, now, before, decided, said
):
    ask_again(warehouse, tmp_path, now, before)
    found = decision(warehouse)
    assert found[0] == decided
    assert said in found[1]


def test_answers_to_another_prompt_are_no_recheck_and_the_gate_says_so(
    warehouse, tmp_path
):
    write(tmp_path, "again", 5, {"c0": "y" * 10}, "v3")
    warehouse.ingest(tmp_path / "again.json", recheck_of="new")
    warehouse.build()
    [result] = judge(warehouse, "new", built_in_policy(), lang="en")
    assert result.decision == "run_again"
    [rule] = [each for each in result.rules if each.rule == "regression.on_check"]
    assert "answers of another model, to another prompt" in rule.note


@pytest.mark.parametrize(
    "dimension",
    [
        {"parameters": {"match_rule": "exact", "pass_score": 0}},
        {"parameters": {"match_rule": "contains"}},
        {"scoring_mode": "lower_better"},
        {"weight": 0},
        {"dimension_id": "other", "parameters": {"scorer": "accuracy"}},
    ],
)
def test_new_rounds_that_are_judged_in_another_way_do_not_count(
    warehouse, tmp_path, dimension
):
    write(tmp_path, "again", 5, {"c0": "y" * 10}, "v2", **dimension)
    warehouse.ingest(tmp_path / "again.json", recheck_of="new")
    warehouse.build()
    [result] = judge(warehouse, "new", built_in_policy(), lang="en")
    assert result.decision == "run_again"
    [rule] = [each for each in result.rules if each.rule == "regression.on_check"]
    assert "were judged in another way" in rule.note


def test_a_recheck_is_no_step_of_the_history(warehouse, tmp_path):
    ask_again(warehouse, tmp_path, "n" * 10, "y" * 10)
    with warehouse.examining() as con:

        def tasks(table: str) -> set[str]:
            rows = con.execute(f"select distinct task_id from marts.{table}").fetchall()
            return {row[0] for row in rows}

        runs = {"old", "new"}
        assert tasks("dim_tasks") == {*runs, "again-now", "again-before"}
        for table in ("fct_trends", "fct_leaderboard", "fct_case_history"):
            assert tasks(table) <= runs
        for table in ("dim_task_baselines", "dim_runs"):
            column = "run_id" if table == "dim_runs" else "task_id"
            found = con.execute(f"select {column} from marts.{table}").fetchall()
            assert {row[0] for row in found} == runs
        assert con.execute(
            "select newest_task_id, n_tasks from marts.dim_variants"
        ).fetchall() == [("new", 2)]
        references = con.execute(
            "select reference_task_id from intermediate.int_reference_runs"
        ).fetchall()
        view = read_title(con, "suite", lambda _: None, Edition(AT, "en"))
    assert references == [("old",)]
    assert [run["task_id"] for run in view["runs"]] == ["new", "old"]
    assert (view["n_runs"], view["n_variants_more"]) == (2, 0)
    assert warehouse.to_report(everything=True) == ["old", "new"]
    assert warehouse.result("latest").task.task_id == "new"
    later = tmp_path / "later"
    later.mkdir()
    write(later, "later", 9, ONE, "v2")
    warehouse.ingest(later)
    warehouse.build()
    with warehouse.examining() as con:
        row = con.execute(
            "select baseline_task_id from marts.dim_task_baselines where task_id = 'later'"
        ).fetchone()
    assert row == ("new",)


def test_a_full_refresh_and_a_purge_of_the_recheck_agree_with_a_build(
    warehouse, tmp_path
):
    ask_again(warehouse, tmp_path, "n" * 10, "y" * 10)
    columns = "task_id, case_id, recheck_reference, n_rounds_rechecked, is_rechecked"

    def rows() -> list[tuple]:
        with warehouse.examining() as con:
            return con.execute(
                f"select {columns} from marts.fct_verdict_cases where case_id = 'c0'"
                " order by all"
            ).fetchall()

    built = rows()
    assert built == [("new", "c0", "rechecked", 10, True)]
    warehouse.build(full_refresh=True)
    assert rows() == built
    purge(warehouse, tasks=["again-before"])
    warehouse.build()
    assert rows() == [("new", "c0", "none", 10, True)]


def baseline_of(warehouse: Warehouse, task_id: str) -> str | None:
    found = warehouse.sql("from marts.dim_task_baselines where task_id = $1", [task_id])
    return found["baseline_task_id"][0]


@pytest.mark.parametrize("purged", [["again-now", "again-before"], ["again-before"]])
def test_what_a_purged_recheck_shipped_is_shipped_no_more(warehouse, tmp_path, purged):
    db = str(warehouse.settings.db)
    assert run_cli(["gate", "new", "--db", db]) == 3
    ask_again(warehouse, tmp_path, "y" * 10, "y" * 10)
    assert run_cli(["gate", "new", "--db", db]) == 0
    purge(warehouse, tasks=purged)
    with warehouse.examining() as con:
        [(rechecks,)] = con.execute(
            "select rechecks from raw.decisions where decision = 'ship'"
        ).fetchall()
    assert not any(task_id in rechecks for task_id in purged)
    warehouse.build()
    write(tmp_path, "next", 6, ONE | {"c0": "n"}, "v2")
    warehouse.ingest(tmp_path / "next.json")
    warehouse.build()
    assert baseline_of(warehouse, "next") == "old"
    assert run_cli(["gate", "next", "--db", db]) == 3


def test_a_corrected_recheck_of_the_old_side_unsettles_what_it_shipped(
    warehouse, tmp_path
):
    db = str(warehouse.settings.db)
    ask_again(warehouse, tmp_path, "y" * 5 + "n" * 5, "y" * 5 + "n" * 5)
    assert run_cli(["gate", "new", "--db", db]) == 0
    write(tmp_path / "before", "again-before", 5, {"c0": "y" * 10}, "v1")
    warehouse.ingest(tmp_path / "before", recheck_of="old")
    write(tmp_path, "next", 6, ONE | {"c0": "n"}, "v2")
    warehouse.ingest(tmp_path / "next.json")
    warehouse.build()
    assert baseline_of(warehouse, "next") == "old"


def test_cached_answers_of_a_recheck_count_once(warehouse, tmp_path):
    ask_again(warehouse, tmp_path, "n" * 10, "y" * 10)
    with warehouse.writable() as con:
        con.execute(
            "update raw.rounds set is_cached = true where task_id = 'again-now'"
        )
    warehouse.build(full_refresh=True)
    [result] = judge(warehouse, "new", built_in_policy(), lang="en")
    assert result.decision == "run_again"
    [case] = result.cases
    assert case.text == (
        "0 of 1 now, 1 of 1 before; asked again: 0 of 1, baseline 10 of 10"
        " (9 copies left out)"
    )
    assert any("copies of one answer" in (rule.note or "") for rule in result.rules)


def test_answers_from_a_cache_tell_nothing_new(warehouse):
    with warehouse.writable() as con:
        con.execute("update raw.rounds set is_cached = true where task_id = 'new'")
    warehouse.build(full_refresh=True)
    decided, said = decision(warehouse)
    assert decided == "cannot_tell"
    assert "10 of 10 answers came from the cache" in said


def test_a_must_have_tag_that_fails_once_in_three_is_run_again(tmp_path):
    files = tmp_path / "in"
    files.mkdir()
    write(files, "old", 1, GOOD)
    write(files, "new", 4, GOOD | {"c0": "yyn"}, "v2")
    for file in files.iterdir():
        document = json.loads(file.read_text("utf-8"))
        document["cases"][0]["tags"] = ["safety"]
        file.write_text(json.dumps(document), "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files)
    warehouse.build()

    def verdicts(rules: str) -> list[str]:
        policy = built_in_policy()._replace(rules=parse_policy(rules, "p"))
        [result] = judge(warehouse, "new", policy, lang="en")
        return [rule.verdict for rule in result.rules]

    assert verdicts("[tags.safety]\nmust_pass = 'majority'") == ["check"]
    assert verdicts("[tags.safety]\nmust_pass = 'every_round'") == ["fail"]
    assert verdicts("must_pass_tags = ['safety']") == ["check"]
    assert verdicts("[tags.safety]\nfalse_alarm = 0.05") == ["pass"]
    ask_again(warehouse, tmp_path / "again", "n" * 10, "y" * 10)
    assert verdicts("[tags.safety]\nmust_pass = 'majority'") == ["fail"]


def test_what_a_recheck_names_has_to_be_there(warehouse, tmp_path):
    write(tmp_path, "again", 5, {"c0": "n"})
    with pytest.raises(UsageError, match="there is no such task"):
        warehouse.ingest(tmp_path / "again.json", recheck_of="nothing")


def test_a_recheck_repeats_no_recheck(warehouse, tmp_path):
    ask_again(warehouse, tmp_path, "n" * 10, "y" * 10)
    write(tmp_path, "thrice", 6, {"c0": "n"})
    with pytest.raises(UsageError, match=r"is a re-check itself; name what .*: new"):
        warehouse.ingest(tmp_path / "thrice.json", recheck_of="again-now")


def test_a_recheck_never_replaces_the_task_that_it_asks_again(warehouse, tmp_path):
    write(tmp_path, "new", 5, {"c0": "nnn"})
    [file] = warehouse.ingest(tmp_path / "new.json", recheck_of="new").files
    assert file.status == "rejected"
    assert "give the new rounds an id of their own" in file.problems[0].message
    warehouse.build()
    assert decision(warehouse)[0] == "run_again"


def test_cases_of_other_tools_are_listed(warehouse, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = str(warehouse.settings.db)
    assert run_cli(["recheck", "new", "--format", "json", "--db", db]) == 0
    [case] = json.loads(capsys.readouterr().out)
    assert (case["case_id"], case["n_rounds"], case["baseline_task_id"]) == (
        "c0",
        10,
        "old",
    )
    assert run_cli(["recheck", "new", "--db", db]) == 0
    script = capsys.readouterr().out
    assert "#   c0 (m): 0 of 1 now, 1 of 1 before" in script
    assert "NEW_FILES --recheck-of=new" in script
    assert "OLD_FILES --recheck-of=old" in script


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


def _results(folder: Path, run_id: str, day: int, lost: list[bool | None]) -> Path:
    """Answers that pass, one per round, to each of eight cases; the must-have of the
    first is lost, kept or not judged."""
    lines = [
        {
            "sample_id": f"s{case}", "entity_id": "bot", "variant": "v",
            "status": "fail" if is_lost and case == 0 else "pass",
            "inputs": {"q": case}, "final_output": {"n": n},
            "run_id": run_id, "created_at": f"2026-03-{day:02}T00:00:00Z",
            "overall_score": 9,
        }
        | ({} if is_lost is None else {"must_have_pass": not (is_lost and case == 0)})
        for case in range(8 if day < 3 else 1)
        for n, is_lost in enumerate(lost)
    ]  # fmt: skip
    file = folder / f"{run_id}.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return file


@pytest.mark.parametrize(
    ("lost", "at_first", "now", "decided"),
    [
        (1, "run_again", [True] * 10, "do_not_ship"),
        (1, "run_again", [False] * 10, "ship"),
        (1, "run_again", [None] * 10, "run_again"),
        (3, "do_not_ship", [True] * 10, "do_not_ship"),
        (3, "do_not_ship", [False] * 10, "ship"),
        (3, "do_not_ship", [None] * 10, "do_not_ship"),
    ],
)
def test_a_recheck_of_a_must_have_is_decided_by_the_must_have(
    tmp_path, lost, at_first, now, decided
):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(_results(tmp_path, "a", 1, [False] * 3))
    warehouse.ingest(_results(tmp_path, "b", 2, [n < lost for n in range(3)]))
    warehouse.build()
    [result] = judge(warehouse, "b", built_in_policy(), lang="en")
    assert result.decision == at_first
    warehouse.ingest(_results(tmp_path, "rb", 3, now), recheck_of="b")
    warehouse.ingest(_results(tmp_path, "ra", 3, [False] * 10), recheck_of="a")
    warehouse.build()
    [result] = judge(warehouse, "b", built_in_policy(), lang="en")
    assert result.decision == decided


@pytest.mark.parametrize(
    ("new_rounds", "decided", "said"),
    [
        ({"c0": "y" * 10, "c1": "y" * 10}, "ship", "did not confirm a break"),
        ({"c0": "n" * 10, "c1": "y" * 10}, "do_not_ship", "1 case broke (c0)"),
        # one of the cases was not asked again: the first decision stays
        ({"c0": "y" * 10}, "do_not_ship", "2 cases broke (c0, c1); more than chance"),
    ],
)
def test_a_recheck_of_all_cases_also_decides_about_a_refused_run(
    tmp_path, new_rounds, decided, said
):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    three = dict.fromkeys(ONE, "yyy")
    for day in range(1, 5):
        write(tmp_path, f"old{day}", day, three)
    write(tmp_path, "new", 6, three | {"c0": "nnn", "c1": "nnn"}, "v2")
    warehouse.ingest(tmp_path)
    warehouse.build()
    assert decision(warehouse)[0] == "do_not_ship"

    write(tmp_path, "again", 7, new_rounds, "v2")
    warehouse.ingest(tmp_path / "again.json", recheck_of="new")
    # the old prompt was asked again as another run of it
    write(tmp_path, "before", 7, dict.fromkeys(new_rounds, "y" * 10))
    warehouse.ingest(tmp_path / "before.json", recheck_of="old2")
    warehouse.build()
    found = decision(warehouse)
    assert found[0] == decided
    assert said in found[1]
    [result] = judge(warehouse, "new", built_in_policy(), lang="en")
    assert "baseline 10 of 10" in result.cases[0].text


def test_a_recheck_of_one_case_says_nothing_about_a_fall_of_all_others(tmp_path):
    warehouse = Warehouse(tmp_path / "w.duckdb")
    sure = {f"c{n}": "yyy" for n in range(10)}
    write(tmp_path, "old", 1, sure | {f"f{n}": "yyn" for n in range(20)})
    fallen = {f"f{n}": "nnn" for n in range(20)}
    write(tmp_path, "new", 4, sure | fallen | {"c0": "yyn"}, "v2")
    warehouse.ingest(tmp_path)
    ask_again(warehouse, tmp_path, "y" * 10, "y" * 10)
    decided, said = decision(warehouse)
    assert decided == "do_not_ship"
    assert "more than chance" in said


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
