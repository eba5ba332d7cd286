"""Memory benchmarks: layouts, verdicts, categories, and the figures of a benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptlab.ingest.raw.rows import Reading
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA, reading_of, table
from tests.marts import only

OURS = DATA / "memory_benchmarks"
ROOT = Path(__file__).resolve().parents[2]
EARLY = "longmemeval/early.jsonl.eval-results-judge-a"


def _read(name: str) -> Reading:
    return reading_of(OURS / name)


def _codes(reading: Reading) -> set[str]:
    return {problem.code for problem in reading.problems}


def _figures(reading: Reading) -> dict[str, list[Any]]:
    """Dimension → values in the order of the rows."""
    scores = table(reading, "reported_scores")
    names = scores["dimension_id"].unique().to_list()
    return {n: scores.filter(dimension_id=n)["value"].to_list() for n in names}


def _key(value: float | None) -> float:
    return -1 if value is None else value


@pytest.mark.parametrize(
    ("name", "title", "statuses", "scores"),
    [
        (EARLY, "LongMemEval", "pfpp-", {"llm_judge": [1, 0, 1, 1, None]}),
        ("caura.json", "LongMemEval", "pf", {"llm_judge": [1, 0]}),
        (
            "mem0.json",
            "LoCoMo",
            "pfpf",
            {
                "llm_judge": [1.0, 0.0, 1.0, 0.0],
                "f1_mem0": [0.5] * 4,
                "bleu1": [0.4] * 4,
            },
        ),
        ("zep.json", "LoCoMo", "fpp", {"llm_judge": [0, 1, 1]}),
        ("evermemos.json", "LoCoMo", "pf-", {"llm_judge": [2 / 3, 1 / 3, None]}),
        (
            "a_mem.json",
            "LoCoMo",
            "",
            {"f1": [0.5, 1, 0], "exact_match": [0, 1, 0], "bleu1": [0.25, 0.5, 0]},
        ),
        (
            "memory_agent_bench.json",
            "MemoryAgentBench: ports_6k",
            "",
            {"exact_match": [1, 0], "f1": [1, 0], "output_len": [3, 3]},
        ),
        (
            "memory_agent_rows.jsonl",
            "MemoryAgentBench",
            "pp",
            {"llm_judge": [1, 1], "rule": [1, 1]},
        ),
        ("amb.json", "AMB: locomo / test", "pf-", {"llm_judge": [1, 0, None]}),
        ("ironmem.json", "LoCoMo", "pf-", {"llm_judge": [1, 0, None]}),
        ("locomo_plus.json", "LoCoMo-Plus", "pff", {"llm_judge": [1, 0.5, 0]}),
    ],
)
def test_each_layout_has_the_verdicts_and_numbers_of_its_rows(
    name: str, title: str, statuses: str, scores: dict[str, list[Any]]
) -> None:
    reading = _read(name)
    assert table(reading, "tasks")["title"].to_list() == [title]
    words = {"p": "pass", "f": "fail", "-": "unevaluated"}
    given = table(reading, "rounds")["reported_status"].drop_nulls().to_list()
    assert sorted(given) == sorted(words[each] for each in statuses)
    found = _figures(reading)
    assert found.keys() == scores.keys()
    for dimension, values in scores.items():
        assert sorted(found[dimension], key=_key) == sorted(values, key=_key), dimension


def test_a_row_that_no_model_judged_is_not_wrong() -> None:
    for name in ("amb.json", "evermemos.json", "ironmem.json", EARLY):
        reading = _read(name)
        assert "verdict_missing" in _codes(reading), name
        values = table(reading, "reported_scores")["value"]
        assert values.null_count() == 1, name


def test_the_answer_of_one_layout_is_the_gold_answer_of_another() -> None:
    asked = {}
    for name in ("zep.json", "mem0.json"):
        reading = _read(name)
        cases, rounds = table(reading, "cases"), table(reading, "rounds")
        baselines = table(reading, "baselines")
        joined = rounds.join(baselines, on="case_id").join(
            cases, on="case_id", suffix="_of_case"
        )
        rain = joined.filter(pl.col("context").str.contains("rain"))
        (row,) = rain.select("raw_output", "payload", "cluster", "case_id").rows()
        asked[name] = row
    assert asked["zep.json"] == asked["mem0.json"]
    assert asked["zep.json"][:3] == ("May", '{"answer":7}', "0")


def test_equal_questions_of_a_conversation_are_two_cases() -> None:
    cases = table(_read("mem0.json"), "cases").filter(cluster="1")
    first, second = cases["case_id"]
    assert second == f"{first}~2"


def test_a_category_has_its_code_and_the_name_of_the_data_set() -> None:
    tags = table(_read("ironmem.json"), "cases")["tags"].to_list()
    assert list(map(json.loads, tags)) == [
        ["category:1 multi-hop", "answerable"],
        ["category:2 temporal", "answerable"],
        ["category:5 adversarial", "adversarial"],
    ]


def test_each_system_of_a_file_is_a_result_and_their_cases_pair(tmp_path: Path) -> None:
    rows = json.loads((OURS / "locomo_plus.json").read_text("utf-8"))
    file = tmp_path / "judged.json"
    file.write_text(json.dumps(rows + [r | {"system": "graph"} for r in rows]), "utf-8")
    reading = reading_of(file)
    assert table(reading, "tasks")["variant"].to_list() == ["notes", "graph"]
    cases = table(reading, "cases")
    assert cases.height == 6
    assert cases["case_id"].n_unique() == 3


def test_answers_of_zep_load_before_they_are_graded(tmp_path: Path) -> None:
    row = {"question": "Oar?", "answer": "elm", "golden_answer": "ash"}
    file = tmp_path / "zep_locomo_responses.json"
    named = {"locomo_experiment_user_0": [row | {"duration_ms": 7.5}]}
    file.write_text(json.dumps(named), "utf-8")
    reading = reading_of(file)
    rounds = table(reading, "rounds")
    assert rounds["raw_output"].to_list() == ["elm"]
    assert rounds["reported_status"].to_list() == ["unevaluated"]


def test_a_file_whose_answers_have_another_name_says_so(tmp_path: Path) -> None:
    row = {"question_id": "q", "question": "Oar?", "reply": "elm", "score": 1}
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"results": {}, "per_question": [row]}), "utf-8")
    told = {each.code: each.message for each in reading_of(file).problems}
    assert "no row has its answer under prediction or" in told["answers_missing"]


def test_a_metric_that_is_a_text_in_every_row_is_left_out(tmp_path: Path) -> None:
    document = json.loads((OURS / "mem0.json").read_text("utf-8"))
    for rows in document.values():
        for row in rows:
            row["f1_score"] = "high"
    file = tmp_path / "words.json"
    file.write_text(json.dumps(document), "utf-8")

    reading = reading_of(file)

    assert not reading.rejected
    assert _figures(reading).keys() == {"llm_judge", "bleu1"}


def test_the_last_row_of_an_id_counts() -> None:
    reading = _read("memory_agent_rows.jsonl")
    assert "repeated_row" in _codes(reading)
    assert table(reading, "rounds")["raw_output"].to_list() == ["Ulm", "Ulm"]


def test_repeats_of_a_judge_are_checks_of_one_round() -> None:
    reading = _read("evermemos.json")
    assert table(reading, "rounds").height == 3
    passed = table(reading, "reported_checks")["passed"].to_list()
    assert passed == [True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Yes.", 1),
        ("CORRECT", 1),
        ("Well, yes", 1),
        ("no", 0),
        ("maybe", None),
        ("noyes", 1),  # LongMemEval looks for the three letters
    ],
)
def test_the_word_of_a_judge_is_read_in_any_case(
    said: str, value: float | None, tmp_path: Path
) -> None:
    row = {"question_id": "q", "hypothesis": "x", "evaluation": said}
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([row]), "utf-8")
    reading = reading_of(file)
    assert table(reading, "reported_scores")["value"].to_list() == [value]
    assert ("verdict_unknown" in _codes(reading)) == (value is None)


def test_another_judge_makes_another_result(tmp_path: Path) -> None:
    written = (OURS / EARLY).read_text("utf-8")
    file = tmp_path / "early.jsonl"
    file.write_text(written.replace("judge-a", "judge-b"), "utf-8")
    one, other = _read(EARLY), reading_of(file)
    assert not one.runs.keys() & other.runs.keys()
    assert table(other, "judges")["model"].to_list() == ["judge-b"]


def test_two_nights_of_a_system_are_one_variant(tmp_path: Path) -> None:
    variants = set()
    for day in (12, 13):
        file = tmp_path / f"graph_2026-10-{day}.jsonl"
        file.write_bytes((OURS / EARLY).read_bytes())
        variants |= set(table(reading_of(file), "tasks")["variant"])
    assert variants == {"graph"}


def test_files_say_where_they_differ_from_the_data_set(tmp_path: Path) -> None:
    rows = [
        {"question": f"Oar {n}?", "answer": "elm", "response": "ash", "category": 3}
        for n in range(97)
    ]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"0": rows}), "utf-8")
    told = {each.code: each.message for each in reading_of(file).problems}
    assert "97 of 96" in told["category_counts"]
    assert "97 of the 1540" in told["part_of_data_set"]


def test_the_query_of_the_page_gives_the_means_of_a_benchmark(
    tmp_path: Path,
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(OURS / "longmemeval")
    warehouse.build()
    page = (ROOT / "docs" / "tools" / "memory_benchmarks.md").read_text("utf-8")
    query = page.partition("```sql\n")[2].partition("```")[0]
    of_one = "dimension_id = 'llm_judge' and starts_with(task_id, 'early')"
    rows = warehouse.sql(query.replace("dimension_id = 'llm_judge'", of_one)).rows()
    # one question of each type but multi-session has a verdict, or none
    figures = {tag: rest for tag, *rest in rows}
    assert figures["question_type:multi-session"] == [pytest.approx(2 / 3), 3]
    assert figures["abstention"] == [1, 1]
    change = warehouse.sql(
        "select judge_hash is not null from marts.dim_tasks where variant = 'early'"
    ).rows()
    assert change == [(True,)]


@pytest.mark.parametrize("judges", [("judge-a",), ("judge-a", "judge-b")])
def test_answers_beside_their_judgements_are_no_second_run(
    judges: tuple[str, ...], tmp_path: Path
) -> None:
    """LongMemEval's judge writes a file of its own beside that of the answers."""
    judged = [json.loads(e) for e in (OURS / EARLY).read_text("utf-8").splitlines()]
    rows = [{**row, "autoeval_label": None} for row in judged]
    (tmp_path / "rag.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for judge in judges:
        lines = [
            {**row, "autoeval_label": {"model": judge, "label": True}} for row in judged
        ]
        file = tmp_path / f"rag.jsonl.eval-results-{judge}"
        file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    warehouse = Warehouse(tmp_path / "warehouse" / "w.duckdb")
    loads = warehouse.ingest(tmp_path).files
    assert [each.path.suffix for each in loads] == [
        f".eval-results-{j}" for j in judges
    ]
    assert {each.status for each in loads} == {"loaded"}
    told = [each for load in loads for each in load.problems]
    assert [each.code for each in told].count("copy_of_run") == 1
    assert any("rag.jsonl holds the answers that" in each.message for each in told)


@only("dim_tasks")
def test_answers_that_were_loaded_before_their_judgements_are_no_run_any_more(
    tmp_path: Path,
) -> None:
    lines = (OURS / EARLY).read_text("utf-8")
    rows = [{**json.loads(e), "autoeval_label": None} for e in lines.splitlines()]
    (tmp_path / "rag.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    warehouse = Warehouse(tmp_path / "warehouse" / "w.duckdb")
    warehouse.ingest(tmp_path / "rag.jsonl")
    warehouse.build()
    (tmp_path / "rag.jsonl.eval-results-judge-a").write_text(lines, "utf-8")
    warehouse.ingest(tmp_path)
    warehouse.build()
    tasks = warehouse.sql("select variant, judge_hash is not null from marts.dim_tasks")
    assert tasks.rows() == [("rag", True)]


@pytest.mark.parametrize(
    ("folder", "title", "variant"),
    [
        ("locomo-zep", "LoCoMo", "zep"),
        ("longmemeval-evermemos-2026-10-01", "LongMemEval", "evermemos"),
        ("personamem-mem0", "PersonaMem", "mem0"),
        ("run-7", "LoCoMo", "eval_results"),
    ],
)
def test_a_folder_of_evermemos_names_data_set_and_system(
    folder: str, title: str, variant: str, tmp_path: Path
) -> None:
    rows = [
        {"question_id": f"q{n}", "question": f"Question {n}?", "golden_answer": "x",
         "generated_answer": "x", "is_correct": n > 0, "category": "recall"}
        for n in range(3)
    ]  # fmt: skip
    file = tmp_path / folder / "eval_results.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"total_questions": 3, "detailed_results": rows}))
    reading = reading_of(file)
    (task,) = table(reading, "tasks").rows(named=True)
    assert (task["title"], task["variant"] or task["model"]) == (title, variant)
    statuses = table(reading, "rounds")["reported_status"].to_list()
    assert sorted(statuses) == ["fail", "pass", "pass"]


def test_the_false_answer_to_an_adversarial_question_scores_nothing(
    tmp_path: Path,
) -> None:
    """Category 5 of A-MEM has the false answer as its reference."""
    document = json.loads((OURS / "a_mem.json").read_text("utf-8"))
    row = document["individual_results"][0]
    document["individual_results"] = [
        row | {"question": f"Question {code} {match}?", "category": code,
               "metrics": {"exact_match": match}}
        for code in (4, 5)
        for match in (0, 1)
    ]  # fmt: skip
    file = tmp_path / "a_mem.json"
    file.write_text(json.dumps(document), "utf-8")
    scores = table(reading_of(file), "reported_scores").select("value", "score")
    assert scores.rows() == [(0, 0), (1, 1), (0, 1), (1, 0)]


def _amb(into: Path, **changes: Any) -> Reading:
    """The file of AMB, with its rows changed."""
    document = json.loads((OURS / "amb.json").read_text("utf-8"))
    for row in document["results"]:
        row |= changes
    file = into / "amb.json"
    file.write_text(json.dumps(document), "utf-8")
    return reading_of(file)


@pytest.mark.parametrize(
    ("oracle", "variant"), [(True, "notes / rag / oracle"), (False, "notes / rag")]
)
def test_amb_with_the_memories_given_is_another_system(
    tmp_path: Path, oracle: bool, variant: str
) -> None:
    document = json.loads((OURS / "amb.json").read_text("utf-8"))
    file = tmp_path / "amb.json"
    file.write_text(json.dumps(document | {"oracle": oracle}), "utf-8")
    assert table(reading_of(file), "tasks")["variant"].to_list() == [variant]


def test_every_value_of_an_axis_of_amb_is_a_tag(tmp_path: Path) -> None:
    axes = {"Question Type": ["temporal", "multi-hop"], "Conversation": "conv-0"}
    tags = set(table(_amb(tmp_path, category_axes=axes), "cases")["tags"])
    (found,) = (set(json.loads(each)) for each in tags)
    assert {f"Question Type:{each}" for each in axes["Question Type"]} < found
    assert "Conversation:conv-0" in found


def test_a_question_for_which_amb_found_nothing_is_not_judged(tmp_path: Path) -> None:
    reason = "empty context \u2014 no memories retrieved"
    rounds = table(_amb(tmp_path, judge_reason=reason), "rounds")
    assert set(rounds["reported_status"]) == {"unevaluated"}


def test_where_amb_gives_a_share_it_is_the_score_and_the_verdict_stays(
    tmp_path: Path,
) -> None:
    reading = _amb(tmp_path, score=0.75, correct=True, judge_reason="")
    assert _figures(reading) == {"llm_judge": [0.75] * 3}
    assert set(table(reading, "rounds")["reported_status"]) == {"pass"}


def test_a_row_of_amb_that_lost_its_share_has_no_score(tmp_path: Path) -> None:
    """A verdict is another scale: it would raise a mean of shares."""
    reading = _amb_run(tmp_path / "amb.json", {"score": 0.75, "correct": True})
    assert _figures(reading) == {"llm_judge": [0.75, None, None]}
    assert "unevaluated" in set(table(reading, "rounds")["reported_status"])
    (shares,), (verdicts,) = (
        table(each, "dimension_configs")["parameters"].to_list()
        for each in (reading, _amb_run(tmp_path / "amb.json"))
    )
    assert shares != verdicts


def test_the_judge_of_evermemos_is_in_its_metadata(tmp_path: Path) -> None:
    document = json.loads((OURS / "evermemos.json").read_text("utf-8"))
    document["metadata"] = {"model": "judge-b", "num_runs": 3}
    file = tmp_path / "evermemos.json"
    file.write_text(json.dumps(document), "utf-8")
    assert table(reading_of(file), "judges")["model"].to_list() == ["judge-b"]


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("gpt-4.1.jsonl", "gpt-4.1"),
        ("rag-v1.0_2026-10-12.jsonl", "rag-v1.0"),
        ("rag.2026.10.12.jsonl", "rag"),
        ("rag.2.jsonl", "rag"),
    ],
)
def test_a_dot_between_digits_belongs_to_the_name_of_a_system(
    name: str, variant: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes((OURS / EARLY).read_bytes())
    assert table(reading_of(file), "tasks")["variant"].to_list() == [variant]


def _amb_run(file: Path, row: dict[str, Any] | None = None, **changes: Any) -> Reading:
    """The run of AMB, with changes of it and of its first row."""
    run = json.loads((OURS / "amb.json").read_text("utf-8")) | changes
    run["results"][0] |= row or {}
    file.write_text(json.dumps(run), "utf-8")
    return reading_of(file)


NAMES = [
    (None, "notes / rag"),
    ("notes", "notes / rag"),  # of the memory, as AMB writes it by itself
    ("notes-large", "notes / rag / notes-large"),
    ("notes-large_2026-10-12", "notes / rag / notes-large"),
]


@pytest.mark.parametrize(("name", "variant"), NAMES)
def test_the_name_of_a_run_of_amb_is_a_part_of_its_system(
    name: str | None, variant: str, tmp_path: Path
) -> None:
    tasks = table(_amb_run(tmp_path / "test.json", run_name=name), "tasks")
    assert tasks["variant"].to_list() == [variant]


META = {"query_timestamp": "2026-01-01", "question_type": "fact"}
ASKED = [
    ({"meta": META | {"query_timestamp": "2027-01-01"}}, True),
    ({"meta": META | {"option_of_a_later_version": 1}}, True),
    ({"meta": META | {"cost_usd": 0.5, "turns": 3, "tokens": 7}}, False),
    ({"meta": META, "question_date": "2026-01-01"}, True),
    ({"meta": META, "retrieve_time_ms": 7.5, "context": "other"}, False),
]


@pytest.mark.parametrize(("row", "is_other"), ASKED)
def test_what_is_asked_beside_a_question_is_a_part_of_its_case(
    row: dict[str, Any], is_other: bool, tmp_path: Path
) -> None:
    first, second = (
        table(_amb_run(tmp_path / "test.json", each), "cases")["context"].to_list()
        for each in ({"meta": META}, row)
    )
    assert (first != second) is is_other


JUDGED = [
    ({"judge_prompt": "Be strict"}, True),
    ({"judge_temperature": 0.5}, True),
    ({"judge_llm": "judge-b"}, True),
    ({"judge_cost": 0.5}, False),
    ({"ingestion_time_ms": 7.5}, False),
]


@pytest.mark.parametrize(("changes", "is_other"), JUDGED)
def test_a_judge_is_all_that_a_file_says_of_it(
    changes: dict[str, Any], is_other: bool, tmp_path: Path
) -> None:
    def judged(**changes: Any) -> set[Any]:
        reading = _amb_run(tmp_path / "test.json", **changes)
        columns = table(reading, "dimension_configs")["parameters"]
        return {*columns, *table(reading, "judges")["model"]}

    assert (judged() != judged(**changes)) is is_other


def test_a_judge_of_longmemeval_is_all_that_its_label_says(tmp_path: Path) -> None:
    def parameters(**label: Any) -> str:
        rows = [json.loads(each) for each in (OURS / EARLY).read_text().splitlines()]
        for row in rows:
            if "autoeval_label" in row:
                row["autoeval_label"] |= label
        file = tmp_path / Path(EARLY).name
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        return str(table(reading_of(file), "dimension_configs")["parameters"].item())

    same = parameters(raw="yes", usage={"tokens": 3})
    assert parameters() == same != parameters(prompt_version="v2")


def test_questions_whose_type_longmemeval_does_not_know_are_counted(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "longmemeval"
    folder.mkdir()
    types = json.loads((OURS / "longmemeval" / "types.json").read_text("utf-8"))
    del types["q1"], types["q2"]
    (folder / "types.json").write_text(json.dumps(types), "utf-8")
    (folder / Path(EARLY).name).write_bytes((OURS / EARLY).read_bytes())
    loads = Warehouse(tmp_path / "w.duckdb").ingest(folder).files
    [told] = [
        each.message
        for load in loads
        for each in load.problems
        if each.code == "types_missing"
    ]
    assert told.startswith("2 of 5 questions have no type")


def test_a_line_of_longmemeval_without_a_question_is_a_row(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question_id": "q", "hypothesis": "x"}\n{}\n', "utf-8")
    reading = reading_of(file)
    assert not reading.records_rejected
    assert table(reading, "rounds").height == 2


ODD_ENTRIES = {
    "memory_agent_bench.json": "data",
    "caura.json": "results",
    "mem0.json": "1",
}
"""File → a list of rows in it, of a conversation in the last."""


@pytest.mark.parametrize("value", [None, 7, "x", [], {}])
@pytest.mark.parametrize("name", ODD_ENTRIES)
def test_an_entry_that_is_no_object_is_rejected_with_its_place(
    name: str, value: object, tmp_path: Path
) -> None:
    run = json.loads((OURS / name).read_text("utf-8"))
    run[ODD_ENTRIES[name]].insert(1, value)
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    reading = reading_of(file)
    (problem,) = (each for each in reading.problems if each.severity == "reject")
    assert problem.pointer == f"/{ODD_ENTRIES[name]}/1"
    assert problem.raw_text == json.dumps(value)
    assert (
        table(reading, "rounds").height
        == table(reading_of(OURS / name), "rounds").height
    )


def test_one_id_of_two_questions_is_two_cases(tmp_path: Path) -> None:
    run = json.loads((OURS / "memory_agent_bench.json").read_text("utf-8"))
    run["data"][1]["qa_pair_id"] = run["data"][0]["qa_pair_id"]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(run), "utf-8")
    reading = reading_of(file)
    assert table(reading, "rounds")["case_id"].n_unique() == 2
    assert "repeated_row" not in _codes(reading)


DATA_CONFIG = [
    ("context_max_length", True),
    ("split", True),
    ("max_test_samples", False),
    ("chunk_size", False),
]


@pytest.mark.parametrize(("key", "is_other"), DATA_CONFIG)
def test_the_data_of_memory_agent_bench_is_a_part_of_what_is_asked(
    key: str, is_other: bool, tmp_path: Path
) -> None:
    def read(value: int) -> Reading:
        run = json.loads((OURS / "memory_agent_bench.json").read_text("utf-8"))
        run["dataset_config"][key] = value
        run["agent_config"]["temperature"] = 0.5
        file = tmp_path / "run.json"
        file.write_text(json.dumps(run), "utf-8")
        return reading_of(file)

    first, second = (table(read(n), "cases")["context"].to_list() for n in (1, 2))
    assert (first != second) is is_other
    settings = json.loads(table(read(1), "tasks")["settings"].item())
    assert settings["agent_config"]["temperature"] == 0.5
    assert settings["dataset_config"][key] == 1
