"""The commands on the page on operations work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from promptlab.cli import cli
from promptlab.reports.gate.titles import can_repeat
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES, ROOT

PAGE = ROOT / "docs" / "operations.md"
AUTOMATION = ROOT / "docs" / "automation"
NIGHTLY = AUTOMATION / "nightly.sh"
ACTION = ROOT / "action.yml"
PIPELINES = ("gitlab-ci.yml", "Jenkinsfile", "yunxiao.yml", "gitee-go.yml")


def commands() -> list[str]:
    """Every promptlab command of the page, the script and the workflow."""
    code = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    inline = re.findall(r"`(promptlab [^`]+)`", PAGE.read_text("utf-8"))
    scripts = [NIGHTLY, ACTION, *(AUTOMATION / name for name in PIPELINES)]
    files = [script.read_text("utf-8") for script in scripts]
    lines = "\n".join([*code, *files]).splitlines()
    found = [
        re.search(r"^\s*(?:- )?(?:run: )?(?:\w+= )?(promptlab .*)", x) for x in lines
    ]
    whole = [re.split(r"\|\|| > ", match[1])[0] for match in found if match]
    whole = [re.sub(r"\$\{.*?\}|\$OPTIONS", "", line) for line in whole]
    return sorted({*whole, *inline})


@pytest.mark.parametrize("line", commands())
def test_every_command_exists_with_its_options(line):
    _, name, *args = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    try:
        command.make_context(name, args)
    except click.MissingParameter:
        assert not args  # the command is only named


def test_the_page_has_commands_of_every_kind():
    named = {shlex.split(line)[1] for line in commands()}
    assert named >= {"run", "export", "purge", "doctor", "build", "gate"}


def workflow(name: str) -> dict:
    return yaml.safe_load((AUTOMATION / name).read_text("utf-8"))


def action() -> dict:
    return yaml.safe_load(ACTION.read_text("utf-8"))


def used() -> dict[str, dict]:
    """The actions that the action uses."""
    steps = action()["runs"]["steps"]
    return {step["uses"].split("@")[0]: step for step in steps if "uses" in step}


def test_a_workflow_has_at_most_fifteen_lines():
    assert len((AUTOMATION / "github.yml").read_text("utf-8").splitlines()) <= 15


@pytest.mark.parametrize("name", ["github.yml", "accept.yml"])
def test_a_workflow_gives_the_action_inputs_that_it_has(name):
    [job] = workflow(name)["jobs"].values()
    step = job["steps"][-1]
    assert step["uses"].split("@")[0].endswith("/promptlab")
    assert set(step.get("with", {})) <= set(action()["inputs"])


def test_the_page_names_every_input_of_the_action():
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*`) \|", page, re.M)
    named = set(re.findall(r"`([^`]+)`", " ".join(rows)))
    assert set(action()["inputs"]) <= named


def test_a_step_is_what_a_composite_action_may_have():
    for step in action()["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert ("run" in step) == ("shell" in step)
        assert set(step) <= {
            "name", "id", "if", "uses", "with", "run", "shell", "env",
            "continue-on-error",
        }  # fmt: skip


def test_no_script_of_the_action_contains_what_an_event_says():
    """What a pull request names reaches a script as a variable only."""
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("name", sorted(path.name for path in AUTOMATION.glob("*.yml")))
def test_no_title_depends_on_a_file_that_is_named_by_its_run(name):
    text = (AUTOMATION / name).read_text("utf-8")
    changing = (
        r"GITHUB_(RUN_ID|SHA|RUN_NUMBER)|CI_(PIPELINE|JOB|COMMIT)_\w*ID|CI_COMMIT_SHA"
    )
    assert not re.search(changing, text)
    for file in re.findall(r"results/([\w.-]+)", text):
        assert can_repeat(Path(file).stem)


def test_the_history_survives_a_failing_job_and_only_the_base_branch_saves_it():
    restored, saved = used()["actions/cache/restore"], used()["actions/cache/save"]
    assert restored["with"] == {**saved["with"], "restore-keys": "promptlab-"}
    assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])
    assert saved["if"] == (
        "always() && (inputs.accept != '' || github.ref_name == inputs.base-branch)"
    )
    assert used()["actions/upload-artifact"]["if"].startswith("always()")


def test_the_gitlab_pipeline_writes_its_history_on_the_default_branch_only():
    found = workflow("gitlab-ci.yml")
    job = found["evaluate"]
    assert job["cache"]["policy"] == "$HISTORY"
    assert job["cache"]["when"] == job["artifacts"]["when"] == "always"
    on_default, elsewhere = found["workflow"]["rules"]
    assert on_default["if"] == "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"
    assert on_default["variables"] == {"HISTORY": "pull-push"}
    assert elsewhere["variables"] == {"HISTORY": "pull"}
    assert job["script"][-1] == "promptlab gate latest"


def shell_of(name: str) -> list[str]:
    """The lines that a pipeline runs, in order."""
    if name == "Jenkinsfile":
        text = (AUTOMATION / name).read_text("utf-8")
        return "".join(re.findall(r"sh '''(.*?)'''", text, re.S)).strip().splitlines()
    found = workflow(name)
    if name == "gitee-go.yml":
        [stage] = found["stages"]
        [step] = stage["steps"]
        assert step["step"] == "build@python"
        return step["commands"]
    [stage] = found["stages"].values()
    [job] = stage["jobs"].values()
    gate, reports = job["steps"].values()
    assert (gate["step"], reports["step"]) == ("Command", "ArtifactUpload")
    return gate["with"]["run"].splitlines()


@pytest.mark.parametrize("name", ["Jenkinsfile", "yunxiao.yml", "gitee-go.yml"])
def test_other_pipelines_ask_the_gate_last_write_junit_and_keep_the_history(name):
    lines = [line.strip() for line in shell_of(name)]
    script = "\n".join(lines)
    subprocess.run(["sh", "-n", "-c", script], check=True)
    assert lines[-1] == "promptlab gate latest"
    (junit,) = (line for line in lines if "--format junit" in line)
    assert junit.endswith("gate.xml || true")
    saved = [line for line in lines if "ossutil cp --force" in line]
    if name == "Jenkinsfile":
        text = (AUTOMATION / name).read_text("utf-8")
        always = text.partition("always {")[2]
        assert "junit" in always
        assert "history/**" in always
        assert text.count("{") == text.count("}")
    else:
        assert re.match(r'test "\$\w+" != main \|\| ossutil', saved[0])


RUN_SH = """#!/bin/sh
python evals/ask.py "$@"
"""

ASK = """
import json, os, sys, time, uuid
out = sys.argv[1]
prompt = open("evals/prompt.txt").read()
asked = {f"c{n}": 3 for n in range(10)}
document = {
    "task": {
        "task_id": uuid.uuid4().hex, "title": "suite", "prompt_version": prompt,
        "model": "m", "triggered_by": "ci", "env": {},
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    },
    "cases": [
        {
            "case_id": case, "context": {"question": case},
            "rounds": [
                {
                    "round_id": f"{case}-{n}", "run_index": n, "parsed_output": None,
                    "raw_output": "n" if case in prompt else "y", "metadata": {},
                    "executed_at": "2026-02-01T00:00:00Z",
                }
                for n in range(1, rounds + 1)
            ],
            "baselines": [
                {
                    "baseline_id": "g", "type": "golden_answer", "owner": "t",
                    "payload": {"text": "y"}, "confidence": 1,
                }
            ],
        }
        for case, rounds in asked.items()
    ],
    "dimensions": [
        {
            "dimension_id": "accuracy", "name": "Accuracy", "weight": 1, "target": {},
            "parameters": {"match_rule": "exact"}, "scoring_mode": "higher_better",
        }
    ],
    "extras": {},
}
json.dump(document, open(out, "w"))
"""

GH = """#!/bin/sh
# comments of one pull request: a file per comment
echo "$@" >> calls
case "$*" in
  *PATCH*) cp .promptlab/comment.md comment-7 ;;
  *POST*) cp .promptlab/comment.md comment-7 ;;
  *) if [ -f comment-7 ]; then echo 7; fi ;;
