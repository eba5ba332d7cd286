"""The gate where not all that it judges by is there: nothing passes unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.contracts.gate import GateResult, GateRule
from promptlab.history import judge as judge_task
from promptlab.reports.gate.policy import Policy, parse_policy
from promptlab.warehouse import Warehouse
from tests.history.runs import Run, even
from tests.ingest.test_load import task, write

N = 20
Judge = Callable[..., tuple[int, GateResult]]


def _task(title: str, name: str, day: int) -> dict[str, Any]:
    """Every case has the golden answer that it gives; two are critical."""
    document = task(name, "yes", cases=N)
    document["task"] |= {"title": title, "created_at": f"2026-01-0{day}T00:00:00Z"}
    document["dimensions"] = [
        {
            "dimension_id": name,
            "name": name,
            "weight": weight,
            "target": {},
            "parameters": {},
            "scoring_mode": mode,
        }
        for name, weight, mode in (
            ("accuracy", 1.0, "higher_better"),
            ("cost", 0.0, "lower_better"),
        )
    ]
    for case in document["cases"]:
        case["baselines"] = [
            {
                "baseline_id": "golden",
                "type": "golden_answer",
                "payload": {"text": "yes"},
                "owner": "us",
            }
        ]
    for case in document["cases"][:2]:
        case["tags"] = ["critical"]
    return document


def _fewer(document: dict[str, Any]) -> None:
    document["cases"] = document["cases"][:6]


def _one_less(document: dict[str, Any]) -> None:
    del document["cases"][1]


def _not_run(document: dict[str, Any]) -> None:
    for case in document["cases"][:12]:
        case["rounds"] = []


def _other_answers(document: dict[str, Any]) -> None:
    for case in document["cases"][1:]:
        case["baselines"][0]["payload"] = {"text": "no"}


def _half_unchecked(document: dict[str, Any]) -> None:
    for case in document["cases"][10:]:
        case["baselines"] = []


def _measured(n: int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for case in document["cases"][:n]:
            round_ = case["rounds"][0]
            round_ |= {"latency_ms": 10, "input_tokens": 5, "output_tokens": 5}
            round_["metadata"] = {"cost": 0.01}

    return change


def _errors_measured(document: dict[str, Any]) -> None:
    """Half of the rounds end in an error, and only these say what they took."""
    for case in document["cases"][:10]:
        round_ = case["rounds"][0]
        round_ |= {"latency_ms": 10, "input_tokens": 5, "output_tokens": 5}
        round_["metadata"] = {"cost": 0.01, "error": "timeout"}


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "same": lambda _: None,
    "fewer": _fewer,
    "one_less": _one_less,
    "not_run": _not_run,
    "other_answers": _other_answers,
    "half_unchecked": _half_unchecked,
    "errors_measured": _errors_measured,
    "little_measured": _measured(2),
    "mostly_measured": _measured(18),
}


RAISED: dict[str, float | None] = {
    "unchanged": 0.0,
    "higher": 0.07,
    "lower": -0.07,
    "not scored": None,
}
"""Title → by what the scores of its second run are higher."""


def _write_judged(folder: Path, n_judged: int) -> None:
    """A run called ``<n> judged``: so many of its ten tagged cases have a verdict."""
    title = f"{n_judged} judged"
    scores = {f"c{n}": 1.0 if n < n_judged else None for n in range(10)}
    Run(
        title, title, 1, {"judge": scores, "other": even(1.0, 10)},
        parameters={"judge": {"pass_score": 0.5}},
        tags={case_id: ["safety"] for case_id in scores},
    ).write(folder)  # fmt: skip


def _write_scored(folder: Path, title: str) -> None:
    """Two runs with scores and without verdicts."""
    for day, by in ((1, 0.0), (2, RAISED[title])):
        document = task(f"{title}-{day}", "yes", cases=6)
        document["task"] |= {"title": title, "created_at": f"2026-01-0{day}T00:00:00Z"}
        document["dimensions"] = [
            {
                "dimension_id": "judge",
                "name": "judge",
                "weight": 1.0,
                "target": {},
                "parameters": {},
                "scoring_mode": "higher_better",
            }
        ]
        write(folder / f"{title}-{day}.json", document)
        if by is None:
            continue
        scores = [
            {
                "task_id": f"{title}-{day}",
                "case_id": case["case_id"],
                "round_id": case["rounds"][0]["round_id"],
                "dimension_id": "judge",
                "score": 0.3 + 0.1 * number + by * (1 + 0.1 * (number % 3)),
                "scale": 1,
                "scorer": "j",
            }
            for number, case in enumerate(document["cases"])
        ]
        write(folder / f"{title}-{day}.jsonl", *scores)


FALL = (-0.1, -0.02, -0.08, 0.01, -0.06, -0.03)
"""Changes of a score: the paired t-test says p = 0.038."""


def _write_fall(folder: Path, n_variants: int) -> None:
    """Two runs of so many variants, called ``<n> variants``; the first one falls."""
    for day in (1, 2):
        for variant in range(n_variants):
            name = f"{n_variants} variants {variant}-{day}"
            changes = FALL if variant == 0 else (0.01, -0.01) * 3
            Run(
                name, f"{n_variants} variants", day,
                {"judge": {
                    f"c{n}": 0.5 + 0.05 * n + (change if day == 2 else 0)
                    for n, change in enumerate(changes)
                }},
                model=f"model-{variant}", run_id=f"{n_variants} variants-{day}",
            ).write(folder)  # fmt: skip


def _write_errors(folder: Path) -> None:
    """Runs of 8 cases, 3 rounds each; the second has an error in c3, the fourth three."""
    for day, n_errors in ((1, 0), (2, 1), (3, 0), (4, 3)):
        lines = [
            {
                "sample_id": f"c{case}",
                "entity_type": "prompt",
                "entity_id": "greeting",
                "variant": "v1",
                "run_id": f"run-{day}",
                "created_at": f"2026-11-0{day}T10:00:00Z",
                "raw_output": f"hello {day} {number}",
                "status": "pass",
            }
            for case in range(8)
            for number in range(3)
        ]
        for line in lines[9 : 9 + n_errors]:
            line |= {"status": "error", "error": "429 too many requests"}
            del line["raw_output"]
        write(folder / f"run-{day}.jsonl", *lines)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coverage")
    for name, change in CHANGES.items():
        before = _task(name, f"{name}-1", 1)
        if name == "half_unchecked":
            change(before)
        write(folder / "in" / f"{name}-1.json", before)
        after = _task(name, f"{name}-2", 2)
        change(after)
        write(folder / "in" / f"{name}-2.json", after)
    for title in RAISED:
        _write_scored(folder / "in", title)
    for n_judged in (0, 1):
        _write_judged(folder / "in", n_judged)
    _write_errors(folder / "in")
    for n_variants in (1, 4):
        _write_fall(folder / "in", n_variants)
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.ingest(folder / "in").n_rejected == 0
    warehouse.build()
    return folder / "w.duckdb"


@pytest.fixture
def judge(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judge:
    def run(name: str, policy: str | None = None) -> tuple[int, GateResult]:
        asked = ["gate", f"{name}-2", "--db", str(db), "--format", "json"]
        if policy is not None:
            (tmp_path / "policy.toml").write_text(policy, "utf-8")
            asked += ["--policy", str(tmp_path / "policy.toml")]
        code = run_cli(asked)
        return code, GateResult.model_validate_json(capsys.readouterr().out)

    return run


def _rule(result: GateResult, name: str) -> GateRule:
    return next(rule for rule in result.rules if rule.rule == name)


@pytest.mark.parametrize(
    ("name", "code", "headline"),
    [
        ("same", 0, "Ship: no case broke; ±0.0 points against the baseline, practically unchanged; with 1 round a break of one case would have been found in 2.5% of runs."),
        ("one_less", 4, "Cannot tell: 1 of 20 cases of the baseline is not compared; if that is intended, `promptlab baseline set one_less-2` compares later runs with this one; no case broke; ±0.0 points against the baseline, practically unchanged."),
        ("fewer", 4, "Cannot tell: 14 of 20 cases of the baseline are not compared; if that is intended, `promptlab baseline set fewer-2` compares later runs with this one; no case broke; ±0.0 points against the baseline, practically unchanged."),
        ("not_run", 4, "Cannot tell: 12 of 20 cases of the baseline are not compared; no case broke; ±0.0 points against the baseline, practically unchanged."),
        ("other_answers", 4, "Cannot tell: 19 of 20 cases of the baseline are not compared; no case broke; ±0.0 points against the baseline, too few cases to be sure."),
    ],
)  # fmt: skip
def test_a_run_without_all_of_the_cases_before_it_does_not_ship(
    judge: Judge, name: str, code: int, headline: str
) -> None:
    found, result = judge(name)
    assert (found, result.headline) == (code, headline)
    assert result.n_cases_before == N
    rule = _rule(result, "regression.min_coverage")
    assert rule.value == pytest.approx(1 - result.not_compared.n / N)
    assert rule.verdict == ("pass" if code == 0 else "inconclusive")


def test_what_nothing_judged_before_is_not_missed(judge: Judge) -> None:
    code, result = judge("half_unchecked", "[regression]\nmin_coverage = 1")
    assert (code, result.not_compared.n, result.n_cases_before) == (0, 0, 10)


def test_a_policy_says_how_many_cases_must_be_compared(judge: Judge) -> None:
    assert judge("fewer", "[regression]\nmin_coverage = 0.3")[0] == 0
    assert judge("one_less", "[regression]\nmin_coverage = 0.9")[0] == 0
    assert judge("one_less", "[regression]\nmin_coverage = 1")[0] == 4
    assert judge("one_less", "max_error_share = 0.5")[0] == 4


def test_a_tag_of_which_a_case_is_gone_is_not_known_to_pass(judge: Judge) -> None:
    code, result = judge("one_less", "must_pass_tags = ['critical']")
    rule = _rule(result, "must_pass_tags.critical")
    assert (code, rule.verdict) == (4, "inconclusive")
    assert rule.note == "1 of 2 cases is in the baseline only: c1"
    assert "if that is intended, `promptlab baseline set" in result.headline


@pytest.mark.parametrize(
    ("n_judged", "least", "verdict"),
    [(1, 0.9, "inconclusive"), (1, 0.1, "pass"), (0, 0.1, "inconclusive")],
)
def test_cases_without_a_verdict_do_not_raise_the_pass_rate_of_their_tag(
    db: Path, n_judged: int, least: float, verdict: str
) -> None:
    text = f"[tags.safety]\nmin_pass_rate = {least}\n"
    policy = Policy("p.toml", parse_policy(text, "p.toml"))
    [result] = judge_task(Warehouse(db), f"{n_judged} judged", policy, lang="en")
    rule = _rule(result, "tags.safety.min_pass_rate")
    assert rule.verdict == verdict
    if verdict == "inconclusive":
        assert f"{10 - n_judged} of 10 cases were not evaluated" in (rule.note or "")


@pytest.mark.parametrize(
    ("policy", "n_judged", "verdict", "says"),
    [
        ("min_pass_rate = 0.9", 1, "inconclusive", "9 of 10 cases were not evaluated"),
        ("min_pass_rate = 0.1", 1, "pass", ""),
        ("min_score = 0.9", 1, "pass", ""),
        ("min_score = 0.9", 0, "inconclusive", "1 dimension with a weight has no"),
    ],
)
def test_a_number_of_the_task_is_not_known_to_hold_over_a_part_of_it(
    db: Path, policy: str, n_judged: int, verdict: str, says: str
) -> None:
    rules = Policy("p.toml", parse_policy(policy, "p.toml"))
    [result] = judge_task(Warehouse(db), f"{n_judged} judged", rules, lang="en")
    rule = _rule(result, policy.partition(" ")[0])
    assert rule.verdict == verdict
    assert says in (rule.note or "")
    assert says in result.headline


@pytest.mark.parametrize(("n_variants", "decision"), [(1, "do_not_ship"), (4, "ship")])
def test_the_variants_of_a_run_share_the_false_alarms_of_the_score(
    db: Path, n_variants: int, decision: str
) -> None:
    rules = Policy("p.toml", parse_policy("[regression]\nfalse_alarm = 0.05", "p"))
    task_id = f"{n_variants} variants 0-2"
    [result] = judge_task(Warehouse(db), task_id, rules, lang="en")
    assert _rule(result, "regression.false_alarm").value == pytest.approx(0.038, 0.01)
    assert result.decision == decision


CEILINGS = {
    "latency.max_p95_ms": "[latency]\nmax_p95_ms = 100",
    "tokens.max_total": "[tokens]\nmax_total = 1000",
    "cost.max_total": "[cost]\nmax_total = 1",
    "cost.max_per_round": "[cost]\nmax_per_round = 1",
}


@pytest.mark.parametrize("rule", CEILINGS)
@pytest.mark.parametrize(
    ("name", "least", "verdict", "measured"),
    [
        ("little_measured", "min_coverage = 0.8\n", "inconclusive", 2),
        ("mostly_measured", "min_coverage = 0.8\n", "pass", 18),
        ("little_measured", "", "inconclusive", 2),
        ("mostly_measured", "", "pass", 18),
        ("little_measured", "min_coverage = 0.1\n", "pass", 2),
    ],
)
def test_a_ceiling_over_few_of_the_rounds_is_not_known_to_hold(
    judge: Judge, rule: str, name: str, least: str, verdict: str, measured: int
) -> None:
    _, result = judge(name, least + CEILINGS[rule])
    found = _rule(result, rule)
    assert found.verdict == verdict
    assert found.note == f"measured on {measured} of 20 rounds"


@pytest.mark.parametrize(
    ("rule", "policy"),
    [
        ("tokens.max_total", "[tokens]\nmax_total = 190"),
        ("cost.max_total", "[cost]\nmax_total = 0.19"),
    ],
)
def test_a_total_that_unknown_rounds_may_lift_over_its_limit_is_not_known_to_hold(
    judge: Judge, rule: str, policy: str
) -> None:
    _, result = judge("mostly_measured", policy)
    found = _rule(result, rule)
    assert found.verdict == "inconclusive"
    assert found.note == "measured on 18 of 20 rounds"


def test_tokens_of_errors_do_not_stand_for_those_of_answers(judge: Judge) -> None:
    _, result = judge(
        "errors_measured", "min_coverage = 0.8\n[tokens]\nmax_total = 99999"
    )
    found = _rule(result, "tokens.max_total")
    assert found.verdict == "inconclusive"
    assert found.note == "measured on 10 of 20 rounds"


@pytest.mark.parametrize("rule", CEILINGS)
def test_a_ceiling_that_a_part_exceeds_is_exceeded(judge: Judge, rule: str) -> None:
    key = rule.split(".")[1]
    policy = CEILINGS[rule].split(" = ")[0] + " = 0.001"
    _, result = judge("little_measured", f"min_coverage = 0.8\n{policy}")
    assert _rule(result, rule).verdict == "fail", key


# ---------- errors


def test_a_case_whose_other_rounds_pass_does_not_fail_by_an_error(db: Path) -> None:
    (result,) = Warehouse(db).gate("run-2")
    assert result.baseline_task_id == "run-1"
    assert (result.decision, result.broke.n) == ("ship", 0)


def test_a_case_of_errors_alone_is_listed_as_such(db: Path) -> None:
    (result,) = Warehouse(db).gate("run-4")
    assert result.baseline_task_id == "run-3"
    assert result.only_errors.case_ids == ["c3"]
    assert result.broke.case_ids == []
    assert result.decision == "do_not_ship"


@pytest.mark.parametrize(
    ("title", "code", "start"),
    [
        ("unchanged", 0, "Ship"),
        ("higher", 0, "Ship"),
        ("lower", 1, "Do not ship"),
        ("not scored", 4, "Cannot tell"),
    ],
)
def test_scores_without_verdicts_decide_with_one_round(
    judge: Judge, title: str, code: int, start: str
) -> None:
    found, result = judge(title)
    assert found == code
    assert result.headline.startswith(start)
    if start == "Ship":  # the decision is not that of verdicts, which comes last
        decided, _, hint = result.headline.partition("; no case could be judged")
        assert "points against the baseline" in decided
        assert "`pass_score`" in hint


def test_a_case_with_a_score_alone_is_missed_when_it_is_gone(tmp_path: Path) -> None:
    head = "user_input,retrieved_contexts,response,reference,faithfulness"
    for night, n_cases in ((1, 12), (2, 5)):
        rows = [f"Q{n}?,['ctx'],A{n} {night},R{n},0.8" for n in range(n_cases)]
        file = tmp_path / f"ragas{night}.csv"
        file.write_text("\n".join([head, *rows]), "utf-8")
        warehouse = Warehouse(tmp_path / "w.duckdb")
        warehouse.ingest(file, time=f"2026-11-0{night}T10:00:00Z")
    warehouse.build()
    [result] = warehouse.gate("latest", lang="en")
    assert (result.decision, result.n_cases_before) == ("cannot_tell", 12)
    assert result.not_compared.n == 7
    assert _rule(result, "regression.min_coverage").value == pytest.approx(5 / 12)


FALLS = {
    "five": (even(0.4, 5), "cannot_tell"),
    "seven": (even(0.4, 7), "cannot_tell"),
    "eight": (even(0.4, 8), "do_not_ship"),
    "four": (even(0.4, 4), "ship"),
    "same": (even(0.9, 6), "ship"),
    "rise": (even(1.0, 6), "ship"),
    "one": (even(0.9, 5) | {"c5": 0.8}, "ship"),
}


def test_a_fall_that_is_the_same_in_each_of_few_cases_is_never_shipped(tmp_path):
    """All cases still pass; only the scores of another dimension fall."""
    for title, (fell, _) in FALLS.items():
        for day, tone in ((1, dict.fromkeys(fell, 0.9)), (2, fell)):
            scores = {"right": dict.fromkeys(fell, 1.0), "tone": tone}
            passes = {"right": {"pass_score": 1}}
            Run(f"{title}-{day}", title, day, scores, parameters=passes).write(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(tmp_path)
    warehouse.build()
    for title, (fell, decision) in FALLS.items():
        [gate] = warehouse.gate(f"{title}-2", lang="en")
        assert gate.decision == decision, title
        if decision == "cannot_tell":
            said = f"each of the {len(fell)} cases changed by −25.0 points"
            assert said in gate.headline
            assert "name_baseline" in gate.advice
