"""URLs are refused in plain words, wherever a path is expected."""

from __future__ import annotations

import pytest

from promptlab.cli import run_cli


@pytest.mark.parametrize(
    ("call", "url"),
    [
        (["run", "s3://bucket/results"], "s3://bucket/results"),
        (["run", ".", "--out", "gs://bucket/out"], "gs://bucket/out"),
        (["run", ".", "--publish", "https://host/w.duckdb"], "https://host/w.duckdb"),
        (["ingest", "a.json", "az://box/b.json"], "az://box/b.json"),
        (["export", "--parquet", "s3://bucket/lake"], "s3://bucket/lake"),
        (["publish", "s3://bucket/w.duckdb"], "s3://bucket/w.duckdb"),
        (["report", "--out", "file:///tmp/out"], "file://tmp/out"),
        (["runs", "--db", "md:warehouse"], "md:warehouse"),
        (["runs", "--db", "s3://bucket/w.duckdb"], "s3://bucket/w.duckdb"),
    ],
)
def test_a_url_is_refused_and_nothing_is_written(
    call, url, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run_cli(call) == 2
    said = capsys.readouterr().err
    assert f"{url} is a URL" in said
    assert "local" in said
    assert list(tmp_path.iterdir()) == []


def test_a_url_in_the_environment_is_refused_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROMPTLAB_DB", "md:warehouse")
    assert run_cli(["runs"]) == 2
    assert "md:warehouse is a URL" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a:b.duckdb", "C:/w.duckdb", "12:30/w.duckdb"])
def test_a_colon_makes_no_url(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["runs", "--db", name]) != 0
    assert "is a URL" not in capsys.readouterr().err
