"""A missing requirement of Spark is reported in one sentence, with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from promptlab import spark
from promptlab.errors import SettingsError, UsageError
from promptlab.ingest.parquet.sink import mapping
from promptlab.paths import dbt_project


def java_that_says(folder: Path, version: str) -> str:
    """A JAVA_HOME whose java only prints its version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("version", "major"),
    [("1.8.0_402", 8), ("11.0.22", 11), ("17.0.15", 17), ("25", 25)],
)
def test_the_version_of_java_is_its_major_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, version))
    assert spark.java_version() == major


def test_no_java_is_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert spark.java_version() is None


@pytest.mark.parametrize(
    ("version", "words"), [(None, "there is none"), ("11.0.22", "found Java 11")]
)
def test_spark_asks_for_java_17(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, words: str
) -> None:
    home = java_that_says(tmp_path, version) if version else str(tmp_path)
    monkeypatch.setenv("JAVA_HOME", home)
    monkeypatch.setattr(spark, "find_spec", lambda _: object())
    with pytest.raises(SettingsError, match=f"needs Java 17 or newer, {words}"):
        spark.check("spark_local")


def test_spark_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark, "find_spec", lambda _: None)
    with pytest.raises(
        SettingsError, match=r"pip install 'promptlab-warehouse\[spark\]'"
    ):
        spark.check("spark_thrift")


@pytest.mark.parametrize("workers", ["0", "-1", "two", ""])
def test_workers_are_a_number_or_spark(workers: str) -> None:
    with (
        pytest.raises(UsageError, match="a number of processes, or spark"),
        mapping(workers),
    ):
        pass


def test_every_way_to_spark_reads_sql_alike() -> None:
    """dbt-spark turns ANSI mode off itself, but not on a Thrift server."""
    profiles = yaml.safe_load((dbt_project() / "profiles.yml").read_text("utf-8"))
    settings = {
        target: {
            name.removeprefix("set:hiveconf:"): value
            for name, value in output["server_side_parameters"].items()
            if ".sql." in name and not name.endswith((".catalogImplementation", ".dir"))
        }
        for target, output in profiles["promptlab"]["outputs"].items()
        if target != "duckdb"
    }
    assert len(settings["spark_local"]) > 3
    assert settings["spark_connect"] == settings["spark_local"]
    assert settings["spark_thrift"] == settings["spark_local"] | {
        "spark.sql.ansi.enabled": "false"
    }
