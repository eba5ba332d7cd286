"""The verdict of a task, which is at the top of every report, mail and command.

The rules are applied to the numbers of the marts (``gate.rules``), and the
result is written as one sentence (``sentences.headline``). No other code decides
whether to ship.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from promptlab.contracts.gate import (
    GATE_FORMAT_VERSION,
    Advice,
    CaseList,
    CaseRecheck,
    CaseRecord,
    Decision,
    GateResult,
    GateRule,
    GateVerdict,
)
from promptlab.errors import NothingToDo, UsageError
from promptlab.power import smallest_drop
from promptlab.reports.gate.numbers import GateNumbers, gate_numbers
from promptlab.reports.gate.policy import Policy, built_in_policy
from promptlab.reports.gate.rules import Gate, confirmed
from promptlab.reports.printing import Filters
from promptlab.reports.queries import Row, from_json, of_contract, rows
from promptlab.reports.sentences import CHECKED, headline
from promptlab.reports.texts import catalogue
from promptlab.task_ids import resolve_task

if TYPE_CHECKING:
    import duckdb


_BASELINES = """
select task_id, baseline_task_id, previous_task_id, baseline_source, why_no_previous
from marts.dim_task_baselines
where task_id in (select unnest($tasks))
"""

_OURS = ("analysis", "results")
"""Kinds of tasks whose testset and dimensions the user can extend."""

_MEMORY = "memory"
"""Kind of tasks whose cases cannot be run again by themselves."""

_DECISIONS: dict[GateVerdict, Decision] = {
    "pass": "ship",
    "fail": "do_not_ship",
    "inconclusive": "cannot_tell",
    "check": "run_again",
}


def gate_result(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    policy: Policy | None = None,
    *,
    lang: str,
    baseline: str | None = None,
    left_out: Sequence[str] = (),
) -> GateResult:
    """Return the verdict of one task; arguments and errors as of `gate_results`."""
    found = gate_results(
        con, [task_id], policy, lang=lang, baseline=baseline, left_out=left_out
    )
    return found[task_id]


def gate_results(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    policy: Policy | None = None,
    *,
    lang: str,
    baseline: str | None = None,
    left_out: Sequence[str] = (),
    with_smallest_drop: bool = True,
) -> dict[str, GateResult]:
    """Check tasks against a policy.

    Args:
        con: An open connection to a built warehouse.
        task_ids: The whole ids of the tasks.
        policy: The rules; the built-in policy by default.
        lang: Language of the sentences, ``zh`` or ``en``.
        baseline: The whole id of the task to compare them with, instead of the one
            in the policy.
        left_out: Files that were not loaded and may contain newer runs.
        with_smallest_drop: False for many tasks: it takes milliseconds for each.

    Returns:
        The verdicts by task.

    Raises:
        UsageError: the policy has no rules.
        NothingToDo: the marts hold no such task.
    """
    policy = policy or built_in_policy()
    filters = Filters(catalogue(lang))
    baselines, why_not = _baselines(con, task_ids, policy, baseline, filters)
    own, _ = _of_history(con, task_ids, "baseline", filters)
    numbers = gate_numbers(
        con,
        task_ids,
        baselines=baselines,
        tags=[*policy.rules.must_pass_tags, *policy.rules.tags],
        lang=filters.catalogue.lang,
    )
    for task_id, before in baselines.items():
        if numbers[task_id].changes is None:
            why_not[task_id] = filters.catalogue.text(
                "gate_note.not_compared", baseline=before, task=task_id
            )
    return {
        task_id: _judged(
            numbers[task_id],
            policy,
            why_not.get(task_id),
            left_out,
            with_smallest_drop,
            filters,
            is_own=baselines.get(task_id) == own.get(task_id),
        )
        for task_id in task_ids
    }


def _baselines(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    policy: Policy,
    baseline: str | None,
    filters: Filters,
) -> tuple[dict[str, str], dict[str, str]]:
    """Return each task's baseline, or the reason for a missing one; else nothing."""
    if baseline is not None:
        return dict.fromkeys(task_ids, baseline), {}
    wanted = policy.rules.regression.baseline
    if wanted in ("baseline", "previous"):
        return _of_history(con, task_ids, wanted, filters)
    found, why_not = {}, {}
    for task_id in task_ids:
        try:
            before = resolve_task(con, wanted, of=task_id)
        except (NothingToDo, UsageError) as error:
            why_not[task_id] = str(error)
            continue
        if before == task_id:
            why_not[task_id] = filters.catalogue.text("gate_note.is_baseline")
        else:
            found[task_id] = before
    return found, why_not


