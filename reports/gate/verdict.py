"""The verdict of a task, which is at the top of every report, mail and command.

It is a function of the marts and the policy: nothing is stored, and no other code
decides whether to ship.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptlab.contracts.gate import (
    EXIT_CODES,
    GATE_FORMAT_VERSION,
    Advice,
    CaseList,
    CaseRecord,
    Change,
    Decision,
    GateResult,
    GateRule,
    NotCompared,
)
from promptlab.reports.gate.facts import Facts, read_facts
from promptlab.reports.gate.headline import headline, record_text
from promptlab.reports.gate.policy import Policy, built_in_policy
from promptlab.reports.gate.rules import Gate
from promptlab.reports.gate.titles import can_repeat
from promptlab.reports.queries import Row, of_contract
from promptlab.reports.sentences import Speech

if TYPE_CHECKING:
    import duckdb

MOST_CASES = 1_000
"""Maximum number of cases in a list; all are counted."""

WORST_FIRST: Sequence[Decision] = tuple(EXIT_CODES)

_OURS = ("analysis", "results")
"""Kinds of tasks whose testset and dimensions the user can extend."""

_DECISIONS: Mapping[str, Decision] = {
    "fail": "do_not_ship",
    "inconclusive": "cannot_tell",
    "check": "run_again",
}
"""Decision by the worst result of a rule, the worst first."""


_ACCEPTED = frozenset({"refuse_odds", "whole_rate", "min_compared", "newly_failing"})
"""Rules that pass when a person accepts the run."""


def gate_results(
    con: duckdb.DuckDBPyConnection,
    task_ids: Sequence[str],
    policy: Policy | None = None,
    *,
    lang: str,
    left_out: Sequence[str] = (),
) -> dict[str, GateResult]:
    """Check tasks against a policy.

    Args:
        con: An open connection to a built warehouse.
        task_ids: The whole ids of the tasks.
        policy: The rules; the built-in policy by default.
        lang: Language of the sentences, ``zh`` or ``en``.
        left_out: Files that were not loaded and may contain newer runs.

    Returns:
        The results by task.

    Raises:
        NothingToDo: the marts hold no such task.
    """
    policy = policy or built_in_policy()
    return {
        task_id: gate_result(facts, policy, lang=lang, left_out=left_out)
        for task_id, facts in read_facts(con, task_ids).items()
    }


def gate_result(
    facts: Facts, policy: Policy, *, lang: str, left_out: Sequence[str] = ()
) -> GateResult:
    """Decide about one task; arguments as of `gate_results`."""
    task = facts.task
    speech = Speech.for_language(lang, task["source_kind"])
    gate = Gate(policy.rules, facts, left_out, speech)
    rules = list(gate.rules())
    decision = _decision(rules, is_first=task["is_first_run"])
    failing = _newly_failing(gate)
    broke = [row for row in failing if row["state"] == "broken"]
    watched = [row for row in failing if row["state"] == "watched"]
    result = of_contract(
        GateResult,
        task,
        policy=policy.name,
        decision=decision,
        exit_code=EXIT_CODES[decision],
        headline="",
        broke=_listed(broke),
        watched=_listed(watched),
        fixed=_listed([row for row in facts.changed_cases if row["is_newly_passing"]]),
        not_compared=[
            of_contract(NotCompared, row, why=row["reason"]) for row in facts.gaps
        ],
        n_not_compared=task["n_cases_before"] - task["n_cases_compared"],
        cases=[_record(row, task, speech) for row in failing[:MOST_CASES]],
        changes=[Change(**change) for change in task["changes"] or []],
        accept_reason=(task["accept_reason"] or "") if gate.is_accepted else None,
        advice=list(_advice(decision, facts, rules)),
        rules=rules,
        lang=lang,
        version=GATE_FORMAT_VERSION,
    )
    return result.model_copy(update={"headline": headline(result)})


def worst(results: Iterable[GateResult]) -> GateResult:
    """Return the worst result; of equal decisions that with the most broken cases."""
    return min(results, key=badness)


def badness(result: GateResult) -> tuple[int, int, int]:
    """Return a sort key: the worst decision first, then the most broken cases."""
    place = WORST_FIRST.index(result.decision)
    return place, -result.broke.n, -result.watched.n


def alike(results: Iterable[GateResult]) -> list[list[GateResult]]:
    """Group results with the same verdict text, the worst first."""
    groups: dict[str, list[GateResult]] = {}
    for result in results:
        groups.setdefault(result.headline, []).append(result)
    return sorted(groups.values(), key=lambda group: badness(group[0]))


def _decision(rules: Iterable[GateRule], *, is_first: bool) -> Decision:
    verdicts = {rule.verdict for rule in rules}
    for verdict, decision in _DECISIONS.items():
        if verdict in verdicts:
            return decision
    return "first_run" if is_first else "ship"


def _newly_failing(gate: Gate) -> list[Row]:
    """Return the newly failing cases with their state, the broken ones first.

    Those of an accepted run are as they should be.
    """
    is_refused = gate.is_refused_by_odds or gate.has_fallen
    failing = []
    for row in gate.facts.changed_cases:
        if row["is_newly_failing"] and not gate.is_accepted:
            is_likely = (row["odds"] or 0) >= 1 and not row["is_known_flaky"]
            state = "broken" if is_refused and is_likely else "watched"
            failing.append(row | {"state": state})
    return sorted(failing, key=lambda row: row["state"])


def _listed(rows: Sequence[Row]) -> CaseList:
    case_ids = [row["case_id"] for row in rows[:MOST_CASES]]
    return CaseList(n=len(rows), case_ids=case_ids)


def _record(row: Row, task: Row, speech: Speech) -> CaseRecord:
    """Return a case with its rounds since it fails, and before."""
    has_start = row["since_run_id"] is not None and row["n_rounds_since"]
    sides = ("_since", "_until") if has_start else ("_now", "_before")
    rounds: dict[str, Any] = {}
    for name, side in zip(("", "_before"), sides, strict=True):
        rounds[f"n_passed{name}"] = row[f"n_passed{side}"] or 0
        rounds[f"n_rounds{name}"] = row[f"n_rounds{side}"] or 0
    since: dict[str, Any] = dict.fromkeys(("since_run_id", "since_at", "since_prompt"))
    if has_start:
        since = {name: row[name] for name in since}
    record = of_contract(
        CaseRecord,
        row | rounds | since,
        n_errors=row["n_errors_now"] or 0,
        is_known_flaky=bool(row["is_known_flaky"]),
        text="",
    )
    is_new = record.since_run_id == task["run_id"]
    text = record_text(record, speech, is_new=is_new or not has_start)
    return record.model_copy(update={"text": text})


def _advice(
    decision: Decision, facts: Facts, rules: Sequence[GateRule]
) -> Iterator[Advice]:
    """Return what to do next after a decision that is not "Ship".

    A first run needs it only if no later run can have its title, or nothing judges it.
    """
    task = facts.task
    is_alone = task["is_first_run"] and task["run_number"] == 1
    if is_alone and not can_repeat(task["title"]):
        yield "title"
    is_unjudged = task["n_cases"] and not task["n_judged"]
    if decision == "first_run" and is_unjudged:
        yield from _to_judge(facts)
    if decision not in ("do_not_ship", "cannot_tell", "run_again"):
        return
    undecided = {rule.rule for rule in rules if rule.verdict == "inconclusive"}
    if "all_files" in undecided:
        yield "load_files"
    rejected = [gap["n_cases"] for gap in facts.gaps if gap["reason"] == "rejected"]
    if rejected:
        yield "load_records"
        if sum(rejected) == sum(gap["n_cases"] for gap in facts.gaps):
            return
    if is_unjudged and task["measure"] != "score":
        yield from _to_judge(facts)
        return
    if "new_answers" in undecided and task["n_error"] < task["n_judged"]:
        yield "ask_again"
    if "min_tnr" in undecided:
        yield "label"
    if any(row["is_newly_failing"] for row in facts.changed_cases):
        yield "new_run" if task["source_kind"] == "memory" else "recheck"
    if any(rule.rule in _ACCEPTED and rule.verdict in _DECISIONS for rule in rules):
        yield "accept"


def _to_judge(facts: Facts) -> Iterator[Advice]:
    """Return how to get cases judged, if nothing judges them yet."""
    task, scores = facts.task, facts.of_rule.get("dimensions.min_score", [])
    if task["source_kind"] == "table":
        yield "verdict_column"
    if task["source_kind"] not in _OURS:
        yield "score_rules"
        return
    if any(fact.value is not None for fact in scores):
        yield "pass_score"
    yield "testset" if task["testset_id"] is None else "expectations"
    if not any(fact.subject == "accuracy" for fact in scores):
        yield "golden_answers"
