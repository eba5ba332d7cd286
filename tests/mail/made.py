"""Invented tasks, runs and comparisons of any size; hostile texts."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any

from promptlab.contracts.analysis_result import (
    AlertItem,
    AnalysisResult,
    CaseResult,
    CheckDifference,
    DimensionResult,
    PastRun,
    ResultSummary,
    ResultTask,
)
from promptlab.contracts.comparison import (
    CaseChange,
    CaseCounts,
    ComparedTask,
    Comparison,
    ScoreComparison,
)
from promptlab.contracts.gate import CaseList, GateResult
from promptlab.reports import mail

CHECKER = Path(__file__).parents[3] / "shared" / "tools" / "email_html_check.py"
AT = datetime(2024, 10, 24, 13, 0, tzinfo=UTC)
TITLE = "客服问答回归"


def case(number: int, status: str = "fail", **changed: Any) -> CaseResult:
    values: dict[str, Any] = {
        "case_id": f"case-{number:06}",
        "dimension_scores": {"rules": 0.25},
        "aggregated_score": 0.25,
        "evidences": [],
        "notes": {},
        "status": status,
        "must_have_pass": status == "pass",
        "reported_must_have_pass": None,
        "in_testset": True,
        "tags": [],
        "context": {"question": f"第 {number} 个问题，怎么退款？"},
        "n_rounds": 1,
        "n_rounds_passed": int(status == "pass"),
        "rounds": [],
        "scopes": [],
        "n_differences": 1,
        "differences": [
            CheckDifference(
                round_id="r1",
                scope="final",
                step_id=None,
                field=None,
                pointer="/action",
                matcher="exact",
                status="fail",
                reason="value_mismatch",
                expected='"refund"',
                actual='"refuse"',
            )
        ],
    }
    return CaseResult(**values | changed)


def dimension(dimension_id: str = "rules", **changed: Any) -> DimensionResult:
    values: dict[str, Any] = {
        "dimension_id": dimension_id,
        "name": f"规则 {dimension_id}",
        "score": 0.712,
        "raw_metrics": {},
        "weight": 0.5,
        "contributions": [],
        "diagnosis": "低于目标。",
        "weight_configured": 0.5,
        "ci_low": 0.66,
        "ci_high": 0.77,
        "ci_method": "t",
        "ci_reason": None,
        "n_cases": 3,
        "n_rounds": 3,
        "scorer": "rules",
        "scoring_mode": "higher_better",
        "target": {"min_score": 0.8},
        "target_status": "missed",
    }
    return DimensionResult(**values | changed)


def alert(number: int = 1, **changed: Any) -> AlertItem:
    values: dict[str, Any] = {
        "severity": "critical",
        "message": f"维度 {number} 低于目标。",
        "dimension_ids": ["rules"],
        "case_ids": [],
        "code": "below_min_score",
        "n_cases": 2,
    }
    return AlertItem(**values | changed)


def result(
    cases: list[CaseResult] | None = None,
    *,
    alerts: int = 1,
    dimensions: int = 2,
    lang: str = "zh",
    summary: dict[str, Any] | None = None,
    task: dict[str, Any] | None = None,
) -> AnalysisResult:
    """A task: three cases of which one passes, by default."""
    if cases is None:
        cases = [case(1), case(2, "error"), case(3, "pass")]
    n = {s: sum(c.status == s for c in cases) for s in ("pass", "fail", "error")}
    judged = len(cases)
    numbers: dict[str, Any] = {
        "overall_score": 0.712,
        "grade": "C",
        "alerts": [alert(number) for number in range(alerts)],
        "coverage": 1.0,
        "ci_low": 0.66,
        "ci_high": 0.77,
        "pass_rate": n["pass"] / judged if judged else None,
        "n_cases": len(cases),
        "n_pass": n["pass"],
        "n_fail": n["fail"],
        "n_error": n["error"],
        "n_unevaluated": 0,
        "n_rounds": len(cases),
        "n_scored_rounds": len(cases),
        "conclusion": "总分 71.2，最弱的维度是规则。",
    }
    about: dict[str, Any] = {
        "task_id": "run-1",
        "title": TITLE,
        "prompt_version": "v2",
        "model": "example/model",
        "triggered_by": "ci",
        "env": {},
        "created_at": AT - timedelta(hours=1),
    }
    return AnalysisResult(
        task=ResultTask(**about | (task or {})),
        summary=ResultSummary(**numbers | (summary or {})),
        dimensions=[dimension(f"d{number}") for number in range(dimensions)],
        case_results=cases,
        generated_at=AT,
        version="1.0",
        extras={"promptlab": {"lang": lang}},
    )


def gate(headline: str, **changed: Any) -> GateResult:
    """A verdict: two cases broke."""
    values: dict[str, Any] = {
        "task_id": "run-1",
        "title": TITLE,
        "variant": "example/model",
        "prompt_version": "v2",
        "model": "example/model",
        "created_at": AT,
        "last_run_at": None,
        "baseline_task_id": "old-6",
        "policy": "default",
        "decision": "do_not_ship",
        "exit_code": 1,
        "headline": headline,
        "odds": 40.0,
        "p_whole": None,
        "measure": "verdict",
        "rate_now": 0.33,
        "rate_before": 1.0,
        "broke": CaseList(n=2, case_ids=["a", "b"]),
        "watched": CaseList(n=0, case_ids=[]),
        "fixed": CaseList(n=0, case_ids=[]),
        "not_compared": [],
        "n_not_compared": 0,
        "n_cases_before": 3,
        "n_pass": 1,
        "n_judged": 3,
        "cases": [],
        "changes": [],
        "accept_reason": None,
        "run_id": "run",
        "advice": [],
        "rules": [],
        "lang": "zh",
        "version": "2.0",
    }
    return GateResult(**values | changed)


def empty() -> AnalysisResult:
    nothing = dict.fromkeys(("overall_score", "coverage", "ci_low", "ci_high"))
    return result(
        [],
        alerts=0,
        dimensions=0,
        summary={**nothing, "grade": "n/a", "conclusion": "没有用例。"},
    )


def runs(n: int = 8, last: str = "run-1") -> list[PastRun]:
    """The history of a title; its last run is *last*."""
    past = [
        PastRun(
            task_id=f"old-{at}",
            prompt_version=f"v1.{at}",
            created_at=AT - timedelta(days=n - at),
            overall_score=0.7 + 0.01 * (at * 7 % 11),
            ci_low=0.65,
            ci_high=0.85,
            number=at + 1,
        )
        for at in range(n)
    ]
    return [*past[:-1], past[-1].model_copy(update={"task_id": last})]


def change(number: int, **changed: Any) -> CaseChange:
    values: dict[str, Any] = {
        "case_id": f"case-{number:06}",
        "change": "worse",
        "severity": "major",
        "reason": None,
        "reason_text": None,
        "status_change": "newly_failing",
        "baseline_status": "pass",
        "candidate_status": "fail",
        "baseline_score": 0.9,
        "candidate_score": 0.7,
        "delta": -0.2,
        "must_have_lost": False,
        "must_have_gained": False,
        "dimensions": [],
    }
    return CaseChange(**values | changed)


def comparison(
    verdict: str = "regressed", cases: int = 3, **changed: Any
) -> Comparison:
    numbers = dict.fromkeys(
        [
            "p_value",
            "p_adjusted",
            "smallest_detectable",
            "n_judged",
            "n_lost",
            "n_gained",
            "mcnemar_p",
        ]
    )
    overall = ScoreComparison(
        subject="overall",
        name=None,
        verdict=verdict,  # type: ignore[arg-type]
        reason=None,
        conclusion="总分变差 12.0 个百分点（95% 区间 -18 至 -6）。",
        n_pairs=3,
        n_better=0,
        n_worse=cases,
        n_same=0,
        baseline_score=0.832,
        candidate_score=0.712,
        delta=-0.12,
        ci_low=-0.18,
        ci_high=-0.06,
        **numbers,
    )
    tasks = [
        ComparedTask(
            task_id=task_id,
            title=TITLE,
            variant="example/model",
            prompt_version=version,
            model="example/model",
            testset_id=None,
            created_at=AT - timedelta(days=days),
        )
        for task_id, version, days in (("old-6", "v1.6", 1), ("run-1", "v2", 0))
    ]
    values: dict[str, Any] = {
        "baseline": tasks[0],
        "candidate": tasks[1],
        "pair_source": "previous",
        "verdict": verdict,
        "conclusion": overall.conclusion,
        "notes": [],
        "counts": CaseCounts(
            **dict.fromkeys(CaseCounts.model_fields, 0) | {"worse": cases}
        ),
        "overall": overall,
        "dimensions": [overall.model_copy(update={"subject": "d0", "name": "规则"})],
        "tags": [],
        "cases": [change(number) for number in range(1, cases + 1)],
        "lang": "zh",
        "version": "1.0",
    }
    return Comparison(**values | changed)


def to_message(
    made: AnalysisResult,
    *,
    comparison: Comparison | None = None,
    history: Sequence[PastRun] = (),
    **options: Any,
) -> EmailMessage:
    """The mail of a result, compared with its baseline, after earlier runs."""
    more = {"comparison": comparison, "runs": list(history)}
    compared = made.model_copy(update=more)
    return mail.to_message(compared, **options)


@cache
def checker() -> Callable[..., str] | None:
    """What the mail checker prints when it is called; ``None`` where it cannot run.

    It is called in this process: its libraries take longer to import than a mail.
    """
    spec = importlib.util.spec_from_file_location("email_html_check", CHECKER)
    if spec is None or spec.loader is None or not CHECKER.is_file():
        return None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    limit = sys.getrecursionlimit()
    try:
        spec.loader.exec_module(module)
    except SystemExit:  # it needs html5lib and tinycss2
        return None
    finally:
        sys.setrecursionlimit(limit)  # which it changes

    def run(*arguments: object) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            module.main([str(argument) for argument in arguments])
        return printed.getvalue()

    return run


def canaries() -> list[str]:
    """Hostile texts: the checker's own where it is present, else a few of ours."""
    if check := checker():
        return [item["text"] for item in json.loads(check("--print-canaries"))]
    return [
        "<script>alert('PLC01')</script>",
        '" onmouseover="alert(\'PLC04\')" x="',
        "PLC16\x00\x1b[31mred",
        "PLC18\r\nBcc: evil@example.invalid",
        "</td></tr></table>PLC19<table><tr><td>",
        "{{7*7}} {% if 1 %}PLC13",
    ]
