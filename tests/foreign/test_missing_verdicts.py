"""A missing verdict is not a failure: the row is unevaluated, with a warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

ABSENT = object()


def _set(row: dict[str, Any], key: str, value: Any) -> None:
    if value is ABSENT:
        row.pop(key)
    else:
        row[key] = value


def _statuses(reading: Reading) -> list[str | None]:
    return list(table(reading, "rounds")["reported_status"])


def _told(reading: Reading) -> list[str]:
    return [each.message for each in reading.problems if each.code == "verdict_missing"]


@pytest.mark.parametrize("value", [None, ABSENT])
def test_a_row_of_promptfoo_without_success_is_not_evaluated(
    value: Any, tmp_path: Path
) -> None:
    document = json.loads((DATA / "promptfoo" / "rivers.json").read_text("utf-8"))
    rows = document["results"]["results"]
    row = next(each for each in rows if each["success"])
    before = reading_of(DATA / "promptfoo" / "rivers.json")
    _set(row, "success", value)
    file = tmp_path / "rivers.json"
    file.write_text(json.dumps(document), "utf-8")
    reading = reading_of(file)
    statuses = _statuses(reading)
    assert statuses.count("fail") == _statuses(before).count("fail")
    assert statuses.count("unevaluated") == _statuses(before).count("unevaluated") + 1
    (message,) = _told(reading)
    assert message.startswith("1 row has no `success`")
    assert not _told(before)


@pytest.mark.parametrize("value", [None, ABSENT, [], {}])
def test_a_match_of_openai_evals_without_correct_is_not_evaluated(
    value: Any, tmp_path: Path
) -> None:
    written = (DATA / "openai_evals" / "rivers.jsonl").read_text("utf-8")
    events = [json.loads(line) for line in written.splitlines()]
    event = next(each for each in events if (each.get("data") or {}).get("correct"))
    before = reading_of(DATA / "openai_evals" / "rivers.jsonl")
    _set(event["data"], "correct", value)
    file = tmp_path / "rivers.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events), "utf-8")
    reading = reading_of(file)
    assert _statuses(reading).count("fail") == _statuses(before).count("fail")
    assert _statuses(reading).count("unevaluated") == 1
    (message,) = _told(reading)
    assert message.startswith("1 row has no `correct`")
    assert not _told(before)