esac
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one evaluation on its base branch, and a fake gh."""
    folder = tmp_path / "repository"
    (folder / "evals").mkdir(parents=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    for file, text in (
        (folder / "evals" / "run.sh", RUN_SH),
        (folder / "evals" / "ask.py", ASK),
        (folder / "evals" / "prompt.txt", "be kind"),
        (tools / "gh", GH),
    ):
        file.write_text(text, "utf-8")
        file.chmod(0o755)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    return folder


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    return subprocess.run(
        ["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "add", "evals")
    git(folder, "commit", "--quiet", "--message", "work")


def perform(
    programs: Path, folder: Path, event: str, branch: str, **inputs: str
) -> list[str]:
    """Ask, then run the shell steps of the action as GitHub does.

    Returns:
        The names of the steps that failed.
    """
    shutil.rmtree(folder / "results", ignore_errors=True)
    (folder / "results").mkdir()
    (folder / ".promptlab").mkdir(exist_ok=True)
    output = folder / "output"
    output.write_text("", "utf-8")
    of_pull_request = event == "pull_request"
    own = {
        "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output),
        "GITHUB_SHA": git(folder, "rev-parse", "HEAD"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_REF_NAME": branch,
        "GITHUB_HEAD_REF": branch if of_pull_request else "",
        "GITHUB_BASE_REF": "main" if of_pull_request else "",
        "GITHUB_REPOSITORY": "o/r", "PROMPTLAB_DB": ".promptlab/warehouse.duckdb",
        "PATH": os.pathsep.join(
            [str(folder.parent / "tools"), str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
    }  # fmt: skip

    def call(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder, env=os.environ | own | env,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert call("evals/run.sh results/evaluation.json", {}).returncode == 0
    told = {
        f"inputs.{name}": inputs.get(name, str(each["default"]))
        for name, each in action()["inputs"].items()
    }
    told["github.event_name"] = event
    failed: list[str] = []
    for step in action()["runs"]["steps"]:
        if "run" not in step or step["name"] == "Install":
            continue
        if failed or not is_true(step.get("if", "true"), told):
            continue
        for line in output.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            told[f"steps.decide.outputs.{name}"] = value
        env = {name: filled(value, told) for name, value in step.get("env", {}).items()}
        done = call(step["run"], env)
        if done.returncode:
            failed.append(step["name"])
            assert step["name"] == "The gate decides", done.stderr
    return failed


def filled(text: str, told: dict[str, str]) -> str:
    """The text with the expressions of GitHub that the test knows, else nothing."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: told.get(m[1], "7"), text)


