"""Reports of small and large tasks: what they cost beyond the rows that they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.generate import analysis_input
from benchmarks.history import answered_again, timed, warehouse, write
from benchmarks.measure import Ratio, Sample, compare
from promptlab import reports
from promptlab.reports.report_options import PAGE_LIMITS

SIZES = (10, 1_000, 100_000)
AT = datetime(2026, 1, 2, tzinfo=UTC)

# One file of a stored task, from the marts to the disk; then the bytes of what is read.
_WRITE = """
import sys, time, duckdb
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from promptlab.reports.report_options import ReportOptions
from promptlab.reports.write import write_task
db, task, form, out = sys.argv[1:]
con = duckdb.connect(db, read_only=True)
con.execute("set enable_progress_bar = false")
at = datetime(2026, 1, 2, tzinfo=UTC)
started = time.perf_counter()
(file,) = write_task(con, task, Path(out), ReportOptions(at), formats=[form])
print(time.perf_counter() - started)
data = file.read_bytes()
if form == "email":
    body = message_from_bytes(data, policy=default).get_body(("html",))
    data = body.get_content().encode()
print(len(data))
"""

# The rows that such a file shows, and nothing else.
_QUERY = """
import json, sys, time, duckdb
statements = json.load(open(sys.argv[2]))
con = duckdb.connect(sys.argv[1], read_only=True)
con.execute("set enable_progress_bar = false")
started = time.perf_counter()
for sql, values in statements:
    con.execute(sql, values).fetchall()
print(time.perf_counter() - started)
"""


def html_of_a_large_task(folder: Path) -> Ratio:
    """The full report of 100,000 cases, against that of 1,000; below 600 KB."""
    return _large(folder, "html", most_bytes=600_000)


def mail_of_a_large_task(folder: Path) -> Ratio:
    """The mail of 100,000 cases, against that of 1,000; its body below 80 KB."""
    return _large(folder, "email", most_bytes=80_000)


def _large(folder: Path, form: str, most_bytes: int) -> Ratio:
    large, small = SIZES[-1], SIZES[-2]
    size = _bytes(_written(folder, form, large))
    if size > most_bytes:
        raise RuntimeError(f"{form}: {size:,} bytes, meant are {most_bytes:,}")
    ratio = compare(
        f"{form} of {large:,} cases",
        lambda: _written(folder, form, large),
        f"the same of {small:,}",
        lambda: _written(folder, form, small),
        runs=5,
        limit=5.0,
    )
    return replace(ratio, note=f"{size:,} bytes")


def _against_its_query(form: str, cases: int) -> Callable[[Path], Ratio]:
    def benchmark(folder: Path) -> Ratio:
        db, statements = _warehouse(folder), _statements(folder, cases)
        size = _bytes(_written(folder, form, cases))
        ratio = compare(
            f"{form} of {cases:,} cases",
            lambda: _written(folder, form, cases),
            "DuckDB queries of the rows it shows",
            lambda: timed(_QUERY, db, statements),
            runs=5,
        )
        return replace(ratio, note=f"{size:,} bytes")

    benchmark.__name__ = f"{form}_of_{cases}_cases"
    return benchmark


def _written(folder: Path, form: str, cases: int) -> Sample:
    return timed(_WRITE, _warehouse(folder), f"after-{cases}", form, folder / "reports")


def _bytes(sample: Sample) -> int:
    return int(sample.said.split()[1])


def _warehouse(folder: Path) -> Path:
    """Tasks of every size, each with an earlier run to compare with."""
    db = folder / "reports.duckdb"
    if not db.exists():
        inputs = folder / "report-inputs"
        inputs.mkdir()
        for cases in SIZES:
            first = analysis_input(0, cases, 1)
            for number, name in enumerate(("before", "after")):
                document = answered_again(first, f"{name}-{cases}", number)
                document["task"]["title"] = f"a task of {cases}"
                write(inputs, document)
        warehouse(db, inputs)
    return db


def _statements(folder: Path, cases: int) -> Path:
    """The queries of a report with their parameters."""
    file = folder / f"report-queries-{cases}.json"
    asked: list[tuple[str, Any]] = []
    dictionaries = reports.queries.dictionaries

    def remember(con: Any, sql: str, values: Any = None) -> Any:
        asked.append((sql, values))
        return dictionaries(con, sql, values)

    reports.queries.dictionaries = remember
    try:
        with duckdb.connect(str(_warehouse(folder)), read_only=True) as con:
            options = reports.ReportOptions(AT, "zh")
            reports.analysis_result(con, f"after-{cases}", options, limits=PAGE_LIMITS)
    finally:
        reports.queries.dictionaries = dictionaries
    file.write_text(json.dumps(asked), "utf-8")
    return file


BENCHMARKS = (
    html_of_a_large_task,
    mail_of_a_large_task,
    *(_against_its_query(f, n) for f in ("html", "email") for n in SIZES),
)
