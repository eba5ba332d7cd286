"""Rules about the code that no tool checks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_only_ingest_writes_to_the_raw_tables():
    writes = re.compile(r"(insert into|update|delete from) raw\.", re.IGNORECASE)
    modules = [
        file.relative_to(ROOT).as_posix()
        for package in ("promptlab", "ingest", "reports")
        for file in sorted((ROOT / package).rglob("*.py"))
        if writes.search(file.read_text("utf-8"))
    ]

    assert "ingest/raw/requests.py" in modules
    assert {name.removeprefix("promptlab/").split("/")[0] for name in modules} == {
        "ingest"
    }
