"""``promptlab power``: plan the number of cases, rounds and labels."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from promptlab.cli.options import Call, common

if TYPE_CHECKING:
    from promptlab.power import Plan


@click.command("power", short_help="Plan sample sizes.")
@click.argument("task", required=False)
@click.option("--drop", type=click.FloatRange(0.001, 1), help="Drop of the pass rate.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds per case.")
@click.option("--cases", type=click.IntRange(min=2), help="Cases of the suite.")
@click.option(
    "--flaky",
    "within",
    type=click.FloatRange(0, 0.25),
    help="Variance within a case [default: from the history; 0.25 is a coin].",
)
@click.option(
    "--power", type=click.FloatRange(0.5, 0.99), default=0.8, show_default=True
)
@click.option("--rate", type=click.FloatRange(0, 1), help="Measure one pass rate …")
@click.option(
    "--within",
    "half_width",
    type=click.FloatRange(0.001, 0.5),
    default=0.05,
    show_default=True,
    help="… to within this.",
)
@click.option("--labels", is_flag=True, help="Number of labels to check a judge.")
@common(formats=("table", "json"))
def command(
    call: Call,
    task: str | None,
    drop: float | None,
    rounds: int | None,
    cases: int | None,
    within: float | None,
    power: float,
    rate: float | None,
    half_width: float,
    labels: bool,
) -> int:
    """Report the changes that TASK's suite can detect, and the sample sizes for others.

    TASK is an id, `latest` or a title; its results give the number of cases, the rounds
    and how flaky the cases are. Without a warehouse, name them with `--cases`,
    `--rounds` and `--flaky`.
    """
    from promptlab import power as sizes

    answer: dict[str, Any]
    if labels:
        answer = _labels(half_width)
    elif rate is not None:
        needed = sizes.cases_for_rate(rate, half_width)
        answer = {"rate": rate, "within": half_width, "cases": needed}
        text = (
            f"A pass rate of {rate:.0%} is known to within {100 * half_width:g} points"
            f" with {needed} cases."
        )
        answer["answer"] = [text]
    else:
        if cases is None or within is None:
            plan = call.warehouse().power(
                task or "latest",
                drop=drop,
                rounds=rounds,
                cases=cases,
                flaky=within,
                power=power,
            )
        else:
            plan = sizes.plan(cases, rounds or 1, within, drop=drop, power=power)
        answer = asdict(plan) | {"answer": _sentences(plan)}
    if call.format == "json":
        click.echo(json.dumps(answer))
    else:
        for line in answer["answer"]:
            click.echo(line)
    return 0


def _labels(half_width: float) -> dict[str, Any]:
    from promptlab.power import cases_for_rate

    fails, passes = cases_for_rate(0.8, half_width), cases_for_rate(0.9, half_width)
    return {
        "within": half_width,
        "failing_labels": fails,
        "passing_labels": passes,
        "answer": [
            f"To know to within {100 * half_width:g} points how many failures a judge"
            f" catches (8 of 10), label {fails} failing answers; for how many passes it"
            f" keeps (9 of 10), {passes} passing ones.",
            "Below 15 of each nothing can be said.",
        ],
    }


def _sentences(plan: Plan) -> list[str]:
    often = f"{10 * plan.power:g} times in 10"
    noise = (
        f"a variance of {plan.within_variance:.3f} within cases"
        if plan.within_variance
        else "no case is flaky"
    )
    lines = [
        f"{plan.cases} cases, {plan.rounds} round(s) per case, {noise}"
        + (f" (from {plan.n_results} results)" if plan.n_results else "")
        + ".",
        f"A drop of {100 * plan.smallest_drop:.1f} points is found {often}."
        if plan.smallest_drop is not None
        else f"No drop is found {often}: there are too few cases.",
    ]
    needed, more = plan.cases_needed, plan.cases_needed_with_one_more_round
    if plan.drop is not None and plan.power_now is not None:
        found = f"{needed} cases find" if needed else "not even 100,000 cases find"
        lines.append(
            f"A drop of {100 * plan.drop:.1f} points is found in"
            f" {plan.power_now:.0%} of comparisons now; {found} it {often}."
        )
    if needed and more:
        lines.append(
            f"One more round per case saves {needed - more} cases."
            if more < needed
            else "More rounds per case save no cases."
        )
    return lines
