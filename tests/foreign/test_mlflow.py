"""MLflow: four forms of a run, settings among the questions, scorers that break."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

MLFLOW = DATA / "mlflow"
TRACES = MLFLOW / "late_genai_traces.jsonl"
ROWS = MLFLOW / "late_genai_result_df.jsonl"


@pytest.fixture(scope="module")
def late() -> Reading:
    return reading_of(TRACES)


def _read_beside(folder: Path, *names: str) -> Reading:
    for name in names:
        shutil.copy(MLFLOW / name, folder / name)
    return reading_of(folder)


def test_a_run_is_a_task_of_the_model_that_all_rows_name(late: Reading) -> None:
    (task,) = table(late, "tasks").rows(named=True)
    assert len(task["task_id"]) == 32
    assert task["model"] == "late"
    assert json.loads(task["env"]) == {"model": "late"}


def test_what_is_the_same_in_all_rows_is_no_part_of_the_question(
    late: Reading,
) -> None:
    early = reading_of(MLFLOW / "early_genai_result_df.jsonl")
    assert table(early, "tasks")["model"].to_list() == ["early"]
    ids = table(late, "cases")["case_id"].to_list()
    assert table(early, "cases")["case_id"].to_list() == ids
    assert json.loads(table(early, "cases")["context"][0]) == {
        "request": {"river": "Nile"}
    }
    assert ids == ["Nile", "Rhine", "Danube", "Styx"]


def test_a_single_row_has_a_question_and_no_settings(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(ROWS.read_text("utf-8").splitlines()[0], "utf-8")
    (task,) = table(reading_of(file), "tasks").rows(named=True)
    assert json.loads(task["env"]) == {}


def test_yes_and_no_are_numbers_as_mlflow_counts_them(late: Reading) -> None:
    polite = table(late, "reported_scores").filter(dimension_id="polite")
    assert polite["value"].to_list() == [1, 1, 0, None]


def test_an_answer_that_broke_is_an_error_and_keeps_what_scorers_said(
    late: Reading,
) -> None:
    (row,) = table(late, "rounds").filter(reported_status="error").rows(named=True)
    assert row["error"] == "RuntimeError: no such river"
    right = table(late, "reported_scores").filter(dimension_id="right")
    assert right["value"].to_list() == [1, 1, 0, 0]


def test_what_was_expected_is_the_golden_answer_and_no_score(late: Reading) -> None:
    golden = [
        json.loads(each)["answer"] for each in table(late, "baselines")["payload"]
    ]
    assert golden == ["Mediterranean", "North", "Black", "Hades"]
    assert "expected_response" not in table(late, "dimension_configs")["dimension_id"]


def test_metrics_belong_to_the_run_whose_name_begins_like_theirs(
    tmp_path: Path,
) -> None:
    planned = {found.path.name: found for found, _ in plan([MLFLOW])}
    assert [each.name for each in planned[TRACES.name].companions] == [
        "late_genai_metrics.json"
    ]
    assert planned[ROWS.name].companions == ()
    reading = _read_beside(tmp_path, ROWS.name, "late_genai_metrics.json")
    scores = table(reading, "reported_scores")
    claims = table(reading, "claims").drop_nulls("dimension_id")
    assert claims.height == 3
    for row in claims.iter_rows(named=True):
        values = scores.filter(dimension_id=row["dimension_id"])["value"]
        assert values.mean() == pytest.approx(row["value"]), row["dimension_id"]


def test_metrics_next_to_several_runs_in_a_file_are_left_out_with_a_warning(
    tmp_path: Path,
) -> None:
    rows = ROWS.read_text("utf-8")
    [(run_id, *_)] = table(reading_of(ROWS), "tasks").select("task_id").rows()
    other = rows.replace(run_id, "0" * 32).replace(
        '"trace_id":"tr-', '"trace_id":"tr-0'
    )
    (tmp_path / ROWS.name).write_text(rows + other, "utf-8")
    reading = _read_beside(tmp_path, "late_genai_metrics.json")
    assert table(reading, "tasks").height == 2
    [problem] = reading.problems
    assert problem.code == "metrics_of_several_runs"
    assert "late_genai_metrics.json" in problem.message
    assert "claims" not in reading.rows


def test_metrics_alone_are_a_task_without_rows_and_a_warning() -> None:
    reading = reading_of(MLFLOW / "late_genai_metrics.json")
    assert [problem.code for problem in reading.problems] == ["totals_only"]
    assert table(reading, "claims").height == 1


def test_the_classic_table_tells_outputs_targets_and_measures_from_inputs(
    tmp_path: Path,
) -> None:
    reading = _read_beside(
        tmp_path, "late_classic_eval_results_table.json", "late_classic_metrics.json"
    )
    cases = [json.loads(each) for each in table(reading, "cases")["context"]]
    assert cases[0] == {"inputs": "Nile"}
    assert json.loads(table(reading, "baselines")["payload"][1]) == {"answer": "North"}
    (dimension,) = table(reading, "dimension_configs").rows(named=True)
    assert (dimension["dimension_id"], dimension["direction"]) == (
        "latency",
        "lower_better",
    )
    assert table(reading, "claims")["dimension_id"].to_list() == [None, "latency"]


@pytest.mark.parametrize("run", [True, 7, {}, " ", None])
def test_a_run_id_that_is_no_text_is_none(run: object, tmp_path: Path) -> None:
    row = json.loads(ROWS.read_text("utf-8").splitlines()[0])
    row["trace_metadata"]["mlflow.sourceRun"] = run
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    [task_id] = table(reading_of(file), "tasks")["task_id"]
    assert task_id == f"mlflow-{row['trace_id']}"


def test_a_text_among_numbers_of_the_classic_table_is_reported(tmp_path: Path) -> None:
    rows = [["Nile", "sea", 0.5], ["Rhine", "sea", "Error: rate limit"]]
    columns = ["inputs", "outputs", "mine/score"]
    file = tmp_path / "eval_results_table.json"
    file.write_text(json.dumps({"columns": columns, "data": rows}))
    reading = reading_of(file)
    scores = table(reading, "reported_scores")
    assert scores["value"].to_list() == [0.5, None]
    assert json.loads(scores["payload"][1]) == {"given": "Error: rate limit"}
    assert [each.code for each in reading.problems] == ["odd_score"]


@pytest.mark.parametrize(
    ("metric", "is_graded"),
    [
        *(
            (name, False)
            for name in ("answer_correctness", "faithfulness", "relevance")
        ),
        ("mine", True),
    ],
)
def test_a_rating_of_mlflow_is_not_graded_where_it_is_only_1(
    metric: str, is_graded: bool, tmp_path: Path
) -> None:
    columns = ["inputs", "outputs", f"{metric}/v1/score"]
    rows = [["Nile", "sea", 1], ["Rhine", "sea", 1]]
    file = tmp_path / "eval_results_table.json"
    file.write_text(json.dumps({"columns": columns, "data": rows}))
    dimensions = table(reading_of(file), "dimension_configs")
    assert dimensions.select("is_graded", "direction").rows() == [
        (is_graded, "higher_better")
    ]


def test_a_header_in_the_middle_of_a_csv_is_no_trace(tmp_path: Path) -> None:
    csv = (DATA / "mlflow" / "late_genai_result_df.csv").read_text("utf-8")
    file = tmp_path / "a.csv"
    file.write_text(csv + csv.partition("\n")[0] + "\n", "utf-8")
    reading = reading_of(file)
    assert [each.code for each in reading.problems] == ["repeated_header"]
    assert "line 6 is the header" in reading.problems[0].message


def test_a_judge_of_each_retrieved_chunk_gives_the_mean_of_them(tmp_path: Path) -> None:
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])

    def said(value: str, chunk: int | None = None) -> dict[str, object]:
        about = {} if chunk is None else {"metadata": {"chunk_index": str(chunk)}}
        return {
            "assessment_name": "retrieval_relevance",
            "feedback": {"value": value},
            "span_id": "s1",
            **about,
        }

    def value_of(*assessments: dict[str, object]) -> float:
        written["info"]["assessments"] = list(assessments)
        file = tmp_path / "traces.jsonl"
        file.write_text(json.dumps(written), "utf-8")
        [value] = table(reading_of(file), "reported_scores")["value"]
        return float(value)

    chunks = [said("yes", 0), said("no", 1), said("no", 2), said("yes", 3)]
    assert value_of(*chunks) == 0.5
    assert value_of(*chunks, said("yes", 1)) == 0.75  # judged again


def test_all_that_a_scorer_said_of_a_trace_in_one_run_counts(tmp_path: Path) -> None:
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])
    said = [
        ("1", "yes", 0), ("1", "yes", 1),  # judged again in another run
        ("2", "no", 2), ("2", "no", 3), ("2", "no", 4), ("2", "yes", 5),
    ]  # fmt: skip

    def read(chunk: dict[str, int], traces: list[int]) -> Reading:
        file = tmp_path / "a_traces.jsonl"
        lines = []
        for place, n in enumerate(traces):
            written["info"] |= {
                "trace_id": f"tr-{place}",
                "assessments": [
                    {
                        "assessment_name": "retrieval_relevance",
                        "feedback": {"value": value},
                        "span_id": "root",
                        "create_time": f"2026-11-22T17:14:0{second}Z",
                        "metadata": {"mlflow.assessment.sourceRunId": run, **chunk},
                    }
                    for run, value, second in said[:n]
                ],
            }
            lines.append(json.dumps(written))
        file.write_text("\n".join(lines), "utf-8")
        metrics = tmp_path / "a_metrics.json"
        metrics.write_text('{"retrieval_relevance/mean": 0.25}', "utf-8")
        return reading_of(tmp_path)

    for chunk in ({}, {"chunk_index": 0}):  # of two steps, the first chunk of each
        reading = read(chunk, [6, 5])
        assert table(reading, "reported_scores")["value"].to_list() == [0.25, 0.0]
        assert table(reading, "dimension_configs")["is_graded"].to_list() == [True]
        # MLflow's mean is over chunks, not over traces
        assert table(reading, "claims")["value"].to_list() == [None]


def test_another_definition_of_a_scorer_is_another_yardstick(
    late: Reading, tmp_path: Path
) -> None:
    def parameters(reading: Reading) -> dict[str, str]:
        columns = table(reading, "dimension_configs")
        return dict(columns.select("dimension_id", "parameters").rows())

    before = parameters(late)
    written = TRACES.read_text("utf-8")
    digest = json.loads(before["right"])["metadata"]["scorerDigest"]
    file = tmp_path / "traces.jsonl"
    file.write_text(written.replace(digest, "sha256:0"), "utf-8")
    after = parameters(reading_of(file))
    assert [name for name in before if before[name] != after[name]] == ["right"]
    file.write_text(written.replace("scorerDigest", "scorerTraceId"), "utf-8")
    assert set(parameters(reading_of(file)).values()) == {'{"scorer":"reported"}'}


def test_logs_without_a_run_are_one_run_as_long_as_they_grow(tmp_path: Path) -> None:
    lines = TRACES.read_text("utf-8").splitlines()
    traces = [json.loads(line) for line in lines]
    for trace in traces:
        del trace["info"]["trace_metadata"]["mlflow.sourceRun"]
    traces.sort(key=lambda trace: trace["info"]["request_time"])

    def loaded(folder: str, part: list[dict[str, object]]) -> str:
        file = tmp_path / folder / "traces.jsonl"
        file.parent.mkdir()
        file.write_text("\n".join(map(json.dumps, part)), "utf-8")
        [task_id] = table(reading_of(file), "tasks")["task_id"]
        return str(task_id)

    assert loaded("a", traces[:2]) == loaded("b", traces[:3])
    assert loaded("c", traces[:2]) != loaded("d", traces[2:])


def _weights(file: Path, judged: list[dict[str, object]]) -> dict[str, float]:
    """Return the graded dimensions of traces, and their weights.

    Args:
        file: Where to write them.
        judged: Scorer → its feedback, or a list of it by chunk, of each trace.
    """
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])
    lines = []
    for place, said in enumerate(judged):
        written["info"] |= {
            "trace_id": f"tr-{place}",
            "assessments": [
                {
                    "assessment_name": name,
                    "feedback": {"value": value},
                    "metadata": {"chunk_index": str(chunk)} if is_list else {},
                }
                for name, values in said.items()
                for is_list in [isinstance(values, list)]
                for chunk, value in enumerate(values if is_list else [values])
            ],
        }
        lines.append(json.dumps(written))
    file.write_text("\n".join(lines), "utf-8")
    graded = table(reading_of(file), "dimension_configs").filter("is_graded")
    return dict(graded.select("dimension_id", "weight").rows())


def test_the_score_is_the_first_scorer_by_name_whichever_finished_first(
    tmp_path: Path,
) -> None:
    file = tmp_path / "traces.jsonl"
    judged = [{"Short": "yes", "correct": "no"}, {"correct": "yes", "Short": "no"}]
    for traces in (judged, judged[::-1]):
        assert _weights(file, traces) == {"correct": 1.0, "Short": 0.0}
    of_one = [{"a": "yes", **judged[0]}, *judged, *judged]
    assert _weights(file, of_one) == {"correct": 1.0, "Short": 0.0, "a": 0.0}


@pytest.mark.parametrize("second", ["yes", "no"])
def test_the_mean_over_chunks_is_graded_whatever_it_is(
    second: str, tmp_path: Path
) -> None:
    file = tmp_path / "traces.jsonl"
    chunks: dict[str, object] = {"relevant": ["yes", second]}
    assert _weights(file, [chunks]) == {"relevant": 1.0}
    assert _weights(file, [{**chunks, "right": "yes"}]) == {
        "relevant": 0.0,
        "right": 1.0,
    }
    assert _weights(file, [{"relevant": [1, 4]}]) == {}


def test_all_models_that_judged_chunks_are_the_judge(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])
    written["info"]["assessments"] = [
        {
            "assessment_name": "relevant",
            "feedback": {"value": "yes"},
            "source": {"source_type": "LLM_JUDGE", "source_id": model},
            "metadata": {"chunk_index": str(chunk)},
        }
        for chunk, model in enumerate(["one", "other"])
    ]
    file.write_text(json.dumps(written), "utf-8")
    judges = table(reading_of(file), "judges").select("name", "model").rows()
    assert judges == [("relevant", "one, other")]


def test_a_person_counts_only_where_no_scorer_does(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])
    given = [
        ("correct", "no", "AI_JUDGE", True),  # the older name of LLM_JUDGE
        ("correct", "yes", "HUMAN", True),
        ("polite", "no", "LLM_JUDGE", False),  # a person overrode it
        ("polite", "yes", "HUMAN", True),
        ("approved", "yes", "HUMAN", True),
    ]
    written["info"]["assessments"] = [
        {
            "assessment_name": name,
            "feedback": {"value": value},
            "source": {"source_type": kind, "source_id": "x"},
            "valid": is_valid,
        }
        for name, value, kind, is_valid in given
    ]
    file.write_text(json.dumps(written), "utf-8")
    reading = reading_of(file)
    scores = table(reading, "reported_scores").select("dimension_id", "value")
    assert dict(scores.rows()) == {"correct": 0.0, "polite": 1.0, "approved": 1.0}
    weights = table(reading, "dimension_configs").select("dimension_id", "weight")
    assert dict(weights.rows()) == {"correct": 1.0, "polite": 0.0, "approved": 0.0}
    judges = table(reading, "judges").select("name", "model").rows()
    assert judges == [("correct", "x")]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("key", ["create_time", "last_update_time"])
def test_the_newest_verdict_of_a_scorer_counts_wherever_it_is_listed(
    key: str, order: int, tmp_path: Path
) -> None:
    file = tmp_path / "traces.jsonl"
    written = json.loads(TRACES.read_text("utf-8").splitlines()[0])
    written["info"]["assessments"] = [
        {
            "assessment_name": "correct",
            "feedback": {"value": value},
            "create_time": "2026-11-22T17:14:57Z",
            key: moment,
        }
        for value, moment in (
            ("yes", "2026-11-22T17:14:57Z"), ("no", "2026-11-22T18:00:00+00:00"),
        )
    ][::order]  # fmt: skip
    file.write_text(json.dumps(written), "utf-8")
    assert table(reading_of(file), "reported_scores")["value"].to_list() == [0.0]


def _changed(into: Path, place: int = 0, **changes: object) -> Reading:
    """The run with changes of a trace."""
    traces = [json.loads(line) for line in TRACES.read_text("utf-8").splitlines()]
    traces[place]["info"] |= changes
    file = into / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, traces)), "utf-8")
    return reading_of(file)


ABOUT = {
    "threshold": ("0.5", "0.4", True),
    "guideline": ("Be kind", "Be strict", True),
    "mlflow.scorer.framework": ("deepeval", "ragas", True),
    "mlflow.assessment.scorerVersion": ("1", "2", True),
    "typesafe.model": ("a", "b", True),
    "mlflow.assessment.judgeCost": ("0.1", "0.2", False),
    "mlflow.assessment.judgeInputTokens": ("7", "8", False),
    "mlflow.assessment.scorerTraceId": ("tr-1", "tr-2", False),
    "mlflow.assessment.sourceRunId": ("r1", "r2", False),
    "mlflow.assessment.onlineScoringSessionId": ("s1", "s2", False),
    "mlflow.ensemble.sub_feedbacks": ("[]", "[{}]", False),
    "score": ("0.7", "0.8", False),
    "matched_terms": ("sea", "lake", False),
}


@pytest.mark.parametrize("key", ABOUT)
def test_a_scorer_is_defined_by_what_mlflow_says_of_it_and_no_result(
    key: str, tmp_path: Path
) -> None:
    first, second, is_other = ABOUT[key]

    def parameters(*given: str) -> str:
        traces = [json.loads(line) for line in TRACES.read_text("utf-8").splitlines()]
        for place, trace in enumerate(traces):
            about = {key: given[place % len(given)]}
            said = {"assessment_name": "kind", "feedback": {"value": "yes"}}
            trace["info"]["assessments"] = [said | {"metadata": about}]
        file = tmp_path / "traces.jsonl"
        file.write_text("\n".join(map(json.dumps, traces)), "utf-8")
        return str(table(reading_of(file), "dimension_configs")["parameters"].item())

    assert (parameters(first) != parameters(second)) is is_other
    # what differs from answer to answer is a result
    assert json.loads(parameters(first, second)) == {"scorer": "reported"}


@pytest.mark.parametrize(("changed", "n_yardsticks"), [("all", 1), ("some", 2)])
def test_a_scorer_that_changed_on_the_way_is_all_that_it_was(
    changed: str, n_yardsticks: int, tmp_path: Path
) -> None:
    def parameters(digest: str) -> str:
        traces = [json.loads(line) for line in TRACES.read_text("utf-8").splitlines()]
        for place, trace in enumerate(traces):
            own = digest if place == 0 and changed == "some" else "new"
            about = {"mlflow.assessment.scorerDigest": own}
            said = {"assessment_name": "kind", "feedback": {"value": "yes"}}
            trace["info"]["assessments"] = [said | {"metadata": about}]
        file = tmp_path / "traces.jsonl"
        file.write_text("\n".join(map(json.dumps, traces)), "utf-8")
        return str(table(reading_of(file), "dimension_configs")["parameters"].item())

    assert len({parameters("older"), parameters("old")}) == n_yardsticks


@pytest.mark.parametrize("run", [[], {}, ["r"], {"id": "r"}, 7, True, None])
def test_feedback_of_a_run_that_is_no_text_is_of_none(
    run: object, tmp_path: Path
) -> None:
    traces = [json.loads(line) for line in TRACES.read_text("utf-8").splitlines()]
    for trace in traces:
        for each in trace["info"]["assessments"]:
            each["metadata"] = {"mlflow.assessment.sourceRunId": run}
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, traces)), "utf-8")
    reading, before = reading_of(file), reading_of(TRACES)
    assert not reading.records_rejected
    scores = [table(each, "reported_scores")["value"] for each in (reading, before)]
    assert scores[0].to_list() == scores[1].to_list()


def test_all_that_is_expected_of_an_answer_is_its_golden_answer(
    late: Reading, tmp_path: Path
) -> None:
    [first, *_] = TRACES.read_text("utf-8").splitlines()
    given = json.loads(first)["info"]["assessments"]
    facts = {"assessment_name": "expected_facts", "expectation": {"value": ["salty"]}}
    found = table(_changed(tmp_path, assessments=[*given, facts]), "baselines")
    changed = set(found["payload"]) - set(table(late, "baselines")["payload"])
    (expected,) = (json.loads(each)["answer"] for each in changed)
    assert (expected["expected_facts"], len(expected)) == (["salty"], 2)


def test_a_trace_that_has_not_ended_has_no_answer(tmp_path: Path) -> None:
    rounds = table(_changed(tmp_path, place=1, state="IN_PROGRESS"), "rounds")
    errors = rounds.filter(reported_status="error")["error"].to_list()
    assert "the trace has the state IN_PROGRESS" in errors


def test_a_classic_table_with_two_columns_of_answers_expects_both(
    tmp_path: Path,
) -> None:
    columns = ["inputs", "outputs", "target", "ground_truth", "mine/score"]
    data = {"columns": columns, "data": [["Nile", "sea", "sea", "Mediterranean", 1]]}
    file = tmp_path / "eval_results_table.json"
    file.write_text(json.dumps(data))
    payload = json.loads(table(reading_of(file), "baselines")["payload"].item())
    assert payload == {"answer": {"target": "sea", "ground_truth": "Mediterranean"}}
