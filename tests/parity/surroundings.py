"""Spark environments: in this process, on a master with two workers, with Iceberg tables."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

# Small data in one process: no metastore, no optimising compiler.
_SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "6g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.sql.maxPlanStringLength": "1000",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    " -XX:ReservedCodeCacheSize=512m",
}
_QUIET = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
"""
_ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions"
    ".IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    # Derby has none of the locks that Iceberg would wait for
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
}


@contextmanager
def surroundings(kind: str, folder: Path) -> Iterator[None]:
    """Set the environment that the profile ``spark_local`` reads.

    Args:
        kind: ``local``, ``quick``, ``cluster`` or ``iceberg``.
        folder: for Spark's configuration and tables.
    """
    options = dict(_SMALL)
    environment = {
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PROMPTLAB_SPARK_MASTER": "local[2]",
        "PROMPTLAB_SPARK_CATALOG": "in-memory",
        "PROMPTLAB_SPARK_WAREHOUSE": str(folder / "warehouse"),
    }
    if kind == "iceberg":
        options |= _ICEBERG | {"spark.jars": str(_iceberg_jar())}
        environment["PROMPTLAB_SPARK_CATALOG"] = "hive"
        environment["PROMPTLAB_SPARK_FORMAT"] = "iceberg"
    (folder / "log4j2.properties").write_text(_QUIET)
    (folder / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in options.items())
    )
    os.environ |= environment
    if kind != "cluster":
        yield
        return
    with _cluster(folder) as master:
        os.environ["PROMPTLAB_SPARK_MASTER"] = master
        yield


def _iceberg_jar() -> Path:
    """Iceberg's runtime for Spark 3.5, as a package of the index carries it."""
    spec = find_spec("snowpark_connect_deps_iceberg")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    return next(folder.rglob("iceberg-spark-runtime-3.5_2.12-*.jar"))


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    """A master and two workers in separate processes, from pyspark's wheel."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port = _free_port()
    deploy = "org.apache.spark.deploy"
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port)],
        *(
            [
                *(f"{deploy}.worker.Worker", "--host", "127.0.0.1"),
                *("--cores", "1", "--memory", "2g"),
                *("--work-dir", str(folder / f"worker-{number}")),
                f"spark://127.0.0.1:{port}",
            ]
            for number in (1, 2)
        ),
    ]
    processes = []
    try:
        for command in commands:
            with (folder / "cluster.log").open("ab") as log:
                processes.append(
                    subprocess.Popen(
                        [home / "bin" / "spark-class", *command, "--webui-port", "0"]
                        if "Master" in command[0]
                        else [home / "bin" / "spark-class", *command],
                        stdout=log,
                        stderr=log,
                    )
                )
            if len(processes) == 1:
                _wait_for(port)
        yield f"spark://127.0.0.1:{port}"
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
