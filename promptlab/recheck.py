"""Print how broken and watched cases are asked again: a shell script for their tool.

Every case is asked five times more; on the old side too, while it has fewer than five
earlier rounds. The new rounds count as rounds of the run that they repeat.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import NothingToDo
from promptlab.relations import Row, dictionaries
from promptlab.task_ids import require_built, selected_tasks

if TYPE_CHECKING:
    import duckdb

ROUNDS = 5
"""Number of new rounds per case; with as many earlier ones, the old side needs none."""

# A side is a task that is asked again: the candidate, and the last run before it.
_CASES = """
    with wanted as (
        select
            odds.task_id,
            odds.case_id,
            odds.state,
            odds.odds,
            odds.n_passed_now, odds.n_rounds_now,
            odds.n_passed_before, odds.n_rounds_before,
            verdicts.last_task_id
        from marts.fct_case_odds as odds
        inner join marts.fct_verdicts as verdicts using (task_id)
        where
            odds.task_id in (select unnest($tasks))
            and odds.state in ('broken', 'watched')
            and not odds.is_known_flaky
    ),
    sides as (
        select task_id as side_task_id, 'new' as side, * from wanted
        union all
        select last_task_id as side_task_id, 'old' as side, * from wanted
        where n_rounds_before < $rounds
    )
    select
        sides.side,
        tasks.run_id, tasks.task_id, tasks.title, tasks.variant,
        tasks.source_kind, tasks.provider, tasks.model, tasks.commit_sha, tasks.env,
        tasks.prompt_hash,
        tasks.extras ->> 'task_file' as task_file,
        tasks.extras ->> 'prompt_label' as prompt_label,
        tasks.extras ->> 'prompt_label_begins' as prompt_label_begins,
        tasks.extras -> 'provider_config_ids' as provider_config_ids,
        prompts.prompt,
        new.commit_sha as new_commit, new.prompt_hash as new_prompt_hash,
        sides.case_id, sides.state, sides.odds,
        sides.n_passed_now, sides.n_rounds_now,
        sides.n_passed_before, sides.n_rounds_before,
        contents.context
    from sides
    inner join marts.dim_tasks as tasks on sides.side_task_id = tasks.task_id
    inner join marts.dim_tasks as new on sides.task_id = new.task_id
    inner join marts.dim_cases as contents
        on tasks.task_id = contents.task_id and sides.case_id = contents.case_id
    left join marts.dim_task_prompts as prompts on tasks.task_id = prompts.task_id
    order by
        sides.side, tasks.title, tasks.run_id, tasks.variant, tasks.task_id,
        sides.odds desc, sides.case_id
"""

# All variants and tests of these runs: a filter of the tool may match more of them.
_VARIANTS = """
    select
        run_id, task_id, model,
        extras ->> 'prompt_label' as prompt_label,
        extras ->> 'prompt_label_begins' as prompt_label_begins
    from marts.dim_tasks
    where run_id in (select unnest($runs)) and recheck_of is null
"""
_CONTEXTS = """
    select task_id, context
    from marts.dim_cases
    where task_id in (select unnest($tasks))
"""

_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


@dataclass
class Recheck:
    """The cases to ask again, and a shell script for it."""

    cases: list[Row]
    """A row per case and side; the names of their values are ``COLUMNS``."""
    script: str = ""
    n_calls: int = 0
    """Answers that the commands of the script ask for."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that the script reads, by their name in the output folder."""

    def write(self, out: Path) -> None:
        """Write the files that the script reads."""
        for name, text in self.files.items():
            out.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, "utf-8")


COLUMNS: Sequence[str] = (
    "side", "task_id", "run_id", "title", "variant", "case_id", "state", "n_rounds",
    "n_passed_now", "n_rounds_now", "n_passed_before", "n_rounds_before", "commit_sha",
    "context",
)  # fmt: skip
"""The columns of a list of cases."""


