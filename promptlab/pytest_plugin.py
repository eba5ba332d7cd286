"""A pytest plugin: tests become the cases of a run.

``pytest --promptlab results.jsonl`` writes an evaluation result per recorded test, a
file for ``promptlab run``. A test is recorded if it uses the fixture `promptlab_case`
or has the marker ``promptlab``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

import pytest

_KEY: Final = pytest.StashKey[dict[str, Any]]()
_RECORD: Final = pytest.StashKey[dict[str, Any] | None]()
_MARKER: Final = frozenset({"title", "variant", "case", "tags"})
_FIELDS: Final = frozenset(
    {"inputs", "score", "step_outputs", "model", "prompt", "prompt_version", "testset"}
) | {"input_tokens", "output_tokens"}
"""Fields that a test may record about its answer."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--promptlab`` and ``--promptlab-variant``."""
    group = parser.getgroup("promptlab", "recording tests as cases of a run")
    group.addoption(
        "--promptlab",
        metavar="FILE",
        type=Path,
        help="write the recorded tests to FILE, for `promptlab run FILE`",
    )
    group.addoption(
        "--promptlab-variant",
        metavar="NAME",
        default="pytest",
        help="variant of the run: what is compared, such as a model [pytest]",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the writer where the reports of all workers arrive."""
    config.addinivalue_line(
        "markers",
        "promptlab(title, variant, case, tags): record the test as a case of a run",
    )
    path = config.getoption("--promptlab")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(path), "promptlab-writer")


@pytest.fixture
def promptlab_case(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that records an answer and returns it.

    ``promptlab_case(answer, inputs={...})``: a text is the raw output, anything else
    the final output. Keywords: ``inputs``, ``score`` (0–10), ``step_outputs``,
    ``model``, ``prompt``, ``prompt_version``, ``testset``, ``input_tokens``,
    ``output_tokens``.
    """
    recorded = request.node.stash.setdefault(_KEY, {})

    def record(output: Any, **fields: Any) -> Any:
        if unknown := sorted(fields.keys() - _FIELDS):
            raise TypeError(
                f"promptlab_case: unknown {', '.join(unknown)}; it takes "
                + ", ".join(sorted(_FIELDS))
            )
        recorded["raw_output" if isinstance(output, str) else "final_output"] = output
        if "score" in fields:
            fields["overall_score"] = fields.pop("score")
        recorded.update(fields)
        return output

    return record


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what an earlier try of the test recorded."""
    item.stash[_RECORD] = None
    item.stash.setdefault(_KEY, {})
    del item.stash[_KEY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the evaluation result of a test to the report of its teardown.

    A subtest has its own report, before that of its test, which passes.
    """
    report = yield
    if report.when == "setup" and report.failed:
        item.stash[_RECORD] = _record(item, call, report)
    elif report.when == "call":
        record, before = _record(item, call, report), item.stash[_RECORD]
        if before is not None and before["status"] != "pass":
            record = _with_verdict(record, before)
        item.stash[_RECORD] = record
    elif (
        report.when == "teardown"
        and (record := item.stash.get(_RECORD, None)) is not None
    ):
        if call.excinfo is not None and record["status"] == "pass":
            record["status"] = "error"
            record["error"] = f"{call.excinfo.typename}: {call.excinfo.value}"
        report.promptlab_record = record  # type: ignore[attr-defined]
    return report


def _record(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> dict[str, Any] | None:
    marker = item.get_closest_marker("promptlab")
    recorded = item.stash.get(_KEY, None)
    is_expected = hasattr(report, "wasxfail")
    if (marker is None and recorded is None) or (report.skipped and not is_expected):
        return None
    options = {} if marker is None else marker.kwargs
    if unknown := sorted(options.keys() - _MARKER):
        raise pytest.UsageError(
            f"{item.nodeid}: marker promptlab: unknown {', '.join(unknown)}; it takes "
            + ", ".join(sorted(_MARKER))
        )
    record: dict[str, Any] = {
        "sample_id": options.get("case", item.nodeid),
        "entity_type": "test",
        "entity_id": options.get("title", item.nodeid.partition("::")[0]),
        "variant": options.get("variant", item.config.getoption("--promptlab-variant")),
        "execution_time": call.duration,
        "tags": list(options.get("tags", ())),
        "status": "pass",
        **(recorded or {}),
    }
    if call.excinfo is not None:
        reason = f"{call.excinfo.typename}: {call.excinfo.value}"
        is_verdict = call.excinfo.errisinstance((AssertionError, pytest.fail.Exception))
        record["status"] = "fail" if is_verdict else "error"
        record["judge_feedback" if is_verdict else "error"] = reason
    return record


def _with_verdict(
    record: dict[str, Any] | None, subtest: dict[str, Any]
) -> dict[str, Any]:
    """Return the record of a test with a failed subtest."""
    if record is None:
        return subtest
    if record["status"] != "pass":
        return record
    verdict = {"status", "judge_feedback", "error"} & subtest.keys()
    return record | {name: subtest[name] for name in verdict}


class _Writer:
    """Writes a line per recorded test; a repeated or retried test has several."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started = datetime.now(UTC)
        self._file: TextIO | None = None

    def pytest_sessionstart(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("w", encoding="utf-8", newline="\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        from promptlab.json_text.reading import copy_json
        from promptlab.json_text.writing import compact_as_duckdb

        record = getattr(report, "promptlab_record", None)
        if record is None or self._file is None:
            return
        run = (
            f"{record['entity_id']}/{record['variant']}/{self._started:%Y%m%dT%H%M%SZ}"
        )
        record |= {"run_id": run, "created_at": self._started.isoformat()}
        self._file.write(compact_as_duckdb(copy_json(record, "result")) + "\n")
        self._file.flush()

    def pytest_sessionfinish(self) -> None:
        if self._file is not None:
            self._file.close()

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        terminalreporter.write_line(f"promptlab run {self._path}")
