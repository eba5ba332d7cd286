"""Odd values, scores and missing verdicts of every tool are reported with their row."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.formats import read_batches
from promptlab.ingest.parquet.layer import frame_of
from promptlab.ingest.plan import plan
from promptlab.ingest.raw.rows import Reading, height
from promptlab.ingest.reading.source import Source
from promptlab.warehouse import Warehouse
from tests.conftest import part_of
from tests.foreign.reading_of import DATA, reading_of, table

FILES = (
    "promptfoo/rivers.json",
    "promptfoo/rivers.jsonl",
    "inspect_ai/late.json",
    "openai_evals/rivers.jsonl",
    "lm_eval/late/results_2026-11-22T16-07-52.843043.json",
    "lm_eval/late/samples_rivers_2026-11-22T16-07-52.843043.jsonl",
    "deepeval/late/.latest_run_full.json",
    "langsmith/late.jsonl",
    "mlflow/late_genai_traces.jsonl",
    "mlflow/late_genai_result_df.jsonl",
    "mlflow/late_genai_metrics.json",
    "mlflow/late_classic_eval_results_table.json",
    "pydantic_evals/late_2.json",
    "every_eval_ever/rivers.json",
    "every_eval_ever/rivers_samples.jsonl",
    "helm/rivers,model=acme_early/run_spec.json",
    "helm/rivers,model=acme_early/scenario_state.json",
    "helm/rivers,model=acme_early/per_instance_stats.json",
    "helm/rivers,model=acme_early/stats.json",
    "azure_ai_evaluation/early.json",
    "ragas/late.jsonl",
    "opencompass/20261122_170000/predictions/acme-early/seas.json",
    "opencompass/20261122_170000/results/acme-early/seas.json",
    *(
        f"openai_evals_api/early/{name}"
        for name in ("output_items_1.json", "run.json", "eval.json")
    ),
    *(
        f"langfuse/late/{name}"
        for name in ("run.json", "traces.json", "scores.json", "dataset_items.json")
    ),
    "langfuse/late_experiment/experiment_items.json",
    "memory_benchmarks/longmemeval/types.json",
    *(
        f"memory_benchmarks/{name}"
        for name in (
            *("caura.json", "mem0.json", "zep.json", "evermemos.json", "a_mem.json"),
            *("memory_agent_bench.json", "memory_agent_rows.jsonl", "amb.json"),
            *("ironmem.json", "locomo_plus.json"),
        )
    ),
    "memory_benchmarks/longmemeval/early.jsonl.eval-results-judge-a",
)
ODD: dict[str, str] = {
    "null": "null",
    "beyond int64": str(2**63),
    "negative": "-1",
    "beyond a double": "1" + "0" * 400,
    "empty text": '""',
    "empty list": "[]",
    "empty object": "{}",
    "text": '"x"',
    "true": "true",
}
_HOLE = "here is the odd value"
_INTERNAL = re.compile(r"but: \w+Error: ")
"""An error that a reader did not expect: it costs the whole file."""
_ROOMS = {"helm", "lm_eval", "openai_evals_api", "langfuse"}
"""Tools whose runs are folders."""


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(each, (*way, key))
    if way:
        yield way


def _one_of_each(document: Any) -> list[tuple[Any, ...]]:
    """A place of each kind: places that differ in the number of an item are alike."""
    kinds: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for way in _places(document):
        kinds.setdefault(tuple("*" if type(k) is int else k for k in way), way)
    return list(kinds.values())


def _document(file: Path) -> tuple[Any, bool]:
    """Read a file; of the items of a list that have the same keys, keep two."""
    written = file.read_text("utf-8")
    if ".jsonl" in file.suffixes:
        return _small([json.loads(line) for line in written.splitlines()]), True
    return _small(json.loads(written)), False


def _deepeval(run: Any) -> None:
    for each in run["testCases"]:
        metric = {"name": "a", "score": 1.0, "success": True, "threshold": 0.5}
        each["trace"] = {"llmSpans": [{"metricsData": [metric]}], "toolSpans": [{}]}


def _inspect(log: Any) -> None:
    for sample in log["samples"]:
        usage = {"input_tokens": 7, "output_tokens": 5, "total_cost": 0.5}
        sample["output"] = {**(sample.get("output") or {}), "usage": usage}
        sample["model_usage"] = {log["eval"]["model"]: dict(usage)}


def _azure(export: Any) -> None:
    for row in export["rows"]:
        row |= {"inputs.text": row.pop("inputs.query"), "inputs.took": 1.5}
        del row["inputs.id"]


MORE: dict[str, Callable[[Any], None]] = {
    "deepeval/late/.latest_run_full.json": _deepeval,
    "inspect_ai/late.json": _inspect,
    "azure_ai_evaluation/early.json": _azure,
}
"""File → what adds to it what its tool may write too."""
RECORDS: dict[str, tuple[str, ...]] = {
    "promptfoo/rivers.json": ("results", "results"),
    "inspect_ai/late.json": ("samples",),
    "deepeval/late/.latest_run_full.json": ("testCases",),
    "pydantic_evals/late_2.json": ("cases",),
    "azure_ai_evaluation/early.json": ("rows",),
    "openai_evals_api/early/output_items_1.json": ("data",),
    "memory_benchmarks/caura.json": ("results",),
    "memory_benchmarks/mem0.json": ("1",),
}
"""File → the list of its records: an odd value in one costs no other one."""


def _small(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _small(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    kept: dict[str, list[Any]] = {}
    for each in value:
        shape = f"{type(each)} {sorted(each) if isinstance(each, dict) else ''}"
        kept.setdefault(shape, []).append(each)
    return [_small(each) for alike in kept.values() for each in alike[:2]]


def _changed(document: Any, way: tuple[Any, ...], is_lines: bool) -> str:
    holder = document
    for key in way[:-1]:
        holder = holder[key]
    before, holder[way[-1]] = holder[way[-1]], _HOLE
    lines = document if is_lines else [document]
    text = "".join(f"{json.dumps(each)}\n" for each in lines)
    holder[way[-1]] = before
    return text


def changed_text(file: Path, way: tuple[Any, ...], value: str) -> str:
    """Return the text of a JSON or JSONL file with JSON at one place replaced."""
    written = file.read_text("utf-8")
    is_lines = ".jsonl" in file.suffixes
    if is_lines:
        document = [json.loads(line) for line in written.splitlines() if line.strip()]
    else:
        document = json.loads(written)
    return _changed(document, way, is_lines).replace(f'"{_HOLE}"', value)


Written = list[tuple[str, dict[str, list[Any]]]]
"""Tables and columns, as readers give them."""


def _read(folder: Path, written: Written) -> int:
    """Read all runs of a folder into *written*; return the number of rounds."""
    rounds = 0
    for found, kind in plan([folder]):
        if kind is None or kind in {"analysis", "results", "scores", "testset"}:
            continue
        source = Source.from_file(found, size=found.size)
        for reading in read_batches(kind, source):
            written += [
                (name, columns)
                for name, columns in reading.rows.items()
                if height(columns)
            ]
            internal = [e for e in reading.problems if _INTERNAL.search(e.message)]
            assert not internal
            assert reading.records_loaded >= 0
            assert reading.records_rejected >= 0
            rounds += height(reading.rows.get("rounds", {}))
            if reading.rejected:
                assert any(each.severity == "reject" for each in reading.problems)
    return rounds


def _write(written: Written) -> None:
    """Write all rows of a table at once, as a frame of each costs too much."""
    tables: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for name, columns in written:
        table = tables.setdefault((name, *sorted(columns)), {})
        for column, values in columns.items():
            table.setdefault(column, []).extend(values)
    for (name, *_), columns in tables.items():
        frame_of(name, {"load_id": [1] * height(columns), **columns})


@pytest.mark.parametrize("name", FILES)
def test_any_value_anywhere_is_read_or_reported_as_wrong(
    name: str, tmp_path: Path
) -> None:
    file = DATA / name
    others = file.parent.iterdir() if name.split("/")[0] in _ROOMS else ()
    for other in others:
        (tmp_path / other.name).write_bytes(other.read_bytes())
    odd = tmp_path / file.name
    odd.write_bytes(file.read_bytes())
    most = _read(tmp_path, [])
    document, is_lines = _document(file)
    MORE.get(name, lambda _: None)(document)
    values = list(ODD.items())
    records, whole = RECORDS.get(name), 0
    if records:
        odd.write_text(json.dumps(document), "utf-8")
        whole = _read(tmp_path, [])
    written: Written = []
    for n, way in enumerate(_one_of_each(document)):
        changed = _changed(document, way, is_lines)
        is_of_one = records and way[: len(records)] == records and way != records
        for what, value in part_of(values, 3, start=n):
            odd.write_text(changed.replace(f'"{_HOLE}"', value), "utf-8")
            try:
                rounds = _read(tmp_path, written)
            except Exception as error:
                error.add_note(f"{what} at {way}")
                raise
            assert rounds <= 4 * most + 4, (what, way)
            assert rounds >= whole - 1 or not is_of_one, (what, way)
    _write(written)


def _pack(file: Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)


def test_any_value_in_a_member_of_an_archive_is_read_or_reported_as_wrong(
    tmp_path: Path,
) -> None:
    odd = tmp_path / "late.eval"
    log = json.loads((DATA / "inspect_ai/late.json").read_text("utf-8"))
    members = {
        f"samples/{each['id']}_epoch_{each['epoch']}.json": json.dumps(each)
        for each in log.pop("samples")
    }
    sample = next(iter(members))
    members["header.json"] = json.dumps(log)
    values = list(ODD.items())
    _pack(odd, members)
    most = _read(tmp_path, [])
    assert most
    written: Written = []
    for member in ("header.json", sample):
        document = _small(json.loads(members[member]))
        for n, way in enumerate(_one_of_each(document)):
            changed = _changed(document, way, is_lines=False)
            for what, value in part_of(values, 3, start=n):
                text = changed.replace(f'"{_HOLE}"', value)
                _pack(odd, members | {member: text})
                try:
                    rounds = _read(tmp_path, written)
                except Exception as error:
                    error.add_note(f"{what} at {member} {way}")
                    raise
                assert rounds <= most, (what, member, way)
    _write(written)


_OF_ONE_RUN = re.compile(
    "19910aee|e1243a6e|8gP|evalrun_early|RIVERS|WCCb|run-late|01a20443|acme"
    '|20261122_170000|1772366400|In the dock|heron|ebb|Ulm it|red(?=")|[?](?=")'
)
"""Ids of runs; questions and answers, which tell runs without an id apart."""


@pytest.mark.slow
def test_odd_numbers_everywhere_stop_no_build(tmp_path: Path) -> None:
    """All numbers of every file at once; what its reader rejects is left out."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [changed(each) for each in value]
        return _HOLE if type(value) in (int, float) else value

    for name in FILES:
        document, is_lines = _document(DATA / name)
        odd = changed(document)
        lines = odd if is_lines else [odd]
        text = "".join(f"{json.dumps(each)}\n" for each in lines)
        for n, number in enumerate(
            ("-1", str(2**63 - 1), str(2**63), "1e308", "null", '"x"')
        ):
            own = rf"\g<0>{n}"
            file = tmp_path / "in" / str(n) / _OF_ONE_RUN.sub(own, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            of_run = _OF_ONE_RUN.sub(own, text).replace(f'"{_HOLE}"', number)
            file.write_text(of_run, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    loaded = warehouse.ingest(tmp_path / "in")
    # no run of one number replaces that of another
    (tasks,) = warehouse.sql("select count(*) from live.tasks").rows()
    assert tasks[0] > loaded.n_loaded > 150
    warehouse.build()


@pytest.mark.parametrize("value", [2**63, 10**400])
def test_a_number_that_no_column_holds_stops_no_file(
    value: int, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    file = DATA / "inspect_ai/late.json"
    document, _ = _document(file)
    written = _changed(document, ("samples", 0, "epoch"), is_lines=False)
    odd = folder / file.name
    odd.write_text(written.replace(f'"{_HOLE}"', str(value)), "utf-8")
    (folder / "s_smoke_v1.jsonl").write_text('{"id": "a", "inputs": {}}\n', "utf-8")
    loads = Warehouse(tmp_path / "w.duckdb").ingest(folder).files
    by_name = {load.path.name: load for load in loads}
    assert by_name["s_smoke_v1.jsonl"].status == "loaded"
    assert by_name[file.name].problems


_SAMPLES = "samples_rivers_2026-11-22T16-07-52.843043.jsonl"
SCORES: dict[str, tuple[Any, ...]] = {
    "promptfoo/rivers.json": ("results", "results", 0, "namedScores", "sea"),
    "inspect_ai/late.json": ("samples", 0, "scores", "looks", "value", "characters"),
    "openai_evals/rivers.jsonl": (4, "data", "accuracy"),
    f"lm_eval/late/{_SAMPLES}": (0, "exact_match"),
    "deepeval/late/.latest_run_full.json": ("testCases", 0, "metricsData", 0, "score"),
    "langsmith/late.jsonl": (0, "feedback.length"),
    "mlflow/late_genai_traces.jsonl": (
        1,
        "info",
        "assessments",
        1,
        "feedback",
        "value",
    ),
    "mlflow/late_classic_eval_results_table.json": ("data", 0, 3),
    "pydantic_evals/late_2.json": ("cases", 0, "scores", "characters", "value"),
    "every_eval_ever/rivers_samples.jsonl": (0, "evaluation", "score"),
    "helm/rivers,model=acme_early/per_instance_stats.json": (0, "stats", 4, "mean"),
    "azure_ai_evaluation/early.json": ("rows", 0, "outputs.length.chars"),
    "ragas/late.jsonl": (0, "non_llm_string_similarity"),
    "opencompass/20261122_170000/results/acme-early/seas.json": (
        *("details", 0, "correct", 0),
    ),
    "openai_evals_api/early/output_items_1.json": ("data", 0, "results", 1, "score"),
    "langfuse/late/scores.json": ("data", 1, "value"),
    "memory_benchmarks/mem0.json": ("1", 0, "bleu_score"),
    "memory_benchmarks/a_mem.json": ("individual_results", 0, "metrics", "f1"),
}
ODD_SCORES = {
    "text": '"very good"',
    "object": '{"grade": 1}',
    "list": "[1]",
    "infinite": "-Infinity",
    "beyond a double": "1" + "0" * 400,
}
_FOLDERS = (
    *("helm/", "lm_eval/", "every_eval_ever/"),
    *("openai_evals_api/", "langfuse/"),
)
"""Tools whose runs are several files."""


def copy_of_run(name: str, tmp_path: Path) -> Path:
    """Copy a file of a tool, or the whole run that it belongs to; return the folder."""
    file, folder = DATA / name, tmp_path / "run"
    if name.startswith(_FOLDERS):
        return shutil.copytree(file.parent, folder)
    folder.mkdir()
    shutil.copy(file, folder)
    return folder


def _values(reading: Reading) -> int:
    return len(table(reading, "reported_scores")["value"].drop_nulls())


@pytest.mark.parametrize("name", SCORES)
def test_a_score_that_is_no_finite_number_is_reported(
    name: str, tmp_path: Path
) -> None:
    file, folder = DATA / name, copy_of_run(name, tmp_path)
    before = reading_of(folder)
    known = {each.message for each in before.problems}
    for what, value in ODD_SCORES.items():
        text = changed_text(file, SCORES[name], value)
        (folder / file.name).write_text(text, "utf-8")
        reading = reading_of(folder)
        new = [each for each in reading.problems if each.message not in known]
        assert _values(reading) < _values(before), what
        assert [each.record_id or each.line or each.pointer for each in new], what
        assert {each.code for each in new} <= {"odd_score", "unexpected_shape"}, what
    text = changed_text(file, SCORES[name], "NaN")
    (folder / file.name).write_text(text, "utf-8")
    missing = reading_of(folder)
    assert _values(missing) < _values(before)
    assert not {each.code for each in missing.problems} & {
        "odd_score",
        "unexpected_shape",
    }


SHAPES: dict[str, tuple[tuple[Any, ...], str]] = {
    "promptfoo/rivers.json": (("results", "results", 0, "score"), '"high"'),
    "promptfoo/rivers.jsonl": ((0, "score"), '"high"'),
    "inspect_ai/late.json": (("samples", 0, "epoch"), '"first"'),
    "deepeval/late/.latest_run_full.json": (
        ("testCases", 0, "metricsData"), '[{"name": "a", "score": "high"}]'
    ),
    "every_eval_ever/rivers_samples.jsonl": ((0, "sample_id"), "7"),
    "mlflow/late_genai_result_df.jsonl": ((1, "assessments"), '"none"'),
    "pydantic_evals/late_1.json": (("cases", 0, "scores"), '["good"]'),
}  # fmt: skip
"""File → a place in a record of it, and a value that its reader cannot take there."""


@pytest.mark.parametrize("name", SHAPES)
def test_a_record_of_another_shape_is_rejected_alone_with_its_place(
    name: str, tmp_path: Path
) -> None:
    file, folder = DATA / name, copy_of_run(name, tmp_path)
    before = reading_of(folder)
    (folder / file.name).write_text(changed_text(file, *SHAPES[name]), "utf-8")
    reading = reading_of(folder)
    (problem,) = (each for each in reading.problems if each.severity == "reject")
    assert problem.line or problem.pointer
    assert "The reader knows" in problem.message
    assert reading.records_rejected == 1
    assert before.records_loaded - reading.records_loaded <= 1


ABSENT = object()


def _set(row: dict[str, Any], key: str, value: Any) -> None:
    if value is ABSENT:
        row.pop(key)
    else:
        row[key] = value


def _statuses(reading: Reading) -> list[str | None]:
    return list(table(reading, "rounds")["reported_status"])


def _told(reading: Reading) -> list[str]:
    return [each.message for each in reading.problems if each.code == "verdict_missing"]


@pytest.mark.parametrize("value", [None, ABSENT])
def test_a_row_of_promptfoo_without_success_is_not_evaluated(
    value: Any, tmp_path: Path
) -> None:
    document = json.loads((DATA / "promptfoo" / "rivers.json").read_text("utf-8"))
    rows = document["results"]["results"]
    row = next(each for each in rows if each["success"])
    before = reading_of(DATA / "promptfoo" / "rivers.json")
    _set(row, "success", value)
    file = tmp_path / "rivers.json"
    file.write_text(json.dumps(document), "utf-8")
    reading = reading_of(file)
    statuses = _statuses(reading)
    assert statuses.count("fail") == _statuses(before).count("fail")
    assert statuses.count("unevaluated") == _statuses(before).count("unevaluated") + 1
    (message,) = _told(reading)
    assert message.startswith("1 row has no `success`")
    assert not _told(before)


@pytest.mark.parametrize("value", [None, ABSENT, [], {}])
def test_a_match_of_openai_evals_without_correct_is_not_evaluated(
    value: Any, tmp_path: Path
) -> None:
    written = (DATA / "openai_evals" / "rivers.jsonl").read_text("utf-8")
    events = [json.loads(line) for line in written.splitlines()]
    event = next(each for each in events if (each.get("data") or {}).get("correct"))
    before = reading_of(DATA / "openai_evals" / "rivers.jsonl")
    _set(event["data"], "correct", value)
    file = tmp_path / "rivers.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events), "utf-8")
    reading = reading_of(file)
    assert _statuses(reading).count("fail") == _statuses(before).count("fail")
    assert _statuses(reading).count("unevaluated") == 1
    (message,) = _told(reading)
    assert message.startswith("1 row has no `correct`")
    assert not _told(before)


BROKEN = {
    "promptfoo": b'{"evalId":"x","results":{"version":3,"prompts":7,"results":[]}}',
    "inspect_ai": b'{"eval":{"task":"x","model":1},"samples":[]}',
    "a cut export": b'{"evalId":"x","results":{"version":3,\n"results":[{"promptIdx":0',
    "a long text": b'{"evalId":"x","results":{"version":3,"results":[]},"evalId":%s}'
    % (b"[" * 900 + b"]" * 900),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_named_in_one_short_line(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(BROKEN[name])
    (problem,) = reading_of(file).problems
    assert problem.message.startswith("looks like ")
    assert len(problem.message) <= 200
    assert "\n" not in problem.message
