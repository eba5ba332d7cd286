"""The plan is what dbt would run, and a build by it is all or nothing."""

from __future__ import annotations

import errno
import fcntl
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import duckdb
import msgspec
import pytest

from promptlab.build import comments, execution, plan
from promptlab.build.dbt import _check_seeds
from promptlab.errors import BuildError
from promptlab.ingest.raw import tables
from promptlab.paths import dbt_project
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.conftest import EXAMPLES, ROOT
from tests.ingest.test_load import task, write
from tests.marts import from_nothing, only


def test_a_plan_names_nothing_of_the_machine_that_compiled_it():
    text = plan.encode(plan.load()).decode()
    assert str(ROOT) not in text
    assert str(Path.home()) not in text
    assert "promptlab_compiles_its_plan" not in text
    assert not re.search(r"\.duckdb|/tmp/", text)


def test_a_build_needs_no_dbt(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dbt", None)  # importing it would fail
    warehouse = Warehouse(tmp_path / "w.duckdb")
    warehouse.ingest(write(tmp_path / "one.json", task("one")))
    warehouse.ingest(write(tmp_path / "two.json", task("two", "another answer")))
    warehouse.build()
    warehouse.compare("two", "one")  # a build of what was asked for
    assert warehouse.last_build().has_all


# ---------- tables of a plan


@from_nothing()
def test_tables_that_nothing_was_loaded_for_have_the_columns_of_full_ones(
    example_db, tmp_path
):
    """A first build runs no query for them."""
    empty = Warehouse(tmp_path / "e.duckdb")
    empty.ingest(EXAMPLES / "customer_service" / "testsets")
    empty.build()
    assert shapes(empty.settings.db) == shapes(example_db)
    assert contracts(empty.settings.db) == contracts(example_db)


def shapes(db: Path) -> list[tuple]:
    """Columns and types of everything that is built."""
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(
            "select schema_name, table_name, column_index, column_name, data_type"
            " from duckdb_columns() where schema_name <> 'raw' order by all"
        ).fetchall()


def contracts(db: Path) -> list[tuple]:
    """Columns, types and constraints of everything that outlives a build."""
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(
            "select table_name, column_index, column_name, data_type"
            " from duckdb_columns() where schema_name = 'marts' union all"
            " select table_name, constraint_index, constraint_text, constraint_type"
            " from duckdb_constraints() where schema_name = 'marts' order by all"
        ).fetchall()


# ---------- comments


HAN = re.compile("[\u4e00-\u9fff]")


def descriptions() -> set[str]:
    marts = plan.load().comments
    return {text for mart in marts for text in (mart.text, *mart.columns.values())}


def test_every_description_of_a_mart_has_its_chinese_and_no_other_has():
    chinese = comments.comments_in("zh")
    assert sorted(descriptions() ^ chinese.keys()) == []
    # what is left of some is names alone
    assert [k for k, v in chinese.items() if not HAN.search(v) and " or " in k] == []


@from_nothing()
def test_comments_are_in_the_language_of_whoever_builds(tmp_path):
    settings = Settings(db=tmp_path / "zh.duckdb", lang="zh")
    made = Warehouse(settings.db, settings=settings)
    made.ingest(EXAMPLES / "customer_service" / "testsets")
    made.build()
    found = made.sql(
        "select comment from duckdb_tables() where schema_name = 'marts' union all"
        " select comment from duckdb_views() where schema_name = 'marts' union all"
        " select comment from duckdb_columns() where schema_name = 'marts'"
    )
    assert set(found["comment"]) == set(comments.comments_in("zh").values())


# ---------- what fails leaves everything as it was


def state(db: Path) -> dict[str, list[tuple]]:
    with duckdb.connect(str(db), read_only=True) as con:
        tables = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() order by all"
        ).fetchall()
        return {name: con.execute(f"from {name} order by all").fetchall()
                for (name,) in tables}  # fmt: skip


def test_a_failed_data_test_says_which_rows_and_changes_nothing(
    writable_example_db, tmp_path
):
    warehouse = Warehouse(writable_example_db)
    with warehouse.writable() as con:  # a case twice, which ingest never lets through
        con.execute("insert into raw.cases from raw.cases limit 1")
        con.execute("delete from raw.task_builds")
    before = state(writable_example_db)
    with pytest.raises(BuildError) as caught:
        warehouse.build()
    said = str(caught.value)
    assert re.match(r"data test keys_of_\w+ fails for \d+ row\(s\)\n", said), said
    assert "{'broken_rule': 'more than one row of task_id, case_id', 'task_id'" in said
    assert state(writable_example_db) == before


