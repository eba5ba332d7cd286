"""Tasks over time: comparisons, baselines, the gate, re-checks, written reports.

The marts compute the numbers. A request, such as a comparison or a named baseline, is a
row in ``raw``; then only the models that depend on it are rebuilt.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.build import build
from promptlab.database import Row, dictionaries, has_relation
from promptlab.errors import (
    NothingToDo,
    SettingsError,
    StorageError,
    UsageError,
    WarehouseError,
    did_you_mean,
)
from promptlab.ingest.raw.requests import name_baseline, request_comparison
from promptlab.messages import say
from promptlab.reports.comparisons import comparison, is_compared
from promptlab.reports.gate.policy import Policy
from promptlab.reports.gate.verdict import gate_result, gate_results
from promptlab.task_ids import (
    left_out_files,
    require_built,
    resolve_task,
    selected_pairs,
    selected_tasks,
    to_compare_again,
)

if TYPE_CHECKING:
    import duckdb

    from promptlab.contracts.comparison import Comparison
    from promptlab.contracts.gate import GateResult
    from promptlab.warehouse_file import WarehouseFile


# ---------- trends


def trend_unit(con: duckdb.DuckDBPyConnection, measure: str) -> str:
    """Return the unit of a measure of ``marts.fct_trends``.

    Raises:
        UsageError: There is no such measure; the message has the nearest.
    """
    found = con.execute(
        "from policy.promptlab_trend_measures select measure, unit order by measure"
    ).fetchall()
    units: dict[str, str] = dict(found)
    if measure not in units:
        hint = did_you_mean(measure, units) or f"; there are {', '.join(units)}"
        raise UsageError(f"trends: there is no measure {measure!r}{hint}")
    return units[measure]


# ---------- comparisons and baselines


@dataclass(frozen=True)
class TaskSeries:
    """The scope of a baseline: tasks of one title, testset and variant."""

    title: str
    testset_id: str | None
    variant: str | None = None

    def __str__(self) -> str:
        """Return a description for messages."""
        variant = f", variant {self.variant!r}" if self.variant else ""
        testset = f", testset {self.testset_id}" if self.testset_id else ""
        return f"{self.title!r}{variant}{testset}"


def compare(
    warehouse: WarehouseFile,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
) -> Comparison:
    """Compare two tasks; a pair that is not in the marts yet is built and stored.

    Args:
        warehouse: the warehouse of both.
        baseline: the "before": an id, a unique prefix, ``latest``; ``baseline`` and
            ``previous`` are those of the candidate.
        candidate: the "after": an id, a unique prefix, ``latest`` or ``previous``.
        lang: language of the sentences, ``zh`` or ``en``.
        cases: number of listed cases, the worst first; all by default.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or the candidate has no baseline.
    """
    with warehouse.built() as con:
        after = _resolved(con, candidate)
        before = _resolved(con, baseline, of=after)
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
        if is_compared(con, before, after):
            return comparison(con, before, after, lang=lang, cases=cases)
    _compare_now(warehouse, [(before, after)])
    with warehouse.built() as con:
        return comparison(con, before, after, lang=lang, cases=cases)


def compare_selected(
    warehouse: WarehouseFile,
    baseline: str,
    candidate: str,
    *,
    lang: str,
    cases: int | None = None,
) -> list[Comparison]:
    """Compare what two selections name; pairs that are not in the marts are built.

    The pairs are those of `selected_pairs`; *lang* and *cases* are as for `compare`.

    Raises:
        UsageError: no such task, or one task twice.
        NothingToDo: nothing is built, or a candidate has no baseline.
    """
    with warehouse.built() as con:
        _require_pairs(con)
        require_built(con)
        pairs = selected_pairs(con, baseline, candidate)
        new = [pair for pair in pairs if not is_compared(con, *pair)]
    for before, after in pairs:
        if before == after:
            raise UsageError(f"{before}: a task cannot be compared with itself")
    _compare_now(warehouse, new)
    with warehouse.built() as con:
        return [comparison(con, *pair, lang=lang, cases=cases) for pair in pairs]


def _compare_now(warehouse: WarehouseFile, pairs: Sequence[tuple[str, str]]) -> None:
    """Build comparisons that are not in the marts, all at once."""
    if not pairs:
        return
    before, after = pairs[0]
    more = f", and {len(pairs) - 1} more pairs" if pairs[1:] else ""
    say(f"{before} and {after}{more} have not been compared yet; building …")

    def request(con: duckdb.DuckDBPyConnection) -> None:
        for pair in pairs:
            request_comparison(con, *pair)

    build(warehouse, request=request)


def set_baseline(warehouse: WarehouseFile, wanted: str) -> list[tuple[str, TaskSeries]]:
    """Name tasks the baselines of their variants, until others are named.

    *wanted* is as `selected_tasks` takes it.

    Returns:
        The whole id of each task, and the scope of the baseline.

    Raises:
        UsageError: no such task.
    """
    with warehouse.built() as con:
        _require_pairs(con)
        found = _series_of(con, selected_tasks(con, wanted))
    _name(warehouse, [(series, task_id) for task_id, series in found])
    return found


def clear_baseline(
    warehouse: WarehouseFile, wanted: str
) -> list[tuple[str, TaskSeries]]:
    """Remove the baselines of the titles and testsets of these tasks.

    *wanted* is as `selected_tasks` takes it. Those of all variants are removed; a title
    removes those of all its testsets.

    Returns:
        The id of each task that was a baseline, and the scope.

    Raises:
        NothingToDo: no baseline is named.
    """
    with warehouse.built() as con:
        named = [
            (str(task_id), TaskSeries(title, testset_id, variant))
            for title, testset_id, variant, task_id, *_ in named_baselines(con)
        ]
        scopes = [series for _, series in named if series.title == wanted]
        if not scopes:
            _require_pairs(con)
            tasks = _series_of(con, selected_tasks(con, wanted))
            scopes = [series for _, series in tasks]
    cleared = {(series.title, series.testset_id): series for series in scopes}
    found = [
        (task_id, series)
        for task_id, series in named
        if (series.title, series.testset_id) in cleared
    ]
    if not found:
        scope = TaskSeries(*next(iter(cleared)))
        raise NothingToDo(f"no baseline is named for {scope}")
    _name(warehouse, [(series, None) for series in cleared.values()])
    return found


def named_baselines(
    con: duckdb.DuckDBPyConnection,
) -> list[tuple[str, str | None, str | None, str, str, datetime]]:
    """Return all named baselines.

    Returns:
        Title, testset, variant, task, state (``ok``; ``changed``: it, its scores or its
        testset were loaded since; ``gone``: no longer in the warehouse), and the time
        at which it was set (UTC).
    """
    return con.execute(
        "select title, testset_id, variant, task_id, state, set_at"
        " from marts.dim_named_baselines order by title, testset_id, variant"
    ).fetchall()


def baselines_of(
    con: duckdb.DuckDBPyConnection, wanted: str
) -> list[tuple[str, str | None, str, str | None, datetime | None]]:
    """Return the baseline of each selected task.

    *wanted* is as `selected_tasks` takes it.

    Returns:
        The task's whole id; its baseline's; where that comes from (``named``,
        ``previous``, ``gone``, ``none``); state and time of a named one.

    Raises:
        UsageError: no such task.
        NothingToDo: its baseline was purged, and nothing is built since.
    """
    _require_pairs(con)
    found = []
    for task_id in selected_tasks(con, wanted):
        row = con.execute(
            "select task_id, baseline_task_id, baseline_source,"
            " case when is_baseline_changed then 'changed'"
            " when baseline_source = 'gone' then 'gone'"
            " when baseline_source = 'named' then 'ok' end, baseline_set_at"
            " from marts.dim_task_baselines where task_id = ?",
            [task_id],
        ).fetchone()
        if row is None:
            raise to_compare_again(task_id)
        found.append(row)
    return found


def _resolved(
    con: duckdb.DuckDBPyConnection, wanted: str, *, of: str | None = None
) -> str:
    _require_pairs(con)
    return resolve_task(con, wanted, of=of)


def _require_pairs(con: duckdb.DuckDBPyConnection) -> None:
    if not has_relation(con, "marts.fct_task_pairs"):
        raise NothingToDo(
            "this warehouse was built before tasks could be compared; `promptlab build`"
        )


def _series_of(
    con: duckdb.DuckDBPyConnection, task_ids: Sequence[str]
) -> list[tuple[str, TaskSeries]]:
    rows = con.execute(
        "select task_id, title, testset_id, variant from marts.dim_tasks"
        " where task_id in (select unnest($1)) order by title, variant, task_id",
        [list(task_ids)],
    ).fetchall()
    return [(str(task_id), TaskSeries(*series)) for task_id, *series in rows]


def _name(
    warehouse: WarehouseFile, named: Sequence[tuple[TaskSeries, str | None]]
) -> None:
    say("comparing again …")

    def request(con: duckdb.DuckDBPyConnection) -> None:
        for series, task_id in named:
            name_baseline(con, series.title, series.testset_id, task_id)

    build(warehouse, request=request)


# ---------- the gate of tasks; builds missing comparisons first


EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 4, "check": 3}


def judge(
    warehouse: WarehouseFile,
    task: str,
    policy: Policy,
    *,
    lang: str,
) -> list[GateResult]:
    """Check the selected tasks against a policy.

    *task* is as `selected_tasks` takes it.

    Returns:
        A result per task.

    Raises:
        UsageError: no such task, or the policy has no rules.
        NothingToDo: nothing is built, or files were loaded since.
    """
    with warehouse.built() as con:
        require_built(con)
        task_ids = selected_tasks(con, task)
        left_out = left_out_files(con, task, task_ids)
        judged = gate_results(con, task_ids, policy, lang=lang, left_out=left_out)
    for task_id, result in judged.items():
        if result.baseline_task_id is None and _is_now_compared(
            warehouse, task_id, policy, lang=lang
        ):
            with warehouse.built() as con:
                judged[task_id] = gate_result(
                    con, task_id, policy, lang=lang, left_out=left_out
                )
    return list(judged.values())


def _is_now_compared(
    warehouse: WarehouseFile, task_id: str, policy: Policy, *, lang: str
) -> bool:
    """Compare a task with the baseline of the policy, if there is one."""
    baseline = policy.rules.regression.baseline
    try:
        compare(warehouse, baseline, task_id, lang=lang, cases=0)
    except NothingToDo:
        return False
    return True


def record(
    warehouse: WarehouseFile, results: Sequence[GateResult], policy: Policy
) -> None:
    """Append the decisions to `raw.decisions`; warn if the file is read-only."""
    from promptlab.ingest.raw.requests import record_decisions

    if not results:
        return
    try:
        with warehouse.writable() as con:
            record_decisions(
                con,
                [(result.task_id, result.decision) for result in results],
                policy.hash,
            )
    except (SettingsError, StorageError, WarehouseError, OSError) as error:
        say(f"the decision was not recorded: {error}", "not_recorded")


# Tasks before the newest run of each title, of those loaded since the decision on them.
_WAITING = """
select title, variant, task_id
from (
    select
        title,
        variant,
        task_id,
        run_number,
        run_number < max(run_number) over (partition by title) as is_earlier
    from marts.dim_tasks
    where task_id in (select unnest($tasks)) and role = 'full'
    qualify row_number() over (
        partition by title, variant order by run_number desc, task_id desc
    ) <= 31
)
where is_earlier and task_id in (select unnest($loaded))
order by run_number, task_id
"""


def judge_in_order(
    warehouse: WarehouseFile, tasks: Sequence[str], policy: Policy, *, lang: str
) -> list[GateResult]:
    """Judge and record runs that were loaded together, but for the newest ones.

    A run waits until it is known whether its baseline is one. Later runs are compared
    again after each run that was not shipped, as it is none, and after one that was
    loaded again, as it is one now: the decisions are those of runs that were loaded one
    by one.

    Args:
        warehouse: the warehouse, built.
        tasks: whole ids; of each variant the newest 31, but for the newest run, are
            judged.
        policy: rules of the gate.
        lang: language of the notes, which are not kept.

    Returns:
        A result for each run that was judged.
    """
    from promptlab.ingest.raw.requests import loaded_since_decided

    with warehouse.built() as con:
        judged, loaded = to_judge(con, tasks), loaded_since_decided(con, tasks)
        waiting = dictionaries(con, _WAITING, {"tasks": judged, "loaded": loaded})
        again = dictionaries(
            con,
            "select distinct task_id from raw.decisions"
            " where task_id in (select unnest($tasks))",
            {"tasks": loaded},
        )
        stale = {row["task_id"] for row in again}
        named = dictionaries(
            con,
            "select named_task_id from marts.dim_task_baselines"
            " where named_task_id is not null",
        )
        accepted = {row["named_task_id"] for row in named}
    all_decided: list[GateResult] = []
    while waiting:
        with warehouse.built() as con:
            results = gate_results(
                con,
                [row["task_id"] for row in waiting],
                policy,
                lang=lang,
                with_smallest_drop=False,
            )
        decided: list[GateResult] = []
        unsure = {row["task_id"] for row in waiting} - accepted  # as baselines
        stopped: set[tuple[str, str]] = set()  # variants with one that is unsure
        left = []
        for row in waiting:
            result, variant = results[row["task_id"]], (row["title"], row["variant"])
            is_unsure = variant in stopped or result.baseline_task_id in unsure
            if is_unsure and decided:  # the first one waits for none
                stopped.add(variant)
                left.append(row)
                continue
            decided.append(result)
            if result.decision in _SETTLED and result.task_id not in stale:
                unsure.discard(result.task_id)
            else:
                stopped.add(variant)
        record(warehouse, decided, policy)
        all_decided += decided
        waiting = left
        if stopped:
            build(warehouse)
    return all_decided


_SETTLED = frozenset({"ship", "first_run"})
"""Decisions after which a run is the baseline of the next one."""


def exit_code(results: Iterable[GateResult], *, allow_inconclusive: bool) -> int:
    """Return the worst exit code, in the order 1, 4, 3, 0.

    *allow_inconclusive* returns 0 instead of 4, but only if at least one case was
    compared and no file was left out.
    """
    codes = set()
    for result in results:
        code = EXIT_CODES[result.verdict]
        before, missing = result.n_cases_before, result.not_compared.n
        is_whole = all(rule.rule != "all_files" for rule in result.rules)
        if code == 4 and allow_inconclusive and before > missing and is_whole:
            code = 0
        codes.add(code)
    return next(code for code in (1, 4, 3, 0) if code in codes)


# ---------- cases to run again on both sides, and the commands of their tools


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

    *wanted* is as `selected_tasks` takes it; *tool_args* are in shell syntax.

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
        if first["source_kind"] == "memory":
            yield "# The memory of another run is not the same: load a whole new run."
            return
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


# ---------- tasks built since the last ``promptlab run`` wrote its reports


# A time that is still to come is of a clock that was put back: it says nothing.
_NOT_REPORTED = """
    built_at >= coalesce(
        (
            select max(began_at)
            from raw.reported_runs
            where began_at <= current_timestamp
        ),
        '-infinity'::timestamptz
    )
