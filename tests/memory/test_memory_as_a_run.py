"""A memory run as a task among others."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats

from promptlab.cli import run_cli
from promptlab.errors import UsageError
from promptlab.settings import load_settings
from promptlab.warehouse import Warehouse
from tests.conftest import ROOT
from tests.marts import GATE, only
from tests.memory import oracle
from tests.memory.runs import ANSWERED_AGAIN, Document, Runs, write, write_runs
from tests.operations.conftest import contents

BASELINE, CANDIDATE = ANSWERED_AGAIN


def test_a_memory_run_is_no_recheck_and_has_none(english_db, tmp_path, capsys):
    db, examples = shutil.copy(english_db, tmp_path), ROOT / "examples"
    warehouse = Warehouse(db)
    new = "travel_diary/250615_2100"
    assert run_cli(["recheck", new, "--db", str(db)]) == 0
    script = capsys.readouterr().out
    assert "load a whole new run" in script
    assert "--recheck-of" not in script

    with pytest.raises(UsageError, match="memory benchmark, which has no re-check"):
        warehouse.ingest(examples / "memory", recheck_of=new)
    again = shutil.copytree(next(examples.rglob("250615_2100")), tmp_path / "251201_1")
    found = warehouse.ingest(again, recheck_of="cs-regression-v3.1")
    assert {file.status for file in found.files} == {"rejected"}


# ---------- a memory run in the tables of all runs, against scipy and the documents themselves


CLOSE = {"rel": 0, "abs": 2e-6}
Key = tuple[str, str, int]  # task, what the question shows, which of its twins
NAMES = {
    "multi-hop": "1",
    "temporal": "2",
    "open-domain": "3",
    "single-hop": "4",
    "adversarial": "5",
    "non-adversarial": "1-4",
}
PAIR = (
    f"baseline_task_id = '{ANSWERED_AGAIN[0]}'"
    f" and candidate_task_id = '{ANSWERED_AGAIN[1]}'"
)


@pytest.fixture(scope="module")
def rows(made_up):
    """Rows of a query, each a dict."""
    warehouse = Warehouse(made_up[0])

    def read(sql: str) -> list[dict[str, Any]]:
        return warehouse.sql(sql).to_dicts()

    return read


def last_answers(tasks: dict[str, Document]) -> dict[Key, Document]:
    found: dict[Key, Document] = {}
    for task, document in tasks.items():
        seen: dict[str, int] = defaultdict(int)
        for question in document["test_results"][-1]["questions"]:
            names = ("question_text", "category", "evidence")
            shown = str([question.get(name) for name in names])
            seen[shown] += 1
            found[task, shown, seen[shown]] = question
    return found


def as_zero(question: Document, metric: str) -> float | None:
    if not oracle.is_scorable(question, metric):
        return None
    return oracle.scores(question)[metric] or 0.0


def is_right(question: Document) -> bool | None:
    score = as_zero(question, "locomo_f1")
    if oracle.has_failed(question):
        return False
    return None if score is None else score >= 0.5


Pair = tuple[Document, Document, str]
"""Both answers to a question, and its conversation."""


def expected(runs: Runs) -> dict[str, list[Pair]]:
    """Category → pairs of answers to the same question with the same reference."""
    before, after = (last_answers(runs[run]) for run in ANSWERED_AGAIN)
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for key in before.keys() & after.keys():
        pair = before[key], after[key], key[0]
        if pair[0].get("reference_answer") != pair[1].get("reference_answer"):
            continue
        category = str(pair[0]["category"])
        for label in {category, "all", "5" if category == "5" else "1-4"}:
            pairs[label].append(pair)
    return pairs


def assert_is_the_textbooks(
    row: dict[str, Any], answers: list[Pair], metric: str
) -> bool:
    """Check the numbers of a comparison; return whether there was a test."""
    scores = [(as_zero(a, metric), as_zero(b, metric), c) for a, b, c in answers]
    scores = [each for each in scores if None not in each]
    assert row["n_pairs"] == len(scores)
    if len(scores) < 2:
        return False
    before, after = np.array([each[:2] for each in scores], dtype=float).T
    assert row["baseline_score"] == pytest.approx(before.mean(), **CLOSE)
    assert row["candidate_score"] == pytest.approx(after.mean(), **CLOSE)
    if np.ptp(np.round(after - before, 6)) == 0:
        assert row["ci_low"] is row["ci_high"] is None
        return False
    # a ratio of two sums over conversations
    delta = (after - before).mean()
    residuals: dict[str, float] = defaultdict(float)
    for difference, (_, _, conversation) in zip(after - before, scores, strict=True):
        residuals[conversation] += difference - delta
    n = row["n_clusters"]
    assert n == len(residuals) < len(scores)
    squares = sum(each**2 for each in residuals.values())
    error = np.sqrt(n / (n - 1) * squares) / len(scores)
    p = 2 * stats.t.sf(abs(delta / error), n - 1)
    width = stats.t.ppf(0.975, n - 1) * error
    low, high = np.clip((delta - width, delta + width), -1, 1)
    assert row["p_value"] == pytest.approx(p, **CLOSE)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), **CLOSE)
    return True


def test_a_run_is_a_result_of_its_data_set_by_a_memory_system(rows):
    tasks = "select title, variant, run_id, source_kind from marts.dim_tasks"
    assert rows(f"{tasks} where task_id = 'locomo/250102/mem0'") == [
        {
            "title": "locomo",
            "variant": "mem0",
            "run_id": "locomo/250102",
            "source_kind": "memory",
        }
    ]


def test_the_questions_of_the_last_round_are_its_cases(rows, runs):
    cases = (
        "select cluster, count(*) as n from staging.stg_tasks__cases"
        f" where task_id = '{ANSWERED_AGAIN[1]}' group by all"
    )
    documents = runs[ANSWERED_AGAIN[1]]
    assert {row["cluster"]: row["n"] for row in rows(cases)} == {
        task: len(document["test_results"][-1]["questions"])
        for task, document in documents.items()
    }


def test_every_case_has_the_status_and_the_scores_of_its_answer(rows):
    pairs = rows(
        """
        select answers.status, results.status as of_case, scores.dimension_id,
            scores.score, case when answers.is_failed then 0.0 else
            case scores.dimension_id
                when 'token_f1' then token_f1 when 'locomo_f1' then locomo_f1
                when 'mem0_f1' then mem0_f1 when 'exact_match' then exact_match
                when 'contains_reference' then contains_reference
            end end as of_answer
        from marts.fct_memory_answers as answers
        inner join marts.fct_case_results as results
            on answers.run_id = results.task_id
            and results.case_id = concat_ws(
                '/', answers.task_id, answers.test_index, answers.question_key
            )
        inner join marts.fct_round_scores as scores
            on results.task_id = scores.task_id and results.case_id = scores.case_id
        where answers.is_last_round
        """
    )
    assert len(pairs) > 5 * 200
    for row in pairs:
        assert row["of_case"] == row["status"]
        if row["score"] is not None:
            assert row["score"] == row["of_answer"]
        elif row["status"] != "error":
            assert row["of_answer"] is None


def test_the_overall_score_is_the_headline_figure(rows):
    figures = rows(
        """
        select summaries.overall_score, scores.score, summaries.n_error, scores.n_failed
        from marts.dim_memory_runs as runs
        inner join marts.fct_memory_scores as scores
            on runs.run_id = scores.run_id and runs.right_metric = scores.metric
        inner join marts.fct_task_summaries as summaries on runs.run_id = task_id
        where scores.is_headline and scores.category = 'all'
        """
    )
    assert len(figures) >= 4
    for row in figures:
        assert row["overall_score"] == row["score"] is not None
        assert row["n_error"] >= row["n_failed"] > 0


@pytest.mark.parametrize("metric", oracle.METRICS)
def test_every_number_of_a_comparison_is_the_textbooks(rows, runs, metric):
    (row,) = rows(
        "select * from marts.fct_task_comparisons"
        f" where {PAIR} and dimension_id = '{metric}'"
    )
    assert assert_is_the_textbooks(row, expected(runs)["all"], metric)


def test_categories_and_their_group_are_compared_as_tags(rows, runs):
    found = rows(f"select * from marts.fct_tag_comparisons where {PAIR}")
    pairs = expected(runs)
    assert {NAMES[row["tag"]] for row in found} == pairs.keys() - {"all"}
    tested = [
        assert_is_the_textbooks(row, pairs[NAMES[row["tag"]]], "locomo_f1")
        for row in found
    ]
    assert sum(tested) >= 4


def test_lost_answers_are_counted_with_failed_calls_and_not_tested(rows, runs):
    """Questions of one conversation fail together: McNemar's test is of single ones."""
    (row,) = rows(
        "select * from marts.fct_task_comparisons"
        f" where {PAIR} and dimension_id = 'overall'"
    )
    sides = [(is_right(a), is_right(b)) for a, b, _ in expected(runs)["all"]]
    judged = [pair for pair in sides if None not in pair]
    assert row["n_lost"] == judged.count((True, False)) > 0
    assert row["n_gained"] == judged.count((False, True)) > 0
    assert row["mcnemar_p"] is None


