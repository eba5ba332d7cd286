"""A judge that people do not confirm makes the gate say that it cannot tell."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest

from promptlab.history import exit_code, judge
from promptlab.reports.edition import Edition
from promptlab.reports.gate.policy import load_policy
from promptlab.reports.judge import judge_html, judges
from promptlab.warehouse import Warehouse
from tests.judges.suite import formats, judged, scores, task
from tests.judges.test_agreement import agreement
from tests.judges.test_labels import load


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    warehouse = judged(folder)
    load(warehouse, folder / "labels.csv", formats()["long.csv"])
    # two variants that are loaded together: the title gets a page of its run
    again = folder / "again"
    again.mkdir()
    for task_id, model in (("run-2", "large"), ("run-3", "small")):
        (again / f"{task_id}.json").write_text(
            json.dumps(task(task_id, model)), "utf-8"
        )
        lines = "\n".join(map(json.dumps, scores(task_id)))
        (again / f"{task_id}.jsonl").write_text(lines, "utf-8")
    warehouse.ingest(again)
    warehouse.build()
    return warehouse


def decide(warehouse, tmp_path, min_tnr: float, lang: str = "en"):
    file = tmp_path / "gate.toml"
    file.write_text(f"version = 1\nmin_tnr = {min_tnr}\n", "utf-8")
    (result,) = judge(warehouse, "run-1", load_policy(file), lang=lang)
    return exit_code([result], allow_inconclusive=False), result.headline


def test_a_judge_is_held_to_the_lower_end_of_its_interval(warehouse, tmp_path, capsys):
    found = agreement(warehouse)
    assert found["tnr_low"] < found["tnr"]
    between = (found["tnr_low"] + found["tnr"]) / 2
    code, out = decide(warehouse, tmp_path, between)
    assert code == 4
    assert "Cannot tell" in out
    assert "judge-model rubric-1" in out
    code, out = decide(warehouse, tmp_path, between, "zh")
    assert code == 4
    assert "裁判模型漏掉太多失败" in out
    code, out = decide(warehouse, tmp_path, found["tnr_low"] - 0.01)
    assert code == 0


@pytest.mark.parametrize(
    ("n_labels", "said"),
    [(0, "no judge of the run has labels"), (40, "too few labels to trust the judge")],
)
def test_a_judge_without_enough_labels_is_not_trusted(tmp_path, n_labels, said):
    warehouse = judged(tmp_path)
    if n_labels:
        lines = formats()["long.jsonl"].splitlines()[:n_labels]
        load(warehouse, tmp_path / "labels.jsonl", "\n".join(lines))
        warehouse.build()
    code, out = decide(warehouse, tmp_path, 0.01)
    assert code == 4
    assert said in out


@pytest.mark.parametrize(
    "decides", [{"weight": 0.5}, {"weight": 0, "parameters": {"pass_score": 0.5}}]
)
def test_a_second_judge_without_labels_is_not_trusted(tmp_path, decides):
    document, graded = task(), scores()
    [quality] = document["dimensions"]
    document["dimensions"] = [
        quality | {"weight": 0.5},
        quality | {"dimension_id": "tone", "name": "Tone"} | decides,
    ]
    graded += [each | {"dimension_id": "tone"} for each in graded]
    files = tmp_path / "in"
    files.mkdir()
    (files / "run.json").write_text(json.dumps(document), "utf-8")
    (files / "scores.jsonl").write_text("\n".join(map(json.dumps, graded)), "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files)
    load(warehouse, tmp_path / "labels.csv", formats()["long.csv"])
    warehouse.build()
    code, out = decide(warehouse, tmp_path, 0.01)
    assert code == 4
    assert "the judge of 1 dimension has no labels of people: Tone" in out


def test_a_second_judge_of_one_dimension_without_labels_is_not_trusted(tmp_path):
    """A cheap judge stands in for the labelled one in most cases."""
    files = tmp_path / "in"
    files.mkdir()
    (files / "run.json").write_text(json.dumps(task()), "utf-8")
    stood_in = {each["case_id"] for each in scores()[::4]}
    graded = [
        each | ({"scorer": "stand-in"} if each["case_id"] in stood_in else {})
        for each in scores()
    ]
    (files / "scores.jsonl").write_text("\n".join(map(json.dumps, graded)), "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(files)
    lines = [
        line
        for line in formats()["long.jsonl"].splitlines()
        if json.loads(line)["case_id"] not in stood_in
    ]
    load(warehouse, tmp_path / "labels.jsonl", "\n".join(lines))
    warehouse.build()
    code, out = decide(warehouse, tmp_path, 0.01)
    assert code == 4
    assert "the judge of 1 dimension has no labels of people" in out


def test_reports_show_the_pass_rate_raw_and_corrected(warehouse, tmp_path):
    result = warehouse.result("run-1")
    (found,) = result.judges
    with warehouse.connect() as con:
        (row,) = con.execute(
            "select raw_rate, corrected_rate, ci_low, ci_high"
            " from marts.fct_corrected_pass_rates"
            " where dimension_id = 'quality' and task_id = 'run-1'"
        ).fetchall()
    assert row == (found.raw_rate, found.corrected_rate, found.ci_low, found.ci_high)
    assert f"{100 * found.corrected_rate:.1f}%" in found.text
    out = tmp_path / "out"
    written = warehouse.report(["run-1"], out, formats=("html", "md"))
    texts = [p.read_text("utf-8") for p in written if "run-1" in p.parts]
    assert len(texts) == 2, written
    assert all("corrected for its errors" in text for text in texts)


def test_the_page_of_a_judge_shows_its_agreement_and_corrected_rates(
    warehouse, tmp_path
):
    written = warehouse.report(["run-1"], tmp_path / "out", formats=("html",))
    (page,) = [path for path in written if "judges" in path.parts]
    text = page.read_text("utf-8")
    found = agreement(warehouse)
    result = warehouse.result("run-1")
    for share in (found["tnr"], found["tpr"], result.judges[0].corrected_rate):
        assert f"{100 * share:.1f}%" in text
    assert f"Of {found['n_fail']} answers that people failed" in text
    assert "../../run-1/report.html#case-" in text
    is_weighted = abs(found["tnr"] - found["n_both_fail"] / found["n_fail"]) > 1e-6
    assert ("Shares are weighted" in text) == is_weighted
    index = (tmp_path / "out/index.html").read_text("utf-8")
    assert f"judges/{quote(page.parent.name)}/report.html" in index


def test_the_page_of_a_judge_says_where_its_shares_are_not_those_of_its_counts(
    warehouse, tmp_path
):
    """Shares are weighted by how the answers were drawn."""
    copy = Path(shutil.copy(warehouse.settings.db, tmp_path / "copy.duckdb"))
    with duckdb.connect(str(copy)) as con:
        con.execute("update marts.fct_judge_agreement set tnr = 0.5")
        pages = [
            judge_html(
                con,
                dimension,
                judge,
                Edition(datetime.now(UTC), "en"),
                href=str,
                index=None,
            )
            for dimension, judge in judges(con)
        ]
    assert pages
    assert all("Shares are weighted" in page for page in pages)


def test_the_page_of_a_run_shows_the_corrected_rate(warehouse, tmp_path):
    written = warehouse.report(["run-2", "run-3"], tmp_path / "out", formats=("html",))
    (page,) = [path.read_text("utf-8") for path in written if "runs" in path.parts]
    found = warehouse.result("run-3").judges[0]
    for share in (found.raw_rate, found.corrected_rate, found.ci_low, found.ci_high):
        assert f"{100 * share:.1f}%" in page
    assert "../../judges/" in page
