"""Any table: CSV, TSV, JSON, JSONL, Parquet and XLSX, read by a mapping.

The mapping in the config, ``[tables.<name>]``, defines the meaning of the columns
(`promptlab.contracts.sources`); ``promptlab init --table FILE`` guesses one. A
table without a matching mapping is skipped with a message. Tried on files of Excel,
pandas, polars and DuckDB: byte order marks, semicolons, decimal commas, UTF-16,
``sep=`` lines.

A file is a run; a task is one title, model and prompt version of it. Rows with the same
``case`` are its rounds; without ``case``, rows with equal inputs are separate cases,
because they are not known to be repeats.
"""

from __future__ import annotations

from collections.abc import Iterator

from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.foreign.file_head import Head
from promptlab.ingest.foreign.table.opening import FORMS, Rows
from promptlab.ingest.foreign.writing import Record
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.ingest.reading.source import Source

__all__ = ["FORMS", "recognise", "translate"]


def recognise(_head: Head) -> str | None:
    """Return nothing: any tool may write tables, so `plan` tries mappings last."""
    return None


def translate(source: Source) -> Iterator[Record | Problem]:
    """Yield the rows of a table as records."""
    # planning any file looks at the opening of tables, and needs neither of these
    from promptlab.ingest.foreign.table.guessing import no_mapping_message
    from promptlab.ingest.foreign.table.tasks import Tasks

    form = source.form or ""
    if source.mapping is None:
        message = no_mapping_message(source.path, form)
        raise Refused(warning("no_mapping", message))
    name, mapping = source.mapping
    tasks = Tasks(name, mapping, source)
    yield from tasks.read(Rows(source, form))
