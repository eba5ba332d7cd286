"""Broken and watched cases are asked again: what is printed, run, loaded and decided."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from promptlab.cli import run_cli
from promptlab.errors import NothingToDo, UsageError
from promptlab.history import judge
from promptlab.recheck import recheck
from promptlab.reports.gate.policy import built_in_policy
from promptlab.warehouse import Warehouse
from tests.marts import GATE, only
from tests.stories.suites import (
    PROVIDERS,
    TESTS,
    Night,
    nights,
    of_all_variants,
    suite,
    write_all,
)

SINGLE = suite(rounds="+")

WATCHED: dict[str, tuple[str, str]] = {
    "broken": ("-----", "do_not_ship"),
    "chance": ("+++++", "ship"),
    "flaky": ("+-+++", "ship"),
}
"""Title → rounds of the re-check of its watched case, and the decision then."""


only_asked = only(*GATE, "dim_cases", "dim_prompts", "dim_runs", "fct_trends")


@pytest.fixture(scope="module")
@only_asked
def story(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Suites with one round a night, of which one case newly fails; asked again."""
    folder = tmp_path_factory.mktemp("recheck")
    suites = {title: nights(*[SINGLE] * 8, SINGLE | {"c5": "-"}) for title in WATCHED}
    write_all(suites, folder / "in")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder / "in")
    warehouse.build()
    for title in WATCHED:
        assert decision(warehouse, f"{title}-9") == "ship"
    with warehouse.kept_open():
        for title, (rounds, _) in WATCHED.items():
            again = Night({"small": {"c5": rounds}}).write(folder / "again", title, 19)
            warehouse.ingest(again, recheck_of=f"{title}-9")
    warehouse.build()
    return warehouse


def decision(warehouse: Warehouse, run: str) -> str:
    [result] = judge(warehouse, run, built_in_policy(), lang="en")
    return result.decision


@pytest.mark.parametrize("title", WATCHED)
def test_the_new_rounds_count_as_rounds_of_the_run_that_they_repeat(story, title):
    rounds, decided = WATCHED[title]
    assert decision(story, f"{title}-9") == decided
    [row] = story.sql(
        "select n_rounds_now, n_passed_now, n_rounds_recheck from marts.fct_case_odds"
        f" where task_id = '{title}-9/0' and case_id like 'c5%'"
    ).rows()
    assert row == (6, rounds.count("+"), 5)


def test_a_recheck_is_no_run_of_its_own(story):
    found = story.sql(
        "select task_id from marts.fct_trends where task_id like '%-19/0'"
    )
    assert found.rows() == []
    for result in judge(story, "latest", built_in_policy(), lang="en"):
        assert result.task_id.endswith("-9/0")


def test_a_recheck_names_a_run_and_keeps_its_own_id(story, tmp_path):
    file = Night({"small": {"c5": "-"}}).write(tmp_path, "broken", 20)
    with pytest.raises(UsageError, match="there is no such task"):
        story.ingest(file, recheck_of="nothing")
    with pytest.raises(UsageError, match=r"is a re-check itself; .*: broken-9"):
        story.ingest(file, recheck_of="broken-19/0")
    taken = Night({"small": {"c5": "+"}}).write(tmp_path, "broken", 8)
    [loaded] = story.ingest(taken, recheck_of="broken-9").files
    assert loaded.status == "rejected"
    assert "give the new rounds an id of their own" in loaded.problems[0].message


# ---------- the announced number of calls is the number that runs

PROMPTS = {"prompts/short.txt": "Short: {{q}}", "prompts/steps.txt": "Steps: {{q}}"}