def recheck(
    con: duckdb.DuckDBPyConnection,
    selection: str,
    out: Path,
    *,
    tool_args: str = "",
    db: Path | None = None,
) -> Recheck:
    """Return the cases of a selection to ask again.

    *selection* is as `selected_tasks` takes it; *tool_args* are in shell syntax.

    Raises:
        NothingToDo: no case is broken or watched.
    """
    require_built(con)
    tasks = selected_tasks(con, selection)
    cases = list(dictionaries(con, _CASES, {"tasks": tasks, "rounds": ROUNDS}))
    if not cases:
        raise NothingToDo(
            f"{selection}: there is no case to ask again: none is broken or watched"
        )
    for case in cases:
        case["n_rounds"] = ROUNDS
        for name in ("context", "env", "prompt"):
            case[name] = json.loads(case[name]) if case[name] else None
    runs = sorted({str(case["run_id"]) for case in cases})
    suite = _Suite(list(dictionaries(con, _VARIANTS, {"runs": runs})), {})
    task_ids = [str(variant["task_id"]) for variant in suite.variants]
    for row in dictionaries(con, _CONTEXTS, {"tasks": task_ids}):
        context = json.loads(row["context"] or "{}") or {}
        suite.contexts.setdefault(str(row["task_id"]), []).append(context)
    return _script(cases, suite, out, tool_args, db)


@dataclass(frozen=True)
class _Suite:
    """All variants of the runs, and the contexts of their cases."""

    variants: list[Row]
    contexts: dict[str, list[Row]]


def _script(
    cases: list[Row], suite: _Suite, out: Path, tool_args: str, db: Path | None
) -> Recheck:
    result = Recheck(cases)
    db_option = f" --db {shlex.quote(db.as_posix())}" if db else ""
    groups = [
        _Group(n, list(rows), suite, tool_args, db_option, result.files)
        for n, (_, rows) in enumerate(groupby(cases, _load_key), 1)
    ]
    bodies = [[*group.script()] for group in groups]
    result.n_calls = sum(group.n_calls for group in groups)
    folder = shlex.quote(out.as_posix())
    lines = ["set -e", f"out=$(mkdir -p {folder} && cd {folder} && pwd)"]
    for body in bodies:
        lines += ["", *body]
    lines += ["", f"promptlab build{db_option}", f"# then: promptlab gate{db_option}"]
    result.script = "\n".join(lines) + "\n"
    return result


def _load_key(case: Row) -> tuple[str, ...]:
    """Return the scope of one load: promptfoo's whole run, Inspect's task."""
    is_whole_run = case["source_kind"] == "promptfoo"
    task_key = "" if is_whole_run else str(case["task_id"])
    return str(case["side"]), case["title"], case["run_id"], task_key


