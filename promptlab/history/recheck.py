"""The cases to run again on both sides, and the commands of their tools."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab.database.rows import dictionaries
from promptlab.errors import NothingToDo
from promptlab.task_ids import selected_tasks

if TYPE_CHECKING:
    import duckdb

_CASES = """
select
    tasks.run_id, tasks.source_kind, tasks.title, tasks.variant, tasks.task_id,
    tasks.provider, tasks.model, tasks.commit_sha, tasks.prompt_hash, tasks.env,
    tasks.extras ->> 'task_file' as task_file,
    verdicts.baseline_task_id, old.run_id as baseline_run_id,
    old.commit_sha as baseline_commit, old.prompt_hash as baseline_prompt_hash,
    prompts.prompt as baseline_prompt,
    cases.case_id, cases.n_rounds_to_recheck as n_rounds,
    cases.n_passed_now, cases.n_rounds_now, cases.n_passed_before,
    cases.n_rounds_before, contents.context,
    (
        select count(*) from marts.dim_cases as alike
        where
            alike.task_id = tasks.task_id
            and alike.context ->> 'description' = contents.context ->> 'description'
    ) as n_alike
from marts.fct_verdict_cases as cases
inner join marts.fct_verdicts as verdicts using (task_id)
inner join marts.dim_tasks as tasks using (task_id)
inner join marts.dim_cases as contents using (task_id, case_id)
inner join marts.dim_tasks as old on verdicts.baseline_task_id = old.task_id
left join marts.dim_task_prompts as prompts
    on verdicts.baseline_task_id = prompts.task_id
where
    tasks.task_id in (select unnest($tasks))
    and cases.recheck_place is not null
    and not cases.is_rechecked
