"""memory_limit, threads and temp_directory reach promptlab's connections and dbt's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from promptlab.errors import SettingsError
from promptlab.paths import TARGETS_KEPT, dbt_project, dbt_target, prune_dbt_targets
from promptlab.settings import Settings, load_settings
from promptlab.warehouse import Warehouse

SEEN = (
    "select current_setting('memory_limit'), current_setting('threads'),"
    " current_setting('temp_directory')"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        db=tmp_path / "w.duckdb",
        memory_limit="512MiB",
        threads=3,
        temp_directory=tmp_path / "spill",
    )


def test_our_connections_have_them(settings, tmp_path):
    warehouse = Warehouse(settings.db, settings=settings)
    with warehouse.writable() as con:
        written = con.execute(SEEN).fetchone()
    with warehouse.connect() as con:
        read = con.execute(SEEN).fetchone()
    assert written == read == ("512.0 MiB", 3, str(tmp_path / "spill"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threads", "1000000", "less than or equal to 256, found '1000000'"),
        ("threads", "0", "greater than or equal to 1, found '0'"),
        ("memory_limit", "plenty", "a number with its unit, such as 4GB or 50%"),
        ("memory_limit", "4", "a number with its unit, such as 4GB or 50%"),
        ("memory_limit", "1MB", "between 100 MB and the "),
        ("memory_limit", "900TiB", "GB of this machine, found '900TiB'"),
        ("memory_limit", "120%", "GB of this machine, found '120%'"),
    ],
)
def test_limits_that_no_machine_takes_are_settings_errors(name, value, message):
    with pytest.raises(
        SettingsError, match=rf"^option: {name}: .*{re.escape(message)}"
    ):
        load_settings({name: value}, environ={})


@pytest.mark.parametrize("value", ["1GB", "512MiB", "50%", "0.5 gb"])
def test_sizes_are_written_as_duckdb_takes_them(tmp_path, value):
    settings = Settings(db=tmp_path / "w.duckdb", memory_limit=value)
    with Warehouse(settings.db, settings=settings).writable() as con:
        assert con.execute("select 1").fetchall() == [(1,)]


def test_the_profile_works_without_any_of_them():
    profile = yaml.safe_load((dbt_project() / "profiles.yml").read_text("utf-8"))
    options = profile["promptlab"]["outputs"]["duckdb"]["config_options"]
    limits = [options[name] for name in ("memory_limit", "temp_directory")]
    assert all("env_var('PROMPTLAB_" in text for text in limits)
    assert all(text.count("', ") >= 1 for text in limits)  # with a default


# ---------- the cache of dbt


def made(root: Path, n: int, db: Path | None) -> Path:
    import os

    target = root / f"{n:016}"
    target.mkdir(parents=True)
    if db is not None:
        (target / "database.txt").write_text(str(db), "utf-8")
    os.utime(target, (n, n))
    return target


def test_caches_of_databases_that_are_gone_go_and_so_do_old_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    db = tmp_path / "w.duckdb"
    db.write_bytes(b"")
    target = dbt_target(db)
    gone = made(target.parent, 99, tmp_path / "gone.duckdb")
    others = [made(target.parent, n, db) for n in range(1, 30)]
    unknown = made(target.parent, 98, None)
    prune_dbt_targets(target, db)
    left = set(target.parent.iterdir())
    assert gone not in left
    assert {target, unknown, others[-1]} <= left
    assert others[0] not in left
    assert len(left) <= TARGETS_KEPT