@dataclass
class _Group:
    """Cases of one side, whose new rounds are loaded into one run or task."""

    number: int
    cases: list[Row]
    suite: _Suite
    tool_args: str
    db_option: str
    """The option that names the warehouse."""
    files: dict[str, str]
    n_calls: int = 0

    def script(self) -> Iterator[str]:
        """Return the lines for these cases; values of files are quoted."""
        first = self.cases[0]
        kind = first["source_kind"]
        if kind == "memory":
            yield from self._case_comments("cannot be asked again")
            yield "# The memory of another run is not the same: load a whole new run."
            return
        commands = {"promptfoo": self._promptfoo, "inspect_ai": self._inspect}
        make = commands.get(kind)
        if make is None:
            yield from self._case_comments(
                f"ask each {ROUNDS} times more, and load the file:"
            )
            yield _comment(self._ingest("FILES"))
            return
        if not self._can_be_asked:
            yield from self._case_comments("not asked again")
            yield "# No other commit (`--commit`, CI, git), no other prompt is known."
            return
        calls = list(make())
        yield from self._case_comments(f"{self.n_calls} calls")
        results = [f'"$out/{self.number}-{n}{_SUFFIX[kind]}"' for n, _ in calls]
        lines = [
            self._run(call, result)
            for (_, call), result in zip(calls, results, strict=True)
        ]
        if self._commit is None:
            yield from lines
        else:
            worktree = '"$out/base/$(git rev-parse --show-prefix)"'
            yield f'git worktree add --force --detach "$out/base" {self._commit}'
            for line in lines:
                yield f"(cd {worktree} && {line})"
            yield 'git worktree remove --force "$out/base"'
        yield self._ingest(" ".join(results))

    def _case_comments(self, note: str) -> Iterator[str]:
        first = self.cases[0]
        n = len({case["case_id"] for case in self.cases})
        side = "" if first["side"] == "new" else f", the old side ({first['run_id']})"
        yield _comment(f"{first['title']}{side}: {n} case(s), {note}")
        for case in self.cases:
            yield _comment(
                f"  {case['case_id']} ({case['variant']}):"
                f" {case['n_passed_now']} of {case['n_rounds_now']} now,"
                f" {case['n_passed_before']} of {case['n_rounds_before']} before"
            )

    @property
    def _commit(self) -> str | None:
        """The commit of the old side, if the new side has another one."""
        first = self.cases[0]
        commit = first["commit_sha"] or ""
        is_other = first["side"] == "old" and commit != first["new_commit"]
        return commit if is_other and _COMMIT.fullmatch(commit) else None

    @property
    def _can_be_asked(self) -> bool:
        """True if the tool can ask this side.

        The old side needs its own commit or prompt: with those of the new side, the
        answers would not be answers of the old side.
        """
        first = self.cases[0]
        if first["side"] == "new" or self._commit is not None:
            return True
        return first["source_kind"] == "promptfoo" and all(
            case["prompt"] and case["prompt_hash"] != case["new_prompt_hash"]
            for case in self.cases
        )

    def _run(self, call: str, into: str) -> str:
        args = f" {self.tool_args}" if self.tool_args else ""
        if self.cases[0]["source_kind"] == "promptfoo":
            # promptfoo exits with 100 if a test fails
            return f"{call}{args} -o {into} || [ $? -eq 100 ]"
        return f"{call}{args} --log-dir {into}"

    def _ingest(self, files: str) -> str:
        first = self.cases[0]
        key = "run_id" if first["source_kind"] == "promptfoo" else "task_id"
        run_or_task = shlex.quote(str(first[key]))
        return f"promptlab ingest{self.db_option} {files} --recheck-of={run_or_task}"

    def _promptfoo(self) -> Iterator[tuple[int, str]]:
        """Yield calls of promptfoo that ask these cases of these variants, no others.

        promptfoo asks all tests of all prompts of all providers that its filters let
        through, so that variants are in one call only if they have the same cases and
        make such a product.
        """
        cases_of: dict[tuple[str, str], dict[str, Row]] = {}
        for case in self.cases:
            cases = cases_of.setdefault((_prompt_pattern(case), str(case["model"])), {})
            cases[str(case["case_id"])] = case
        prompts_of: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for (prompt, model), cases in cases_of.items():
            prompts_of.setdefault((tuple(sorted(cases)), model), []).append(prompt)
        models_of: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for (ids, model), prompts in prompts_of.items():
            models_of.setdefault((ids, tuple(prompts)), []).append(model)
        for number, ((_, prompts_), models) in enumerate(models_of.items(), 1):
            cases = cases_of[prompts_[0], models[0]]
            yield number, self._one_call(number, [*cases.values()], prompts_, models)

    def _one_call(
        self, number: int, cases: list[Row], prompts: Sequence[str], models: list[str]
    ) -> str:
        first = cases[0]
        suite_contexts = self.suite.contexts.get(str(first["task_id"]), [])
        contexts = [case["context"] or {} for case in cases]
        named = [str(context.get("description") or "") for context in contexts]
        descriptions = [
            str(context.get("description") or "") for context in suite_contexts
        ]
        if all(named) and all(descriptions.count(name) == 1 for name in named):
            case_filter = f"--filter-pattern={_pattern(dict.fromkeys(named))}"
            n_tests = len(contexts)
        else:
            # a test without a description is found by its variables
            failing = [
                {"success": False, "vars": context.get("vars") or {}}
                for context in contexts
            ]
            name = f"{self.number}-{number}-cases.json"
            self.files[name] = json.dumps({"results": {"results": failing}}, indent=1)
            case_filter = f'--filter-failing="$out/{name}"'
            variables = [context["vars"] for context in failing]
            n_tests = sum(
                (context.get("vars") or {}) in variables for context in suite_contexts
            )
        variants = [v for v in self.suite.variants if v["run_id"] == first["run_id"]]
        filters = ""
        if self._commit is None and first["side"] == "old":
            variants = [v for v in variants if _prompt_pattern(v) in prompts]
            filters += f" -p {self._old_prompts(number, prompts)}"
        elif any(_prompt_pattern(variant) not in prompts for variant in variants):
            variants = [v for v in variants if _is_selected(prompts, v)]
            filters += f" --filter-prompts={shlex.quote('|'.join(prompts))}"
        if any(variant["model"] not in models for variant in variants):
            variants = [v for v in variants if v["model"] in models]
            # a provider of the user's own has another id in the config
            custom_ids = json.loads(first["provider_config_ids"] or "[]")
            filters += f" --filter-providers={_pattern([*models, *custom_ids])}"
        self.n_calls += ROUNDS * n_tests * len(variants)
        return (
            f"npx promptfoo eval {case_filter}{filters}"
            f" --repeat {ROUNDS} --no-cache --no-table"
        )

    def _inspect(self) -> Iterator[tuple[int, str]]:
        first = self.cases[0]
        file = first["task_file"] or "TASK_FILE.py"
        task = f"./{file}@{first['title']}".replace(".//", "/")
        ids = ",".join(str(case["case_id"]) for case in self.cases)
        args = "".join(
            f" -T {shlex.quote(f'{key}={value}')}"
            for key, value in sorted((first["env"] or {}).items())
        )
        self.n_calls = ROUNDS * len(self.cases)
        yield (
            1,
            f"inspect eval {shlex.quote(task)} --model={shlex.quote(first['model'])}"
            f"{args} --sample-id={shlex.quote(ids)} --epochs {ROUNDS}",
        )

    def _old_prompts(self, number: int, prompts: Sequence[str]) -> str:
        """Write the prompts of variants of the old side; return the files."""
        texts = dict.fromkeys(
            case["prompt"]
            if isinstance(case["prompt"], str)
            else json.dumps(case["prompt"], ensure_ascii=False)
            for case in self.cases
            if _prompt_pattern(case) in prompts
        )
        names = []
        for place, text in enumerate(texts, 1):
            name = f"{self.number}-{number}-prompt-{place}.txt"
            self.files[name] = text
            names.append(f'"$out/{name}"')
        return " ".join(names)


_SUFFIX = {"promptfoo": ".json", "inspect_ai": ""}
"""Suffix of the results of a tool; without one they are a folder."""


def _prompt_pattern(variant: Row) -> str:
    """Return a regular expression for the label of the prompt."""
    if variant["prompt_label_begins"]:
        return f"^{_escaped(variant['prompt_label_begins'])}"
    return f"^{_escaped(variant['prompt_label'] or '')}$"


def _is_selected(prompts: Iterable[str], variant: Row) -> bool:
    label = variant["prompt_label_begins"] or variant["prompt_label"] or ""
    return any(re.search(prompt, label) for prompt in prompts)


def _pattern(names: Iterable[str]) -> str:
    """Return a quoted regular expression that matches these names only."""
    return shlex.quote(f"^({'|'.join(map(_escaped, names))})$")


def _comment(text: str) -> str:
    """Return a comment line; line breaks are removed."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"# {printable}"


def _escaped(text: str) -> str:
    return re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", text)
