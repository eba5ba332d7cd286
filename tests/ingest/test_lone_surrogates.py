"""Half of a surrogate pair is read as U+FFFD, in every format, with one warning."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.encoding import without_lone_surrogates
from promptlab.ingest.foreign.archives import zipfile
from promptlab.ingest.load import read_files
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.testsets import load_testset, validate_testset
from tests.foreign.reading_of import DATA
from tests.foreign.test_odd_values import FILES
from tests.ingest.at_once import joined
from tests.ingest.test_json_rules import INPUTS

ROOMS = {"helm", "langfuse", "lm_eval", "openai_evals_api"}
"""Tools whose runs are folders."""
HOLE = "here is the half"
MAPPING = TableMapping(case="id", inputs=("q",), output="a", verdict="v")


def _read(path: Path) -> Reading:
    found = plan([path], tables={"t": MAPPING})
    return joined(reading for _, reading in read_files(found))


def _rows(reading: Reading) -> dict[str, Any]:
    return {
        table: {
            name: list(values)
            for name, values in columns.items()
            if name not in {"created_at", "raw_data"}
        }
        for table, columns in reading.rows.items()
    }


def _compare(written: Callable[[str, bytes], Path], half: bytes, whole: bytes) -> None:
    """Assert that a file with a half gives the rows of one with U+FFFD."""
    with_half = _read(written("half", half))
    with_whole = _read(written("whole", whole))
    assert with_whole.rows
    assert _rows(with_half) == _rows(with_whole)
    told = [each for each in with_half.problems if each.code == "lone_surrogate"]
    assert [each.severity for each in told] == ["warning"]
    assert "U+FFFD" in told[0].message
    others = [each for each in with_half.problems if each.code != "lone_surrogate"]
    assert list(map(asdict, others)) == list(map(asdict, with_whole.problems))


def _with_holes(value: Any, key: str = "") -> Any:
    """Return a document with a hole at the end of each text of several words."""
    if isinstance(value, dict):
        return {name: _with_holes(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_holes(each, key) for each in value]
    is_text = (
        isinstance(value, str) and " " in value and not re.match(r"[\[{\d]", value)
    )
    return f"{value}{HOLE}" if is_text else value


@pytest.mark.parametrize("name", FILES)
def test_a_tools_file_is_read(name: str, tmp_path: Path) -> None:
    origin = DATA / name
    data = origin.read_text("utf-8")
    if ".jsonl" in name:
        lines = [_with_holes(json.loads(each)) for each in data.splitlines()]
        text = "".join(json.dumps(each) + "\n" for each in lines)
    else:
        text = json.dumps(_with_holes(json.loads(data)), indent=1)
    if HOLE not in text:
        pytest.skip("numbers only")

    def written(room: str, data: bytes) -> Path:
        folder = tmp_path / room / origin.parent.name
        if name.split("/")[0] in ROOMS:
            shutil.copytree(origin.parent, folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / origin.name).write_bytes(data)
        return folder if name.split("/")[0] in ROOMS else folder / origin.name

    _compare(
        written,
        text.replace(HOLE, "\\ud83d").encode(),
        text.replace(HOLE, "\\ufffd").encode(),
    )


OWN = {name: (file, text % '{"a":"cut%s"}') for name, (file, text) in INPUTS.items()}
TABLE = "id,q,a,v\n1,what,cut%s,pass\n2,who,x,fail\n"
PIPELINE = 'id: p\nsteps:\n  - id: s\n    output_key: k\n    note: "cut%s"\n'


@pytest.mark.parametrize(
    ("half", "whole"),
    [
        (rb"\ud83d", rb"\ufffd"),
        (rb"\uDE00", rb"\ufffd"),
        (b"\xed\xa0\xbd", b"\xef\xbf\xbd"),
    ],
    ids=["first half", "second half", "in bytes"],
)
@pytest.mark.parametrize("kind", OWN)
def test_a_file_of_our_own_is_read(
    kind: str, half: bytes, whole: bytes, tmp_path: Path
) -> None:
    name, text = OWN[kind]

    def written(room: str, data: bytes) -> Path:
        path = tmp_path / room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode().replace(b"%s", data))
        return path

    _compare(written, half, whole)


def test_the_evaluators_testset_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(INPUTS["testset"][1] % r'{"a":"cut\ud83d"}', "utf-8")
    [case] = load_testset(path)
    assert case.inputs == {"a": "cut\ufffd"}
    assert [(one.code, one.line) for one in validate_testset(path)] == [
        ("lone_surrogate", 1)
    ]


@pytest.mark.parametrize(
    ("name", "text", "half", "whole"),
    [
        ("t.csv", TABLE, b"\xed\xa0\xbd", "\ufffd".encode()),
        ("p.yaml", PIPELINE, rb"\ud83d", rb"\ufffd"),
        ("p.yaml", PIPELINE, b"\xed\xa0\xbd", "\ufffd".encode()),
    ],
)
def test_tables_and_yaml_are_read(
    name: str, text: str, half: bytes, whole: bytes, tmp_path: Path
) -> None:
    def written(room: str, data: bytes) -> Path:
        path = tmp_path / room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode().replace(b"%s", data))
        return path

    _compare(written, half, whole)


def test_a_table_in_utf_16_is_read(tmp_path: Path) -> None:
    def written(room: str, data: bytes) -> Path:
        path = tmp_path / room / "t.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = TABLE.replace("%s", data.decode("utf-16-le", "surrogatepass"))
        path.write_bytes(("\ufeff" + text).encode("utf-16-le", "surrogatepass"))
        return path

    _compare(written, b"\x3d\xd8", b"\xfd\xff")


def test_an_archive_of_inspect_is_read(tmp_path: Path) -> None:
    def written(room: str, data: bytes) -> Path:
        path = tmp_path / room / "late.eval"
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            zipfile.ZipFile(DATA / "inspect_ai/late.eval") as old,
            zipfile.ZipFile(path, "w") as new,
        ):
            for each in old.namelist():
                document = _with_holes(json.loads(old.read(each)))
                text = json.dumps(document).encode()
                new.writestr(each, text.replace(HOLE.encode(), data))
        return path

    _compare(written, rb"\ud83d", rb"\ufffd")


def test_the_warning_has_the_place_of_the_first(tmp_path: Path) -> None:
    name, text = INPUTS["results"]
    path = tmp_path / name
    lines = [text % "{}", text % r'{"a":"x\ud83d"}', text % r'{"a":"\ud83d"}']
    path.write_text("".join(lines), "utf-8")
    [told] = [one for one in _read(path).problems if one.code == "lone_surrogate"]
    assert (told.line, told.column) == (2, lines[1].index("\\ud83d") + 1)
    assert "here and in 1 more place" in told.message


def test_an_escape_that_json_does_not_have_is_text() -> None:
    for text in (rb'"\\ud83d"', rb'"\\\\ud83d"', rb'"\ud83d\ude00"', rb'"ud83d"'):
        assert without_lone_surrogates(text) == (text, 0)


PARTS = [r"\ud83d", r"\ude00", r"\\", r"\n", "u", "x", r"\uD800", r"\uDFFF", r"\u00e9"]


def test_what_is_read_is_what_python_reads_but_for_halves() -> None:
    choose = random.Random(1)
    for _ in range(20_000):
        text = '"' + "".join(choose.choices(PARTS, k=choose.randint(0, 7))) + '"'
        read = re.sub("[\ud800-\udfff]", "\ufffd", json.loads(text))
        found, count = without_lone_surrogates(text.encode())
        assert json.loads(found) == read
        assert count == read.count("\ufffd")
