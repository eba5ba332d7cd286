"""Apache Spark: check requirements, and run work on it.

Nothing of Spark is imported before it is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TypeVar

from promptlab.errors import SettingsError

OLDEST_JAVA = 17

T = TypeVar("T")
R = TypeVar("R")


def check(target: str) -> None:
    """Check that this machine can run or reach Spark.

    Raises:
        SettingsError: names the missing part, and how to install it.
    """
    parts = ("dbt.adapters.spark", "pyspark", "sqlglot")
    if any(find_spec(part) is None for part in parts):
        raise SettingsError(
            f"target {target}: Spark is not installed; pip install"
            " 'promptlab-warehouse[spark]'"
        )
    if target == "spark_local":
        java = java_version()
        if java is None or java < OLDEST_JAVA:
            has = "there is none" if java is None else f"found Java {java}"
            raise SettingsError(
                f"target {target}: Spark needs Java {OLDEST_JAVA} or newer, {has};"
                " install one (Debian: openjdk-17-jre-headless) or name it in JAVA_HOME"
            )
    # Connect warns, for every connection, of each setting that the server has already
    warnings.filterwarnings("ignore", module="pyspark.sql.connect.conf")


def java_version() -> int | None:
    """Major version of the Java that Spark would start; ``None`` without one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        return None
    output = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version[1]) if version else None


def map_on_spark(function: Callable[[T], R], items: Sequence[T]) -> Iterable[R]:
    """Call *function* for each item as a task of Spark; results in order.

    Paths in the items must mean the same on every worker.

    Args:
        function: importable on the workers; safe to repeat.
        items: one task each.
    """
    check("spark_local")
    from pyspark.sql import SparkSession

    # Spark would take the first python3 of PATH, which may know nothing of promptlab
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = os.environ.get("PROMPTLAB_SPARK_MASTER", "local[*]")
    session = SparkSession.builder.master(master).appName("promptlab").getOrCreate()
    tasks = session.sparkContext.parallelize(items, max(1, len(items)))
    results: list[R] = tasks.map(function).collect()
    return results
