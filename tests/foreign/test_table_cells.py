"""Cells of tables: read once, by what their column means, and none dropped in silence."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlab.contracts.sources import TableMapping
from promptlab.ingest.raw.rows import Reading
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import reading_of, table
from tests.foreign.workbooks import (
    Failed,
    Formula,
    OwnPercent,
    Percent,
    write_workbook,
)

MAPPING = TableMapping(
    case="id", inputs=("q",), output="a", verdict="v", scores=("s",), values=("n",)
)
COLUMNS = ["id", "q", "a", "v", "s", "n"]


def read(path: Path, data: bytes | str, mapping: TableMapping = MAPPING) -> Reading:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return reading_of(path, {"t": mapping})


def _parquet(path: Path, **columns: Any) -> Path:
    n = len(next(iter(columns.values())))
    all_columns = {"id": [str(i) for i in range(n)], "q": ["x"] * n, "a": ["y"] * n}
    all_columns |= {"v": ["pass"] * n, "s": [1.0] * n, "n": [1] * n}
    pl.DataFrame({**all_columns, **columns}).write_parquet(path)
    return path


def codes(reading: Reading) -> list[tuple[str, str, int | None]]:
    return [(p.code, p.severity, p.line) for p in reading.problems]


HEAD = b"id,q,a,v,s,n\n1,what,x,pass,1,1\n"
ENDS = [
    (b"2,who,Fianc\xe9,fail,0,1\n", "Fiancé"),
    (b"2,who,Fianc\xe9,fail,0,1", "Fiancé"),
    (b"2,who,\x80,fail,0,1", "€"),
]


@pytest.mark.parametrize(("end", "answer"), ENDS)
def test_a_file_that_is_not_utf_8_near_its_end_is_read_to_its_end(
    end: bytes, answer: str, tmp_path: Path
) -> None:
    reading = read(tmp_path / "t.csv", HEAD + end)
    assert codes(reading) == [("encoding_guessed", "warning", None)]
    assert table(reading, "rounds")["raw_output"][1] == answer


def test_the_last_cell_keeps_its_last_byte(tmp_path: Path) -> None:
    data = b"id,v,s,a,q,n\n1,pass,1,x,y,1\n2,fail,50\xa0%,z,y,Fianc\xe9"
    mapping = TableMapping(case="id", scores=("s",), expected="n")
    reading = read(tmp_path / "t.csv", data, mapping)
    assert table(reading, "reported_scores")["value"].to_list() == [1.0, 0.5]
    assert "Fiancé" in table(reading, "baselines")["payload"][1]


def test_a_row_in_another_encoding_than_the_file_is_rejected(tmp_path: Path) -> None:
    data = HEAD + "2,wer,naïve 北京,pass,1,1\n".encode() + b"3,wo,na\xefve,fail,0,1\n"
    reading = read(tmp_path / "t.csv", data)
    assert table(reading, "rounds")["raw_output"].to_list() == ["x", "naïve 北京"]
    assert codes(reading) == [("not_in_encoding", "reject", 4)]


def test_a_row_with_bytes_of_no_encoding_is_rejected_alone(tmp_path: Path) -> None:
    reading = read(tmp_path / "t.csv", HEAD + b"2,q,\x81,fail,0,1\n3,q,z,fail,0,1\n")
    assert table(reading, "rounds")["case_id"].to_list() == ["1", "3"]
    assert codes(reading)[1:] == [("not_in_encoding", "reject", 3)]
    assert reading.records_rejected == 1


def test_a_utf_16_file_that_breaks_off_inside_a_character_loses_that_row(
    tmp_path: Path,
) -> None:
    data = (HEAD.decode() + "2,q,a,fail,0,1\n3,q,a,pass,1,1").encode("utf-16")[:-1]
    reading = read(tmp_path / "t.csv", data)
    assert (reading.records_loaded, reading.records_rejected) == (2, 1)


def test_a_comma_is_a_decimal_point_in_columns_of_numbers_alone(tmp_path: Path) -> None:
    data = "id;q;a;v;s;n;note\n1,2;1,5;3,5;pass;0,5;1,25;\n1.2;w;1,000;fail;0,25;;7,5\n"
    reading = read(tmp_path / "t.csv", data)
    rounds = table(reading, "rounds")
    assert rounds["case_id"].to_list() == ["1,2", "1.2"]
    assert rounds["raw_output"].to_list() == ["3,5", "1,000"]
    assert json.loads(rounds["metadata"][1]) == {"note": "7,5"}
    assert json.loads(table(reading, "cases")["context"][0]) == {"q": "1,5"}
    scores = table(reading, "reported_scores")
    assert scores.filter(dimension_id="s")["value"].to_list() == [0.5, 0.25]
    assert scores.filter(dimension_id="n")["value"].to_list() == [1.25, None]


STRAY: list[tuple[str, list[str], list[int]]] = [
    ('1,q,"abc,fail,0,1\n2,q,d"ef,pass,1,1\n3,q,z,fail,0,1\n', ["2", "3"], [2]),
    ('1,q,a,pass,1,1\n2,q,"abc,fail,0,1\n3,q,z,fail,0,1\n', ["1", "3"], [3]),
    ('1,q,"5" disk",pass,1,1\n2,q,b,fail,0,1\n', ["2"], [2]),
    ('1,q,"say \\"hi\\"",pass,1,1\n2,q,b,fail,0,1\n', ["2"], [2]),
    ('1,q,"two\nlines",pass,1,1\n2,q,"open,fail,0,1\n', ["1"], [4]),
    ('1,q,a,pass,1,1\r\n2,q,"x"y,fail,0,1\r\n3,q,c,pass,1,1\r\n', ["1", "3"], [3]),
    ('1,q,a,pass,1,1,more\n2,q,b,fail,0,1\n', ["2"], [2]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "loaded", "rejected"), STRAY)
def test_a_row_whose_quotes_do_not_add_up_is_rejected_and_swallows_no_other(
    rows: str, loaded: list[str], rejected: list[int], tmp_path: Path
) -> None:
    reading = read(tmp_path / "t.csv", "id,q,a,v,s,n\n0,q,a,pass,1,1\n" + rows)
    assert table(reading, "rounds")["case_id"].to_list() == ["0", *loaded]
    rejects = [p for p in reading.problems if p.severity == "reject"]
    assert [p.line for p in rejects] == [line + 1 for line in rejected]
    assert all(p.raw_text for p in rejects)
    assert "quotes" in rejects[0].message


def test_cells_of_a_workbook_keep_their_types_beyond_the_first_rows(
    tmp_path: Path,
) -> None:
    many = 1200
    rows: list[list[Any]] = [[i, f"q{i}", i, 1, 1, 1] for i in range(many)]
    rows += [[f"abc{i}", "q", f"text{i}", "fail", "50%", None] for i in range(300)]
    rows += [[True, "q", "TRUE", True, 0.5, None], ["1.0", "q", 1.5, "no", 0, None]]
    path = write_workbook(tmp_path / "t.xlsx", [COLUMNS, *rows])
    reading = reading_of(path, {"t": MAPPING})
    rounds = table(reading, "rounds")
    assert not reading.problems
    assert rounds.height == len(rows)
    assert rounds["case_id"][many - 1 : many + 1].to_list() == ["1199", "abc0"]
    assert rounds["raw_output"][-3:].to_list() == ["text299", "TRUE", "1.5"]
    assert rounds["reported_status"].value_counts(sort=True).rows() == [
        ("pass", many + 1),
        ("fail", 301),
    ]
    assert rounds["case_id"][-1] == "1.0"


def test_a_failed_formula_is_an_empty_cell_and_named(tmp_path: Path) -> None:
    rows = [COLUMNS, ["1", "q", "a", "pass", Failed("#DIV/0!"), 1]]
    path = write_workbook(tmp_path / "t.xlsx", [*rows, ["2", "q", "a", "pass", 1, 1]])
    reading = reading_of(path, {"t": MAPPING})
    assert codes(reading) == [("cell_error", "warning", 2)]
    assert "#DIV/0!" in reading.problems[0].message
    scores = table(reading, "reported_scores").filter(dimension_id="s")
    assert scores["value"].to_list() == [None, 1.0]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [(Percent(0.57), "57%"), (OwnPercent(0.123), "12.3%"), (Percent(1), "100%")],
)
def test_a_percentage_of_a_workbook_is_read_as_that_of_a_csv(
    cell: float, shown: str, tmp_path: Path
) -> None:
    """Neither is taken for a hundredth of what it is where the scale ends at 100."""
    write_workbook(tmp_path / "t.xlsx", [["id", "a", "s"], ["1", shown, cell]])
    (tmp_path / "t.csv").write_text(f"id,a,s\n1,{shown},{shown}\n", "utf-8")
    for best, score in ((1, float(cell)), (100, None)):
        mapping = TableMapping(
            case="id", output="a", scores=("s",), scales={"s": (0, best)}
        )
        for name in ("t.csv", "t.xlsx"):
            reading = reading_of(tmp_path / name, {"t": mapping})
            assert table(reading, "reported_scores")["score"].to_list() == [score]
            assert bool(reading.problems) == (score is None)


def test_a_date_of_a_workbook_dates_the_run(tmp_path: Path) -> None:
    rows = [["id", "a", "when"], ["1", "x", datetime(2025, 6, 1, 12, 30)]]
    path = write_workbook(tmp_path / "t.xlsx", rows)
    mapping = TableMapping(case="id", output="a", time="when")
    (created,) = table(reading_of(path, {"t": mapping}), "tasks")["created_at"]
    assert created == datetime(2025, 6, 1, 12, 30, tzinfo=UTC)


def test_a_cell_in_the_last_corner_of_a_sheet_costs_no_memory(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", [COLUMNS, ["1", "q", "a", "pass", 1, 1]])
    import zipfile

    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode().replace("</sheetData>", far)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**parts, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, data)
    reading = reading_of(path, {"t": MAPPING})
    assert table(reading, "rounds")["case_id"][0] == "1"


@pytest.mark.parametrize("secret", ["nothing", "sk-abcdefghijklmnop1234567890"])
def test_numbers_of_parquet_do_not_depend_on_what_is_redacted(
    secret: str, tmp_path: Path
) -> None:
    path = _parquet(
        tmp_path / "t.parquet",
        a=[secret, "y", "z"],
        s=pl.Series([Decimal("0.50"), Decimal("1.00"), None], dtype=pl.Decimal(10, 2)),
        n=pl.Series([0.1, float("nan"), 3], dtype=pl.Float32),
        when=[datetime(2025, 1, 1, tzinfo=UTC)] * 3,
        spent=[timedelta(seconds=1)] * 3,
    )
    warehouse = Warehouse(
        tmp_path / "w.duckdb", settings=Settings(tables={"t": MAPPING}, redact="on")
    )
    (load,) = warehouse.ingest(path).files
    values = (
        "select value from raw.reported_scores where dimension_id = ? order by case_id"
    )
    assert warehouse.sql(values.replace("?", "'s'")).rows() == [(0.5,), (1.0,), (None,)]
    assert warehouse.sql(values.replace("?", "'n'")).rows() == [(0.1,), (None,), (3.0,)]
    redacted = warehouse.sql("select coalesce(sum(n_values), 0) from raw.redactions")
    assert redacted.item() == (secret != "nothing")
    assert sum(load.redacted.values()) == (secret != "nothing")


def test_one_secret_of_a_table_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,a\n1,sk-abcdefghijklmnop1234567890\n2,b\n")
    mapping = TableMapping(case="id", output="a")
    for name, text in (("t.csv", path.read_text()), ("r.csv", _ragas_with_a_secret())):
        (tmp_path / name).write_text(text)
        db = tmp_path / f"{name}.duckdb"
        warehouse = Warehouse(db, settings=Settings(tables={"t": mapping}))
        (load,) = warehouse.ingest(tmp_path / name).files
        assert sum(load.redacted.values()) == 1


def _ragas_with_a_secret() -> str:
    return (
        "user_input,response,faithfulness\nq,sk-abcdefghijklmnop1234567890,1\nr,b,0.5\n"
    )


def test_bytes_are_read_as_text(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "t.parquet", a=[b"abc", b"\xff\x00", None])
    reading = reading_of(path, {"t": MAPPING})
    assert table(reading, "rounds")["raw_output"].to_list() == ["abc", "/wA=", None]


@pytest.mark.parametrize("group", [1_000, 3_000_000])
def test_a_parquet_file_that_unpacks_to_too_much_is_refused_before_it_is_read(
    group: int, tmp_path: Path
) -> None:
    n = 200_000
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"id": ["a" * 40] * n, "a": ["x" * 100] * n})
    frame.write_parquet(path, row_group_size=group)
    assert path.stat().st_size < 1_000_000
    mapping = TableMapping(case="id", output="a")
    warehouse = Warehouse(
        tmp_path / "w.duckdb", settings=Settings(tables={"t": mapping}, max_file_mb=1)
    )
    (load,) = warehouse.ingest(path).files
    assert load.status == "rejected"
    assert [p.code for p in load.problems] == ["file_too_large"]
    assert "max_file_mb" in load.problems[0].message


ODD: list[tuple[str, str, str | None]] = [
    ("lat", "abc", "odd_latency"), ("lat", "0.1s", "odd_latency"),
    ("lat", "inf", "odd_latency"), ("lat", "-1", "odd_latency"), ("lat", "", None),
    ("lat", "n/a", None), ("lat", "1.5e3", None), ("tok", "1,000", "odd_tokens"),
    ("tok", "-5", "odd_tokens"), ("tok", "10.7", "odd_tokens"), ("tok", "1e3", None),
    ("tok", "9223372036854775808", "odd_tokens"), ("tok", "0", None),
    ("when", "01/02/2025", "odd_time"), ("when", "2025-13-45", "odd_time"),
    ("when", "2025-01-02 10:00:00+08:00", None), ("when", "1735689600", None),
    ("when", "45658", "odd_time"), ("n", "first", "odd_round"), ("n", "-3", "odd_round"),
    ("n", "2.5", "odd_round"), ("n", "99999999999999999999", "odd_round"), ("n", "2", None),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell", "code"), ODD)
def test_a_cell_that_does_not_fit_its_meaning_is_a_warning_with_its_row(
    column: str, cell: str, code: str | None, tmp_path: Path
) -> None:
    mapping = TableMapping(
        case="id",
        output="a",
        latency_s="lat",
        input_tokens="tok",
        time="when",
        round="n",
    )
    good = {"id": "1", "a": "x", "lat": "1", "tok": "1", "when": "2025-01-01", "n": "1"}
    odd = {**good, "id": "2", column: cell}
    rows = [",".join(f'"{c}"' for c in row.values()) for row in (good, odd)]
    reading = read(tmp_path / "t.csv", "\n".join([",".join(good), *rows]), mapping)
    expected = [] if code is None else [(code, "warning", 3)]
    assert codes(reading) == expected
    assert reading.records_loaded == 2


TIMES = [
    "1735689600",
    "1735689600000",
    "1735689600.0",
    "2025-01-01T00:00:00Z",
    "2025-01-01",
]


@pytest.mark.parametrize("when", TIMES)
def test_times_are_read_in_every_usual_form(when: str, tmp_path: Path) -> None:
    mapping = TableMapping(case="id", output="a", time="when")
    reading = read(tmp_path / "t.csv", f"id,a,when\n1,x,{when}\n", mapping)
    (created,) = table(reading, "tasks")["created_at"]
    assert created == datetime(2025, 1, 1, tzinfo=UTC)


NO_ERRORS = [
    "False",
    "false",
    "0",
    "n/a",
    "none",
    "None",
    "-",
    "No error",
    "null",
    "",
    "nan",
]


@pytest.mark.parametrize("cell", NO_ERRORS)
def test_a_cell_that_says_there_was_no_error_is_none(cell: str, tmp_path: Path) -> None:
    mapping = TableMapping(case="id", verdict="v", error="e")
    data = f"id,v,e\n1,pass,{cell}\n2,fail,boom\n"
    rounds = table(read(tmp_path / "t.csv", data, mapping), "rounds")
    assert rounds["reported_status"].to_list() == ["pass", "error"]
    assert rounds["error"].to_list() == [None, "boom"]


def test_two_columns_of_one_name_are_named(tmp_path: Path) -> None:
    reading = read(tmp_path / "t.csv", "id,q,a,v,s,n,s\n1,q,a,pass,1,1,0\n")
    assert codes(reading) == [("repeated_column", "warning", 1)]
    assert json.loads(table(reading, "rounds")["metadata"][0]) == {"s 2": "0"}


def test_an_underscore_makes_no_number(tmp_path: Path) -> None:
    mapping = TableMapping(case="id", scores=("s",))
    reading = read(tmp_path / "t.csv", "id,s\n1,0_5\n2,0.5\n", mapping)
    assert table(reading, "reported_scores")["value"].to_list() == [None, 0.5]


def test_questions_that_differ_are_cases_that_differ(tmp_path: Path) -> None:
    questions = ["7", "007", "yes", "1", "true", "None", "N/A"]
    data = "q,a,n\n" + "".join(f"{each},x,1\n" for each in questions)
    mapping = TableMapping(inputs=("q",), output="a", round="n")
    assert table(read(tmp_path / "t.csv", data, mapping), "cases").height == 7


@pytest.mark.parametrize("path", ["label.value", "/label/value", "runs.0.ok"])
def test_a_field_inside_an_object_is_a_column(path: str, tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "a": "x", "label": {"value": ok}, "runs": [{"ok": ok}]}
        for n, ok in enumerate((True, False))
    ]
    data = "\n".join(map(json.dumps, rows))
    mapping = TableMapping(case="id", output="a", verdict=path)
    reading = read(tmp_path / "t.jsonl", data, mapping)
    assert table(reading, "rounds")["reported_status"].to_list() == ["pass", "fail"]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    nested = reading_of(tmp_path / "t.parquet", {"t": mapping})
    assert table(nested, "rounds")["reported_status"].to_list() == ["pass", "fail"]


def test_a_key_that_only_later_rows_have_is_a_column(tmp_path: Path) -> None:
    data = '{"id": "1", "a": "x"}\n{"id": "2", "a": "", "e": "boom"}\n'
    mapping = TableMapping(case="id", output="a", error="e")
    rounds = table(read(tmp_path / "t.jsonl", data, mapping), "rounds")
    assert rounds["error"].to_list() == [None, "boom"]


def test_a_score_on_another_scale_is_graded_from_its_worst_to_its_best(
    tmp_path: Path,
) -> None:
    mapping = TableMapping(
        case="id",
        scores=("judge", "failed"),
        scales={"judge": (0, 10), "failed": (1, 0)},
    )
    data = "id,judge,failed\n1,7,True\n2,10,False\n3,0,\n"
    reading = read(tmp_path / "t.csv", data, mapping)
    assert not reading.problems
    scores = table(reading, "reported_scores").sort("dimension_id", "case_id")
    assert scores["score"].to_list() == [0.0, 1.0, None, 0.7, 1.0, 0.0]
    assert scores["value"].to_list() == [1.0, 0.0, None, 7.0, 10.0, 0.0]
    off = read(tmp_path / "off.csv", "id,judge,failed\n1,11,0\n", mapping)
    assert codes(off) == [("off_scale", "warning", None)]


SCALES = [{"x": (0, 10)}, {"s": (1, 1)}, {"s": (0, float("inf"))}]


@pytest.mark.parametrize("scales", SCALES)
def test_a_scale_that_cannot_be_meant_is_refused(scales: Any) -> None:
    with pytest.raises(ValueError, match="scale"):
        TableMapping(case="id", scores=("s",), scales=scales)


_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0\x85\ufeff"),
    max_size=12,
)
_ODD_TEXT = _TEXT | st.sampled_from(
    [
        '"',
        '""',
        'a"b',
        "x,y",
        "1,5",
        "007",
        "1e5",
        "True",
        "a\nb",
        "a\r\nb",
        ";",
        "  ",
        "=1",
    ]
)
_NUMBER = st.integers(-(10**9), 10**9) | st.floats(0, 1).map(lambda x: round(x, 6))
_ROW = st.tuples(_ODD_TEXT, st.sampled_from(["pass", "fail", ""]), _NUMBER | st.none())


def _in_quotes(cell: Any) -> str:
    return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(_ROW, min_size=2, max_size=8),
    separator=st.sampled_from([",", ";", "\t"]),
)
def test_three_formats_of_one_content_give_the_same_records_and_lose_no_row(
    rows: list[tuple[str, str, Any]], separator: str, tmp_path: Path
) -> None:
    mapping = TableMapping(case="id", output="a", verdict="v", values=("n",))
    names = ["id", "a", "v", "n"]
    cells = [(f"c{i}", *row) for i, row in enumerate(rows)]
    lines = [separator.join(map(_in_quotes, row)) for row in cells]
    csv = tmp_path / "t.csv"
    csv.write_bytes("\n".join([separator.join(names), *lines]).encode())
    pl.DataFrame(
        {name: [row[k] for row in cells] for k, name in enumerate(names)},
        schema_overrides={"n": pl.Float64},
        strict=False,
    ).write_parquet(tmp_path / "t.parquet")
    write_workbook(tmp_path / "t.xlsx", [names, *cells])
    found = []
    for name in ("t.csv", "t.parquet", "t.xlsx"):
        reading = reading_of(tmp_path / name, {"t": mapping})
        assert reading.records_loaded + reading.records_rejected == len(rows)
        rounds = table(reading, "rounds")
        assert rounds["raw_output"].to_list() == [row[0] or None for row in rows]
        scores = table(reading, "reported_scores")["value"].to_list()
        assert scores == [None if row[2] is None else float(row[2]) for row in rows]
        found.append(rounds.drop("metadata").rows())
    assert found[0] == found[1] == found[2]


_NOISE = st.text(st.sampled_from('",\n\r;ax1é '), max_size=60)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(noise=_NOISE, encoding=st.sampled_from(["utf-8", "cp1252", "utf-16"]))
def test_whatever_is_between_two_good_rows_they_are_read(
    noise: str, encoding: str, tmp_path: Path
) -> None:
    data = f'id,a\n"first",x\n{noise}\n"last",y\n'
    mapping = TableMapping(case="id", output="a")
    reading = read(tmp_path / "t.csv", data.encode(encoding), mapping)
    rounds = table(reading, "rounds")
    assert rounds["case_id"][0] == "first"
    open_quote = noise.count('"') % 2
    assert open_quote or rounds["case_id"][-1] == "last"
    assert reading.records_loaded == rounds.height
    assert all(p.line for p in reading.problems if p.severity == "reject")


NO_ID = ["CSV", "JSONL", "Parquet", "XLSX"]


@pytest.mark.parametrize("form", NO_ID)
@pytest.mark.parametrize("empty", [None, " "])
def test_a_row_without_the_id_that_the_mapping_names_is_rejected(
    form: str, empty: str | None, tmp_path: Path
) -> None:
    rows: list[list[Any]] = [["1", "x", "a", "pass", 1, 1]]
    rows += [[empty, "x", "b", "fail", 0, 1], [empty, None, "c", "fail", 0, 1]]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    if form == "CSV":
        frame.write_csv(path := tmp_path / "t.csv")
    elif form == "JSONL":
        frame.write_ndjson(path := tmp_path / "t.jsonl")
    elif form == "Parquet":
        frame.write_parquet(path := tmp_path / "t.parquet")
    else:
        path = write_workbook(tmp_path / "t.xlsx", [COLUMNS, *rows])
    reading = reading_of(path, {"t": MAPPING})
    first = 2 if form == "JSONL" else 3
    assert codes(reading) == [("no_case", "reject", first + n) for n in (0, 1)]
    assert table(reading, "cases")["case_id"].to_list() == ["1"]


def test_merged_cells_of_a_workbook_all_have_what_the_sheet_shows(
    tmp_path: Path,
) -> None:
    rows = [["1", "what", "a", "pass", 1, 1], [None, None, "b", "fail", 0, 1]]
    rows += [["2", "who", "c", "pass", 1, 1], [None, None, "d", "fail", 0, 1]]
    rows += [[None, None, "e", "fail", 0, 1], ["3", "when", "f", "pass", 0.5, None]]
    merged = ["A2:A3", "B2:B3", "A4:A6", "B4:B6", "E7:F7"]
    path = write_workbook(tmp_path / "t.xlsx", [COLUMNS, *rows], merged)
    reading = reading_of(path, {"t": MAPPING})
    assert not reading.problems
    rounds = table(reading, "rounds")
    assert rounds["case_id"].to_list() == ["1", "1", "2", "2", "2", "3"]
    assert rounds["run_index"].to_list() == [1, 2, 1, 2, 3, 1]
    last = table(reading, "reported_scores").filter(case_id="3")
    assert last["value"].to_list() == [0.5, 0.5]


def test_merged_cells_of_the_header_stay_in_the_header(tmp_path: Path) -> None:
    rows = [COLUMNS, ["1", "q", "a", "pass", 1, 1], [None, "q", "a", "pass", 1, 1]]
    path = write_workbook(tmp_path / "t.xlsx", rows, ["A1:A3", "B3:XFD1048576"])
    assert codes(reading_of(path, {"t": MAPPING})) == [("no_case", "reject", 3)]


def test_a_formula_without_a_stored_result_is_an_empty_cell_and_named(
    tmp_path: Path,
) -> None:
    rows = [COLUMNS, ["1", "q", "a", "pass", Formula("AVERAGE(F2:H2)"), 1]]
    path = write_workbook(tmp_path / "t.xlsx", [*rows, ["2", "q", "a", "pass", 1, 1]])
    reading = reading_of(path, {"t": MAPPING})
    assert codes(reading) == [("cell_error", "warning", 2)]
    assert "`s`" in reading.problems[0].message
    assert "formula" in reading.problems[0].message


SHARES = [("80%", False), (True, False), ("no", False), (8, True), ("8", True)]


@pytest.mark.parametrize(("cell", "fits"), SHARES)
def test_a_share_does_not_fit_another_scale(
    cell: Any, fits: bool, tmp_path: Path
) -> None:
    mapping = TableMapping(case="id", scores=("judge",), scales={"judge": (0, 10)})
    rows = [{"id": "1", "judge": 9}, {"id": "2", "judge": cell}]
    data = "\n".join(map(json.dumps, rows))
    reading = read(tmp_path / "t.jsonl", data, mapping)
    assert codes(reading) == ([] if fits else [("odd_score", "warning", 2)])
    if not fits:
        assert "in row 2" in reading.problems[0].message
        assert "a number on its scale, 0 to 10" in reading.problems[0].message
    scores = table(reading, "reported_scores")
    assert scores["value"].to_list() == [9.0, 8.0 if fits else None]
    assert scores["score"].to_list() == [0.9, 0.8 if fits else None]
