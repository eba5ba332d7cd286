"""One case of megabytes: the page stays small, says so, and the JSON has it all."""

from __future__ import annotations

import json

import pytest

from promptlab.contracts.analysis_result import AnalysisResult, CaseResult, StepOutcome
from promptlab.reports import to_html
from promptlab.reports.formats import FORMATS
from promptlab.reports.pages import NOWHERE, Links
from promptlab.reports.report_options import ReportOptions


def monster(result: AnalysisResult, letter: str) -> CaseResult:
    """The first case with more of everything than a page lists."""
    cases = result.case_results
    difference = next(d for case in cases for d in case.differences)
    evidence = next(e for case in cases for e in case.evidences)
    long = letter * 50_000
    steps = [
        StepOutcome(
            step=f"{n}{long}",
            output=f"{n}{long}"[:2000],
            output_chars=50_000,
            latency_ms=1.0,
            input_tokens=None,
            output_tokens=None,
        )
        for n in range(30)
    ]
    rounds = [
        cases[0]
        .rounds[0]
        .model_copy(
            update={
                "round_id": f"{n}{long}",
                "run_index": n,
                "status": "fail",
                "answer": f"{n}{long}"[:2000],
                "answer_chars": 50_001,
                "error_code": long,
                "failed_steps": [long] * 100,
                "feedback": f"{n}{long}",
                "steps": steps,
            }
        )
        for n in range(20)
    ]
    values = {f"{n}{letter * 500}": long for n in range(50)}
    return cases[0].model_copy(
        update={
            "status": "fail",
            "context": values,
            "inputs": values,
            "expected": values,
            "notes": values,
            "tags": [f"{n}{letter * 500}" for n in range(50)],
            "golden_answers": [f"{n}{long}" for n in range(50)],
            "rounds": rounds,
            "n_rounds": 20,
            "baseline_rounds": rounds,
            "differences": [
                difference.model_copy(
                    update={
                        "round_id": round_.round_id,
                        "pointer": f"/{n}{letter * 500}",
                        "expected": f"{n}{long}",
                        "actual": f"{n}{long}",
                    }
                )
                for round_ in rounds
                for n in range(50)
            ],
            "n_differences": 1000,
            "evidences": [
                evidence.model_copy(
                    update={
                        "round_id": round_.round_id,
                        "summary": f"{n}{long}",
                        "payload": {"snippet": f"{n}{long}", "actual": long},
                    }
                )
                for round_ in rounds
                for n in range(10)
            ],
        }
    )


def page_of(result: AnalysisResult, letter: str, others: int) -> str:
    """The page of a task with the monster and *others* like the second case."""
    cases = [
        monster(result, letter),
        *(
            result.case_results[1].model_copy(update={"case_id": f"other-{n}"})
            for n in range(others)
        ),
    ]
    return to_html(
        result.model_copy(update={"case_results": cases}),
        links=Links(result="result.json"),
    )


@pytest.mark.parametrize("letter", ["x", "答", "&", "\u200b"], ids=ascii)
@pytest.mark.parametrize("others", [0, 60])
def test_a_monstrous_case_leaves_the_page_below_600_kb_and_the_others_on_it(
    result_of, letter, others
):
    page = page_of(result_of("en"), letter, others)
    assert len(page.encode()) < 600_000
    assert page.count('<details class="case"') == others + 1


def test_what_was_shortened_says_so_and_where_the_whole_is(result_of):
    page = page_of(result_of("en"), "&", 0)
    assert "The cases contain very long texts" in page
    assert 'href="result.json"' in page
    assert "The cases contain very long texts" not in to_html(result_of("en"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_holds_a_case_as_deep_as_is_read(result_of, name):
    result = result_of("en")
    deep = {"seed": json.loads('{"a":' * 498 + '"bottom"' + "}" * 498)}
    first = result.case_results[0].model_copy(update={"context": deep, "inputs": deep})
    cases = [first, *result.case_results[1:]]
    written = FORMATS[name].render(
        result.model_copy(update={"case_results": cases}),
        ReportOptions(result.generated_at),
        NOWHERE,
    )
    if name == "json":
        assert json.loads(written)["case_results"][0]["inputs"] == deep
