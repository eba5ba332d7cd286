"""Rows as a program reads them, and where a new warehouse may lie."""

from __future__ import annotations

import pytest

from promptlab.cli.output import print_rows
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import task, write


def test_csv_writes_truth_values_as_json_does(capsys):
    print_rows(("a", "b", "c"), [(True, False, None)], "csv")
    assert capsys.readouterr().out == "a,b,c\ntrue,false,\n"


@pytest.mark.parametrize("folder", ["new", "new/and/deep"])
def test_the_folder_of_a_new_warehouse_is_made(tmp_path, folder):
    file = write(tmp_path / "a.json", task())
    db = tmp_path / folder / "w.duckdb"
    assert Warehouse(db).ingest(file).n_loaded == 1
    assert db.is_file()
