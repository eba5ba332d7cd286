"""Ragas: a file is a run, a column is a metric, an empty cell is a metric that broke."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptlab.ingest.formats import read_batches
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Source
from tests.foreign.reading_of import DATA, reading_of, table
from tests.ingest.at_once import joined


@pytest.fixture(scope="module")
def early() -> Reading:
    return reading_of(DATA / "ragas" / "early.csv")


def test_the_file_names_the_version(early: Reading) -> None:
    (task,) = table(early, "tasks").rows(named=True)
    assert (task["title"], task["prompt_version"]) == ("ragas", "early")
    assert task["model"] == "unknown"


def test_runs_pair_by_question_and_true_duplicates_stay(early: Reading) -> None:
    ids = table(early, "cases")["case_id"].to_list()
    late = reading_of(DATA / "ragas" / "late.jsonl")
    assert table(late, "cases")["case_id"].to_list() == ids
    assert ids[2] == f"{ids[0]}~2"


def test_contexts_are_read_as_lists(early: Reading) -> None:
    kept = json.loads(table(early, "rounds")["metadata"][0])
    assert kept["retrieved_contexts"][1] == "Two\nlines, 'quoted'"


GRADED = {
    "a metric of Ragas": ("faithfulness", "0.3", True),
    "with a mode": ("rouge_score(mode=fmeasure)", "0.3", True),
    "an aspect of somebody": ("harmless", "1", True),
    "a number of somebody": ("length", "0.3", False),
    "from 1 to 5": ("domain_specific_rubrics", "1", False),
    "of an older version": ("rubrics_score_with_reference", "1", False),
    "less is better": ("noise_sensitivity(mode=relevant)", "0.3", False),
}


@pytest.mark.parametrize("what", GRADED)
def test_graded_is_what_is_known_to_lie_from_0_to_1(what: str, tmp_path: Path) -> None:
    metric, value, is_graded = GRADED[what]
    file = tmp_path / "a.csv"
    file.write_text(f'user_input,response,"{metric}"\nNile?,sea,{value}\n', "utf-8")
    (row,) = table(reading_of(file), "dimension_configs").rows(named=True)
    assert (row["dimension_id"], row["is_graded"]) == (metric, is_graded)


def test_a_metric_off_the_scale_is_compared_and_not_graded(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "user_input,response,semantic_similarity\nNile?,sea,-0.4\nRhine?,sea,0.9\n"
    )
    reading = reading_of(file)
    (problem,) = reading.problems
    assert (problem.code, problem.severity) == ("off_scale", "warning")
    assert table(reading, "dimension_configs")["is_graded"].to_list() == [False]
    assert sorted(table(reading, "reported_scores")["value"]) == [-0.4, 0.9]


@pytest.mark.parametrize("infinite", ["1e400", "-inf", "Infinity"])
def test_an_infinite_cell_is_missing_and_its_metric_stays(
    infinite: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        f"user_input,response,exact_match\nNile?,sea,{infinite}\nRhine?,sea,1\n"
    )
    reading = reading_of(file)
    assert table(reading, "dimension_configs")["is_graded"].to_list() == [True]
    scores = table(reading, "reported_scores")["score"].to_list()
    assert sorted(scores, key=str) == [1.0, None]


def test_a_header_without_rows_is_no_run(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("user_input,response,exact_match\n")
    assert reading_of(file).rows == {}


def test_a_column_may_have_a_long_name(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"user_input,response,{'n' * 300}\nNile?,sea,1\n")
    assert table(reading_of(file), "rounds").height == 1


def test_columns_of_old_versions_are_known(tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    rows = "question,answer,contexts,ground_truth,faithfulness\nNile?,sea,['x'],sea,1\n"
    file.write_text(rows, "utf-8")
    reading = reading_of(file)
    assert table(reading, "rounds")["raw_output"].to_list() == ["sea"]
    assert table(reading, "baselines").height == 1


def test_a_row_without_the_expected_answer_has_none(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    rows = (
        {"user_input": "Nile?", "response": "sea", "reference": "sea", "f1": 1},
        {"user_input": "Ob?", "response": "sea", "f1": 0},
    )
    file.write_text("\n".join(map(json.dumps, rows)))
    reading = reading_of(file)
    assert table(reading, "rounds").height == 2
    assert table(reading, "baselines").height == 1


RATES = (
    "user_input,response,reference,faithfulness,mine,label\n"
    "q1,a1,r1,1.0,0.9,long\n"
    "q2,a2,r2,0.0,0.8,short\n"
    'q3,"a\n3",r3,Error: rate limit,0.7,1\n'
    "q4,a4,r4,1.0,Timeout,long\n"
)


def test_a_text_in_a_metric_is_a_missing_score_and_told_of(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(RATES)
    reading = reading_of(file)
    scores = table(reading, "reported_scores")
    assert scores["dimension_id"].unique().sort().to_list() == ["faithfulness", "mine"]
    broken = scores.filter(dimension_id="faithfulness")
    assert broken["value"].to_list() == [1, 0, None, 1]
    assert json.loads(broken["payload"][2]) == {"given": "Error: rate limit"}
    one, two = reading.problems
    assert (one.code, one.severity, one.line) == ("odd_score", "warning", 4)
    assert (
        "`faithfulness` is not a finite number in 1 row 'Error: rate limit'"
        in one.message
    )
    assert (two.line, "'Timeout'" in two.message) == (6, True)


def test_a_known_metric_that_broke_everywhere_stays_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("user_input,response,faithfulness\nq1,a1,Error\nq2,a2,Error\n")
    reading = reading_of(file)
    assert table(reading, "reported_scores")["value"].null_count() == 2
    (problem,) = reading.problems
    assert "in 2 rows, the first of them 'Error'" in problem.message


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_two_exports_in_one_file_are_read_as_one_and_told_of(
    mark: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    export = (DATA / "ragas" / "early.csv").read_text("utf-8")
    file.write_text(export + mark + export, "utf-8")
    reading = reading_of(file)
    alone = reading_of(DATA / "ragas" / "early.csv")
    assert table(reading, "rounds").height == 2 * table(alone, "rounds").height
    assert reading.rows["dimension_configs"].keys() == (
        alone.rows["dimension_configs"].keys()
    )
    names = table(reading, "dimension_configs")["dimension_id"].to_list()
    assert names == table(alone, "dimension_configs")["dimension_id"].to_list()
    problems = [each for each in reading.problems if each.code == "repeated_header"]
    (problem,) = problems
    assert problem.line == export.count("\n") + 1
    assert "two exports were joined" in problem.message


def test_two_exports_of_other_columns_in_one_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "user_input,response,reference,f1\nq1,a1,r1,1\n"
        "response,user_input,reference,f1\na1,q1,r1,1\n"
    )
    reading = reading_of(file)
    assert reading.rejected
    (problem,) = reading.problems
    assert problem.line == 3
    assert "Give each as a file of its own" in problem.message


def test_a_table_that_asks_nothing_is_rejected_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\x01\nNa")
    source = Source(path, "a", "a", size=4)
    reading = joined(read_batches("ragas", source))
    assert reading.rejected
    assert "no column is `user_input`" in reading.problems[0].message


def test_the_index_that_pandas_writes_is_no_metric(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(",user_input,response,exact_match\n0,q1,a1,1\n1,q2,a2,0\n")
    dimensions = table(reading_of(file), "dimension_configs")
    assert dimensions["dimension_id"].to_list() == ["exact_match"]


def test_a_file_that_breaks_off_in_a_row_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("user_input,response,exact_match\nq1,a1,1\nq2,a")
    (problem,) = reading_of(file).problems
    assert (problem.code, problem.line) == ("short_row", 3)
    assert "Does the file break off?" in problem.message


def test_a_critic_of_harm_is_better_the_lower_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ragas.csv"
    file.write_text(
        "user_input,response,harmfulness\nq1,a1,0\nq2,a2,1\n", encoding="utf-8"
    )
    dimensions = table(reading_of(file), "dimension_configs")
    rows = dimensions.select("dimension_id", "direction", "is_graded").rows()
    assert rows == [("harmfulness", "lower_better", False)]


def test_an_aspect_whose_name_is_bad_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("user_input,response,toxicity\na,b,1\nc,d,0\n", encoding="utf-8")
    assert [each.code for each in reading_of(file).problems] == ["unclear_direction"]


EXPECTED: dict[str, object] = {
    "reference": "sea",
    "reference_contexts": ["Atlas"],
    "reference_context_ids": [7],
    "reference_tool_calls": [{"name": "map", "args": {}}],
    "reference_topics": ["rivers"],
    "rubrics": {"score1_description": "wrong", "score5_description": "right"},
    "reference_of_a_later_version": "x",
}
NOT_EXPECTED: dict[str, object] = {
    "retrieved_contexts": ["found"],
    "retrieved_context_ids": [3],
    "multi_responses": ["a", "b"],
    "persona_name": "Ann",
    "query_style": "formal",
    "query_length": "short",
    "synthesizer_name": "s",
}


@pytest.mark.parametrize("column", EXPECTED | NOT_EXPECTED)
def test_all_references_and_rubrics_are_what_is_expected(
    column: str, tmp_path: Path
) -> None:
    row = {"user_input": "Nile?", "response": "sea", **EXPECTED, **NOT_EXPECTED}
    file = tmp_path / "a.jsonl"

    def asked(row: dict[str, object]) -> list[tuple[object, ...]]:
        file.write_text(json.dumps(row | {"faithfulness": 1}), "utf-8")
        reading = reading_of(file)
        assert "reference" not in table(reading, "dimension_configs")["dimension_id"]
        cases = table(reading, "cases").select("case_id", "context").rows()
        return [*cases, *table(reading, "baselines").select("payload").rows()]

    changed = asked(row | {column: ["other"]})
    assert (asked(row) != changed) is (column in EXPECTED)


def test_a_rubric_without_a_reference_is_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "user_input,response,rubrics,mine\n"
        "Nile?,sea,\"{'score1_description': 'wrong'}\",1\n"
        "Ob?,sea,,0\n",
        "utf-8",
    )
    payloads = table(reading_of(file), "baselines")["payload"].to_list()
    rubrics = {"rubrics": {"score1_description": "wrong"}}
    assert [json.loads(each) for each in payloads] == [{"answer": rubrics}]


def test_a_conversation_is_known_by_what_people_say_in_it(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"

    def read(reply: str, question: str = "Where?") -> Reading:
        talk = [
            {"content": "Nile?", "type": "human"},
            {"content": "A river", "type": "ai"},
            {"content": question, "type": "human"},
            {"content": reply, "type": "ai", "tool_calls": []},
        ]
        row = {"user_input": talk, "reference_topics": ["rivers"], "mine": 1}
        file.write_text(json.dumps(row), "utf-8")
        return reading_of(file)

    first, second = read("Egypt"), read("Africa")
    same = (table(each, "cases").drop("task_id") for each in (first, second))
    assert next(same).equals(next(same))
    assert table(second, "rounds")["raw_output"].to_list() == ["Africa"]
    kept = json.loads(table(second, "rounds")["metadata"].item())["conversation"]
    assert len(kept) == 4
    other = table(read("Egypt", "Why?"), "cases")["case_id"].item()
    assert other != table(first, "cases")["case_id"].item()