def _of_history(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    wanted: str,
    filters: Filters,
) -> tuple[dict[str, str], dict[str, str]]:
    found_rows = rows(con, _BASELINES, {"tasks": list(task_ids)})
    listed = {row["task_id"]: row for row in found_rows}
    column = f"{wanted}_task_id"
    found, why_not = {}, {}
    for task_id in task_ids:
        row = listed.get(task_id)
        if row is None or (wanted == "baseline" and row["baseline_source"] == "gone"):
            why_not[task_id] = filters.catalogue.text("gate_note.baseline_gone")
        elif row[column] is not None:
            found[task_id] = row[column]
        elif row["why_no_previous"] is not None:
            key = f"gate_note.no_previous_{row['why_no_previous']}"
            why_not[task_id] = filters.catalogue.text(key)
    return found, why_not


def _judged(
    numbers: GateNumbers,
    policy: Policy,
    why_not: str | None,
    left_out: Sequence[str],
    with_smallest_drop: bool,
    filters: Filters,
    *,
    is_own: bool,
) -> GateResult:
    gate = Gate(policy.rules, numbers, why_not, left_out, filters)
    rules = list(gate.rules())
    if not rules:
        raise UsageError(f"{policy.name}: asks for nothing; `promptlab gate --init`")
    changes = numbers.changes
    chance = (changes.chance if changes else None) or {}
    of_built_in = chance if gate.has_built_in_limit else {}
    verdict = _worst(rules)
    decision = _DECISIONS[verdict]
    first = gate.is_first_run and verdict == "pass"
    nobody = CaseList(n=0, case_ids=[])
    broke, newly_failing = _lost(gate, rules)
    result = of_contract(
        GateResult,
        numbers.task,
        baseline_task_id=None if changes is None else changes.baseline_task_id,
        policy=policy.name,
        verdict=verdict,
        decision="first_run" if first else decision,
        headline="",
        broke=broke,
        newly_failing=newly_failing,
        only_errors=nobody
        if changes is None
        else _without(changes.cases["only_errors"], broke),
        fixed=nobody if changes is None else changes.cases["fixed"],
        not_compared=nobody if changes is None else changes.cases["not_compared"],
        p=chance.get("p"),
        p_alone=chance.get("p_alone"),
        newly_failing_by_chance=chance.get("n_newly_failing_by_chance"),
        attained_level=of_built_in.get("attained_level"),
        power_of_one_break=of_built_in.get("power_of_one_break"),
        smallest_drop=_smallest_drop(numbers.task) if with_smallest_drop else None,
        rounds_per_case=chance.get("n_rounds_per_case"),
        rounds_run_per_case=chance.get("n_rounds_run_per_case"),
        cases=[
            _record(row, filters, has_recheck=numbers.task["source_kind"] != _MEMORY)
            for row in (changes.records if changes else ())
        ],
        assumptions=from_json(chance.get("assumptions")) or [],
        n_cases_before=0 if changes is None else changes.n_cases,
        change=None if changes is None else changes.overall.delta,
        change_verdict=None if changes is None else changes.overall.verdict,
        n_judged_twice=0 if changes is None else changes.overall.n_judged or 0,
        advice=list(_advice(gate, decision, is_own)),
        rules=rules,
        lang=filters.catalogue.lang,
        version=GATE_FORMAT_VERSION,
    )
    return result.model_copy(update={"headline": headline(result, filters)})


def _smallest_drop(task: Row) -> float | None:
    """Return the smallest drop that two results of this size show 8 times in 10.

    ``None`` where cases share clusters: how they fall together is not known.
    """
    cases, rounds, variance = (
        task[name] for name in ("n_sized", "n_rounds_sized", "within_variance")
    )
    if not cases or not rounds or variance is None or task["n_clusters_sized"]:
        return None
    return smallest_drop(cases, rounds, variance)


_OF_ALL = {"regression.false_alarm", "regression.allow_newly_failing"}


def _lost(gate: Gate, rules: Iterable[GateRule]) -> tuple[CaseList, CaseList]:
    """Return the cases that broke, and those that newly fail.

    A re-check names the cases that broke, the rule about must-haves those that lost
    one; the test, and the rule about newly failing cases, mean all.
    """
    nobody = CaseList(n=0, case_ids=[])
    changes = gate.numbers.changes
    if changes is None:
        return nobody, nobody
    lost = changes.cases["lost"]
    failed = {r.rule for r in rules if r.verdict == "fail"}
    if CHECKED in failed:
        case_ids = confirmed(changes.records)
        broke = CaseList(n=len(case_ids), case_ids=case_ids)
    elif failed & _OF_ALL:
        broke = lost
    elif "regression.allow_must_have_lost" in failed:
        broke = _without(gate.must_haves_lost(changes), changes.cases["only_errors"])
    else:
        broke = nobody
    return broke, _without(lost, broke)


