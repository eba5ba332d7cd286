"""``promptlab power``: plan the number of cases, rounds and labels."""

from __future__ import annotations

import json
from typing import Any

import click

from promptlab.cli.options import Call, common

_HISTORY = """
    with

    cases as (
        select
            rounds.task_id,
            rounds.case_id,
            count(*) as n,
            count(*) filter (where rounds.status = 'pass')::double as n_pass
        from marts.fct_rounds as rounds
        inner join marts.dim_tasks as tasks using (task_id)
        where
            rounds.status in ('pass', 'fail')
            and (tasks.title, tasks.variant) = (
                select (title, variant) from marts.dim_tasks where task_id = $task
            )
        group by all
    ),

    -- of a case with single rounds, the rounds of all results of one prompt version
    over_results as (
        select
            tasks.prompt_version,
            cases.case_id,
            sum(cases.n) as n,
            sum(cases.n_pass) as n_pass
        from cases
        inner join marts.dim_tasks as tasks using (task_id)
        group by all
    )

    select
        (select count(*) from cases where task_id = $task) as cases,
        (
            select coalesce(round(median(n)), 1)::int from cases where task_id = $task
        ) as rounds,
        coalesce(
            (
                select avg(n_pass / n * (1 - n_pass / n) * n / (n - 1))
                from cases where n > 1
            ),
            (
                select avg(n_pass / n * (1 - n_pass / n) * n / (n - 1))
                from over_results where n > 1
            )
        ) as within,
        (select count(distinct task_id) from cases) as tasks
"""


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
    from promptlab import power as plan

    answer: dict[str, Any]
    if labels:
        answer = _labels(half_width)
    elif rate is not None:
        needed = plan.cases_for_rate(rate, half_width)
        answer = {"rate": rate, "within": half_width, "cases": needed}
        text = (
            f"A pass rate of {rate:.0%} is known to within {100 * half_width:g} points"
            f" with {needed} cases."
        )
        answer["answer"] = [text]
    else:
        if cases is None or within is None:
            history = _history(call, task or "latest")
        else:
            history = plan.History(cases, rounds or 1, within, 0)
        answer = _comparison(
            plan.History(
                cases or history.cases,
                rounds or history.rounds,
                history.within if within is None else within,
                history.tasks,
            ),
            drop,
            power,
        )
    if call.format == "json":
        click.echo(json.dumps(answer))
    else:
        for line in answer["answer"]:
            click.echo(line)
    return 0


def _history(call: Call, task: str) -> Any:
    from promptlab.errors import NothingToDo
    from promptlab.power import History
    from promptlab.task_ids import selected_tasks

    with call.warehouse().built() as con:
        task_id = selected_tasks(con, task)[0]
        row = con.execute(_HISTORY, {"task": task_id}).fetchone()
    assert row is not None
    if not row[0]:
        raise NothingToDo(f"{task_id}: no case passed or failed, so there is no rate")
    return History(row[0], row[1], row[2] or 0.0, row[3])


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


def _comparison(history: Any, drop: float | None, power: float) -> dict[str, Any]:
    from promptlab import power as plan

    cases, rounds, within = history.cases, history.rounds, history.within
    smallest = plan.smallest_drop(cases, rounds, within, power)
    often = f"{10 * power:g} times in 10"
    noise = (
        "no case is flaky" if not within else f"a variance of {within:.3f} within cases"
    )
    lines = [
        f"{cases} cases, {rounds} round(s) per case, {noise}"
        + (f" (from {history.tasks} results)" if history.tasks else "")
        + ".",
        f"A drop of {100 * smallest:.1f} points is found {often}."
        if smallest is not None
        else f"No drop is found {often}: there are too few cases.",
    ]
    goal = drop or (None if smallest is None else smallest / 2)
    answer = {
        "cases": cases,
        "rounds": rounds,
        "within_variance": within,
        "n_results": history.tasks,
        "power": power,
        "smallest_drop": smallest,
    }
    if goal is not None:
        needed = plan.cases_for_drop(rounds, goal, within, power)
        more = plan.cases_for_drop(rounds + 1, goal, within, power)
        found = plan.drop_power(cases, rounds, goal, within)
        answer |= {
            "drop": goal,
            "power_now": round(found, 4),
            "cases_needed": needed,
            "cases_needed_with_one_more_round": more,
        }
        lines.append(
            f"A drop of {100 * goal:.1f} points is found in {found:.0%} of comparisons"
            f" now; {needed} cases find it {often}."
        )
        if needed and more:
            lines.append(
                f"One more round per case saves {needed - more} cases."
                if more < needed
                else "More rounds per case save no cases."
            )
    return answer | {"answer": lines}
