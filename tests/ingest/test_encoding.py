"""The encoding of a file is decided once, for all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.contracts.sources import TableMapping
from promptlab.encoding import decoded
from promptlab.ingest.foreign.table.guessing import guess
from promptlab.ingest.load import read_files
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading
from promptlab.ingest.reading.source import Limits
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.ingest.at_once import joined

CHINESE = [
    "可以在七天内退货",
    "繁體中文也是常見的文字",
    "㐀 and 𠀀 need four bytes, 是的",
    "1,可以在七天内退货,pass",
    "价格：￥128.00（含税）",
]
WESTERN = [
    "café crème brûlée",
    "naïve résumé",
    "Ünïcödé",
    "£5 – “quoted”",
    "10 µm ± 2",
    # strict GB18030 takes these too
    "Köln",
    "für",
    "Sauône",
    "crème",
    "São Paulo",
    "niño,señor,mañana",
    "£x",
    "50\xa0%",
    "Fiancé",
    "€",
]


@pytest.mark.parametrize("text", CHINESE)
def test_chinese_is_read_as_gb18030(text: str) -> None:
    found = decoded(f"id,q\n1,{text}\n".encode("gb18030"))
    assert (found.text, found.encoding) == (f"id,q\n1,{text}\n", "gb18030")
    assert found.is_guess


@pytest.mark.parametrize("text", WESTERN)
def test_western_letters_are_read_as_windows_1252(text: str) -> None:
    found = decoded(f"id,q\n1,{text}\n".encode("cp1252"))
    assert (found.text, found.encoding) == (f"id,q\n1,{text}\n", "cp1252")
    assert found.is_guess


CERTAIN = ["utf-8", "utf-8-sig", "utf-16"]


@pytest.mark.parametrize("encoding", CERTAIN)
@pytest.mark.parametrize("text", [*CHINESE, *WESTERN, "plain"])
def test_unicode_is_no_guess(text: str, encoding: str) -> None:
    found = decoded(text.encode(encoding))
    assert (found.text, found.is_guess) == (text, False)


@given(st.text(), st.sampled_from(["utf-8", "gb18030", "utf-16"]))
def test_a_declared_encoding_is_read_as_it_was_written(
    text: str, encoding: str
) -> None:
    text = text.removeprefix("\ufeff")
    found = decoded(text.encode(encoding), encoding)
    assert (found.text, found.is_guess) == (text, False)


@given(st.binary(), st.sampled_from([None, "utf-8", "gb18030", "cp1252", "utf-16"]))
def test_any_bytes_are_decoded(data: bytes, encoding: str | None) -> None:
    assert isinstance(decoded(data, encoding).text, str)


def test_a_few_bad_bytes_do_not_change_the_encoding_of_the_rest() -> None:
    found = decoded("1,可以在七天内退货\n".encode() + b"2,na\xefve\n")
    assert (found.text, found.encoding) == (
        "1,可以在七天内退货\n2,na\udcefve\n",
        "utf-8",
    )


ROWS = "id,q,a,v\n1,退货,可以在七天内退货,pass\n2,发票,可以开具发票,fail\n"
HEADED = ROWS.replace("id,q,a,v", "编号,问题,回答,结果")


def _mapping(head: str, encoding: str | None) -> TableMapping:
    case, question, output, verdict = head.partition("\n")[0].split(",")
    return TableMapping(
        case=case, inputs=(question,), output=output, verdict=verdict, encoding=encoding
    )


def _read(path: Path, mapping: TableMapping, *, strict: bool = False) -> Reading:
    planned = plan([path], tables={"t": mapping})
    limits = Limits(may_guess=not strict)
    return joined(one for _, one in read_files(planned, limits=limits))


@pytest.mark.parametrize("written", [ROWS, HEADED])
@pytest.mark.parametrize("declared", [None, "gb18030", "GBK"])
@pytest.mark.parametrize("strict", [False, True])
def test_a_gbk_sheet_is_read_right_or_not_at_all(
    written: str, declared: str | None, strict: bool, tmp_path: Path
) -> None:
    path = tmp_path / "gbk.csv"
    path.write_bytes(written.encode("gbk"))
    reading = _read(path, _mapping(written, declared), strict=strict)
    is_guess = declared is None
    told = [each.severity for each in reading.problems if "encoding" in each.code]
    assert told == (["reject" if strict else "warning"] if is_guess else [])
    if is_guess and strict:
        assert not reading.rows
        assert 'encoding = "gb18030"' in reading.problems[0].message
    else:
        assert list(reading.rows["rounds"]["raw_output"]) == [
            "可以在七天内退货",
            "可以开具发票",
        ]


def test_a_guess_is_reported_and_strict_refuses_it_until_it_is_declared(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gbk.csv"
    path.write_bytes(ROWS.encode("gbk"))
    tables = {"t": _mapping(ROWS, None)}
    warehouse = Warehouse(tmp_path / "w.duckdb", settings=Settings(tables=tables))
    assert warehouse.ingest(path).n_loaded == 1
    assert warehouse.ingest(path, strict=True).n_rejected == 1
    tables = {"t": _mapping(ROWS, "gbk")}
    again = Warehouse(tmp_path / "w.duckdb", settings=Settings(tables=tables))
    assert again.ingest(path, strict=True).n_loaded == 1


def test_the_mapping_that_init_writes_names_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "gbk.csv"
    path.write_bytes(ROWS.replace("q,a", "question,answer").encode("gbk"))
    assert guess(path).mapping.encoding == "gb18030"


@pytest.mark.parametrize("name", ["nonsense", "hex", "rot13"])
def test_an_encoding_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no encoding of texts"):
        TableMapping(case="id", output="a", encoding=name)


GBK_DOCUMENTS = {
    "t.jsonl": '{"id": "1", "inputs": {"q": "可以在七天内退货吗"}, "expected_x": 1}\n',
    "p.yaml": "steps:\n  - id: 可以在七天内退货吗\n",
    "a.json": '{"task": {"id": "可以在七天内退货吗"}, "cases": [], "dimensions": []}',
}


@pytest.mark.parametrize("name", GBK_DOCUMENTS)
def test_json_and_yaml_are_utf_8_and_the_error_names_the_likely_encoding(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(GBK_DOCUMENTS[name].encode("gbk"))
    reading = joined(one for _, one in read_files(plan([path])))
    problem = reading.problems[0]
    assert problem.code == "bad_utf8"
    assert problem.line is not None
    assert "is not UTF-8: the text looks like GB18030" in problem.message
