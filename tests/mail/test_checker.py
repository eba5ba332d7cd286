"""The mail checker's verdict on mails of every kind of task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptlab.reports.mail import Envelope
from tests.mail.made import (
    alert,
    canaries,
    case,
    change,
    comparison,
    dimension,
    empty,
    result,
    runs,
    to_message,
)

LARGE = 100_000
# Mails list the worst cases; the reader of a large task cuts before it comes here.
WORST = [case(number) for number in range(1, 201)]


def large():
    counted = {"n_cases": LARGE, "n_fail": LARGE - 5, "n_pass": 5, "n_rounds": LARGE}
    return result(WORST, alerts=300, dimensions=40, summary=counted)


def all_failed():
    return result(
        [case(number) for number in range(1, 31)],
        summary={"grade": "F", "overall_score": 0.0, "ci_low": 0.0, "ci_high": 0.0},
    )


TASKS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "small": (result, {"history": runs(), "comparison": comparison()}),
    "large": (large, {"history": runs(30), "comparison": comparison(cases=900)}),
    "empty": (empty, {}),
    "all failed": (all_failed, {"history": runs(2)}),
    "no history": (result, {"history": runs(1)}),
    "not comparable": (
        result,
        {
            "history": runs(3),
            "comparison": comparison("not_comparable", cases=0),
        },
    ),
}


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("kind", TASKS)
def test_a_mail_has_no_error_and_a_high_score(kind, lang, check, tmp_path):
    make, more = TASKS[kind]
    message = to_message(
        make(),
        lang=lang,
        envelope=Envelope(report_url="https://reports.example.com"),
        **more,
    )
    told = check(message.as_bytes(), tmp_path / "mail.eml")
    errors = [f for f in told["findings"] if f["sev"] == "ERROR"]
    assert errors == []
    assert told["score"] >= 95, [f for f in told["findings"] if f["sev"] == "WARN"]


def hostile(texts):
    """Every text of the task is one of *texts*, or holds them all."""
    cases = [
        case(
            number,
            case_id=text,
            context={"question": text},
            differences=[
                d.model_copy(update={"expected": text, "actual": text, "pointer": text})
                for d in case(1).differences
            ],
        )
        for number, text in enumerate(texts)
    ]
    made = result(
        cases, alerts=0, task={"title": texts[0], "prompt_version": texts[-1]}
    )
    summary = made.summary.model_copy(
        update={
            "alerts": [alert(message=text) for text in texts],
            "conclusion": " ".join(texts[:3]),
        }
    )
    dimensions = [dimension(text, name=text, diagnosis=text) for text in texts]
    return made.model_copy(update={"summary": summary, "dimensions": dimensions})


@pytest.mark.parametrize("start", [0, 7, 14])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_hostile_texts_are_shown_as_text_escaped_once(start, lang, check, tmp_path):
    texts = canaries()[start : start + 8]
    compared = comparison()
    compared = compared.model_copy(
        update={
            "conclusion": texts[-1],
            "cases": [change(1, case_id=text) for text in texts],
        }
    )
    message = to_message(
        hostile(texts),
        lang=lang,
        history=runs(4),
        comparison=compared,
        envelope=Envelope(attach="none"),  # tests/reports has its own hostile texts
    )
    told = check(message.as_bytes(), tmp_path / "mail.eml")
    assert [f for f in told["findings"] if f["sev"] == "ERROR"] == []
    warned = [f for f in told["findings"] if f["sev"] == "WARN"]
    # A hidden character is named in place, so its text is not unchanged.
    named = {"PLC15", "PLC16"}
    assert [
        f for f in warned if f["rule"] != "canary.altered" or set(f["examples"]) - named
    ] == []
    assert told["score"] >= 95


def test_every_hostile_text_is_somewhere_in_the_mails(check, tmp_path):
    texts = canaries()
    assert len(texts) >= 20
    shown = "".join(
        to_message(hostile(texts[start : start + 8])).get_body(("plain",)).get_content()
        for start in (0, 7, 14)
    )
    assert [n for n in range(1, 23) if f"PLC{n:02}" not in shown] == []