def _without(cases: CaseList, others: CaseList) -> CaseList:
    """Return the cases of a list that are not in another."""
    known = set(others.case_ids)
    left = [case_id for case_id in cases.case_ids if case_id not in known]
    return CaseList(n=cases.n - len(cases.case_ids) + len(left), case_ids=left)


def _record(row: Row, filters: Filters, *, has_recheck: bool) -> CaseRecord:
    """Return a case with its rounds, as numbers and as a sentence."""
    recheck = None
    if row["n_rounds_rechecked"] is not None:
        recheck = CaseRecheck(
            n_passed=row["n_passed_rechecked"],
            n_rounds=row["n_rounds_rechecked"],
            n_errors=row["n_errors_rechecked"],
            n_copies=row["n_copies_rechecked"],
            n_passed_before=row["n_passed_rechecked_before"],
            n_rounds_before=row["n_rounds_rechecked_before"],
            reference=row["recheck_reference"],
            is_enough=bool(row["is_rechecked"]),
        )
    words = filters.catalogue.text
    n, n_errors = row["n_rounds"], row["n_errors"]
    text = words(
        "case_record.now_before" if n or not n_errors else "case_record.only_errors",
        passed=row["n_passed"],
        n=n or n_errors,
        passed_before=row["n_passed_before"],
        n_before=row["n_rounds_before"],
    )
    if n and n_errors:
        text += words("case_record.errors", n=n_errors)
    counted, counted_before = row["n_rounds_counted"], row["n_rounds_counted_before"]
    if (counted, counted_before) != (n, row["n_rounds_before"]):
        text += words("case_record.counted", n=counted, n_before=counted_before)
    if recheck is not None:
        text += words(
            f"case_record.{recheck.reference}",
            passed=recheck.n_passed,
            n=recheck.n_rounds,
            passed_before=recheck.n_passed_before,
            n_before=recheck.n_rounds_before,
        )
        if recheck.n_copies:
            text += words("case_record.copies", n=recheck.n_copies)
    kept = {} if has_recheck else {"to_recheck": None}
    return of_contract(CaseRecord, row, recheck=recheck, text=text, **kept)


def _worst(rules: Iterable[GateRule]) -> GateVerdict:
    verdicts = {rule.verdict for rule in rules}
    if "fail" in verdicts:
        return "fail"
    if "inconclusive" in verdicts:
        return "inconclusive"
    return "check" if "check" in verdicts else "pass"


def _advice(gate: Gate, decision: Decision, is_own: bool) -> Iterator[Advice]:
    """Return the ways out of a decision that is not "Ship"."""
    numbers, changes = gate.numbers, gate.numbers.changes
    task = numbers.task
    if decision in ("do_not_ship", "run_again") and is_own and task["replaced_variant"]:
        yield "other_variant"
    if task["n_cases"] and not task["n_judged"]:
        yield from _to_judge(numbers)
    elif decision == "cannot_tell":
        if gate.may_be_intended and not task["is_named_baseline"]:
            yield "name_baseline"
        if not is_own and changes and not changes.chance and changes.overall.n_judged:
            yield "own_baseline"
    elif decision == "run_again" and changes:
        if task["source_kind"] == _MEMORY:
            yield "new_run"
        asked = [row for row in changes.records if row["to_recheck"]]
        if asked and all(map(_is_flaky, asked)):
            yield "on_check"


def _is_flaky(row: Row) -> bool:
    """Return true if rounds of the case both pass and fail in one of the two parts."""
    return any(
        0 < row[f"n_passed{side}"] < row[f"n_rounds{side}"] for side in ("", "_before")
    )


def _to_judge(numbers: GateNumbers) -> list[Advice]:
    """Return a hint about how to judge the answers, if nothing judges them yet."""
    task = numbers.task
    if task["source_kind"] == "table":
        return ["verdict_column", "score_rules"]
    if task["source_kind"] not in _OURS:
        return ["score_rules"]
    found: list[Advice] = []
    if any(row["score"] is not None for row in numbers.dimensions.values()):
        found.append("pass_score")
    found.append("testset" if task["testset_id"] is None else "expectations")
    if not any(row["scorer"] == "accuracy" for row in numbers.dimensions.values()):
        found.append("golden_answers")
    return found
