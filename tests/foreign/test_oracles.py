"""Real and fresh files of the tools against facts that were computed from their bytes.

They are next to the developers' checkouts only; everybody has those of `test_rows`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import reading_from, reading_of, table

SHARED = Path(__file__).resolve().parents[3] / "shared" / "foreign"
if not SHARED.is_dir():  # a checkout in a folder of worktrees
    SHARED = Path(__file__).resolve().parents[4] / "shared" / "foreign"
ORACLES: dict[str, Any] = (
    json.loads((SHARED / "oracles.json").read_text("utf-8"))
    if SHARED.is_dir()
    else {"files": {}, "pairs": {}}
)

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no real files of the tools at hand (../shared/foreign)"
)


def _of(kind: str) -> list[str]:
    return [name for name, fact in ORACLES["files"].items() if fact["kind"] == kind]


@cache
def _read(name: str) -> Reading:
    return reading_of(SHARED / name)


@pytest.mark.parametrize("name", _of("promptfoo") + _of("promptfoo-jsonl"))
def test_promptfoo_columns_have_the_rows_verdicts_and_sums_of_the_file(
    name: str,
) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_rows"]
    assert table(reading, "tasks").height == facts["n_columns"]
    cases = table(reading, "cases")["case_id"]
    assert cases.n_unique() == facts["n_distinct_tests_by_content"]
    for index, fact in facts["columns"].items():
        (task_id,) = (t for t in reading.runs if t.endswith(f"/{index}"))
        mine = rounds.filter(task_id=task_id)
        counts = Counter(mine["reported_status"])
        n_unknown = counts["unevaluated"]  # a judge that broke fails in the file
        assert counts["error"] == fact["error"]
        assert (
            counts["pass"] + counts["fail"] + n_unknown == fact["pass"] + fact["fail"]
        )
        assert fact["pass"] - n_unknown <= counts["pass"] <= fact["pass"]
        of = scores.filter(task_id=task_id)
        total = of.filter(dimension_id="score")["value"].sum()
        assert total == pytest.approx(fact["score_sum"])
        assert (mine["latency_ms"].sum() or 0) == fact["latency_ms_sum"]
        tokens = fact["tokens"]
        assert (mine["input_tokens"].sum() or 0) == tokens["prompt"]
        assert (mine["output_tokens"].sum() or 0) == tokens["completion"]
        for metric, named in fact["namedScores_plain"].items():
            values = of.filter(dimension_id=metric)["value"]
            assert values.len() == named["n"]
            assert values.sum() == pytest.approx(named["sum"])
        checks = table(reading, "reported_checks")
        passed = checks.filter(task_id=task_id)["passed"] if checks.height else None
        if passed is not None:
            assert (passed == True).sum() == fact["assert_pass"]  # noqa: E712
            assert (passed == False).sum() == fact["assert_fail"]  # noqa: E712


@pytest.mark.parametrize("name", _of("inspect"))
def test_inspect_scorers_have_the_rows_and_means_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_samples_rows"]
    assert table(reading, "cases").height == facts["n_cases"]
    if rounds.height:
        assert rounds["error"].drop_nulls().len() == facts["rows_with_error"]
    for scorer, fact in facts["scorers"].items():
        of = scores.filter(dimension_id=scorer)
        assert of["value"].drop_nulls().len() == fact["rows"]
        assert of["case_id"].n_unique() == fact["cases"]
        assert of["value"].mean() == pytest.approx(fact["mean_of_rows"])
        means = of.group_by("case_id").agg(pl.col("value").mean())["value"]
        assert means.mean() == pytest.approx(fact["mean_of_case_means"])


@pytest.mark.parametrize("name", _of("openai_evals"))
def test_openai_evals_have_the_matches_and_tokens_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    scores, rounds = table(reading, "reported_scores"), table(reading, "rounds")
    assert table(reading, "cases").height == facts["n_cases"]
    match = scores.filter(dimension_id="match")["value"]
    assert match.len() == facts["match"]["n"]
    assert match.mean() == pytest.approx(facts["match"]["mean"])
    assert rounds["input_tokens"].sum() == facts["tokens_summed"]["prompt_tokens"]
    for metric, fact in facts["metrics_events"].items():
        values = scores.filter(dimension_id=metric)["value"]
        assert values.mean() == pytest.approx(fact["mean"])


@pytest.mark.parametrize("name", _of("lm_eval-samples"))
def test_lm_eval_has_the_documents_and_means_of_the_file(name: str) -> None:
    facts = ORACLES["files"][name]
    reading = _read(str(Path(name).parent))
    task = Path(name).name.split("_2026")[0].removeprefix("samples_")
    (task_id,) = (t for t in reading.runs if t.endswith(f"/{task}"))
    cases = table(reading, "cases").filter(task_id=task_id)
    assert cases.height == facts["n_docs"]
    scores = table(reading, "reported_scores").filter(task_id=task_id)
    for dimension, fact in facts["means"].items():
        of = scores.filter(dimension_id=dimension)
        values = of.unique("case_id")["value"]  # repeats share one
        assert values.drop_nulls().len() == fact["n"]
        assert values.mean() == pytest.approx(fact["mean"])


@pytest.mark.parametrize("name", _of("deepeval"))
def test_deepeval_has_the_verdicts_and_metrics_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, checks = table(reading, "rounds"), table(reading, "reported_checks")
    scores = table(reading, "reported_scores")
    assert rounds.height == table(reading, "cases").height == facts["n_cases"]
    counts = Counter(rounds["reported_status"])
    n_unknown = counts["unevaluated"]  # a metric that broke fails in the file
    passed, failed = facts["recomputed_passed"], facts["recomputed_failed"]
    assert counts["pass"] + counts["fail"] + n_unknown == passed + failed
    assert passed - n_unknown <= counts["pass"] <= passed
    for metric, fact in facts["metrics"].items():
        values = scores.filter(dimension_id=metric)["value"]
        assert values.drop_nulls().len() == fact["n"]
        assert values.null_count() == fact["missing"]
        assert values.mean() == pytest.approx(fact["mean"])
        passed = checks.filter(name=metric)["passed"].to_list()
        assert passed.count(True) == fact["pass"]
        assert passed.count(False) == fact["fail"]
        assert passed.count(None) == fact["error"]
    claims = table(reading, "claims")
    for fact in facts["claimed_metrics"]:
        (mean,) = claims.filter(dimension_id=fact["metric"])["value"]
        assert mean == pytest.approx(fact["mean"])


@pytest.mark.parametrize("name", _of("langsmith"))
def test_langsmith_has_the_feedback_and_errors_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_rows"]
    assert rounds["error"].drop_nulls().len() == facts["errors"]
    assert table(reading, "cases").height == facts["n_cases"]
    assert set(rounds.group_by("case_id").len()["len"]) == set(facts["rounds"])
    for column, fact in facts["feedback"].items():
        of = scores.filter(dimension_id=column.removeprefix("feedback."))
        values = of["value"].drop_nulls()
        assert values.len() == fact["n"]
        assert facts["n_rows"] - values.len() == fact["missing"]
        assert values.mean() == pytest.approx(fact["mean"])
    for column, labels in facts["labels"].items():
        of = scores.filter(dimension_id=column.removeprefix("feedback."))
        given = [json.loads(each)["given"] for each in of["payload"]]
        for label in set(labels) - {"", "nan"}:
            assert given.count(label) == labels[label]


@pytest.mark.parametrize("name", _of("mlflow-genai-df"))
def test_mlflow_has_the_states_and_means_of_the_table(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_rows"]
    broken = rounds["reported_status"].to_list().count("error")
    assert broken == facts["states"].get("ERROR", 0)
    assert table(reading, "baselines").height == facts["n_rows"]
    for scorer, fact in facts["numbers"].items():
        values = scores.filter(dimension_id=scorer)["value"].drop_nulls()
        if fact["n"]:  # the others are texts, or what was expected
            assert values.len() == fact["n"]
            assert values.mean() == pytest.approx(fact["mean"])
    for claimed, mean in facts["claimed"].items():
        values = scores.filter(dimension_id=claimed.removesuffix("/mean"))["value"]
        assert values.mean() == pytest.approx(mean)
    for form in ("result_df.csv", "traces.jsonl"):  # two more copies
        other = _read(name.replace("result_df.jsonl", form))
        assert other.runs == reading.runs
        shown = ["case_id", "dimension_id", "value", "score"]
        ours, theirs = (table(r, "reported_scores") for r in (reading, other))
        assert theirs.select(shown).sort(shown).equals(ours.select(shown).sort(shown))


@pytest.mark.parametrize("name", _of("mlflow-classic-table"))
def test_mlflow_has_the_rows_and_seconds_of_the_classic_table(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    assert table(reading, "rounds").height == facts["n_rows"]
    seconds = table(reading, "reported_scores").filter(dimension_id="latency")["value"]
    assert seconds.mean() == pytest.approx(facts["claimed"]["latency/mean"], rel=1e-5)
    rounds, golden = table(reading, "rounds"), table(reading, "baselines")
    both = rounds.join(golden, on="case_id")
    answers = [json.loads(each)["answer"] for each in both["payload"]]
    right = [a == b for a, b in zip(both["raw_output"], answers, strict=True)]
    assert sum(right) / len(right) == pytest.approx(facts["exact_match"])


@pytest.mark.parametrize("name", _of("pydantic_evals"))
def test_pydantic_evals_have_the_rows_and_means_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    checks = table(reading, "reported_checks")
    assert rounds.height == facts["n_case_rows"] + facts["n_task_failures"]
    assert rounds["error"].drop_nulls().len() == facts["n_task_failures"]
    assert table(reading, "cases").height == facts["n_cases"]
    assert checks["error"].drop_nulls().len() == facts["evaluator_failures"]
    for dimension, fact in {**facts["assertions"], **facts["scores"]}.items():
        values = scores.filter(dimension_id=dimension)["value"].drop_nulls()
        assert values.len() == fact["n"]
        assert values.mean() == pytest.approx(fact["mean"])
    for dimension, labels in facts["labels"].items():
        of = scores.filter(dimension_id=dimension)
        given = [json.loads(each)["given"] for each in of["payload"]]
        assert {each: given.count(each) for each in given} == labels
    for name, count in facts["tokens"].items():
        assert rounds[name].sum() == count


@pytest.mark.parametrize("name", _of("ragas"))
def test_ragas_metrics_have_the_rows_and_means_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_rows"]
    assert rounds["raw_output"].null_count() == facts["empty_responses"]
    assert scores["dimension_id"].n_unique() == len(facts["metrics"])
    for metric, fact in facts["metrics"].items():
        values = scores.filter(dimension_id=metric)["value"]
        assert values.drop_nulls().len() == fact["n"]
        assert values.null_count() == fact["missing"]
        assert values.mean() == pytest.approx(fact["mean"])


def test_every_eval_ever_has_the_line_and_the_total_of_the_files() -> None:
    reading = _read("every_eval_ever")
    facts = ORACLES["files"]["every_eval_ever/demo_samples.jsonl"]
    assert table(reading, "rounds").height == facts["n_rows"]
    assert table(reading, "reported_scores")["value"].to_list() == [1.0]
    means = table(reading, "claims").drop_nulls("dimension_id")["value"]
    assert means.to_list() == [0.75]


@pytest.mark.parametrize("name", _of("helm-per-instance"))
def test_helm_metrics_have_the_rows_and_means_of_the_file(name: str) -> None:
    reading, facts = _read(str(Path(name).parent)), ORACLES["files"][name]
    rounds, scores = table(reading, "rounds"), table(reading, "reported_scores")
    assert rounds.height == facts["n_rows"]
    assert table(reading, "cases").height == facts["n_instances"]
    columns = {
        "num_prompt_tokens": "input_tokens",
        "num_completion_tokens": "output_tokens",
    }
    for metric, fact in facts["metrics"].items():
        values = scores.filter(dimension_id=metric)["value"]
        values = rounds[columns[metric]] if metric in columns else values
        assert values.drop_nulls().len() == fact["n"]
        assert values.mean() == pytest.approx(fact["mean"])


@pytest.mark.parametrize("name", _of("azure-evaluate"))
def test_azure_columns_have_the_rows_and_means_of_the_file(name: str) -> None:
    reading, facts = _read(name), ORACLES["files"][name]
    assert table(reading, "rounds").height == facts["n_rows"]
    scores, checks = (
        table(reading, "reported_scores"),
        table(reading, "reported_checks"),
    )
    for column in scores["dimension_id"].unique():
        values, fact = (
            scores.filter(dimension_id=column)["value"],
            facts["columns"][column],
        )
        assert values.drop_nulls().len() == fact["n"]
        assert values.mean() == pytest.approx(fact["mean"])
    for column, fact in facts.get("results", {}).items():
        passed = checks.filter(name=column.removesuffix("_result"))["passed"]
        assert (passed.sum(), (~passed).sum()) == (fact["pass"], fact["fail"])


NOT_RUNS = re.compile(
    r"README.md|.*schema.json|scenario.json|.*_repr.txt|gen_search_runs.csv"
    r"|eval_results.jsonl|evaluate_parameters.json|summary.json"
    r"|task_config.yaml"
)
"""Files beside the runs, and runs that are not read: of Azure's sample repositories."""


