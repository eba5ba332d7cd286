"""Have dbt compile the models, which are DuckDB SQL, for Apache Spark."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_QUERIES = {"model", "test", "unit_test", "sql_operation"}
"""Node types in DuckDB SQL; the adapter writes hooks, seeds, materializations."""


@contextlib.contextmanager
def compiled_for(target: str) -> Iterator[None]:
    """Let dbt write compiled code in the dialect of a target's engine.

    dbt has no hook between the template and the statement, so its compiler is wrapped
    while the context is open.
    """
    if target == "duckdb":
        yield
        return
    from dbt.compilation import Compiler

    from promptlab.spark_sql import to_spark

    compile_code = Compiler._compile_code

    def compile_for_spark(self: Any, node: Any, *args: Any, **named: Any) -> Any:
        node = compile_code(self, node, *args, **named)
        # rows of unit tests are written by dbt-spark
        if node.resource_type in _QUERIES and "get_fixture_sql(" not in node.raw_code:
            node.compiled_code = to_spark(node.compiled_code)
        return node

    Compiler._compile_code = compile_for_spark
    try:
        yield
    finally:
        Compiler._compile_code = compile_code


def rules_hash() -> str:
    """Return a hash of the rules, which are a part of the models' logic on Spark."""
    files = (Path(__file__).parent.parent / "spark_sql").glob("*.py")
    texts = [file.read_bytes() for file in sorted(files)]
    return hashlib.sha256(b"".join(texts)).hexdigest()
