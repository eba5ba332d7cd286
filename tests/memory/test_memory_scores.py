"""The warehouse scores memory runs as the published definitions say."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from typing import Any, NamedTuple

import pytest

from tests.memory import oracle
from tests.memory.conftest import SHARED
from tests.memory.runs import Document, Runs, answers

TOLERANCE = 1.5e-6  # two roundings to six digits


class Member(NamedTuple):
    """One answer of a group that a figure is made of."""

    task: str
    question: Document
    scores: dict[str, float | None]


@pytest.fixture
def real_runs() -> dict[str, dict[str, Document]]:
    """The real runs as they are in their files."""
    if not (SHARED / "memory").is_dir():
        pytest.skip("no real memory runs at hand (../shared/data/memory)")
    found: dict[str, dict[str, Document]] = defaultdict(dict)
    for path in sorted((SHARED / "memory").rglob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        found[f"locomo/{path.parent.name}"][path.stem] = document
    return found


def test_every_answer_has_the_published_scores(query, runs):
    assert_scores_are_the_published_ones(query("fct_memory_answers", runs), runs)


def test_every_real_answer_has_the_published_scores(query, real_runs):
    held = query("fct_memory_answers", real_runs)
    assert_scores_are_the_published_ones(held, real_runs)


def assert_scores_are_the_published_ones(
    held: list[dict[str, Any]], runs: Runs
) -> None:
    keys = ("run_id", "task_id", "test_index", "question_index")
    found = {tuple(row[key] for key in keys): row for row in held}
    expected = {
        (run, task, test_index, question["question_index"]): oracle.scores(question)
        for run, task, test_index, question in answers(runs)
    }
    assert found.keys() == expected.keys()
    for metric in oracle.METRICS:
        differing = {
            key: (found[key], scores[metric])
            for key, scores in expected.items()
            if found[key][metric] != pytest.approx(scores[metric], abs=TOLERANCE)
        }
        assert not differing, metric
        assert len({scores[metric] for scores in expected.values()}) > 2


def test_every_figure_is_the_mean_that_its_labels_say(query, runs):
    held = query("fct_memory_scores", runs)
    expected = expected_figures(runs)
    labels = ("run_id", "view", "test_index", "failed_calls", "category", "average")
    found = {(*(row[name] for name in labels), row["metric"]): row for row in held}
    assert found.keys() == expected.keys()
    differing = {
        key: (found[key], figure)
        for key, figure in expected.items()
        if found[key]["score"] != pytest.approx(figure[0], abs=TOLERANCE)
        or (found[key]["n_questions"], found[key]["n_failed"]) != figure[1:]
    }
    assert not differing


def expected_figures(runs: Runs) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Every figure of the made-up runs, each counted from its answers alone."""
    groups: dict[tuple[Any, ...], list[Member]] = defaultdict(list)
    for run, task, test_index, question in answers(runs):
        views = [("pooled", None), ("by_round", test_index)]
        if test_index == 5:
            views.append(("last_round", None))
        member = Member(task, question, oracle.scores(question))
        category = question.get("category")
        names = {"all", "(none)" if category is None else str(category)}
        if category in (1, 2, 3, 4):
            names.add("1-4")
        for view, name in itertools.product(views, names):
            groups[run, *view, name].append(member)
    figures = {}
    for (run, view, test_index, name), members in groups.items():
        for metric, rule, average in itertools.product(
            oracle.METRICS, ("as_zero", "left_out"), ("micro", "macro")
        ):
            figures[run, view, test_index, rule, name, average, metric] = figure(
                members, metric, rule, average
            )
    return figures


def figure(
    members: list[Member], metric: str, rule: str, average: str
) -> tuple[float | None, int, int]:
    by_task: dict[str, list[float]] = defaultdict(list)
    n_failed = 0
    for task, question, scores in members:
        if not oracle.is_scorable(question, metric):
            continue
        has_failed = oracle.has_failed(question)
        n_failed += has_failed
        if rule == "as_zero" or not has_failed:
            by_task[task].append(scores[metric] or 0.0)
    everything = [score for scores in by_task.values() for score in scores]
    means = [mean(scores) for scores in by_task.values()]
    score = mean(everything) if average == "micro" else mean(means)
    return score, len(everything), n_failed