PROMPTFOO = r"""
import json, os, re, sys
sys.path.insert(0, os.environ["ROOT"])
from tests.stories.suites import PROVIDERS, TESTS, of_all_variants

args = sys.argv[3:]
found = {a.split("=")[0]: a.partition("=")[2] for a in args if a.startswith("--filter")}
prompts = json.load(open("prompts.json"))
if "-p" in args:
    files = args[args.index("-p") + 1 : next(
        i for i, a in enumerate(args) if i > args.index("-p") and a.startswith("-"))]
    prompts = {os.path.relpath(f): open(f).read() for f in files}
prompts = {file: text for file, text in prompts.items()
           if re.search(found.get("--filter-prompts", ""), f"{file}: {text}")}
ids = {"own": "file://own.js"}
providers = [p for p in PROVIDERS
             if re.search(found.get("--filter-providers", ""), ids.get(p, p))
             and re.search(found.get("--filter-providers", ""), p)]
tests = [t for t in TESTS if re.search(found.get("--filter-pattern", ""), t)]
if "--filter-failing" in found:
    failing = json.load(open(found["--filter-failing"]))["results"]["results"]
    tests = [t for t in tests if {"q": t} in [each["vars"] for each in failing]]
repeat = int(args[args.index("--repeat") + 1])
out = args[args.index("-o") + 1]
name = os.path.basename(out).removesuffix(".json")
title = json.load(open("title.json"))
rows = of_all_variants(title, f"{title} again-{name}", 20, prompts, providers, tests, repeat,
                lambda prompt, provider, test: "broke" not in prompt)
json.dump(rows, open(out, "w"))
open("calls", "a").write(f"{len(rows['results']['results'])}\n")
sys.exit(100)
"""


FAILING: dict[str, tuple[set[tuple[str, str, int]], int]] = {
    "one case of one variant": ({("short", "acme:small", 2)}, 5),
    "one case of all variants": (
        {(prompt, provider, 2) for prompt in ("short", "steps") for provider in PROVIDERS},
        30,
    ),
    "other cases of other variants": (
        {("short", "acme:small", 2), ("steps", "acme:large", 3), ("steps", "acme:large", 4)},
        15,
    ),
    "a provider that gives itself an id": ({("steps", "own", 1)}, 5),
}  # fmt: skip
"""Failing prompt, provider and test → and the calls of the new side."""