def test_a_question_gone_and_one_with_another_reference_are_named(rows):
    changes = defaultdict(list)
    for row in rows(f"select * from marts.fct_case_changes where {PAIR}"):
        changes[row["change"]].append(row["reason"])
    assert len(changes["removed"]) == 3  # one of each conversation
    assert changes["not_comparable"].count("references_differ") == 3


def test_newly_failing_questions_of_a_memory_run_wait_for_a_new_run(
    english_db, tmp_path
):
    policy = tmp_path / "p.toml"
    policy.write_text('newly_failing = "stop"')
    settings = load_settings({"db": english_db, "policy": policy})
    (result,) = Warehouse(english_db, settings=settings).gate(
        "travel_diary/250615_2100"
    )
    assert result.decision == "run_again"
    assert "new_run" in result.advice
    assert "recheck" not in result.advice


@pytest.fixture(scope="module")
@only(*GATE, "dim_runs", "fct_case_changes", "fct_leaderboard", "fct_variant_averages")
def grown(tmp_path_factory) -> Warehouse:
    """Runs of the first conversation, and a run that grew by the second one."""
    folder = tmp_path_factory.mktemp("grown")
    first, second = list(write_runs(folder / "in")[ANSWERED_AGAIN[0]].values())[:2]
    shorter = first | {"test_results": first["test_results"][:-1]}
    warehouse = Warehouse(folder / "w.duckdb")
    write(folder / "runs" / "locomo" / "250201_0900" / "conv-26.json", first)
    write(folder / "runs" / "locomo" / "250202_0900" / "conv-26.json", shorter)
    warehouse.ingest(folder / "runs")
    for system in ("graph", "vector"):
        write(folder / "locomo" / "250201" / system / "conv-26.json", first)
    warehouse.ingest(folder / "locomo", title="systems")
    write(folder / "undated" / "conv-26.json", first)
    options = ("--title", "recall", "--variant", "mem0", "--branch", "faster")
    given = (*options, "--commit", "abc", "--run-name", "n1", "--time", "2025-02-03")
    db = ("--db", str(warehouse.settings.db))
    assert run_cli(["ingest", str(folder / "undated"), *db, *given]) == 0
    for name, document in (("conv-1", first), ("conv-2", second)):
        file = folder / "growing" / "250301_0900" / f"{name}.json"
        write(file, document)
        warehouse.ingest(file, title="growing")
        warehouse.build()
        assert run_cli(["gate", "growing", *db]) == 1  # it misses its targets
    return warehouse


