"""Tables in the terminal, and rows as a program reads them."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from promptlab.cli import leaderboard, look, output, run_cli
from promptlab.cli.look import _print_task
from promptlab.cli.output import (
    Cell,
    Column,
    Table,
    ident,
    judged,
    p_value,
    path,
    plain,
    plain_beside,
    points,
    print_rows,
    score,
    wrap,
)
from promptlab.reports.pages import environment
from promptlab.warehouse import Warehouse
from tests.conftest import part_of
from tests.ingest.test_load import task, write

# ---------- tables in the terminal: what fits, what is folded, what is coloured, what is left


READING = [
    ("runs",),
    ("show", "cs-regression-v3.2"),
    ("show", "review-sentiment-baseline", "--lang", "en"),
    ("compare", "cs-regression-v3.2"),
    ("compare", "review-sentiment-improved", "--lang", "en"),
    ("gate", "cs-regression-v3.2"),
    ("gate", "review-sentiment-improved", "--lang", "en"),
    ("trends",),
    ("trends", "--measure", "tag_score"),
    ("trends", "--measure", "latency_p50"),
    ("flaky",),
    ("leaderboard",),
    ("leaderboard", "--by", "tag"),
    ("leaderboard", "--dimension", "judge"),
    ("show", "travel_diary/250615_2100"),
    ("doctor",),
    ("query", "from marts.dim_tasks"),
    ("query", "select case_id, context from marts.dim_cases"),
]
"""Every command that prints a table, on the examples."""

IDS = (
    "cs-regression-v3.1",
    "review-sentiment-baseline",
    "review-sentiment-improved",
    "refund_over_seven_days",
    "logistics_signed_not_received",
    "travel_diary/250601_2100",
    "regression.allow_must_have_lost",
)

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch) -> Callable[..., str]:
    """Call something with a terminal of so many columns; returns what it printed."""

    def call(columns: int, function: Callable[[], object], **env: str) -> str:
        for name in ("NO_COLOR", "FORCE_COLOR", "PROMPTLAB_LANG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": str(columns), **env}.items():
            monkeypatch.setenv(name, value)
        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        function()
        monkeypatch.undo()
        return screen.getvalue()

    return call


def too_long(text: str, room: int) -> list[str]:
    return [line for line in ANSI.sub("", text).splitlines() if cell_len(line) > room]


def torn_ids(text: str) -> list[str]:
    """Ids of which a line holds the first half, but not all."""
    return [
        line
        for line in ANSI.sub("", text).splitlines()
        for name in IDS
        if re.search(rf"{re.escape(name[: len(name) * 2 // 3])}[\s-]*$", line)
    ]


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_every_table_fits_the_terminal_and_tears_no_id(
    on_terminal, example_db, args, columns
):
    out = on_terminal(columns, lambda: run_cli([*args, "--db", str(example_db)]))
    assert out.strip()
    assert too_long(out, columns) == []
    assert torn_ids(out) == []


@pytest.mark.parametrize(
    ("args", "columns"),
    [
        pytest.param(args, columns, id=f"{' '.join(args)} {columns}")
        for n, args in enumerate(READING[:-2])
        for columns in part_of((80, 200), 2, start=n)
    ],
)
def test_wide_fits_the_terminal_too(on_terminal, example_db, args, columns):
    args = [*args, "--wide", "--db", str(example_db)]
    out = on_terminal(columns, lambda: run_cli(args))
    assert too_long(out, columns) == []
    assert torn_ids(out) == []


@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_no_line_in_a_pipe_is_over_100_characters(example_db, capsys, args):
    run_cli([*args, "--db", str(example_db)])
    out = capsys.readouterr().out
    assert out.strip()
    assert too_long(out, 100) == []
    assert torn_ids(out) == []
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("args", READING[:-2], ids=" ".join)
def test_at_80_columns_no_declared_column_is_left_out(on_terminal, example_db, args):
    out = on_terminal(80, lambda: run_cli([*args, "--db", str(example_db)]))
    assert "too narrow" not in out
    assert out.count("───") or args == ("doctor",)


def names_of(table: Table) -> set[str]:
    shown = {name for column in (*table.columns, *table.wide) for name in column.names}
    return shown | set(table.by)


@pytest.mark.parametrize(
    ("args", "table"),
    [
        (("runs",), look._RUNS_TABLE),
        (("leaderboard",), leaderboard._TABLE),
        (("flaky",), look._FLAKY_TABLE),
        (("leaderboard", "--dimension", "judge"), leaderboard._DIMENSION_TABLE),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wide_leaves_no_column_of_json_out(example_db, capsys, args, table):
    run_cli([*args, "--db", str(example_db), "--format", "json"])
    assert set(json.loads(capsys.readouterr().out)[0]) == names_of(table)


def test_wide_in_a_pipe_is_one_table_of_lines_as_long_as_they_need(example_db, capsys):
    run_cli(["runs", "--wide", "--db", str(example_db)])
    heading, rule, *lines = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0] == "title"
    assert "unevaluated" in heading
    assert len(rule) > 100
    assert len(lines) == 6


def test_wide_on_a_narrow_terminal_is_a_line_for_each_column(on_terminal, example_db):
    out = on_terminal(80, lambda: run_cli(["runs", "--wide", "--db", str(example_db)]))
    assert "task         cs-regression-v3.1" in ANSI.sub("", out).splitlines()


def test_the_doctor_is_short_where_all_is_well(example_db, capsys):
    run_cli(["doctor", "--db", str(example_db)])
    short = capsys.readouterr().out
    run_cli(["doctor", "--db", str(example_db), "--wide"])
    everything = capsys.readouterr().out
    assert "every file and record was loaded" in short  # the only thing to look at
    assert len(short.splitlines()) < 12
    assert len(everything.splitlines()) > 80


def test_the_title_is_an_argument_or_an_option_of_every_command_that_takes_one(
    example_db, capsys
):
    for command in ("runs", "trends", "flaky", "leaderboard"):
        printed = []
        for args in (["客服问答回归测试"], ["--title", "客服问答回归测试"]):
            assert run_cli([command, *args, "--db", str(example_db)]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]
        assert "review-sentiment" not in printed[0]


# ---------- colour


def rows_of_verdicts() -> None:
    table = Table((Column("case", ident, "case"), Column("is", judged, "is")))
    print_rows(("case", "is"), [("a", "pass"), ("b", "worse")], "table", table)


def test_good_and_bad_have_a_colour_and_a_sign(on_terminal):
    out = on_terminal(80, rows_of_verdicts)
    assert "\x1b[32m✓ pass" in out
    assert "\x1b[31m▼ worse" in out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted_and_the_signs_stay(on_terminal, env):
    out = on_terminal(80, rows_of_verdicts, **env)
    assert not re.search(r"\x1b\[3\d", out)
    assert "✓ pass" in out


def test_colour_in_a_pipe_only_where_it_is_forced(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rows_of_verdicts()
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    rows_of_verdicts()
    assert "\x1b[32m✓ pass" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["pass", "fail", "error", "improved", "regressed"])
def test_every_verdict_that_has_a_colour_begins_with_a_sign(word):
    cell = judged(word)
    assert cell.style
    assert cell.text[0] not in "abcdefghijklmnopqrstuvwxyz"


# ---------- layout


def table_of(columns: int, rows: list[dict[str, object]], table: Table) -> list[str]:
    lines = output._table(table, rows, wide=False, room=columns)
    return ["".join(text for text, _ in line) for line in lines]


TWO = Table((Column("id", ident, "id"), Column("text", plain, "text")))


def test_texts_are_folded_and_ids_are_not():
    row = {"id": "an-id-of-twenty-cells", "text": "a text of twenty-five cells"}
    assert table_of(40, [row], TWO) == [
        "id                     text",
        "─" * 40,
        "an-id-of-twenty-cells  a text of",
        "                       twenty-five cells",
    ]


def test_an_id_longer_than_the_line_is_still_one_piece():
    row = {"id": "x" * 90, "text": "short"}
    assert table_of(80, [row], TWO) == [f"id    {'x' * 90}", "text  short"]


def test_the_last_columns_give_way_and_a_line_says_so():
    names = ("one", "two", "three", "four", "five")
    table = Table(tuple(Column(name, ident, name) for name in names))
    lines = table_of(40, [dict.fromkeys(names, "x" * 11)], table)
    assert lines[-1] == "too narrow for: four, five; --wide"
    assert lines[2] == "  ".join(["x" * 11] * 3)


def test_parts_stand_below_what_they_share():
    table = Table((Column("id", ident, "id"),), by=("title",))
    rows = [{"id": "a", "title": "T"}, {"id": "b", "title": "U"}]
    assert table_of(80, rows, table) == [
        *("T", "id", "──", "a", "", "U", "id", "──", "b")
    ]


def test_without_rows_there_are_headings():
    assert table_of(80, [], TWO) == ["id  text", "─" * 8]


def test_two_columns_of_one_name_keep_their_values(capsys):
    print_rows(("a", "a"), [(1, 2)], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "1  2"


HOSTILE = [
    ("\x1b[2J\x1b]0;owned\x07", "�[2J�]0;owned�"),
    ("a\nb\r\nc\td", "a b c d"),
    ("[bold red]x[/]", "[bold red]x[/]"),
    ("\u202egnp.exe", "�gnp.exe"),
    ("\x9b31m", "�31m"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_nothing_that_a_model_wrote_steers_the_terminal(on_terminal, text, shown):
    out = on_terminal(80, lambda: print_rows(("a",), [(text,)], "table"))
    assert ANSI.sub("", out).splitlines()[-1] == shown


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("a b c", 80, ["a b c"]),
        ("one two three", 7, ["one two", "three"]),
        ("丢了两个用例：refund_a、refund_b。", 14, ["丢了两个用例：", "refund_a、", "refund_b。"]),
        ("他说（可以）。", 8, ["他说（可", "以）。"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("", 10, [""]),
    ],
)  # fmt: skip
def test_lines_break_between_words_and_beside_chinese_characters(text, room, lines):
    assert wrap(text, room) == lines


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (plain(0.123456), "0.1235"),
        (plain(0.00027), "0.00027"),
        (plain(-0.0), "0"),
        (plain_beside(0.7995, 0.79951), "0.7995"),
        (plain_beside(0.79951, 0.7995), "0.79951"),
        (plain_beside(0.123456, 0.5), "0.1235"),
        (plain_beside(0.123456, 0.123456), "0.1235"),
        (plain_beside(None, 0.5), "–"),
        (plain(True), "yes"),
        (plain(None), "–"),
        (points(0.0971), "+9.7"),
        (points(-0.00001), "0.0"),
        (p_value(0.0001), "<0.001"),
        (p_value(0.0421), "0.042"),
        (judged("no_reliable_change"), "= no reliable change"),
        (judged("a_new_word"), "a new word"),
    ],
)
def test_values_are_rounded_for_people(cell: Cell, text: str):
    assert cell.text == text


def test_a_path_is_folded_after_a_slash_and_nowhere_else():
    table = Table((Column("n", plain, "n"), Column("file", path, "file")))
    rows = [{"n": 1, "file": "some/where/in/a/deep/folder/and/a-long-name.jsonl"}]
    assert table_of(32, rows, table)[2:] == [
        "1  some/where/in/a/deep/folder/",
        "   and/a-long-name.jsonl",
    ]


@pytest.mark.parametrize(
    ("columns", "room"),
    [(None, 100), ("60", 60), ("160", 160), ("20", 40), ("0", 100), ("wide", 100)],
)
def test_in_a_pipe_the_width_is_that_of_the_environment_or_100(
    monkeypatch, capsys, columns, room
):
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    for wide in (False, True):
        print_rows(("a", "b"), [("word " * 60, "x")], "table", wide=wide)
        longest = max(map(len, capsys.readouterr().out.splitlines()))
        assert longest > 300 if wide else room - 5 < longest <= room


def test_show_lists_the_worst_cases_first_and_counts_the_rest(
    example_warehouse, capsys
):
    result = example_warehouse.result("cs-regression-v3.2")
    case = result.case_results[0].model_copy(update={"status": "fail"})
    cases = [
        case.model_copy(update={"case_id": f"c{n}", "aggregated_score": 1 - n / 100})
        for n in reversed(range(40))
    ]
    many = result.model_copy(update={"case_results": cases})
    _print_task(many, wide=False)
    listed = capsys.readouterr().out.splitlines()
    assert listed[-1].startswith("10 more that did not pass")
    assert listed[-31].startswith("c39 ")
    _print_task(many, wide=True)
    assert "more that did not pass" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.8125, "81.3"),
        (0.89997, "89.997"),
        (0.9, "90.0"),
        (1.0, "100.0"),
        (0.0, "0.0"),
    ],
)
def test_a_table_rounds_a_score_as_the_pages_do(share, shown):
    page = environment("en").filters["score"]
    assert score(share).text == page(share) == shown


@pytest.mark.parametrize(
    ("change", "shown"), [(0.0125, "+1.3"), (-0.0125, "-1.3"), (0.0004, "0.0")]
)
def test_a_table_rounds_a_change_half_away_from_nothing(change, shown):
    assert points(change).text == shown


# ---------- rows as a program reads them, and where a new warehouse may lie


def test_csv_writes_truth_values_as_json_does(capsys):
    print_rows(("a", "b", "c"), [(True, False, None)], "csv")
    assert capsys.readouterr().out == "a,b,c\ntrue,false,\n"


@pytest.mark.parametrize("folder", ["new", "new/and/deep"])
def test_the_folder_of_a_new_warehouse_is_made(tmp_path, folder):
    file = write(tmp_path / "a.json", task())
    db = tmp_path / folder / "w.duckdb"
    assert Warehouse(db).ingest(file).n_loaded == 1
    assert db.is_file()


@pytest.mark.parametrize("form", ["table", "csv"])
def test_what_models_wrote_never_steers_a_terminal(capsys, monkeypatch, form):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_rows(("a\x1b[2Jb",), [("\x1b]0;title\x07",)], form)
    found = capsys.readouterr().out
    assert "\x1b[2J" not in found
    assert "\x1b]" not in found


def test_a_file_of_csv_keeps_what_was_written(capsys):
    print_rows(("a",), [("\x1b",)], "csv")
    assert capsys.readouterr().out == "a\n\x1b\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("enough", ["head -1", "true"])
def test_a_reader_that_leaves_early_does_not_change_the_exit_code(
    example_db, unbuffered, enough
):
    query = ("query", "select * from range(100000)", "--format", "csv")
    call = [sys.executable, "-m", "promptlab", *query, "--db", str(example_db)]
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{shlex.join(call)} | {enough}"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk of Linux")
def test_a_disk_without_room_for_the_output_is_no_fault_of_ours(example_db):
    call = ["query", "select 1", "--db", str(example_db)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "promptlab", *call],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        70,
        "promptlab: standard output cannot be written: No space left on device\n",
    )