def is_true(condition: str, told: dict[str, str]) -> bool:
    """A condition of terms that are joined by `&&`."""
    terms = (
        re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", t) for t in condition.split(" && ")
    )
    return condition == "true" or all(
        term and (told[term[1]] == term[3]) == (term[2] == "==") for term in terms
    )


@pytest.mark.slow
def test_a_pull_request_that_breaks_a_case_fails_and_says_what_to_do(
    programs, repository
):
    history = Warehouse(repository / ".promptlab" / "warehouse.duckdb")
    history.settings.db.parent.mkdir()
    for night in ("first.json", "second.json"):
        ask = [sys.executable, "evals/ask.py", night]
        subprocess.run(ask, cwd=repository, check=True)
        history.ingest(repository / night, branch="main")
    assert perform(programs, repository, "push", "main") == []
    git(repository, "switch", "--quiet", "--create", "fix")
    (repository / "evals" / "prompt.txt").write_text("be brief, not c3", "utf-8")
    commit(repository)
    assert perform(programs, repository, "pull_request", "fix") == ["The gate decides"]
    comment = (repository / "comment-7").read_text("utf-8")
    assert comment.startswith("<!-- promptlab -->")
    for text in (comment, (repository / "summary.md").read_text("utf-8")):
        assert "1 case broke (c3: 0 of 3 now, 9 of 9 before)" in text
        assert "`promptlab recheck " in text
        assert "`promptlab accept " in text
    [run] = set(re.findall(r"`promptlab accept (\S+)", comment))
    assert (
        perform(
            programs, repository, "workflow_dispatch", "main", accept=run, reason="so"
        )
        == []
    )
    (repository / "evals" / "prompt.txt").write_text("be brief", "utf-8")
    commit(repository)
    # this tool cannot be asked again: the decision stays
    assert perform(programs, repository, "pull_request", "fix", recheck="true") == []
    assert "Ship" in (repository / "comment-7").read_text("utf-8")
    calls = (repository / "calls").read_text("utf-8")
    assert calls.count("POST") == calls.count("PATCH") == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("automation")
    shutil.copytree(EXAMPLES / "customer_service", folder / "runs")
    for name in ("public", "backups"):
        (folder / name).mkdir()
    return folder


def run(programs: Path, folder: Path, *call: str) -> subprocess.CompletedProcess[str]:
    own = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PROMPTLAB_DB": "warehouse.duckdb",
        "GITHUB_STEP_SUMMARY": "summary.md",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        call,
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_nightly_script_runs(programs, folder):
    night = run(programs, folder, str(NIGHTLY), "runs", "out", "public", "backups")
    assert night.returncode == 0, night.stderr
    assert (folder / "out" / "index.html").is_file()
    assert [p.name for p in (folder / "public").iterdir()] == ["warehouse.duckdb"]
    assert len(list((folder / "backups").iterdir())) == 1
    assert "check,every task has one summary,ok" in night.stdout