@pytest.fixture(scope="module")
@only_asked
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a title for each of these: eight nights, the last one failed."""
    folder = tmp_path_factory.mktemp("failed")
    for title, (failing, _) in FAILING.items():

        def passes(text: str, provider: str, test: str, failing=failing) -> bool:
            key = (text.split(":")[0].lower(), provider, TESTS.index(test) + 1)
            return key not in failing

        for day in range(1, 9):
            found = of_all_variants(
                title, f"{title} {day}", day, PROMPTS, PROVIDERS, TESTS, 1,
                passes if day == 8 else lambda *_: True,
            )  # fmt: skip
            (folder / f"{title} {day}.json").write_text(json.dumps(found), "utf-8")
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder)
    warehouse.build()
    return warehouse.settings.db


COMMAND = """#!/bin/sh
# kept for the test, which calls them in its own process
for each in "$@"; do printf '%s\\n' "$each"; done >> commands
echo >> commands
"""


@dataclass(frozen=True)
class Asked:
    """What a script said and did, and what the marts say of its rounds."""

    script: str
    calls: int
    rounds: tuple[int, int]
    """Rounds of the re-check, and their cases."""


@pytest.fixture(scope="module")
def asked_again(
    failed: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Asked]:
    """The scripts of all titles are run on one warehouse, which is then built."""
    folder = tmp_path_factory.mktemp("asked")
    warehouse = Warehouse(shutil.copy(failed, folder / "promptlab.duckdb"))
    (folder / "bin").mkdir()
    for name, text in (
        ("npx", f"#!{sys.executable}\n{PROMPTFOO}"),
        ("promptlab", COMMAND),
    ):
        (folder / "bin" / name).write_text(text, "utf-8")
        (folder / "bin" / name).chmod(0o755)
    environment = {
        **{
            k: v
            for k, v in os.environ.items()
            if k not in ("GITHUB_ACTIONS", "GITLAB_CI")
        },
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "ROOT": str(_ROOT),
        "TMPDIR": str(folder),
    }
    db = ["--db", str(warehouse.settings.db)]
    scripts, calls = {}, {}
    for title in FAILING:
        (folder / title).mkdir()
        with contextlib.chdir(folder / title):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                assert run_cli(["recheck", f"{title} 8", *db]) == 0
            scripts[title] = printed.getvalue()
    for title in FAILING:
        with contextlib.chdir(folder / title):
            Path("prompts.json").write_text(json.dumps(PROMPTS), "utf-8")
            Path("title.json").write_text(json.dumps(title), "utf-8")
            done = subprocess.run(
                ["sh", "-c", scripts[title]],
                env=environment, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            calls[title] = sum(map(int, Path("calls").read_text("utf-8").split()))
            *ingests, build = Path("commands").read_text("utf-8").split("\n\n")[:-1]
            for call in ingests:
                assert run_cli(call.split("\n")) == 0
            assert build.split("\n") == ["build", *db]
    with only("fct_case_odds", "dim_tasks"):
        warehouse.build()
    rounds = warehouse.sql(
        "select title, sum(n_rounds_recheck), count(*) from marts.fct_case_odds"
        " inner join marts.dim_tasks using (task_id)"
        " where n_rounds_recheck > 0 group by title"
    )
    of_title = {title: (n, cases) for title, n, cases in rounds.rows()}
    return {
        title: Asked(scripts[title], calls[title], of_title[title]) for title in FAILING
    }


@pytest.mark.parametrize("title", FAILING)
def test_the_announced_number_of_calls_is_the_number_that_runs(asked_again, title):
    failing, n_calls = FAILING[title]
    asked = asked_again[title]
    assert f"# {title}: {len({n for *_, n in failing})} case" in asked.script
    assert f", {n_calls} calls" in asked.script
    assert "old side" not in asked.script  # seven earlier rounds suffice
    assert asked.calls == n_calls
    assert asked.rounds == (n_calls, len(failing))


_ROOT = Path(__file__).parents[2]


# ---------- the script

CASE = {
    "side": "new", "source_kind": "promptfoo", "run_id": "eval-2", "title": "support",
    "variant": "acme/a × p", "task_id": "eval-2/0", "provider": "acme/a (x)",
    "model": "a", "commit_sha": "b" * 40, "new_commit": "b" * 40, "prompt_hash": "2",
    "new_prompt_hash": "2", "env": None, "task_file": None, "prompt": '"New {{q}}"',
    "prompt_label": "p", "prompt_label_begins": None, "provider_config_ids": None,
    "case_id": "refund", "state": "broken", "odds": 20.0, "n_passed_now": 0,
    "n_rounds_now": 3, "n_passed_before": 33, "n_rounds_before": 33,
    "context": '{"description": "refund (late)", "vars": {"q": "?"}}',
}  # fmt: skip
OLD = CASE | {
    "side": "old", "run_id": "eval-1", "task_id": "eval-1/0", "commit_sha": "a" * 40,
    "prompt_hash": "1", "prompt": '"Old {{q}}"', "n_rounds_before": 2,
    "n_passed_before": 2,
}  # fmt: skip
INSPECT = {
    "source_kind": "inspect_ai", "title": "triage", "task_file": "evals/t.py",
    "model": "acme/a", "env": '{"depth": "2"}',
}  # fmt: skip


@pytest.fixture
def printed(monkeypatch):
    """The script for these cases; their run has another prompt and another test."""

    def of(*cases: dict, **options):
        variants = [dict(each) for each in cases]
        variants += [each | {"prompt_label": "q", "task_id": "x"} for each in variants]
        contexts = [
            {"task_id": each["task_id"], "context": context}
            for each in cases
            for context in (each["context"], '{"description": "b", "vars": {"q": "b"}}')
        ]

        def rows(_con, query, *_):
            if "fct_case_odds" in query:
                return [dict(case) for case in cases]
            return contexts if "dim_cases" in query else variants

        for name, found in (
            ("require_built", lambda _: None),
            ("selected_tasks", lambda *_: ["t"]),
            ("dictionaries", rows),
        ):
            monkeypatch.setattr(f"promptlab.recheck.{name}", found)
        return recheck(None, "latest", Path("again"), **options)

    return of


def test_promptfoo_runs_the_cases_of_the_new_side_and_where_history_is_short_of_the_old(
    printed,
):
    found = printed(CASE, OLD, tool_args="-c evals/p.yaml")
    call = (
        "npx promptfoo eval --filter-pattern='^(refund \\(late\\))$'"
        " --filter-prompts='^p$' --repeat 5 --no-cache --no-table -c evals/p.yaml"
    )
    assert found.script.splitlines()[3:] == [
        "# support: 1 case(s), 5 calls",
        "#   refund (acme/a × p): 0 of 3 now, 33 of 33 before",
        f'{call} -o "$out/1-1.json" || [ $? -eq 100 ]',
        'promptlab ingest "$out/1-1.json" --recheck-of=eval-2',
        "",
        "# support, the old side (eval-1): 1 case(s), 5 calls",
        "#   refund (acme/a × p): 0 of 3 now, 2 of 2 before",
        f'git worktree add --force --detach "$out/base" {"a" * 40}',
        f'(cd "$out/base/$(git rev-parse --show-prefix)" && {call}'
        ' -o "$out/2-1.json" || [ $? -eq 100 ])',
        'git worktree remove --force "$out/base"',
        'promptlab ingest "$out/2-1.json" --recheck-of=eval-1',
        "",
        "promptlab build",
        "# then: promptlab gate",
    ]
    assert found.n_calls == 10


def test_without_a_commit_promptfoo_gets_the_old_prompt(printed, tmp_path):
    found = printed(OLD | {"commit_sha": None})
    assert ' -p "$out/1-1-prompt-1.txt" --repeat 5' in found.script
    assert "--filter-prompts" not in found.script
    found.write(tmp_path)
    assert (tmp_path / "1-1-prompt-1.txt").read_text("utf-8") == "Old {{q}}"


SAME = (
    {"commit_sha": None, "prompt_hash": "2"},
    {"commit_sha": "b" * 40, "prompt_hash": "2"},
)


@pytest.mark.parametrize("same", SAME)
def test_answers_of_today_are_no_answers_of_an_old_side_that_is_the_same(printed, same):
    found = printed(OLD | same)
    assert (found.n_calls, "npx" in found.script) == (0, False)
    assert "1 case(s), not asked again" in found.script


def test_promptfoo_tests_without_a_description_are_found_by_their_variables(printed):
    bare = CASE | {"context": '{"vars": {"q": "?"}}'}
    found = printed(bare)
    assert '--filter-failing="$out/1-1-cases.json"' in found.script
    [row] = json.loads(found.files["1-1-cases.json"])["results"]["results"]
    assert row == {"success": False, "vars": {"q": "?"}}
    assert found.n_calls == 5


def test_inspect_runs_the_samples_of_both_sides(printed):
    cases = [
        each | INSPECT | {"case_id": case_id}
        for each in (CASE, OLD)
        for case_id in ("refund", "ship it")
    ]
    script = printed(*cases).script
    call = (
        "inspect eval ./evals/t.py@triage --model=acme/a -T depth=2"
        " --sample-id='refund,ship it' --epochs 5 --log-dir"
    )
    assert f'{call} "$out/1-1"\n' in script
    assert f'&& {call} "$out/2-1")\n' in script
    assert 'promptlab ingest "$out/1-1" --recheck-of=eval-2/0\n' in script
    assert 'promptlab ingest "$out/2-1" --recheck-of=eval-1/0\n' in script
    assert script.count(", 10 calls") == 2


def test_cases_of_other_tools_are_listed(printed):
    script = printed(CASE | {"source_kind": "table"}).script
    assert "#   refund (acme/a × p): 0 of 3 now, 33 of 33 before" in script
    assert "# promptlab ingest FILES --recheck-of=eval-2/0" in script


def test_nothing_that_a_file_says_is_executed(printed, tmp_path):
    hostile = "x\ntouch owned; $(touch owned) `touch owned` 'touch owned'"
    said = dict.fromkeys(
        (
            "run_id", "title", "variant", "task_id", "provider", "model", "commit_sha",
            "case_id", "prompt_label", "prompt_label_begins", "task_file", "state",
        ),
        hostile,
    ) | {
        "context": json.dumps({"description": hostile}),
        "env": json.dumps({hostile: hostile}),
        "prompt": json.dumps(hostile),
        "provider_config_ids": json.dumps([hostile]),
    }  # fmt: skip
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("npx", "inspect", "promptlab", "git"):
        (tools / tool).write_text("#!/bin/sh\nexit 0\n")
        (tools / tool).chmod(0o755)
    for kind in ("promptfoo", "inspect_ai", "table"):
        for case in (CASE, OLD):
            found = printed(case | said | {"source_kind": kind})
            subprocess.run(
                ["sh", "-c", found.script],
                cwd=tmp_path,
                env={"PATH": f"{tools}:/usr/bin:/bin"},
                check=True,
                capture_output=True,
            )
    assert not list(tmp_path.rglob("owned"))


def test_where_no_case_is_broken_or_watched_there_is_nothing_to_run(printed):
    with pytest.raises(NothingToDo, match="there is no case to ask again"):
        printed()


def test_json_lists_the_cases_of_both_sides(story, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    db = str(story.settings.db)
    assert run_cli(["recheck", "broken-9", "--format", "json", "--db", db]) == 0
    [case] = json.loads(capsys.readouterr().out)
    assert (case["side"], case["state"], case["n_rounds"]) == ("new", "broken", 5)
    assert case["run_id"] == "broken-9"