@pytest.fixture(scope="module")
@only("fct_rounds")
def slow_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built warehouse of one round that takes two seconds."""
    folder = tmp_path_factory.mktemp("slow_round")
    document = task("one")
    document["cases"][0]["rounds"][0]["latency_ms"] = 2000
    warehouse = Warehouse(folder / "w.duckdb")
    warehouse.ingest(write(folder / "one.json", document))
    warehouse.build()
    return warehouse.settings.db


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("constraint rounds_are_quick check (latency_ms < 1000)", "rounds_are_quick"),
        ("error_code varchar not null", "`error_code is not null`"),
    ],
)
@only("fct_rounds")
def test_a_broken_contract_says_model_rule_and_rows_and_changes_nothing(
    slow_round, tmp_path, monkeypatch, line, rule
):
    db = Path(shutil.copy(slow_round, tmp_path / "w.duckdb"))
    compiled = stricter(line)
    monkeypatch.setattr(plan, "load", lambda: compiled)
    before = state(db)
    with pytest.raises(BuildError) as caught:
        Warehouse(db).build(full_refresh=True)
    said = str(caught.value)
    assert f"{rule} of fct_rounds fails for " in said
    assert re.search(r"row\(s\)\n\{'task_id': '", said), said
    assert state(db) == before


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("check (a < 1)", {"`a < 1`": "a < 1"}),
        ("constraint small check (a < 1)", {"small": "a < 1"}),
        ("a double check (a < 1)", {"`a < 1`": "a < 1"}),
        ("a double not null check (a < 1)",
         {"`a is not null`": "a is not null", "`a < 1`": "a < 1"}),
        ("a double", {}),
    ],
)  # fmt: skip
def test_a_rule_of_a_contract_is_read(line, rules):
    assert dict(execution._rules([line])) == rules


def stricter(line: str) -> plan.Plan:
    """The plan with a line more, or another for a column, in the contract of rounds."""
    compiled = plan.load()
    place = next(i for i, n in enumerate(compiled.nodes) if n.name == "fct_rounds")
    rounds = compiled.nodes[place]
    column = line.split()[0]
    kept = [other for other in rounds.columns if other.split()[0] != column]
    nodes = list(compiled.nodes)
    nodes[place] = msgspec.structs.replace(rounds, columns=[*kept, line])
    return msgspec.structs.replace(compiled, nodes=nodes)


def test_a_file_has_no_intermediate_results(example_db):
    steps = {node.name for node in plan.load().nodes if node.is_step}
    with duckdb.connect(str(example_db), read_only=True) as con:
        names = con.execute(
            "select table_name from information_schema.tables"
        ).fetchall()
    assert "int_round_results" in steps
    assert not steps & {name for (name,) in names}


def test_intermediate_results_that_dbt_wrote_leave_the_file(slow_round, tmp_path):
    db = Path(shutil.copy(slow_round, tmp_path / "w.duckdb"))
    with duckdb.connect(str(db)) as con:
        con.execute("create table intermediate.int_round_results (task_id varchar)")
        con.execute("create view intermediate.int_round_steps as select 1 as a")
    Warehouse(db).build(full_refresh=True)
    test_a_file_has_no_intermediate_results(db)


@pytest.mark.parametrize(("small", "sorts_joins"), [(0, True), (2_000, False)])
def test_what_pays_on_many_rows_only_is_left_out_of_a_small_build(
    writable_example_db, monkeypatch, small, sorts_joins
):
    monkeypatch.setattr(tables, "SMALL", small)
    with duckdb.connect(str(writable_example_db)) as con:
        execution.tune(con)
        [(left_out,)] = con.execute(
            "select current_setting('disabled_optimizers')"
        ).fetchall()
    assert ("join_order" not in left_out) == sorts_joins


def test_a_request_that_cannot_be_answered_is_not_kept(writable_example_db):
    warehouse = Warehouse(writable_example_db)
    with warehouse.writable() as con:
        con.execute("update raw.builds set project_hash = 'of other models'")
    before = state(writable_example_db)
    with pytest.raises(BuildError, match="have changed"):
        warehouse.compare("review-sentiment-baseline", "cs-regression-v3.1")
    with pytest.raises(BuildError, match="have changed"):
        warehouse.accept("cs-regression-v3.2", "on purpose")
    assert state(writable_example_db) == before


# ---------- compiling once

SEEDS = list(dbt_project().glob("seeds/**/*.csv"))


@pytest.fixture
def project(tmp_path) -> Path:
    """A copy of the dbt project."""
    return Path(shutil.copytree(dbt_project(), tmp_path / "dbt_project"))


@pytest.fixture
def compiled(tmp_path, monkeypatch) -> list[Path]:
    """The projects that were compiled; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = []

    def compiling(folder: Path) -> plan.Plan:
        found.append(folder)
        return plan.Plan(plan.sources_hash(folder), "", [], [], [])

    monkeypatch.setattr("promptlab.build.dbt.compile_plan", compiling)
    return found


