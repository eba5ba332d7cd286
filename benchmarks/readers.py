"""Readers of other tools' files, each against the tool's own reader or bare JSON.

Both sides of a figure are whole processes that read and write nothing; ours checks,
redacts and makes the rows of all raw tables.
"""

from __future__ import annotations

import json
import venv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import Ratio, Sample, compare, goal, python, run
from promptlab.ingest.foreign.archives import zipfile

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "foreign"

_READ = """
import sys
from pathlib import Path
from promptlab.ingest.load import read_files
from promptlab.ingest.plan import plan
rounds = 0
for _, reading in read_files(plan([Path(sys.argv[1])]), redact="on"):
    rounds += reading.records_loaded
print(rounds)
"""
_SAMPLES_DF = """
import sys
from inspect_ai.analysis import samples_df
print(len(samples_df(sys.argv[1], quiet=True)))
"""
_MSGSPEC = """
import gc, sys, msgspec
gc.disable()  # as promptlab does while it reads
from promptlab.ingest.foreign.promptfoo.export import Export, Row
with open(sys.argv[1], "rb") as file:
    export = msgspec.json.decode(file.read(), type=Export)
decode = msgspec.json.Decoder(Row).decode
rows = [decode(row) for row in export.results.results]
"""
_EVAL = """
import sys
import tiktoken  # the mock model counts with it, and it would fetch a table
class Words:
    def encode(self, text, **_):
        return str(text).split()
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _: Words()
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, system_message
samples = [
    Sample(id=i, input=f"What is {i} plus {i}?", target=str(2 * i), metadata={"i": i % 7})
    for i in range(int(sys.argv[2]))
]
eval(
    Task(dataset=MemoryDataset(samples), scorer=[includes(), match()],
         solver=[system_message("You add numbers."), generate()]),
    model="mockllm/model", log_dir=sys.argv[1], log_format="eval", display="none",
)
"""


