"""The Airflow and Dagster files of docs/automation, run with fakes of these."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from tests.conftest import EXAMPLES, ROOT

AUTOMATION = ROOT / "docs" / "automation"


class _Operator:
    """Remembers its arguments; ``a >> b`` says that b follows."""

    made: ClassVar[list[_Operator]] = []

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.following: list[_Operator] = []
        self.made.append(self)

    def __rshift__(self, others: list[_Operator]) -> None:
        self.following += others


class _Dag:
    def __init__(self, _name: str, **given: Any) -> None:
        self.given = given

    def __enter__(self) -> _Dag:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing was opened."""


class _Result:
    def __init__(self, **given: Any) -> None:
        self.given = given


def module(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    made = ModuleType(name)
    vars(made).update(names)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def home(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "results").symlink_to(EXAMPLES / "sentiment_pipeline")
    monkeypatch.setenv("PROMPTLAB_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def test_the_commands_of_the_airflow_file_run(home, monkeypatch):
    module(monkeypatch, "airflow", DAG=_Dag)
    module(monkeypatch, "airflow.operators", bash=None)
    module(monkeypatch, "airflow.operators.bash", BashOperator=_Operator)
    monkeypatch.setattr(_Operator, "made", [])
    names = runpy.run_path(str(AUTOMATION / "airflow_dag.py"))
    assert names["dag"].given["max_active_runs"] == 1
    load, *others = _Operator.made
    assert load.following == others
    codes = {
        step.given["task_id"]: subprocess.run(
            step.given["bash_command"], shell=True, check=False, capture_output=True
        ).returncode
        for step in _Operator.made
    }
    assert codes["load"] == 0
    assert codes["digest"] in {0, 5}  # 5 is skipped
    assert codes["gate"] in {0, 1, 3, 4}
    assert (home / "out" / "index.html").is_file()


def test_the_assets_of_the_dagster_file_are_made(home, monkeypatch):
    def plain(function: Any = None, **_given: Any) -> Any:
        return function or (lambda inner: inner)

    module(
        monkeypatch,
        "dagster",
        asset=plain,
        asset_check=plain,
        AssetCheckResult=_Result,
        MaterializeResult=_Result,
    )
    names = runpy.run_path(str(AUTOMATION / "dagster_assets.py"))
    assert names["marts"]().given["metadata"]["results"] > 0
    check = names["may_ship"]().given
    assert check["metadata"]
    assert check["passed"] in {True, False}
