"""``trends``, ``flaky``, ``leaderboard``, ``docs``, and what history adds to a task."""

from __future__ import annotations

import json

import pytest

from promptlab.cli import run_cli


@pytest.fixture
def on_examples(example_db, capsys):
    def call(*args: str) -> tuple[int, str, str]:
        code = run_cli([args[0], "--db", str(example_db), *args[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def as_json(result: tuple[int, str, str]) -> list[dict]:
    assert result[0] == 0, result
    return json.loads(result[1])


def test_a_trend_is_the_stored_scores_in_the_order_of_time(on_examples, rows):
    found = as_json(on_examples("trends", "客服问答回归测试", "--format", "json"))
    stored = rows(
        "select task_id, overall_score from marts.dim_tasks"
        " inner join marts.fct_task_summaries using (task_id)"
        " where title = '客服问答回归测试' order by created_at"
    )
    assert [(row["task_id"], row["value"]) for row in found] == stored
    assert found[0]["change"] is None
    step = found[1]["value"] - found[0]["value"]
    assert found[1]["change"] == pytest.approx(step, abs=1e-6)


def test_runs_counts_passes_among_what_was_evaluated(cli):
    every = ("runs", "--limit", "1000")
    tasks = as_json(cli(*every, "--format", "json"))
    *lines, legend = cli(*every)[1].splitlines()[2:]
    assert legend.startswith("!: rounds ended in an error")
    assert {task["n_unevaluated"] > 0 for task in tasks} == {True, False}
    for task, line in zip(tasks, lines, strict=True):
        judged = task["n_pass"] + task["n_fail"] + task["n_error"]
        assert line.startswith(task["title"])
        passed = f"{task['n_pass']}/{judged}" if judged else "–"
        assert passed in line.split()
        assert (" !" in line) == bool(task["error_share"])


def test_without_a_title_the_trend_is_that_of_the_newest_task(on_examples):
    found = as_json(on_examples("trends", "--format", "json", "--last", "1"))
    assert [row["task_id"] for row in found] == ["review-sentiment-improved"]


@pytest.mark.parametrize("measure", ["dimension_score", "tag_score", "tag_pass_rate"])
def test_a_trend_of_parts_names_each_part_or_the_one_asked_for(on_examples, measure):
    found = as_json(on_examples("trends", "--measure", measure, "--format", "json"))
    subjects = sorted({row["subject"] for row in found})
    assert len(subjects) > 1
    args = ("--measure", measure, "--subject", subjects[0], "--format", "json")
    only = as_json(on_examples("trends", *args))
    assert {row["subject"] for row in only} == {subjects[0]}


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ("trends", "--measure", "joy"),
            2,
            "no measure 'joy'; there are answer_chars_mean",
        ),
        (("trends", "nothing"), 5, "there is no task titled 'nothing'"),
        (("runs", "客服问答"), 5, "did you mean `客服问答回归测试`?"),
        (("runs", "--title", "nothing"), 5, "there is no task titled 'nothing'"),
        (("flaky", "客服问答"), 5, "did you mean `客服问答回归测试`?"),
        (("trends", "--measure", "pas_rate"), 2, "did you mean `pass_rate`?"),
        (("trends", "--measure", "cost_total"), 5, "has cost_total"),
        (("leaderboard", "nothing"), 5, "there is no task titled 'nothing'"),
        (("flaky", "--title", "nothing"), 5, "there is no task titled 'nothing'"),
    ],
)
def test_where_there_is_nothing_a_sentence_says_so(on_examples, args, code, message):
    found = on_examples(*args)
    assert found[0] == code
    assert message in found[2]


def test_flaky_cases_are_those_whose_rounds_disagree(on_examples, rows):
    found = [
        row
        for row in as_json(on_examples("flaky", "--format", "json"))
        if row["flaky_across"] == "rounds"
    ]
    mixed = rows(
        "select task_id, case_id from marts.fct_rounds"
        " group by all having bool_or(status = 'pass') and bool_or(status = 'fail')"
    )
    assert len(found) == len(mixed) > 0
    assert {row["case_id"] for row in found} == {case_id for _, case_id in mixed}


def test_the_leaderboard_ranks_within_each_title(on_examples):
    found = as_json(on_examples("leaderboard", "--format", "json"))
    by_title: dict[str, list] = {}
    for row in found:
        by_title.setdefault(row["title"], []).append(row)
    for entries in by_title.values():
        scores = [entry["overall_score"] for entry in entries]
        assert scores == sorted(scores, reverse=True)
        assert [entry["rank"] for entry in entries] == list(range(1, len(entries) + 1))


def test_a_critical_alert_from_history_never_caps_the_grade(rows):
    found = rows(
        "select grade from marts.fct_task_summaries inner join marts.fct_alerts"
        " using (task_id) where code = 'must_have_lost' and severity = 'critical'"
    )
    assert ("B",) in found


def test_only_the_tasks_own_baseline_raises_alerts(history_rows):
    found = history_rows(
        "select task_id from marts.fct_alerts"
        " where code in ('significant_regression', 'must_have_lost')"
    )
    # the reverse pairs, which were requested, would also flag `before`
    assert found
    assert not [task_id for (task_id,) in found if task_id.endswith("before")]