def inspect_samples(folder: Path, samples: int = 10_000) -> Ratio:
    """An archive of Inspect, against its own table of the samples."""
    peer = _environment(folder / "peers", "inspect-ai", "pandas", "pyarrow")
    log = folder / "inspect" / "log.eval"
    if not log.exists():
        run([str(peer), "-c", _EVAL, str(log.parent / "made"), str(samples // 10)])
        _tenfold(next((log.parent / "made").iterdir()), log)
    return compare(
        f"read {samples:,} samples of Inspect ({_mb(log)} .eval)",
        partial(_reading, log, samples),
        "inspect_ai.analysis.samples_df",
        lambda: run([str(peer), "-c", _SAMPLES_DF, str(log)]),
        limit=0.25,
    )


def promptfoo_document(folder: Path, size: int = 200_000_000) -> Ratio:
    """A large JSON file of promptfoo, against decoding it into the same structs."""
    path = folder / "promptfoo.json"
    if not path.exists():
        _large_export(path, size)
    return compare(
        f"read {_mb(path)} of promptfoo's JSON",
        partial(_reading, path),
        "msgspec into structs, no garbage collection",
        lambda: run(python(_MSGSPEC, path)),
        limit=4.0,
    )


def small_files(folder: Path, tool: str, name: str, files: int = 1_000) -> Ratio:
    """A folder of small files, each a separate run, against 1 ms for each."""
    inputs = folder / "small" / tool
    document = json.loads((DATA / tool / name).read_bytes())
    if not inputs.exists():
        inputs.mkdir(parents=True)
        for n in range(files):
            other = _renamed(document, n)
            (inputs / f"{n:04}.json").write_text(json.dumps(other), "utf-8")
    size = _mb(inputs / "0000.json")
    return compare(
        f"read {files:,} files of {tool} ({size} each)",
        partial(_reading, inputs),
        "1 ms each",
        lambda: goal(files / 1000),
        limit=1.0,
    )


def small_promptfoo(folder: Path) -> Ratio:
    """Small files of promptfoo."""
    return small_files(folder, "promptfoo", "rivers.json")


def small_inspect(folder: Path) -> Ratio:
    """Small files of Inspect."""
    return small_files(folder, "inspect_ai", "late.json")


def small_azure(folder: Path) -> Ratio:
    """Small files of Azure AI Evaluation, the smallest of all."""
    return small_files(folder, "azure_ai_evaluation", "early.json")


def _reading(path: Path, rounds: int | None = None) -> Sample:
    sample = run(python(_READ, path))
    if not int(sample.said) or (rounds is not None and int(sample.said) != rounds):
        raise RuntimeError(f"{path}: {sample.said} rounds were read")
    return sample


def _environment(folder: Path, *packages: str) -> Path:
    """The Python of an environment that has these packages and nothing of ours."""
    python_of_it = folder / "bin" / "python"
    if not python_of_it.exists():
        venv.create(folder, with_pip=True)
        run([str(python_of_it), "-m", "pip", "install", "--quiet", *packages])
    return python_of_it


def _tenfold(log: Path, to: Path) -> None:
    """Write a log again with ten samples for each: Inspect makes 60 of them a second."""
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(to, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            write = partial(new.writestr, compress_type=member.compress_type)
            if member.filename.startswith("samples/"):
                sample = msgspec.json.decode(data)
                for n in range(10):
                    other = {**sample, **_of_copy(sample, n)}
                    name = f"samples/{other['id']}_epoch_1.json"
                    write(name, msgspec.json.encode(other))
            elif member.filename == "summaries.json":
                write(member.filename, _each_tenfold(data))
            elif not member.filename.startswith("_journal/summaries"):
                write(member.filename, data)


def _of_copy(sample: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {"id": f"{sample['id']}-{n}", "uuid": f"{sample['uuid']}-{n}"}


def _each_tenfold(summaries: bytes) -> bytes:
    each = msgspec.json.decode(summaries)
    return msgspec.json.encode(
        [{**s, **_of_copy(s, n)} for s in each for n in range(10)]
    )


def _large_export(path: Path, size: int) -> None:
    """One run with very many tests, made of the rows of a small one."""
    document = json.loads((DATA / "promptfoo" / "rivers.json").read_bytes())
    rows = document["results"]["results"]
    tests = 1 + max(row["testIdx"] for row in rows)
    document["results"]["results"] = []
    document.pop("runtimeOptions")  # it says how often a test was repeated
    head, tail = msgspec.json.encode(document).split(b'"results":[]')
    written = n = 0
    # row by row: what this process holds would count as the readers' peak memory
    with path.open("wb") as file:
        file.write(head + b'"results":[')
        while written < size:
            for row in rows:
                asked = {**row["vars"], "question": f"Question {n}: which is it?"}
                other = {
                    **row,
                    "id": f"{n}-{row['id']}",
                    "testIdx": n * tests + row["testIdx"],
                    "vars": asked,
                    "testCase": {**row["testCase"], "vars": asked},
                }
                encoded = msgspec.json.encode(other)
                written += file.write((b"," if written else b"") + encoded)
            n += 1
        file.write(b"]" + tail)


_IDS = {"evalId", "id", "eval_id", "uuid", "response"}


def _renamed(value: Any, n: int) -> Any:
    """The same run under other ids, which is another run."""
    if isinstance(value, dict):
        return {
            key: f"{n}-{each}"
            if key.rsplit(".", 1)[-1] in _IDS and isinstance(each, str)
            else _renamed(each, n)
            for key, each in value.items()
        }
    return [_renamed(each, n) for each in value] if isinstance(value, list) else value


def _mb(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


BENCHMARKS: tuple[Callable[[Path], Ratio], ...] = (
    inspect_samples,
    promptfoo_document,
    small_promptfoo,
    small_inspect,
    small_azure,
)
