"""The wheel, in a clean environment, runs the main command from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import msgspec
import pytest

from promptlab.build import plan

ROOT = Path(__file__).resolve().parents[2]


def built(folder: Path, *options: str) -> Path:
    """Return the wheel that ``python -m build`` makes of this checkout."""
    subprocess.run(
        [sys.executable, "-m", "build", *options, "--no-isolation", "-o", folder, ROOT],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.mark.slow
def test_a_wheel_that_is_built_from_the_sdist_holds_the_same_files(wheel, tmp_path):
    """`make dist` builds this way, and so does pip from an uploaded sdist."""
    names = zipfile.ZipFile(built(tmp_path)).namelist()
    assert sorted(names) == sorted(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_contains_the_plan_of_its_models(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    project = tmp_path / "promptlab/_dbt_project"
    shipped = msgspec.json.decode((project / plan.SHIPPED).read_bytes(), type=plan.Plan)
    assert shipped.sources_hash == plan.sources_hash(project)
    assert len(shipped.nodes) > 200


def test_the_wheel_holds_the_packages_the_models_and_the_examples(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "promptlab/py.typed" in names
    assert "promptlab/ingest/raw/raw.sql" in names
    assert "promptlab/_dbt_project/dbt_project.yml" in names
    assert "promptlab/_dbt_project/models/marts/core/dim_tasks.sql" in names
    assert "promptlab/_dbt_project/spark/README.md" in names
    assert "promptlab/_dbt_project/spark/adapter.sql" in names
    assert any(name.startswith("promptlab/reports/templates/") for name in names)
    for examples in ("_examples", "_examples_zh"):
        assert any(f"/{examples}/memory/.sage/" in name for name in names)
    tops = {name.split("/")[0] for name in names}
    assert tops - {"promptlab"} == {
        name for name in tops if name.endswith(".dist-info")
    }
    assert not [
        n for n in names if "/target/" in n or "/logs/" in n or n.startswith("tests")
    ]


@pytest.mark.slow
def test_an_installed_wheel_does_the_main_job_in_another_folder(wheel, tmp_path):
    """The libraries are those of this environment; promptlab itself is the wheel's."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    packages = next((place / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(packages)
    libraries = next(p for p in sys.path if p.endswith("site-packages"))
    (packages / "libraries.pth").write_text(libraries, "utf-8")
    work = tmp_path / "work"
    work.mkdir()
    # a user's own modules of these names, which come first on the path
    for module in ("ingest.py", "tests.py", "reports/__init__.py"):
        (work / module).parent.mkdir(exist_ok=True)
        (work / module).write_text("raise ImportError('the user's own module')\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    promptlab = [str(place / "bin" / "python"), "-m", "promptlab"]

    def run(*args: str) -> str:
        done = subprocess.run(
            [*promptlab, *args],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [promptlab[0], "-c", "import promptlab; print(promptlab.__file__)"],
        cwd=work, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(packages) in where.stdout
    run("init", ".")
    run("init", "mine", "--task")
    assert (Path(run("dbt", "path").strip()) / "dbt_project.yml").is_file()
    out = run("run", "examples", "--out", "out")
    assert "index.html" in out
    assert (work / "out" / "index.html").is_file()
    assert "Customer service regression" in run("runs")
    (work / "test_bot.py").write_text(
        "def test_bot(promptlab_case):\n    assert promptlab_case('hello') == 'hello'\n"
    )
    subprocess.run(
        [promptlab[0], "-m", "pytest", "-q", "test_bot.py", "--promptlab", "bot.jsonl"],
        cwd=work, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "loaded" in run("ingest", "bot.jsonl", "--format", "csv")
    assert not list((tmp_path / "home").rglob("plans/*.json"))  # nothing was compiled
    # nothing was written into the package
    assert not list((packages / "promptlab" / "_dbt_project").rglob("target"))
