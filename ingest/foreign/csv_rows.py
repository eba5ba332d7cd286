"""CSV of other tools, row by row; all cells are texts, an empty one is null."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.foreign.documents import Refused
from ingest.foreign.files import file_bytes
from ingest.reading.problems import Problem

if TYPE_CHECKING:
    from ingest.reading.source import Source

Row = dict[str, str | None]


def csv_rows(source: Source, tool: str, versions: str) -> Iterator[Row]:
    """Each row as column → text, redacted.

    Args:
        source: The file.
        tool: Name of the tool, for people.
        versions: Which versions the reader was tried on.

    Raises:
        Refused: It is larger than ``max_file_mb``, or no CSV in UTF-8.
    """
    import polars as pl

    data = source.redact(file_bytes(source))
    try:
        table = pl.read_csv(io.BytesIO(data), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        why = str(error).splitlines()[0]
        raise Refused(
            Problem(
                "unexpected_shape",
                f"looks like {tool}'s CSV, but: {why}. The reader was tried on"
                f" {versions}; write the file again, or as JSON lines",
            )
        ) from None
    yield from table.iter_rows(named=True)