"""


def to_report(
    con: duckdb.DuckDBPyConnection,
    *,
    everything: bool = False,
    built_since: datetime | None = None,
) -> list[str]:
    """Tasks without a report; ``Warehouse.to_report`` says more."""
    of_task = "true"
    if not everything:
        of_task = f"""
            task_id in (
                select candidate_task_id
                from raw.comparison_builds
                where
                    {_NOT_REPORTED}
                    and built_at >= coalesce($since, '-infinity'::timestamptz)
            )
        """
    tasks = con.execute(
        f"select task_id from marts.dim_tasks where role = 'full' and {of_task}"
        " order by created_at, task_id",
        None if everything else {"since": built_since},
    ).fetchall()
    return [row[0] for row in tasks]


def to_judge(con: duckdb.DuckDBPyConnection, tasks: Sequence[str]) -> list[str]:
    """Return those of the tasks that ``run`` judges, the oldest first.

    These are what was loaded since the newest decision on it, and the newest run of a
    title, with the variants that the same call loaded. Other runs were only compared
    again: the decisions on them stay.
    """
    from promptlab.ingest.raw.requests import loaded_since_decided

    wanted = set(loaded_since_decided(con, tasks))
    newest = con.execute(
        "select newest_task_id from marts.dim_variants where is_current"
    ).fetchall()
    wanted.update(str(row[0]) for row in newest)
    return [task_id for task_id in tasks if task_id in wanted]