@pytest.mark.parametrize(
    "tool",
    [
        *sorted({*TOOLS} - {"memory_benchmarks", "openai_evals_api", "table"}),
        "longmemeval",
    ],
)
def test_every_file_of_a_tool_is_known_and_has_no_bad_row(tool: str) -> None:
    for file, kind in plan([SHARED / tool]):
        is_run = kind is not None and kind != "table"
        assert is_run != bool(NOT_RUNS.fullmatch(file.path.name)), file.path.name
        problems = reading_from(file, kind).problems if kind and is_run else ()
        assert not [each for each in problems if each.severity == "reject"]


PAIRS = [
    (pair, dimension)
    for pair, facts in ORACLES["pairs"].items()
    for dimension in facts
    if pair.split("/")[0] in set(TOOLS) - {"promptfoo"}
    and not pair.endswith("eval_results.jsonl")  # samples of Azure are not read
]


@pytest.mark.parametrize(("pair", "dimension"), PAIRS)
def test_runs_pair_by_case_and_differ_as_the_facts_say(
    pair: str, dimension: str
) -> None:
    fact = ORACLES["pairs"][pair][dimension]
    first, second = (_means(name, dimension) for name in pair.split(" -> "))
    both = first.join(second, on="case_id", suffix="_2")
    differences = (both["value_2"] - both["value"]).round(9)
    assert both.height == fact["pairs"]
    assert (differences > 0).sum() == fact["better"]
    assert (differences < 0).sum() == fact["worse"]
    assert differences.mean() == pytest.approx(fact["mean_difference"], abs=1e-9)


_AZURES = {"exact": "exact.exact", "f1": "f1.f1_score"}
"""Names of evaluators in the facts → dimensions."""


def _means(name: str, dimension: str) -> pl.DataFrame:
    if name.startswith("lm_eval/"):
        reading = _read(str(Path(name).parent))
        task = Path(name).name.split("_2026")[0].removeprefix("samples_")
        (task_id,) = (t for t in reading.runs if t.endswith(f"/{task}"))
    else:
        reading = _read(name)
        if name.startswith("azure"):
            dimension = _AZURES.get(dimension, dimension)
        (task_id,) = reading.runs
    if dimension == "success":  # the verdict of DeepEval
        passed = pl.col("reported_status") == "pass"
        return table(reading, "rounds").select("case_id", value=passed.cast(pl.Float64))
    return (
        table(reading, "reported_scores")
        .filter(task_id=task_id, dimension_id=dimension)
        .drop_nulls("value")
        .group_by("case_id")
        .agg(pl.col("value").mean())
    )
