"""Results to stdout, as a table, JSON or CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import click

WIDE = 1_000_000
"""Columns of a stream that is no terminal: nothing is cut there."""


def print_rows(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str
) -> None:
    """Print rows to stdout.

    JSON is a list of objects, CSV has a header; both keep numbers as they are stored
    and times as ISO 8601. A table is for people: it rounds and shows null as a dash.
    """
    if form == "json":
        click.echo(
            json.dumps(
                [dict(zip(columns, row, strict=True)) for row in rows],
                ensure_ascii=False,
                indent=2,
                default=_plain,
            )
        )
    elif form == "csv":
        _print_csv(columns, rows)
    else:
        _print_table(columns, rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _print_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_in_csv(value) for value in row])


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):  # as JSON has it, not as Python does
        return "true" if value else "false"
    return _plain(value) if isinstance(value, date) else value


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, values in zip(
        columns, zip(*rows, strict=True) if rows else (), strict=False
    ):
        numeric = all(isinstance(v, int | float | Decimal) or v is None for v in values)
        table.add_column(
            Text(name), justify="right" if numeric else "left", overflow="fold"
        )
    if not rows:
        for name in columns:
            table.add_column(Text(name))
    for row in rows:
        # Text, not str: what models wrote must never be read as markup
        table.add_row(*(Text(_for_people(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    console.print(table)


def _for_people(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | Decimal):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return str(value)