def mean(values: list[Any]) -> float | None:
    return sum(values) / len(values) if values else None


def test_the_headline_is_one_figure_per_run_category_and_metric(query, runs):
    held = [row for row in query("fct_memory_scores", runs) if row["is_headline"]]
    keys = {(row["run_id"], row["category"], row["metric"]) for row in held}
    labels = {(row["view"], row["failed_calls"], row["average"]) for row in held}
    assert len(held) == len(keys) > 0
    assert labels == {("last_round", "as_zero", "micro")}


def test_retention_counts_right_questions_asked_again_without_a_failure(query, runs):
    held = {
        (row["run_id"], row["lag"]): (
            row["n_right_before"],
            row["n_still_right"],
            row["n_failed"],
        )
        for row in query("fct_memory_retention", runs)
    }
    expected: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for run, tasks in runs.items():
        metric = "locomo_f1" if run.startswith("locomo") else "token_f1"
        for document in tasks.values():
            statuses = statuses_by_question(document, metric)
            for rounds in statuses.values():
                for before, after in itertools.combinations(sorted(rounds), 2):
                    if rounds[before] != "right":
                        continue
                    counts = expected[run, after - before]
                    counts[0] += rounds[after] != "failed"
                    counts[1] += rounds[after] == "right"
                    counts[2] += rounds[after] == "failed"
    assert held == {key: tuple(counts) for key, counts in expected.items()}


def statuses_by_question(
    document: Document, metric: str
) -> dict[tuple[str, int], dict[int, str]]:
    """Question (text and which of its twins) → round → right, wrong or failed."""
    found: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
    for one in document["test_results"]:
        seen: dict[str, int] = defaultdict(int)
        for question in one["questions"]:
            shown = {
                name: question.get(name)
                for name in ("question_text", "category", "evidence")
            }
            text = json.dumps(shown)
            seen[text] += 1
            score = oracle.scores(question)[metric]
            if oracle.has_failed(question):
                status = "failed"
            elif score is None:
                continue
            else:
                status = "right" if score >= 0.5 else "wrong"
            found[text, seen[text]][one["test_index"]] = status
    return found


def test_a_run_is_named_by_its_data_set_timestamp_and_memory_system(query, runs):
    held = query("dim_memory_runs", runs)
    assert {row["run_id"] for row in held} == set(runs)
    assert {row["memory_system"] for row in held} == {None, "mem0", "tim"}


def test_questions_that_were_never_asked_are_counted(query, runs):
    held = query("dim_memory_tasks", runs)
    counts = {(row["n_valid"], row["n_asked"], row["n_never_asked"]) for row in held}
    assert counts == {(31, 30, 1)}


@pytest.mark.parametrize("run", ["0503", "0710"])
def test_mem0_f1_is_the_one_published_for_the_same_answers(query, real_runs, run):
    held = {
        (row["question_text"], row["predicted_answer"]): row["mem0_f1"]
        for row in query("fct_memory_answers", [f"locomo/25{run}_0900"])
        if row["is_last_round"] and row["mem0_f1"] is not None
    }
    compared = 0
    for question, answer, f1 in published_answers(run):
        if (question, answer) in held:
            assert held[question, answer] == pytest.approx(f1, abs=1e-4), question
            compared += 1
    assert compared > 200


def published_answers(run: str) -> list[tuple[str, str, float]]:
    task = json.loads((SHARED / "runs" / f"memory-qa-{run}.json").read_text("utf-8"))
    lines = (SHARED / "runs" / f"memory-qa-{run}.scores.jsonl").read_text("utf-8")
    f1 = {
        score["case_id"]: score["payload"]["f1_published"]
        for score in map(json.loads, lines.splitlines())
    }
    return [
        (
            case["context"]["question"],
            case["rounds"][0]["raw_output"],
            f1[case["case_id"]],
        )
        for case in task["cases"]
    ]
