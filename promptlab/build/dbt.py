"""Run the bundled dbt project in this process.

Importing dbt takes more than a second, so it is imported on first use.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlab import spark
from promptlab.errors import BuildError, UsageError
from promptlab.messages import LinesAsEvents
from promptlab.paths import dbt_project, dbt_target, tidy_targets
from promptlab.settings import ENV_PREFIX
from promptlab.version import __version__

if TYPE_CHECKING:
    from promptlab.settings import Settings


def run_dbt(
    settings: Settings,
    args: Sequence[str] = (),
    *,
    command: str = "build",
    verbose: bool = False,
) -> None:
    """Run a dbt command on the warehouse.

    Args:
        settings: the database, and limits of memory and threads.
        args: passed to dbt unchanged.
        command: ``build``, or another one such as ``test``.
        verbose: let dbt's own log through, to stderr.

    Raises:
        BuildError: names every node that failed.
        UsageError: dbt does not understand ``args``.
    """
    if settings.target != "duckdb":
        spark.check(settings.target)
    db = settings.db.resolve()
    target = dbt_target(db, settings.target)
    if settings.target == "duckdb":
        tidy_targets(target, db)
    call = [*command.split(), *([] if verbose else ["--quiet"])]
    if command == "build":
        call.append("--no-write-json")  # takes a second and is unused; `args` may ask
    call += args
    invoke(settings, call, target=target)


def invoke(
    settings: Settings, call: Sequence[str], *, target: Path, manifest: Any = None
) -> Any:
    """Run a dbt command and return its result.

    Args:
        settings: see ``run_dbt``.
        call: the command and its arguments, without those for paths.
        target: folder for dbt's parse cache and logs.
        manifest: the project, if already parsed.

    Raises:
        BuildError: names every node that failed.
        UsageError: dbt does not understand the command.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    project = str(dbt_project())
    places = ["--project-dir", project, "--profiles-dir", project]
    places += ["--target-path", str(target), "--log-path", str(target)]
    places += ["--target", settings.target]
    output = sys.stderr if settings.log_format == "text" else LinesAsEvents("dbt")
    with _environment(environment_of(settings)), contextlib.redirect_stdout(output):
        try:
            result = dbtRunner(manifest=manifest).invoke([*call, *places])
        finally:
            # dbt keeps the file open and locked until the process ends
            DuckDBConnectionManager.close_all_connections()
    if not result.success:
        raise _failure(result, target)
    return result


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the settings for profiles.yml and the models, as environment variables."""
    environment = {
        "PROMPTLAB_DB": str(settings.db.resolve()),
        "PROMPTLAB_VERSION": __version__,
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        ENV_PREFIX + "RAW": "",
    }
    for name in ("threads", "memory_limit", "temp_directory"):
        value = getattr(settings, name)
        if value is not None:
            environment[ENV_PREFIX + name.upper()] = str(value)
    if settings.raw is not None:
        from promptlab.ingest.parquet import ParquetLayer

        environment[ENV_PREFIX + "RAW"] = ParquetLayer.of(settings.raw).address
    return environment


def _failure(result: Any, target: Path) -> BuildError | UsageError:
    log = target / "dbt.log"
    where = f"\nits log: {log}" if log.exists() else ""
    if result.exception is not None and result.result is None:
        kind = type(result.exception).__name__
        if "Usage" in kind or "NoSuchOption" in kind:
            return UsageError(f"dbt: {result.exception}")
        return BuildError(f"dbt stopped: {result.exception}{where}")
    failed = [
        f"  {r.node.resource_type} {r.node.name}: {' '.join(str(r.message).split())}"
        for r in getattr(result.result, "results", [])
        if str(r.status) in {"error", "fail", "runtime error"}
    ]
    return BuildError(
        "\n".join([f"dbt: {len(failed)} node(s) failed", *failed]) + where
    )


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
