"""Shared fixtures: the example warehouse, golden files, hypothesis profile."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import duckdb
import pytest
from hypothesis import HealthCheck, settings

from promptlab.warehouse import Warehouse
from tests import forks, marts, six_titles

gc.set_threshold(50_000)  # as the program does: what dbt knows of a project is large
os.environ["LC_ALL"] = "C.UTF-8"  # English, wherever the tests run
os.environ.pop("COLUMNS", None)

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples_zh"  # the harder ones: wide characters
GOLDEN = Path(__file__).parent / "golden"
ACTUAL = Path(__file__).parent / "actual"

EXHAUSTIVE = bool(os.environ.get("PROMPTLAB_EXHAUSTIVE"))
"""Every case of every table (`make test-exhaustive`), not only a part of each kind."""


def part_of(cases: Iterable[T], every: int, start: int = 0) -> list[T]:
    """Return one of *every* so many cases; all of them in `make test-exhaustive`."""
    return list(cases) if EXHAUSTIVE else list(cases)[start % every :: every]


settings.register_profile(
    "promptlab",
    deadline=None,
    derandomize=True,
    max_examples=50,  # always the same ones
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("promptlab")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="Write what the renderers give now as the golden files.",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker ends long after the others."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_report_header() -> str:
    import polars

    return f"duckdb {duckdb.__version__}, polars {polars.__version__}"


class Golden:
    """Whole files to open and compare: ``tests/golden/<name>``."""

    def __init__(self, update: bool) -> None:
        self._update = update

    def check(self, name: str, text: str) -> None:
        """The text is the golden file; a different one is kept in tests/actual."""
        expected = GOLDEN / name
        if self._update:
            expected.parent.mkdir(parents=True, exist_ok=True)
            expected.write_text(text, "utf-8")
            return
        known = expected.read_text("utf-8") if expected.exists() else None
        if text != known:
            actual = ACTUAL / name
            actual.parent.mkdir(parents=True, exist_ok=True)
            actual.write_text(text, "utf-8")
        assert text == known, (
            f"differs from {expected}; the new text is {ACTUAL / name},"
            " `make golden` accepts it"
        )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.config.getoption("--update-golden"))


def shared_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """Return a folder that *make* fills once; the workers of a run share it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / f"made_once_{name}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "whole").touch()
    return folder


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """Return a copy of a folder that *make* fills once."""
    folder = shared_once(factory, name, make)
    return Path(shutil.copytree(folder, factory.mktemp(name) / name))


@pytest.fixture(scope="session")
def new_files(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path | None:
    """A folder with a file that has all tables and views, and one without marts."""
    files = {item.path for item in request.session.items}
    if not any("Warehouse(" in file.read_text("utf-8") for file in files):
        return None  # they take a second to make
    return shared_once(tmp_path_factory, "tables", marts.write_new_files)


@pytest.fixture(scope="module", autouse=True)
def new_files_have_tables(
    request: pytest.FixtureRequest, new_files: Path | None
) -> Iterator[None]:
    """Copy new files from one that has tables, see tests/marts.py."""
    if new_files is None:
        yield
        return
    name = marts.WITH_MARTS if marts.builders(request.path) else marts.WITHOUT_MARTS
    with marts.new_files_are_copies_of(new_files / name):
        yield


@pytest.fixture(autouse=True)
def new_files_of_a_test_that_builds_nothing(
    request: pytest.FixtureRequest, new_files: Path | None
) -> Iterator[None]:
    """Copy its new files from one without marts, also where others build."""
    name = getattr(request.node, "originalname", request.node.name)
    if new_files is None or name in marts.builders(request.path):
        yield
        return
    with marts.new_files_are_copies_of(new_files / marts.WITHOUT_MARTS):
        yield


@pytest.fixture(scope="session")
def example_db(chinese_db: Path) -> Path:
    """The examples that most tests look at; open it read-only."""
    return chinese_db


@pytest.fixture(scope="session")
def chinese_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of ``examples_zh/``, built once; open it read-only."""
    return _built(EXAMPLES, tmp_path_factory)


@pytest.fixture(scope="session")
def english_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of the English examples, which the documentation shows."""
    return _built(ROOT / "examples", tmp_path_factory)


@pytest.fixture(scope="session")
def six_titles_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of ``tests/six_titles.py``; open it read-only."""

    def make(folder: Path) -> None:
        six_titles.write(folder / "days")
        warehouse = Warehouse(folder / "six.duckdb")
        # the newest day by itself, so that a variant of before is not current
        warehouse.ingest(*sorted((folder / "days").glob("[1-4]")))
        warehouse.ingest(folder / "days" / "5")
        warehouse.build()

    return made_once(tmp_path_factory, "six_titles", make) / "six.duckdb"


def _built(files: Path, factory: pytest.TempPathFactory) -> Path:
    @marts.from_nothing()  # as users do
    def make(folder: Path) -> None:
        warehouse = Warehouse(folder / "examples.duckdb")
        warehouse.ingest(files)
        warehouse.build()

    return made_once(factory, files.name, make) / "examples.duckdb"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a ``promptlab`` that starts quickly."""
    with forks.started(tmp_path_factory.mktemp("programs"), "promptlab") as folder:
        yield folder


@pytest.fixture(scope="session")
def example_warehouse(example_db: Path) -> Warehouse:
    return Warehouse(example_db)


@pytest.fixture
def writable_example_db(example_db: Path, tmp_path: Path) -> Path:
    """A copy of the example warehouse for a test that changes it."""
    return Path(shutil.copy(example_db, tmp_path / "copy.duckdb"))


@pytest.fixture(scope="session")
def rows(example_db: Path) -> Callable[..., list[tuple]]:
    """Run a query on the example warehouse: ``rows("select …", parameters)``."""

    def run(query: str, *parameters: object) -> list[tuple]:
        with duckdb.connect(str(example_db), read_only=True) as con:
            con.execute("set TimeZone = 'UTC'")
            return con.execute(query, list(parameters) or None).fetchall()

    return run