def test_a_shorter_run_shares_no_question_with_a_longer_one(grown):
    changes = grown.sql(
        "select distinct change from marts.fct_case_changes"
        " where candidate_task_id = 'locomo/250202_0900'"
    )
    assert sorted(changes["change"]) == ["added", "removed"]


def test_a_memory_run_that_grew_is_judged_again(grown):
    """Its conversations come one by one, each in a file of its own."""
    [result] = grown.gate("growing")
    n_asked = grown.sql(
        "select n_cases from marts.fct_task_summaries where task_id = ?",
        [result.task_id],
    ).item()
    assert (result.decision, result.n_judged) == ("do_not_ship", n_asked)


def test_memory_systems_of_one_time_are_variants_of_one_run(grown, capsys):
    runs = grown.sql(
        "select run_id, n_tasks from marts.dim_runs where run_id = 'locomo/250201'"
    )
    assert runs.rows() == [("locomo/250201", 2)]
    db = str(grown.settings.db)
    run_cli(["leaderboard", "systems", "--db", db, "--format", "json"])
    board = json.loads(capsys.readouterr().out)
    assert {row["variant"] for row in board} == {"graph", "vector"}


def test_what_a_call_says_of_its_files_holds_for_their_run(grown):
    task = grown.sql(
        "select variant, branch, commit_sha, run_name, created_at::date::text"
        " from marts.dim_tasks where title = 'recall'"
    )
    assert task.rows() == [("mem0", "faster", "abc", "n1", "2025-02-03")]