def test_a_seed_that_breaks_its_rule_is_no_plan():
    test = SimpleNamespace(name="keys_of_grades", compiled_code="select 1")
    with pytest.raises(BuildError, match="keys_of_grades fails for 1 row"):
        _check_seeds(duckdb.connect(), test)


def test_what_holds_of_seeds_is_no_test_of_a_build():
    names = {node.name for node in plan.load().nodes if node.kind == "test"}
    assert "keys_of_fct_rounds" in names
    assert not names & {f"keys_of_{seed.stem}" for seed in SEEDS}


def change_a_model(project: Path) -> None:
    model = project / "models/marts/core/dim_tasks.sql"
    model.write_text(model.read_text("utf-8") + "\n-- one more comment\n", "utf-8")


def test_a_changed_model_is_compiled_once(project, compiled):
    first = plan.read(project)
    assert (len(compiled), plan.read(project)) == (1, first)
    change_a_model(project)
    second = plan.read(project)
    assert second.sources_hash != first.sources_hash
    assert (len(compiled), plan.read(project)) == (2, second)


def test_the_plan_of_an_earlier_state_is_still_cached(project, compiled):
    first = plan.read(project)
    model = project / "models/marts/core/dim_tasks.sql"
    before = model.read_bytes()
    change_a_model(project)
    plan.read(project)
    model.write_bytes(before)
    assert (plan.read(project), len(compiled)) == (first, 2)


def test_the_plans_that_were_read_longest_ago_leave_the_cache(
    project, compiled, tmp_path
):
    model = project / "models/marts/core/dim_tasks.sql"
    before = model.read_bytes()
    first = plan.read(project)
    for _ in range(plan.CACHED + 3):
        change_a_model(project)
        plan.read(project)
        changed = model.read_bytes()
        model.write_bytes(before)
        assert plan.read(project) == first
        model.write_bytes(changed)
    assert len(list(tmp_path.glob("cache/promptlab/plans/*.json"))) == plan.CACHED
    assert len(compiled) == 1 + plan.CACHED + 3


def test_an_installed_plan_is_not_compiled(project, compiled, tmp_path):
    shipped = plan.read(project)
    (project / plan.SHIPPED).write_bytes(plan.encode(shipped))
    shutil.rmtree(tmp_path / "cache")
    assert (plan.read(project), len(compiled)) == (shipped, 1)


@pytest.mark.parametrize("text", ["", "{", '{"sources_hash": "of other files"}'])
def test_a_damaged_plan_is_compiled_again(project, compiled, tmp_path, text):
    first = plan.read(project)
    [cached] = tmp_path.glob("cache/promptlab/plans/*.json")
    cached.write_text(text, "utf-8")
    assert (plan.read(project), len(compiled)) == (first, 2)


def test_processes_that_start_at_once_compile_once(project, compiled):
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(lambda _: plan.read(project), range(4)))
    assert (len(compiled), plans) == (1, [plans[0]] * 4)


def test_a_cache_that_cannot_be_written_costs_a_compilation_and_no_error(
    project, compiled, tmp_path, monkeypatch
):
    monkeypatch.setattr(plan, "_store", _full_disk)
    assert plan.read(project) == plan.read(project)
    assert len(compiled) == 2


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_process_that_holds_the_lock_does_not_keep_others_waiting(
    project, compiled, tmp_path, monkeypatch
):
    monkeypatch.setattr(plan, "LOCK_SECONDS", 0.2)
    plan.read(project)
    with (tmp_path / "cache/promptlab/plans/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        change_a_model(project)
        plan.read(project)
    assert len(compiled) == 2
