"""The command line: streams, forms of output, exit codes, one sentence per fault."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import duckdb
import pytest

from promptlab.cli import COMMANDS, cli, run_cli
from promptlab.cli.options import EXITS
from promptlab.errors import UsageError
from promptlab.settings import Settings, load_settings
from promptlab.warehouse import Warehouse
from tests.foreign.reading_of import DATA
from tests.ingest.test_load import task, write
from tests.marts import from_nothing, only


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: ``run("ingest", …) -> (code, out, err)``."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("PROMPTLAB_"):
            monkeypatch.delenv(name)

    def call(*args: object) -> tuple[int, str, str]:
        code = run_cli([str(arg) for arg in args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_common_options(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    options = ["--db", "--config", "--quiet", "--verbose", "--format"]
    if name == "labels":  # a group
        options = ["out", "in"]
    if name in ("digest", "dbt", "mcp"):  # write files, or what others print
        options.remove("--format")
    for option in options:
        assert option in out
    assert "Usage: promptlab" in out


def exits_of(name: str) -> dict[int, str]:
    """The exit codes that the help of a command lists, and what they mean there."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    parts = [command]
    if isinstance(command, click.Group):
        parts = [*command.commands.values()]
    listed: dict[int, str] = {}
    for part in parts:
        *_, told = " ".join((part.help or "").split()).partition("Exit codes: ")
        assert told, name
        pairs = (each.partition(" ") for each in told.rstrip(".").split("; "))
        listed |= {int(code): meaning for code, _, meaning in pairs}
    return listed


OWN_EXITS = {
    1: {"gate", "compare", "judges"},
    3: {"gate", "compare"},
    4: {"gate", "compare"},
    6: {"validate", "ingest", "run", "score", "labels"},
}
"""Exit code → the commands that have it; 0, 2 and 70 are of all."""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_the_exit_codes_which_mean_the_same_everywhere(name):
    listed = exits_of(name)
    assert {0, 2, 70} <= set(listed)
    assert listed.items() <= EXITS.items()
    own = {code for code, names in OWN_EXITS.items() if name in names}
    assert own == listed.keys() - {0, 2, 5, 70}


def test_help_lists_each_command_in_one_section_with_its_whole_sentence(run):
    _, out, _ = run("--help")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert [name for name in COMMANDS if listed.count(name) != 1] == []
    assert out.index("Decide:") < out.index("  gate ") < out.index("Look:")
    sections = out[out.index("Load and report:") :]
    assert [line for line in sections.splitlines() if line.endswith("...")] == []


