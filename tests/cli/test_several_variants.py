"""Commands about several variants of several titles: what is best, worst, on which tag."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptlab.cli import run_cli
from promptlab.warehouse import Warehouse

CONFIG = """
[tables.t]
case = "id"
inputs = ["q"]
title = "suite"
model = "m"
verdict = "ok"
scores = ["acc", "acc_norm"]
tags = "type"
fixed = { prompt = "p", prompt_version = "v" }
"""

ROWS = [
    # suite, model, case, type, ok and acc, acc_norm
    *(("trips", "big", n, "who" if n < 4 else "when", n != 1, 0) for n in range(8)),
    *(("trips", "small", n, "who" if n < 4 else "when", n > 3, 1) for n in range(8)),
    *(("sums", "big", n, "add", True, 1) for n in range(6)),
    *(("sums", "small", n, "add", n < 3, 1) for n in range(6)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with the table, its mapping, and a warehouse of it."""
    folder = tmp_path_factory.mktemp("variants")
    (folder / "promptlab.toml").write_text(CONFIG)
    lines = ["suite,m,id,type,q,ok,acc,acc_norm"]
    lines += [f"{s},{m},c{n},{t},q{n},{ok},{int(ok)},{b}" for s, m, n, t, ok, b in ROWS]
    (folder / "t.csv").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert run_cli(["run", "t.csv", "--lang", "en", "--db", "w.duckdb"]) == 0
        Path("printed").write_text(printed.getvalue(), "utf-8")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys) -> Iterator[Any]:
    """Run a command there: ``run("leaderboard", …) -> (code, out, err)``."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PROMPTLAB_DB", "w.duckdb")

    def call(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_cli([*args, "--lang", "en"])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


# ---------- leaderboard --by tag


def test_tags_are_rows_and_variants_columns(run):
    code, out, _ = run("leaderboard", "trips", "--by", "tag")
    assert code == 0
    title, heading, _, *rows = out.splitlines()
    assert (title, heading.split()) == ("trips", ["tag", "big", "small"])
    assert [row.split()[0] for row in rows] == ["all", "when", "who"]
    assert rows[1].split() == ["when", "100.0", "100.0"]
    assert rows[2].split() == ["who", "75.0", "0.0"]


def test_rows_for_programs_have_a_tag_and_a_variant_each(run):
    _, out, _ = run("leaderboard", "--by", "tag", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    found = {(r["title"], r["variant"], r["tag"]): float(r["score"]) for r in rows}
    assert found["trips", "small", "who"] == 0
    assert found["sums", "small", "add"] == 0.5
    assert len(rows) == 6


def test_a_paper_has_variants_by_tags_with_the_best_of_each(run):
    _, out, _ = run("leaderboard", "trips", "--by", "tag", "--format", "markdown")
    assert out.splitlines()[0] == "| Variant | Score | when | who |"
    big, small = out.splitlines()[2:]
    assert big.endswith("| **100.0** | **75.0** |")
    assert small.endswith("| **100.0** | 0.0 |")
    _, out, _ = run("leaderboard", "--by", "tag", "--format", "latex")
    assert out.count(r"\toprule") == 2


# ---------- leaderboard --dimension


@pytest.mark.parametrize(
    ("wanted", "first"), [("acc", "big"), ("ACC_NORM", "small"), ("norm", "small")]
)
def test_a_dimension_ranks_the_variants(run, wanted, first):
    args = ("leaderboard", "trips", "--dimension", wanted, "--format", "json")
    code, out, _ = run(*args)
    assert code == 0
    rows = json.loads(out)
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["score"] > rows[1]["score"]
    assert rows[0]["variant"] == first


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("speed", "speed: no such dimension: acc, acc_norm"),
     ("ac", "ac: 2 dimensions match: acc, acc_norm")],
)  # fmt: skip
def test_a_dimension_that_is_not_one_is_named_with_all(run, wanted, message):
    code, _, err = run("leaderboard", "--dimension", wanted)
    assert code == 2
    assert message in err


# ---------- compare of variants


def test_compare_takes_the_variants_that_the_leaderboard_prints(run):
    code, out, _ = run("compare", "small", "big", "--format", "json")
    assert code in (0, 1, 3, 4)
    pairs = {
        (each["baseline"]["title"], each["candidate"]["title"])
        for each in json.loads(out)
    }
    assert pairs == {("sums", "sums"), ("trips", "trips")}


def test_a_misspelled_variant_is_suggested(run):
    code, _, err = run("compare", "smal_l", "big")
    assert code == 2
    assert "did you mean `small`?" in err


# ---------- run


def test_run_names_no_worst_of_equals_and_prints_decisions_for_programs(
    run, folder, tmp_path
):
    out = (folder / "printed").read_text("utf-8")
    assert "the worst" not in out
    assert "trips  big, one of 2 variants" in out or (
        "trips  small, one of 2 variants" in out
    )
    copy = shutil.copy(folder / "w.duckdb", tmp_path)
    again = ("--full-refresh", "--db", str(copy), "--out", str(tmp_path / "out"))
    code, out, _ = run("run", "t.csv", *again, "--format", "json")
    assert code == 0
    rows = json.loads(out)
    assert {(row["title"], row["variant"]) for row in rows} == {
        (title, variant) for title in ("sums", "trips") for variant in ("big", "small")
    }
    assert {row["decision"] for row in rows} == {"first_run"}
    for row in rows:
        assert Path(row["report"]).is_file()
        assert Path(row["page"]).is_file()


# ---------- frames


def test_frames_begin_with_what_people_look_for(folder):
    warehouse = Warehouse(folder / "w.duckdb")
    assert warehouse.runs().columns[:4] == [
        "title", "variant", "overall_score", "pass_rate"
    ]  # fmt: skip
    assert warehouse.trends().columns[:4] == ["title", "variant", "value", "change"]
    assert "load_id" not in warehouse.runs().columns
