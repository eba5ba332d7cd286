"""A judge that people do not confirm makes the gate say that it cannot tell."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest

from promptlab.contracts.pages import JudgePage
from promptlab.history import exit_code, judge
from promptlab.reports.gate.policy import load_policy
from promptlab.reports.judge import judges, read_judge, to_judge_html
from promptlab.reports.report_options import ReportOptions
from promptlab.warehouse import Warehouse
from tests.judges.suite import formats, loaded, scores, task
from tests.judges.test_agreement import agreement
from tests.judges.test_judges_of_tools import only_gate
from tests.judges.test_labels import load


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    warehouse = loaded(folder)
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


def decide(warehouse, tmp_path, min_tnr: float, lang: str = "en", run: str = "run-1"):
    file = tmp_path / "gate.toml"
    file.write_text(f"version = 1\nmin_tnr = {min_tnr}\n", "utf-8")
    (result,) = judge(warehouse, run, load_policy(file), lang=lang)
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


LABELS = [json.loads(line) for line in formats()["long.jsonl"].splitlines()]
[QUALITY] = task()["dimensions"]
TONE = QUALITY | {"dimension_id": "tone", "name": "Tone"}
BOTH = [
    each | {"dimension_id": name} for each in scores() for name in ("quality", "tone")
]
IN_PLACE = {each["case_id"] for each in scores()[::4]}
"""Cases that a cheap judge scored in place of the labelled one."""
ONLY_ONE = "the judge of 1 dimension has no labels of people"

UNTRUSTED: dict[str, tuple[list, list, list, str]] = {
    "no-labels": ([QUALITY], scores(), [], "no judge of the run has labels"),
    "few-labels": ([QUALITY], scores(), LABELS[:40], "too few labels to trust the judge"),
    "other-dimension": (
        [QUALITY | {"weight": 0.5}, TONE | {"weight": 0.5}],
        BOTH, LABELS, f"{ONLY_ONE}: Tone",
    ),
    "other-dimension-with-a-threshold": (
        [QUALITY | {"weight": 0.5}, TONE | {"weight": 0, "parameters": {"pass_score": 0.5}}],
        BOTH, LABELS, f"{ONLY_ONE}: Tone",
    ),
    "other-judge": (
        [QUALITY],
        [each | ({"scorer": "cheap"} if each["case_id"] in IN_PLACE else {}) for each in scores()],
        [each for each in LABELS if each["case_id"] not in IN_PLACE],
        ONLY_ONE,
    ),
}  # fmt: skip
"""Run → its dimensions, scores and labels, and what the gate says of its judges."""


@pytest.fixture(scope="module")
@only_gate
def untrusted(tmp_path_factory):
    """All of these runs, each with judges of its own."""
    folder = tmp_path_factory.mktemp("untrusted")
    labels = []
    for name, (dimensions, graded, labelled, _) in UNTRUSTED.items():
        run = task(name) | {"dimensions": dimensions}
        run["task"]["title"] = name
        (folder / f"{name}.json").write_text(json.dumps(run), "utf-8")
        lines = [
            each | {"task_id": name, "scorer": f"{each['scorer']} of {name}"}
            for each in graded
        ]
        text = "\n".join(map(json.dumps, lines))
        (folder / f"{name}.scores.jsonl").write_text(text, "utf-8")
        labels += [each | {"task_id": name} for each in labelled]
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(folder)
    load(warehouse, folder / "labels.jsonl", "\n".join(map(json.dumps, labels)))
    warehouse.build()
    return warehouse


@pytest.mark.parametrize("name", UNTRUSTED)
def test_a_judge_without_enough_labels_is_not_trusted(untrusted, tmp_path, name):
    code, out = decide(untrusted, tmp_path, 0.01, run=name)
    assert code == 4
    assert UNTRUSTED[name][-1] in out


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
        con.execute("update marts.fct_judge_agreement set is_weighted = true")
        options = ReportOptions(datetime.now(UTC), "en")
        pages = [
            to_judge_html(
                JudgePage.model_validate_json(
                    read_judge(con, dimension, judge, options).as_json()
                ),
                options,
                href=str,
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