@pytest.mark.parametrize(
    "command", ["gate", "show", "trends", "flaky", "report", "send"]
)
def test_commands_take_a_memory_run(made_up, tmp_path, capsys, command):
    options = {
        "report": ("--out", str(tmp_path)),
        "send": ("--to", "a@example.org", "--dry-run"),
        "trends": (),
    }.get(command, ())
    subject = () if command in ("trends", "flaky") else (ANSWERED_AGAIN[1],)
    code = run_cli([command, *subject, *options, "--db", str(made_up[0])])
    said = capsys.readouterr()
    assert code in (0, 1, 3, 4), said.err
    assert "Traceback" not in said.err


def test_a_run_that_is_purged_leaves_nothing_and_a_file_that_comes_again_replaces_its_conversation(
    written, tmp_path
):
    """Then the next run is compared anew, and all tables are those of a full refresh."""
    db, runs = written
    purged, again = ANSWERED_AGAIN
    warehouse = Warehouse(shutil.copy(db, tmp_path / "w.duckdb"))
    of_run = (
        "select n_cases, n_error from marts.fct_task_summaries"
        f" where task_id = '{again}'"
    )
    before = warehouse.sql(of_run).row(0)
    call = ["purge", "--run", purged, "--yes", "--db", str(warehouse.settings.db)]
    assert run_cli(call) == 0
    after = contents(tmp_path / "w.duckdb", "raw", "intermediate", "marts")
    assert [t for t, held in after.items() if purged in str(held)] == []
    document = json.loads(json.dumps(runs[again]["conv-26"]))
    last = document["test_results"][-1]["questions"]
    n_failed = sum(oracle.has_failed(question) for question in last)
    for question in last:
        question["error"] = "timeout"
    write(tmp_path / "in" / ".sage" / again / "conv-26.json", document)
    warehouse.ingest(tmp_path / "in")
    warehouse.build()
    n_cases, n_error = warehouse.sql(of_run).row(0)
    assert n_cases == before[0]
    assert n_error == before[1] + len(last) - n_failed
    built = contents(tmp_path / "w.duckdb", "marts")
    warehouse.build(full_refresh=True)
    assert contents(tmp_path / "w.duckdb", "marts") == built
