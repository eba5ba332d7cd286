"""A name that is not UTF-8 keeps its file out, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptlab.warehouse import Warehouse


@pytest.mark.parametrize("is_named", [False, True])
def test_a_file_whose_name_is_not_utf8_is_rejected_and_the_others_load(
    is_named: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    line = '{"id": "a", "inputs": {"q": "x"}}\n'
    good = folder / "s_smoke_v1.jsonl"
    good.write_text(line, "utf-8")
    odd = folder / os.fsdecode(b"caf\xe9.jsonl")
    odd.write_text(line, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    paths = (odd, good) if is_named else (folder,)
    for _ in range(2):
        loads = {load.path.name: load for load in warehouse.ingest(*paths).files}
        assert loads["s_smoke_v1.jsonl"].status in {"loaded", "unchanged"}
        rejected = loads["caf\\xe9.jsonl"]
        assert rejected.status == "rejected"
        assert "is not UTF-8: rename it" in rejected.problems[0].message
