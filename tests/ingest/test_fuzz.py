"""Whatever the bytes: no reader raises, and every record is counted."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptlab.ingest.files.redaction import Redactor
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.formats import KINDS, recognise
from promptlab.ingest.reading.jsonl import read_records
from promptlab.ingest.reading.source import Source
from tests.ingest.at_once import read

ROOT = Path(__file__).parents[2]
SEEDS = [
    file.read_bytes()
    for folder in (ROOT / "examples", ROOT / "tests" / "data" / "hostile")
    for file in sorted(folder.rglob("*"))
    if file.is_file() and file.suffix in {".json", ".jsonl", ".yaml"}
    and file.stat().st_size < 20_000
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file of ours with some of its bytes cut, doubled or replaced."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        data[at:end] = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from([b'"', b"\\", b"{", b"}", b"[", b",", b"\n", b"\xef\xbb\xbf"]),
                st.sampled_from([b"NaN", b"1e999", b"\\ud800", b"null", b"-", b"\r", b"\0"]),
                st.just(bytes(data[at : at + 60]) * 2),
            )
        )  # fmt: skip
    return bytes(data)


ANY = st.one_of(st.binary(max_size=300), mutated())


FOLDER = TemporaryDirectory()


def source(data: bytes) -> Source:
    path = Path(FOLDER.name) / "name"  # some readers open the file once more
    path.write_bytes(data)
    return Source(path, "name", "name", data=data, size=len(data))


@pytest.mark.parametrize("kind", KINDS)
@given(data=ANY)
@example(data=b"null")
@example(data=b"\xef\xbb\xbf\x00\x80")
@example(data=b"\x01\nNa")
def test_a_reader_never_raises_and_a_file_is_loaded_or_reported(kind, data):
    reading = read(kind, source(data))
    rejects = [p for p in reading.problems if p.severity == "reject"]
    assert (reading.records_rejected > 0) <= bool(rejects)
    assert reading.rejected <= bool(rejects)
    assert not (reading.rejected and reading.rows)
    assert all(problem.message for problem in reading.problems)


@given(data=ANY)
def test_every_record_of_a_line_file_is_loaded_or_rejected(data):
    records = list(read_records(data))
    reading = read("testset", source(data))
    assert reading.records_loaded + reading.records_rejected == len(records)


@given(data=ANY)
def test_every_result_is_loaded_rejected_or_reported_as_duplicate(data):
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        return  # a list has no lines to count
    records = list(read_records(data, strict=False))
    for kind in ("results", "scores"):
        reading = read(kind, source(data))
        twins = sum(p.code == "duplicate_round" for p in reading.problems)
        counted = reading.records_loaded + reading.records_rejected + twins
        assert counted == len(records)


@given(data=ANY)
def test_every_case_of_an_analysis_is_loaded_or_rejected(data):
    reading = read("analysis", source(data))
    try:
        cases = json.loads(data)["cases"]
        count = len(cases) if isinstance(cases, list) else 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if not reading.rejected:
        assert reading.records_loaded + reading.records_rejected == count


@given(data=ANY)
def test_kind_and_redaction_take_any_bytes(data):
    assert recognise(Head(data)) in {None, *KINDS}
    for yaml in (False, True):
        redacted = Redactor("strict", yaml=yaml).redact(data)
        assert redacted.count(b"\n") == data.count(b"\n")