order by tasks.run_id, tasks.title, tasks.variant, cases.recheck_place
"""

_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)

Row = dict[str, Any]


@dataclass(frozen=True)
class Recheck:
    """The cases to run again, and a shell script for it."""

    cases: list[Row]
    script: str
    files: dict[str, str]
    """Files that the script reads, by their name in the output folder."""

    def write(self, out: Path) -> None:
        """Write the files that the script reads."""
        for name, text in self.files.items():
            out.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, "utf-8")


def recheck(
    con: duckdb.DuckDBPyConnection,
    wanted: str,
    out: Path,
    *,
    tool_args: str = "",
    db: Path | None = None,
) -> Recheck:
    """Return the cases of a selection to run again.

    Args:
        con: An open connection to a built warehouse.
        wanted: The selection, as `selected_tasks` takes it.
        out: Folder for the files of the tools.
        tool_args: Arguments for the tool, in shell syntax.
        db: The warehouse, if it is not the default one.

    Raises:
        NothingToDo: no case is to be run again.
    """
    tasks = selected_tasks(con, wanted)
    cases = list(dictionaries(con, _CASES, {"tasks": tasks}))
    if not cases:
        raise NothingToDo(
            f"{wanted}: there is no case to run again: none newly fails, or all have"
            " their new rounds"
        )
    for case in cases:
        for name in ("context", "env", "baseline_prompt"):
            case[name] = json.loads(case[name]) if case[name] else None
    folder = shlex.quote(out.as_posix())
    lines = ["set -e", f"out=$(mkdir -p {folder} && cd {folder} && pwd)"]
    files: dict[str, str] = {}
    to = f" --db {shlex.quote(db.as_posix())}" if db else ""
    for number, (_, rows) in enumerate(groupby(cases, _of_one_call), 1):
        group = _Group(number, list(rows), tool_args, to, files)
        lines += ["", *group.script()]
    lines += ["", f"promptlab build{to}", f"# then: promptlab gate{to}"]
    return Recheck(cases, "\n".join(lines) + "\n", files)


def _of_one_call(case: Row) -> tuple[str, ...]:
    """The scope of one call of a tool: promptfoo all variants, Inspect one task."""
    is_whole_run = case["source_kind"] == "promptfoo"
    own = "" if is_whole_run else case["task_id"]
    return case["source_kind"], case["run_id"], case["title"], own


@dataclass(frozen=True)
class _Group:
    """Cases that one call of the tool runs again."""

    number: int
    cases: list[Row]
    tool_args: str
    to: str
    """The option that names the warehouse."""
    files: dict[str, str]

    @property
    def n_rounds(self) -> int:
        return max(int(case["n_rounds"]) for case in self.cases)

    def script(self) -> Iterable[str]:
        """Return the lines for these cases; values of files are quoted."""
        first = self.cases[0]
        n = len({case["case_id"] for case in self.cases})
        yield _comment(
            f"{first['title']}: {n} case{'s' if n > 1 else ''},"
            f" {self.n_rounds} rounds each on both sides"
        )
        for case in self.cases:
            yield _comment(
                f"  {case['case_id']} ({case['variant']}):"
                f" {case['n_passed_now']} of {case['n_rounds_now']} now,"
                f" {case['n_passed_before']} of {case['n_rounds_before']} before"
            )
        sides = {"promptfoo": self._promptfoo, "inspect_ai": self._inspect}
        make = sides.get(first["source_kind"])
        if make is None:
            yield "# Ask these cases again on both sides, and load what comes out:"
            new, old = self._target(first), self._old_target(first)
            yield _comment(self._ingest("NEW_FILES", new, quote=False))
            yield _comment(self._ingest("OLD_FILES", old, quote=False))
            return
        call, results, option = make()
        yield from self._side("new", call, results, "")
        yield self._ingest(f"{self.number}-new{results}", self._target(first))
        commits = {case["baseline_commit"] for case in self.cases}
        commit = first["baseline_commit"] or ""
        if (
            len(commits) == 1
            and _COMMIT.fullmatch(commit)
            and commit != first["commit_sha"]
        ):
            yield f'git worktree add --force --detach "$out/base" {commit}'
            here = '"$out/base/$(git rev-parse --show-prefix)"'
            [line] = self._side("old", call, results, "")
            yield f"(cd {here} && {line})"
            yield 'git worktree remove --force "$out/base"'
        elif option and (prompts := self._old_prompts()):
            yield "# The baseline's commit is not known: only its prompt is old."
            yield from self._side("old", call, results, f" {option} {prompts}")
        else:
            yield "# The old side is not known: its earlier runs are used instead."
            return
        yield self._ingest(f"{self.number}-old{results}", self._old_target(first))

    def _side(self, name: str, call: str, results: str, more: str) -> list[str]:
        into = f'"$out/{self.number}-{name}{results}"'
        # promptfoo exits with 100 if a test fails
        end = " || [ $? -eq 100 ]" if results == ".json" else ""
        args = f" {self.tool_args}" if self.tool_args else ""
        return [f"{call}{args}{more} {_INTO[results]} {into}{end}"]

    def _ingest(self, name: str, target: str, *, quote: bool = True) -> str:
        file = f'"$out/{name}"' if quote else name
        return f"promptlab ingest{self.to} {file} --recheck-of={_quoted(target)}"

    def _target(self, case: Row) -> str:
        return str(case["run_id"] if self._is_run else case["task_id"])

    def _old_target(self, case: Row) -> str:
        key = "baseline_run_id" if self._is_run else "baseline_task_id"
        return str(case[key])

    @property
    def _is_run(self) -> bool:
        return bool(self.cases[0]["source_kind"] == "promptfoo")

    def _promptfoo(self) -> tuple[str, str, str]:
        contexts = [case["context"] or {} for case in self.cases]
        named = [str(context.get("description") or "") for context in contexts]
        if all(named) and all(case["n_alike"] == 1 for case in self.cases):
            texts = "|".join(_in_regex(name) for name in dict.fromkeys(named))
            which = f"--filter-pattern={_quoted(f'^({texts})$')}"
        else:
            # a test without a description is found by its variables
            failing = [
                {"success": False, "vars": context.get("vars") or {}}
                for context in contexts
            ]
            name = f"{self.number}-cases.json"
            self.files[name] = json.dumps({"results": {"results": failing}}, indent=1)
            which = f'--filter-failing="$out/{name}"'
        providers = dict.fromkeys(case["provider"] for case in self.cases)
        only = _quoted("|".join(map(_in_regex, providers)))
        return (
            f"npx promptfoo eval {which} --filter-providers={only}"
            f" --repeat {self.n_rounds} --no-cache --no-table",
            ".json",
            "-p",
        )

    def _inspect(self) -> tuple[str, str, str]:
        first = self.cases[0]
        file = first["task_file"] or "TASK_FILE.py"
        task = f"./{file}@{first['title']}".replace(".//", "/")
        ids = ",".join(case["case_id"] for case in self.cases)
        args = "".join(
            f" -T {_quoted(f'{key}={value}')}"
            for key, value in sorted((first["env"] or {}).items())
        )
        return (
            f"inspect eval {_quoted(task)} --model={_quoted(first['model'])}{args}"
            f" --sample-id={_quoted(ids)} --epochs {self.n_rounds}",
            "",
            "",
        )

    def _old_prompts(self) -> str:
        """Write the old prompts of variants whose prompt changed; return the files."""
        texts = dict.fromkeys(
            case["baseline_prompt"]
            if isinstance(case["baseline_prompt"], str)
            else json.dumps(case["baseline_prompt"], ensure_ascii=False)
            for case in self.cases
            if case["baseline_prompt"]
            and case["prompt_hash"] != case["baseline_prompt_hash"]
        )
        names = []
        for place, text in enumerate(texts, 1):
            name = f"{self.number}-old-prompt-{place}.txt"
            self.files[name] = text
            names.append(f'"$out/{name}"')
        return " ".join(names)


_INTO = {".json": "-o", "": "--log-dir"}
"""The option for the path of results, by suffix; without suffix a folder."""


def _quoted(text: str) -> str:
    return shlex.quote(text)


def _comment(text: str) -> str:
    """Return a comment line; line breaks are removed."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"# {printable}"


def _in_regex(text: str) -> str:
    return re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", text)


COLUMNS: Sequence[str] = (
    "task_id", "run_id", "title", "variant", "case_id", "n_rounds", "n_passed_now",
    "n_rounds_now", "n_passed_before", "n_rounds_before", "baseline_task_id",
    "baseline_commit", "context",
)  # fmt: skip
"""The columns of a list of cases."""
