"""Reports as files: which are written, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from promptlab.errors import UsageError
from reports.files import folder_name, write_file
from reports.formats import FORMATS, Format, Options
from reports.queries import analysis_result

if TYPE_CHECKING:
    import duckdb


def write_task(
    con: duckdb.DuckDBPyConnection,
    task_id: str,
    out: Path,
    *,
    formats: Sequence[str] = ("json", "html"),
    options: Options | None = None,
    generated_at: datetime,
    package_version: str,
) -> list[Path]:
    """Write the report of one task below *out* and return its files.

    Args:
        con: An open connection to a built warehouse.
        task_id: The whole id of the task.
        out: The output folder; the files go to ``out/<task>/``.
        formats: Names of :data:`reports.formats.FORMATS`.
        options: Language and templates.
        generated_at: When the report is made, with its zone.
        package_version: Version of promptlab, written into the result.

    Raises:
        UsageError: there is no such format.
        NothingToDo: the warehouse holds no such task.
    """
    options = options or Options()
    written = []
    results = {}
    for fmt in chosen_formats(formats):
        if fmt.limits not in results:
            results[fmt.limits] = analysis_result(
                con,
                task_id,
                lang=options.lang,
                generated_at=generated_at,
                package_version=package_version,
                limits=fmt.limits,
            )
        data = fmt.render(results[fmt.limits], options)
        written.append(write_file(out, folder_name(task_id), fmt.file_name, data))
    return written


def chosen_formats(names: Iterable[str]) -> list[Format]:
    """Return the formats of these names, each once.

    Raises:
        UsageError: there is no such format.
    """
    unique = list(dict.fromkeys(names))
    unknown = [name for name in unique if name not in FORMATS]
    if unknown:
        known = ", ".join(FORMATS)
        raise UsageError(f"format: {', '.join(unknown)} is not one of {known}")
    return [FORMATS[name] for name in unique]