def test_help_imports_none_of_the_heavy_libraries():
    heavy = ("duckdb", "polars", "dbt", "pydantic", "jinja2", "rich", "msgspec")
    script = f"""
        import sys
        from promptlab.cli import run_cli
        run_cli(["--help"])
        print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"


def test_version_is_printed(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("promptlab ")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("nonsense",), 2, "there is no command `nonsense`"),
        (("leaderbord",), 2, "no command `leaderbord`; did you mean `leaderboard`?"),
        (("runs", "A", "--title", "B"), 2, "TITLE and --title name different titles"),
        (("ingest",), 2, "Missing argument"),
        (("ingest", "gone.json"), 6, "gone.json: cannot be read"),
        (("ingest", "empty.json"), 6, "empty.json: cannot be read: it is empty"),
        (
            ("ingest", "notes.txt"),
            6,
            "notes.txt: cannot be read: it is of no known kind",
        ),
        (("ingest", "folder"), 5, "no files below folder"),
        (("ingest", "good.json", "--db", "zero.duckdb"), 2, "is empty (0 bytes)"),
        (("ingest", "good.json", "--db", "notes.txt"), 2, "is not a DuckDB file"),
        (("ingest", "good.json", "--db", "folder"), 2, "is a folder"),
        (("ingest", "good.json", "--db", "notes.txt/x.duckdb"), 2, "cannot be made"),
        (("ingest", "good.json", "--config", "gone.toml"), 2, "no such config file"),
        (("ingest", "good.json", "--config", "notes.txt"), 2, "cannot be read as TOML"),
        (("build",), 2, "there is no warehouse here yet"),
        (("runs",), 2, "there is no warehouse here yet"),
        (("show", "x"), 2, "there is no warehouse here yet"),
        (("query", "select 1"), 2, "there is no warehouse here yet"),
        (("validate", "--schema", "nothing"), 2, "there is no such schema"),
        (("validate", "folder"), 5, "no files below folder"),
        (("run", "gone.json"), 6, "gone.json: cannot be read"),
        (("dbt",), 2, "name a command"),
        (("dbt", "build"), 2, "there is no warehouse here yet"),
        (("export",), 2, "name one of --parquet DIR and --file PATH"),
        (("export", "--file", "a", "--parquet", "b"), 2, "name one of"),
        (("export", "--file", "a", "--schema", "raw"), 2, "goes with --parquet"),
        (("export", "--parquet", "a", "--marts-only"), 2, "goes with --file"),
        (("leaderboard", "--matrix", "--by", "tag"), 2, "at a time"),
    ],
)
def test_each_fault_is_one_sentence_and_the_right_exit_code(
    run, tmp_path, args, code, message
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "zero.duckdb").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("hello, this is no database", "utf-8")
    write(tmp_path / "good.json", task())
    found = run(*args)
    assert found[0] == code, found
    assert message in found[2]
    assert "Traceback" not in found[2]
    assert found[1] == ""
    if args[0] in COMMANDS:
        assert code in exits_of(args[0])


def test_a_file_called_like_a_schema_is_refused(run, tmp_path, example_warehouse):
    write(tmp_path / "good.json", task())
    with example_warehouse.connect() as con:
        schemas = con.sql(
            "select distinct schema_name from duckdb_tables()"
            " union select schema_name from duckdb_views() where not internal"
        ).fetchall()
    for (schema,) in schemas:
        code, _, err = run("ingest", "good.json", "--db", f"{schema.title()}.v2.db")
        assert (code, f"a schema named {schema}" in err) == (2, True), err


@from_nothing()
def test_reading_before_the_first_build_says_what_to_do(run, tmp_path):
    run("ingest", write(tmp_path / "a.json", task()))
    code, _, err = run("runs")
    assert code == 5
    assert "nothing has been built yet; `promptlab build`" in err


def test_a_locked_warehouse_says_who_holds_it_after_waiting(run, tmp_path):
    file = write(tmp_path / "a.json", task())
    run("ingest", file)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; c = duckdb.connect('promptlab.duckdb');"
            " print('held', flush=True); sys.stdin.read()",
        ],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        code, _, err = run("ingest", file, "--lock-timeout", "0.3")
        assert code == 70
        assert f"PID {holder.pid}" in err
        assert "more than 0.3 s" in err
    finally:
        holder.communicate(b"")


def test_ingest_prints_a_table_of_files_and_exits_6_for_a_rejected_file(run, tmp_path):
    broken = task()
    broken["dimensions"] = [{"dimension_id": "x"}]
    write(tmp_path / "in" / "bad.json", broken)
    write(tmp_path / "in" / "good.json", task("other"))
    code, out, err = run("ingest", "in", "--format", "json")
    assert code == 6
    assert {row["status"] for row in json.loads(out)} == {"loaded", "rejected"}
    assert "in/bad.json:" in err
    assert "/dimensions/0" in err


def test_a_rejected_record_is_exit_6_only_when_strict(run, tmp_path):
    for name, options, code in (("a", (), 0), ("b", ("--strict",), 6)):
        first = {"id": name, "inputs": {}}
        write(tmp_path / f"{name}.jsonl", first, {"id": "b2", "tags": "no list"})
        assert run("ingest", f"{name}.jsonl", *options)[0] == code


@pytest.mark.parametrize("command", ["ingest", "run"])
def test_a_file_that_was_rejected_is_reported_once_and_listed_by_the_doctor(
    run, tmp_path, command
):
    write(tmp_path / "in" / "good.json", task())
    write(tmp_path / "in" / "part.jsonl", {"id": "a", "inputs": {}}, {"id": "a"})
    assert run(command, "in", "--strict")[0] == 6
    write(tmp_path / "in" / "bad.json", {"task": {}, "cases": 1})
    code, _, err = run(command, "in")
    assert code == 6
    assert "in/bad.json:1" in err
    assert "part.jsonl:" not in err
    code, _, err = run(command, "in", "--strict")
    assert code == 0
    assert "1 file(s) were rejected earlier and have not changed" in err
    assert "bad.json" not in err
    _, out, _ = run("doctor", "--format", "json")
    (listed,) = [row for row in json.loads(out) if "was loaded" in row["name"]]
    assert listed["state"] == "warn"
    assert listed["value"].startswith("2: ")
    assert "part.jsonl (1 of 2 records), " in listed["value"]
    assert listed["value"].endswith("/in/bad.json")
    write(tmp_path / "in" / "bad.json", task("other"))  # corrected
    assert run(command, "in", "--strict")[0] == 0
    assert "bad.json" not in run("doctor", "--format", "json")[1]


NOT_READ = {
    "of no known kind": {"a.json": {"what": 1}, "b.txt": {}},
    "results with an id": {"scores.json": {"id": "s", "name": "ok", "value": 1}},
}


@pytest.mark.parametrize("files", NOT_READ.values(), ids=NOT_READ)
@pytest.mark.parametrize("command", ["ingest", "run"])
def test_a_folder_in_which_nothing_could_be_read_is_nothing_to_do(
    run, tmp_path, command, files
):
    for name, content in files.items():
        write(tmp_path / "in" / name, content)
    for _ in range(2):
        code, out, err = run(command, "in")
        assert code == 5
        assert f"nothing was loaded: of {len(files)} file(s) {len(files)} of no" in err
        assert "index.html" not in out
    assert not (tmp_path / "out").exists()
    assert run("ingest", write(tmp_path / "good.json", task()))[0] == 0
    assert run(command, "in")[0] == 5  # also where there is something already


@pytest.mark.parametrize("command", ["ingest", "run"])
def test_a_folder_in_which_all_was_rejected_writes_no_index(run, tmp_path, command):
    write(tmp_path / "in" / "bad.json", {"task": {}, "cases": 1})
    assert run(command, "in")[0] == 6
    code, _, err = run(command, "in")
    assert code == 5
    assert "of 1 file(s) 1 rejected earlier" in err
    assert not (tmp_path / "out").exists()


def test_validate_prints_every_problem_with_its_place_and_writes_nothing(run, tmp_path):
    first = {"id": "a", "inputs": {}}
    write(tmp_path / "set.jsonl", first, {"id": "b", "tags": "no list"})
    code, out, err = run("validate", "set.jsonl")
    assert code == 6
    assert out.startswith("set.jsonl:2")
    assert "/tags:" in out
    assert "1 × wrong_type (reject)" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["set.jsonl"]


def test_validate_of_good_files_is_ok(run, tmp_path):
    write(tmp_path / "set.jsonl", {"id": "a", "expected_outputs": {"x": 1}})
    code, out, err = run("validate", "set.jsonl")
    assert (code, out) == (0, "")
    assert "no problems" in err


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("selekt 1", "Parser Error"),
        ("select * from nowhere", "does not exist"),
        ("create table x as select 1", "read-only"),
        ("select 1; select 2", "expected one statement, found 2"),
        ("begin", "the statement returns no rows"),
        ("select cast(title as int) from marts.dim_tasks", "Conversion Error"),
        (
            "select * from marts.fct_rounds where executed_at > 'abc'",
            "Conversion Error",
        ),
        ("select (select task_id from marts.dim_tasks)", "More than one row"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
        ("copy (select 1) to 'stolen.csv'", "disabled"),
        ("attach 'other.duckdb'", "disabled"),
        ("set enable_external_access = true", "locked"),
    ],
)
def test_a_query_that_is_wrong_or_reaches_out_is_refused(
    run, example_db, tmp_path, sql, message
):
    code, out, err = run("query", sql, "--db", example_db)
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_statement_without_rows_is_refused_in_python_too(example_db):
    with pytest.raises(UsageError, match="the statement returns no rows"):
        Warehouse(example_db).sql("begin")


def test_query_gives_a_table_json_or_csv(run, example_db):
    sql = (
        "select 'a|[b]' as text, 0.5 as share, null as nothing, date '2026-01-02' as d"
    )
    _, table, _ = run("query", sql, "--db", example_db)
    assert "a|[b]" in table
    assert "–" in table
    _, as_json, _ = run("query", sql, "--db", example_db, "--format", "json")
    assert json.loads(as_json) == [
        {"text": "a|[b]", "share": 0.5, "nothing": None, "d": "2026-01-02"}
    ]
    _, as_csv, _ = run("query", sql, "--db", example_db, "--format", "csv")
    assert list(csv.reader(io.StringIO(as_csv))) == [
        ["text", "share", "nothing", "d"],
        ["a|[b]", "0.5", "", "2026-01-02"],
    ]


def test_runs_lists_the_newest_task_first(run, example_db):
    code, out, _ = run("runs", "--db", example_db, "--format", "json")
    assert code == 0
    created = [row["created_at"] for row in json.loads(out)]
    assert len(created) == 6
    assert created == sorted(created, reverse=True)


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_show_takes_a_unique_prefix_and_any_form(run, example_db, form):
    code, out, _ = run(
        "show", "cs-regression-v3.2", "--db", example_db, "--format", form
    )
    assert code == 0
    assert "refund_partial_amount" in out
    if form == "json":
        assert json.loads(out)["task"]["task_id"] == "cs-regression-v3.2"


def test_show_says_why_a_case_of_another_tool_did_not_pass(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,answer,passed\n1,x,fail\n2,y,pass\n", "utf-8")
    assert run("init", "--table", "t.csv")[0] == 0
    files = ("promptfoo/rivers.json", "inspect_ai/early.eval", "deepeval/early")
    assert run("ingest", "t.csv", *(DATA / file for file in files))[0] == 0
    assert run("build")[0] == 0
    for task_id, *reasons in (
        ("eval-8gP-2026-11-22T16:06:58/0",
         ["sea", 'Expected output to contain "North"'],
         ["–", "Error: no such river"],
         ["tone", "the judge is out of order"]),
        ("2vUcZiqyebhnRNKod4rNi2",
         ["grade", "Scored 0.0%: by table"],
         ["–", "RuntimeError('no such river')"]),
        ("rivers-early", ["Exact Match", "The actual and expected outputs are"]),
    ):  # fmt: skip
        _, out, _ = run("show", task_id)
        lines = [re.split(r"  +", line.rstrip())[-2:] for line in out.splitlines()]
        assert [reason for reason in reasons if reason not in lines] == []
    _, out, _ = run("show", "table-")  # it has no reasons
    assert "case  status  score\n" in out
    assert "reason" not in out


def test_an_ambiguous_prefix_names_the_candidates(run, example_db):
    code, _, err = run("show", "cs-", "--db", example_db)
    assert code == 2
    assert "2 tasks begin so: cs-regression-v3.1, cs-regression-v3.2" in err


def test_an_unknown_task_is_a_usage_error(run, example_db):
    code, _, err = run("show", "nothing-like-it", "--db", example_db)
    assert code == 2
    assert "there is no such task; `promptlab runs` lists them" in err
    _, _, err = run("show", "cs-regresion-v3.1", "--db", example_db)
    assert "there is no such task; did you mean `cs-regression-v3.1`?" in err


def test_report_writes_only_below_out_and_prints_what(run, example_db, tmp_path):
    code, out, _ = run("report", "latest", "--db", example_db, "--out", "reports here")
    assert code == 0
    written = [Path(line) for line in out.splitlines()]
    assert all(path.is_file() for path in written)
    assert {path.name for path in written} >= {
        "result.json",
        "report.html",
        "index.html",
    }
    assert [p.name for p in tmp_path.iterdir()] == ["reports here"]


def test_an_unknown_report_form_is_a_usage_error(run, example_db):
    code, _, err = run("report", "--db", example_db, "--format", "json,papyrus")
    assert code == 2
    assert "papyrus" in err


def test_doctor_checks_that_rows_in_are_rows_out(run, example_db):
    code, out, _ = run("doctor", "--db", example_db, "--format", "json")
    assert code == 0
    checks = {r["name"]: r["state"] for r in json.loads(out) if r["what"] == "check"}
    assert checks.pop("every file and record was loaded") == "warn"  # one was not
    assert set(checks.values()) == {"ok"}


def test_doctor_says_when_a_round_is_lost(run, writable_example_db):
    with duckdb.connect(str(writable_example_db)) as con:
        con.execute("delete from marts.fct_rounds where round_id like '%-1'")
    code, out, _ = run("doctor", "--db", writable_example_db)
    assert code == 70
    assert "every round is in fct_rounds" in out
    assert "--full-refresh" in out


def test_doctor_works_where_there_is_no_warehouse_yet(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert "not there yet" in out


def test_init_writes_a_config_and_an_example_and_overwrites_nothing(run, tmp_path):
    code, _, err = run("init", "project")
    assert code == 0
    assert "promptlab run examples" in err
    assert (tmp_path / "project" / "promptlab.toml").is_file()
    assert list((tmp_path / "project" / "examples").rglob("*.jsonl"))
    assert list((tmp_path / "project" / "examples" / "memory").rglob("*.json"))
    code, _, err = run("init", "project")
    assert code == 2
    assert "exists already" in err


def test_init_writes_a_whole_run_that_loads_and_overwrites_nothing(run, tmp_path):
    code, out, err = run("init", "mine", "--task")
    file = tmp_path / "mine" / "run.json"
    assert code == 0
    assert out.splitlines() == [str(Path("mine", "run.json"))]
    assert "promptlab run mine/run.json" in err
    assert [path.name for path in file.parent.iterdir()] == ["run.json"]
    assert run("validate", "mine", "--format", "json")[0] == 0
    file.write_text("{}")
    code, _, err = run("init", "mine", "--task")
    assert code == 2
    assert "exists already" in err
    assert file.read_text() == "{}"


def test_the_whole_run_has_every_field_of_the_contract():
    from promptlab import AnalysisInput
    from promptlab.cli.reference import task_example

    run = AnalysisInput.model_validate_json(task_example())
    case, dimension = run.cases[0], run.dimensions[0]
    # a copy that kept the run of the example would be a part of it
    of_its_own = {"run_id", "variant", "branch", "commit"}
    for part in (run, run.task, case, case.rounds[0], case.baselines[0], dimension):
        assert part.model_fields_set == set(type(part).model_fields) - of_its_own


def test_init_guesses_a_table_and_every_such_table_loads_from_then_on(run, tmp_path):
    rows = "id,question,answer,relevance\n1,Nile?,sea,0.5\n"
    first, later = tmp_path / "results.csv", tmp_path / "later.csv"
    first.write_text(rows, "utf-8")
    later.write_text(rows.replace("0.5", "1"), "utf-8")
    (tmp_path / "promptlab.toml").write_text('lang = "en"  # kept\n', "utf-8")
    assert run("ingest", first)[0] == 6
    code, out, err = run("init", "--table", first)
    assert code == 0
    assert "relevance  scores" in out
    assert "[tables.results]" in err
    config = (tmp_path / "promptlab.toml").read_text("utf-8")
    assert config.startswith('lang = "en"  # kept\n')
    code, out, _ = run("ingest", first, later)
    assert code == 0
    assert out.count("loaded") == 2
    code, _, err = run("init", "--table", first)
    assert code == 2
    assert "[tables.results] exists already" in err


def test_an_option_wins_over_the_environment_over_the_file(run, tmp_path, monkeypatch):
    file = write(tmp_path / "a.json", task())
    (tmp_path / "promptlab.toml").write_text('db = "file.duckdb"', "utf-8")
    run("ingest", file)
    monkeypatch.setenv("PROMPTLAB_DB", "env.duckdb")
    run("ingest", file)
    run("ingest", file, "--db", "option.duckdb")
    assert sorted(p.name for p in tmp_path.glob("*.duckdb")) == [
        "env.duckdb",
        "file.duckdb",
        "option.duckdb",
    ]


def test_an_unknown_setting_names_the_nearest(run, tmp_path):
    file = write(tmp_path / "a.json", task())
    (tmp_path / "promptlab.toml").write_text("lock_timout = 3", "utf-8")
    code, _, err = run("ingest", file)
    assert code == 2
    assert "there is no setting `lock_timout`; did you mean `lock_timeout`?" in err


def test_a_schema_is_printed_or_all_are_written(run, tmp_path):
    _, schema, _ = run("validate", "--schema", "analysis_result")
    assert json.loads(schema)["title"] == "AnalysisResult"
    code, out, _ = run("validate", "--schema", "all", "--out", "schemas")
    assert code == 0
    assert "schemas/analysis_result.schema.json" in out.split()
    written = (tmp_path / "schemas" / "analysis_result.schema.json").read_text("utf-8")
    assert written == schema


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "name files or folders, or --schema NAME"),
        (("x.json", "--schema", "test_case"), "files or --schema, not both"),
        (("--schema", "all"), "go together"),
        (("--schema", "test_case", "--out", "x"), "go together"),
        (("x.json", "--out", "x"), "--out goes with"),
    ],
)
def test_validate_takes_files_or_a_schema(run, args, message):
    code, _, err = run("validate", *args)
    assert code == 2
    assert message in err


def test_show_of_a_memory_run_has_its_figures_by_category(run, example_db):
    run_id = "travel_diary/250615_2100"
    code, out, _ = run("show", run_id, "--db", example_db, "--lang", "en")
    assert code == 0
    assert "last round, failed calls as zero, mean over questions" in out
    cells = [line.split() for line in out.splitlines()]
    assert ["all", "29", "0"] in [line[:3] for line in cells]
    assert ["insert", "total"] in [line[:2] for line in cells]


def test_the_config_of_init_changes_no_default(run, tmp_path):
    assert run("init", str(tmp_path / "new"), "--lang", "en")[0] == 0
    config = tmp_path / "new" / "promptlab.toml"
    written = load_settings({}, config=config, environ={})
    changed = {"db", "out", "lang"}
    assert written.model_dump(exclude=changed) == Settings().model_dump(exclude=changed)


@only("dim_tasks", "fct_power")
def test_power_says_where_it_does_not_know_how_flaky_the_cases_are(run, tmp_path):
    common = {"entity_id": "p", "variant": "v", "must_have_pass": True}
    write(tmp_path / "a.jsonl", *(common | {"sample_id": f"s{n}"} for n in range(20)))
    assert run("ingest", "a.jsonl")[0] == 0
    assert run("build")[0] == 0
    query = "select within_variance from marts.fct_power"
    assert json.loads(run("query", query, "--format", "json")[1]) == [
        {"within_variance": None}
    ]
    _, out, _ = run("power")
    assert "is not known, since none was asked twice. --flaky 0.05 is assumed" in out
    assert "no case is flaky" not in out
    _, assumed, _ = run("power", "--flaky", "0.05")
    assert out.splitlines()[1:] == assumed.splitlines()[1:]
    plan = json.loads(run("power", "--format", "json")[1])
    assert (plan["within_variance"], plan["assumed_variance"]) == (None, 0.05)
