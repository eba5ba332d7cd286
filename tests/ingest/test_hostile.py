"""Hostile input: every file ends as rows or as a reject that teaches; none stops another."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptlab.errors import InputError
from promptlab.ingest.files.input_file import InputFile
from promptlab.ingest.raw.rows import FileLoad
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import query, task, write

HOSTILE = Path(__file__).parent.parent / "data" / "hostile"

GOOD = '{"id":"good","inputs":{"q":"x"},"expected_outputs":{"a":"y"}}'


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def analysis(raw_output: str) -> str:
    import json

    return json.dumps(task(answer="ANSWER")).replace('"ANSWER"', raw_output)


# Made at run time: too large to keep.
LARGE: dict[str, Callable[[], Iterator[str]]] = {
    "deep_list.jsonl": lambda: iter([f'{{"id":"a","x":{deep(100_000)}}}\n', GOOD]),
    "deep_objects.jsonl": lambda: iter(['{"a":' * 100_000, "\n", GOOD]),
    "deep_and_unclosed.jsonl": lambda: iter(['{"id":"a","x":', "[" * 1_000_000, "\n" + GOOD]),
    "deep_output.json": lambda: iter([analysis(f'"x","parsed_output":{{"a":{deep(600)}}},"p":0').replace('"parsed_output": null, ', "")]),
    "long_string.jsonl": lambda: iter(['{"id":"a","inputs":{},"x":"', "x" * 20_000_000, '"}\n', GOOD]),
    "long_string.json": lambda: iter([analysis('"' + "x" * 17_000_000 + '"')]),
    "long_integer.jsonl": lambda: iter(['{"id":"a","x":', "9" * 1_000_000, "}\n", GOOD]),
    "many_quotes.jsonl": lambda: iter(['{"id":"a","x":', '"\\"' * 300_000, "\n", GOOD]),
    "one_record_over_lines.jsonl": lambda: iter(['{"id":"a","inputs":[\n', '"filler",\n' * 250_000, '0]}\n']),
}  # fmt: skip

# file: (status, records loaded, [(code, line, column)])
EXPECTED: dict[str, tuple[str, int, list[tuple[str, int | None, int | None]]]] = {
    "duplicate_key.jsonl": ("loaded", 1, [("duplicate_key", 1, 17)]),
    "not_a_number.jsonl": ("loaded", 1, [("not_a_number", 1, 15), ("not_a_number", 2, 15)]),
    "lone_surrogate.jsonl": ("loaded", 2, []),
    "beyond_64_bits.jsonl": ("loaded", 2, []),
    "beyond_a_double.jsonl": ("loaded", 1, [("number_out_of_range", 1, 15)]),
    "bom_at_start.jsonl": ("loaded", 1, []),
    "bom_in_the_middle.jsonl": ("loaded", 1, [("syntax", 2, 1)]),
    "crlf.jsonl": ("loaded", 2, []),
    "cr_only.jsonl": ("rejected", 0, [("syntax", 1, 70)]),
    "nul_in_a_text.jsonl": ("skipped", 0, []),
    "nul_escaped.jsonl": ("loaded", 2, []),
    "nul_late.jsonl": ("loaded", 1, [("control_character", 502, 16)]),
    "not_utf8.jsonl": ("loaded", 1, [("bad_utf8", 1, 16)]),
    "utf16.jsonl": ("skipped", 0, []),
    "empty.jsonl": ("skipped", 0, []),
    "blank.jsonl": ("skipped", 0, []),
    "path_like_ids.jsonl": ("loaded", 6, []),
    "sql_and_jinja.jsonl": ("loaded", 7, []),
    "sql_and_jinja.json": ("loaded", 7, []),
    "open_string.json": ("rejected", 0, [("unterminated_string", 1, 50)]),
    "alias_bomb.yaml": ("rejected", 0, [("too_large", 1, 1)]),
    "python_object.yaml": ("rejected", 0, [("unknown_tag", 3, 4)]),
    "list_of_cases.jsonl": ("rejected", 0, [("not_an_object", 1, 1)]),
    "never_closed.jsonl": ("loaded", 2, [("unclosed_record", 1, 1)]),
    "unicode_line_ends.jsonl": ("loaded", 2, []),
    "deep_list.jsonl": ("loaded", 1, [("too_deep", 1, 514)]),
    "deep_objects.jsonl": ("loaded", 1, [("too_deep", 1, 2501)]),
    "deep_and_unclosed.jsonl": ("loaded", 1, [("too_deep", 1, 514)]),
    "deep_output.json": ("loaded", 0, [("too_deep", 1, 0)]),
    "long_string.jsonl": ("loaded", 1, [("record_too_large", 1, 1)]),
    "long_string.json": ("loaded", 0, [("string_too_long", 1, 0)]),
    "long_integer.jsonl": ("loaded", 1, [("integer_too_long", 1, 15)]),
    "many_quotes.jsonl": ("loaded", 1, [("syntax", 1, 0)]),
    "one_record_over_lines.jsonl": ("rejected", 0, [("unclosed_record", 1, 1)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileLoad]:
    """All of them in one ingest, and good files before, between and behind."""
    folder = tmp_path_factory.mktemp("hostile")
    for file in HOSTILE.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    for name, pieces in LARGE.items():
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(pieces())
    for name in ("0_good.jsonl", "m_good.jsonl", "~good.jsonl"):
        (folder / name).write_text(GOOD, "utf-8")
    settings = Settings(max_record_mb=2)
    ingested = Warehouse(folder.parent / "w.duckdb", settings=settings).ingest(folder)
    return {file.path.name: file for file in ingested.files}


def test_every_hostile_file_is_in_the_table():
    assert {file.name for file in HOSTILE.iterdir()} | set(LARGE) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_file_ends_as_rows_or_as_a_reject_that_says_where(loads, name):
    status, records, expected = EXPECTED[name]
    load = loads[name]
    rejects = [p for p in load.problems if p.severity == "reject"]
    found = [
        (p.code, p.line, p.column if column else 0)
        for p, (_, _, column) in zip(rejects, expected, strict=False)
    ]
    assert (load.status, load.records_loaded, found) == (status, records, expected)
    assert len(rejects) == len(expected)
    assert all(
        p.message.rstrip(")")[-1] in '.0123456789"' or p.message for p in rejects
    )


@pytest.mark.parametrize("name", ["0_good.jsonl", "m_good.jsonl", "~good.jsonl"])
def test_good_files_among_them_are_loaded(loads, name):
    assert (loads[name].status, loads[name].records_loaded) == ("loaded", 1)


def test_pipes_sockets_devices_and_loops_are_named_and_passed_over(tmp_path):
    folder = tmp_path / "in"
    write(folder / "a.json", task())
    os.mkfifo(folder / "pipe.json")
    (folder / "device.json").symlink_to("/dev/zero")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to(tmp_path / "nowhere")
    (folder / "itself.json").symlink_to(folder / "itself.json")
    (folder / "folder.json").symlink_to(tmp_path)
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(folder)  # the path of a socket may not be long
        try:
            one.bind("socket.json")
        finally:
            os.chdir(here)
        ingested = Warehouse(tmp_path / "w.duckdb").ingest(folder)
    told = {file.path.name: file.message for file in ingested.files}
    assert told.pop("itself.json", "").startswith("cannot be read")
    assert told == {
        "a.json": None,
        "device.json": "cannot be read: it is a device, not a file",
        "pipe.json": "cannot be read: it is a pipe, not a file",
        "socket.json": "cannot be read: it is a socket, not a file",
    }
    assert ingested.n_loaded == 1


def test_a_file_that_cannot_be_read_is_rejected_once_and_the_others_load(
    tmp_path, monkeypatch
):
    folder = tmp_path / "in"
    write(folder / "a.json", task("one"))
    write(folder / "b.json", task("two"))
    real = Path.open

    def refuse(path, *args, **kwargs):
        if path.name == "a.json":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    warehouse = Warehouse(tmp_path / "w.duckdb")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        for _ in range(2):
            ingested = warehouse.ingest(folder)
            assert ingested.n_rejected == 1
        with pytest.raises(InputError, match="Permission denied"):
            warehouse.ingest(folder / "a.json")
    assert query(warehouse, "select task_id from live.tasks") == [("two",)]
    assert query(
        warehouse, "select code, message from raw.rejects"
    ) == [("unreadable", "cannot be read: Permission denied")]  # fmt: skip
    assert warehouse.ingest(folder).n_loaded == 1  # it can be read by now


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of half a megabyte is large."""
    for module in ("file_reader", "files.input_file"):
        monkeypatch.setattr(f"promptlab.ingest.{module}.BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("promptlab.ingest.testsets.BATCH_CHARACTERS", 1 << 15)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("cases", [1, 1_000])
def test_a_file_that_changes_while_it_is_read_is_left_out_until_the_next_ingest(
    tmp_path, monkeypatch, cases
):
    folder = tmp_path / "in"
    filler = "x" * 500
    lines = (GOOD.replace("good", f"c{n}-{filler}") for n in range(cases))
    write(folder / "set.jsonl", *lines)
    write(folder / "z.json", task())
    real = InputFile._check_unchanged

    def change(one, descriptor):
        if one.path.name == "set.jsonl":
            os.utime(one.path, ns=(0, one._state[2] + 1_000_000))
        real(one, descriptor)

    warehouse = Warehouse(tmp_path / "w.duckdb")
    with monkeypatch.context() as patch:
        patch.setattr(InputFile, "_check_unchanged", change)
        ingested = warehouse.ingest(folder)
    assert [(f.path.name, f.status) for f in ingested.files] == [
        ("set.jsonl", "rejected"),
        ("z.json", "loaded"),
    ]
    assert query(warehouse, "select count(*) from raw.test_cases") == [(0,)]
    assert query(warehouse, "select code from raw.rejects") == [("changed_while_read",)]
    assert warehouse.ingest(folder).files[0].records_loaded == cases


@pytest.mark.usefixtures("small_blocks")
def test_a_large_file_that_fails_half_way_leaves_the_warehouse_as_it_was(
    tmp_path, monkeypatch
):
    from promptlab.ingest import raw
    from promptlab.ingest.raw import write as write_module

    filler = "x" * 500
    file = write(tmp_path / "set.jsonl", GOOD)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(file)
    write(file, *(GOOD.replace("good", f"c{n}-{filler}") for n in range(1_000)))
    real = raw.append
    calls = []

    def fail_later(con, table, parts):
        calls.append(table)
        if calls.count("test_cases") == 3:
            raise OSError("disk full")
        return real(con, table, parts)

    with monkeypatch.context() as patch:
        patch.setattr(write_module.raw, "append", fail_later)
        with pytest.raises(OSError, match="disk full"):
            warehouse.ingest(file)
    assert query(warehouse, "select case_id from raw.test_cases") == [("good",)]
    assert query(warehouse, "select status from raw.loads") == [("loaded",)]


@pytest.mark.parametrize(
    ("name", "content", "settings", "words"),
    [
        ("a.json", analysis('"' + "x" * 2_000_000 + '"'), {"max_file_mb": 1}, ["2 MB", "limit is 1 MB", "max_file_mb"]),
        ("a.json", analysis('"' + "x" * 2_000_000 + '"'), {"max_string_mb": 1}, ["2 MB", "limit is 1 MB", "max_string_mb"]),
        ("a.json", analysis(f'"x","parsed_output":{{"a":{deep(60)}}},"p":0').replace('"parsed_output": null, ', ""), {"max_depth": 50}, ["64 objects", "limit is 50", "max_depth"]),
        ("a.jsonl", '{"id":"a","inputs":{},"x":"' + "x" * 2_000_000 + '"}', {"max_record_mb": 1}, ["2 MB", "limit is 1 MB", "max_record_mb"]),
        ("a.jsonl", '{"id":"a","inputs":{},"x":"' + "汉" * 500_000 + '"}', {"max_string_mb": 1}, ["1.5 MB", "limit is 1 MB", "max_string_mb"]),
        ("a.jsonl", '{"id":"a","inputs":{},"x":' + deep(60) + "}", {"max_depth": 50}, ["61 objects", "limit is 50", "max_depth"]),
        ("a.jsonl", '{"sample_id":"a","metadata":{"x":' + deep(600) + "}}", {"max_depth": 100}, ["more than 100 objects", "limit is 100", "max_depth"]),
        ("a.json", '{"test_results":' + deep(60) + "}", {"max_depth": 50}, ["61 objects", "limit is 50", "max_depth"]),
    ],
)  # fmt: skip
def test_a_limit_names_itself_what_was_found_and_the_setting_that_raises_it(
    tmp_path, name, content, settings, words
):
    file = tmp_path / name
    file.write_text(content, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=Settings(**settings))
    found = warehouse.ingest(file).files[0].problems[0]
    assert found.severity == "reject"
    assert all(word in found.message for word in words), found.message


def test_a_file_beyond_a_limit_is_read_again_when_the_limit_is_raised(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"id":"a","x":' + deep(60) + "}\n" + GOOD, "utf-8")
    db = tmp_path / "w.duckdb"
    low, high = (Settings(max_depth=limit) for limit in (50, 100))
    assert Warehouse(db, settings=low).ingest(file).n_rejected_records == 1
    assert Warehouse(db, settings=low).ingest(file).n_unchanged == 1
    assert Warehouse(db, settings=high).ingest(file).files[0].records_loaded == 2
    assert Warehouse(db, settings=high).ingest(file).n_unchanged == 1
