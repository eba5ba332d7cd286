"""Options of every command, and the resulting call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptlab import messages
from promptlab.cli import streams
from promptlab.cli.output import Table, print_rows, speak
from promptlab.errors import UsageError, did_you_mean
from promptlab.paths import languages

if TYPE_CHECKING:
    import duckdb

    from promptlab.settings import Settings
    from promptlab.warehouse import Warehouse


F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv")


@dataclass(frozen=True)
class Call:
    """One call of a command: its settings and output options."""

    settings: Settings
    quiet: bool
    verbose: bool
    format: str
    wide: bool = False
    """If true, tables show every column."""

    def warehouse(self, exported: Path | None = None) -> Warehouse:
        """The warehouse of the settings; its reports may read exported marts."""
        from promptlab.warehouse import Warehouse

        return Warehouse(self.settings.db, settings=self.settings, exported=exported)

    def say(self, message: str, event: str = "progress", **fields: Any) -> None:
        """Print a line of progress to stderr, unless ``--quiet`` is set."""
        messages.say(message, event, **fields)

    def print_rows(
        self,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        table: Table | None = None,
    ) -> None:
        """Print rows in the chosen format; arguments as of `output.print_rows`."""
        print_rows(names, rows, self.format, table, wide=self.wide)

    @property
    def shows_bars(self) -> bool:
        """Return true if a progress bar is allowed on a terminal."""
        return not self.quiet and self.settings.log_format == "text"


EXITS = {
    0: "ok",
    1: "do not ship, or a limit is missed",
    2: "the call or a setting is invalid",
    3: "run again",
    4: "cannot tell",
    5: "nothing to do",
    6: "input was rejected",
    70: "it failed",
}
"""Exit code → its meaning, the same in every command."""


def common(
    *settings_options: str,
    formats: tuple[str, ...] | None = FORMATS,
    exits: tuple[int, ...] = (5,),
) -> Callable[[F], F]:
    """Add the common options to a command, and a ``Call`` as its first argument.

    Args:
        settings_options: names of the command's own options that are also settings;
            the command reads them there.
        formats: choices of ``--format``; ``None`` if the command has its own.
        exits: exit codes that not every command has; the help lists them.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def wrapper(**values: Any) -> Any:
            from promptlab.settings import load_settings

            options = {name: values.pop(name) for name in (*_COMMON, *settings_options)}
            settings = load_settings(options, config=values.pop("config"))
            streams.listen(settings.log_format, quiet=values["quiet"])
            speak(settings.lang)
            _refuse_urls([*values.values(), *dict(settings).values()])
            call = Call(
                settings=settings,
                quiet=values.pop("quiet"),
                verbose=values.pop("verbose"),
                format=values.pop("format_") if formats else "",
                wide=values.pop("wide", False),
            )
            return function(call, **values)

        wrapper.__doc__ = f"{cleandoc(function.__doc__ or '')}\n\n{_exit_codes(exits)}"
        return _with_options(wrapper, formats)  # type: ignore[return-value]

    return decorate


def _exit_codes(exits: tuple[int, ...]) -> str:
    """Return the exit codes of a command as a paragraph of its help."""
    codes = sorted({0, 2, 70, *exits})
    return f"Exit codes: {'; '.join(f'{code} {EXITS[code]}' for code in codes)}."


_LAYER = "parquet://"
_CATALOG = re.compile(r"(md|motherduck|ducklake|postgres|mysql|sqlite):")
_URL = re.compile(rf"[a-zA-Z][a-zA-Z0-9+.-]+:/|{_CATALOG.pattern}")


def _refuse_urls(values: Iterable[object]) -> None:
    """Refuse paths that are URLs: everything is read and written locally.

    Only paths, tuples of paths and the folders of ``parquet://DIR`` are checked.

    Raises:
        UsageError: One of them is a URL.
    """
    for value in values:
        if isinstance(value, tuple):
            _refuse_urls(value)
        elif isinstance(value, str) and value.startswith(_LAYER):
            _refuse_urls([Path(value.removeprefix(_LAYER))])
        elif isinstance(value, Path) and _URL.match(str(value)):
            scheme, _, rest = str(value).partition(":")
            # Path() removed one of the two slashes
            url = f"{scheme}://{rest.lstrip('/')}" if rest[:1] == "/" else value
            fix = (
                "attach it in DuckDB, and copy the tables"
                if _CATALOG.match(str(value))
                else "copy it from or to there with the storage's own tool, such as"
                " `aws s3 sync`"
            )
            raise UsageError(
                f"{url} is a URL, and promptlab reads and writes local files only: name"
                f" a local path, and {fix}"
            )


_COMMON = ("db", "lock_timeout", "threads", "memory_limit", "log_format", "lang")


def _with_options(
    function: Callable[..., Any], formats: tuple[str, ...] | None
) -> Callable[..., Any]:
    options = [
        click.option(
            "--db",
            type=click.Path(path_type=Path),
            help="The warehouse file [default: promptlab.duckdb; env PROMPTLAB_DB].",
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            help="Config file [default: promptlab.toml, or pyproject.toml].",
        ),
        click.option(
            "--lock-timeout",
            type=float,
            help="Seconds to wait for a warehouse locked by another process.",
        ),
        click.option(
            "--threads",
            type=int,
            help="Threads of DuckDB, and models that dbt builds at a time.",
        ),
        click.option("--memory-limit", help="DuckDB's memory limit, such as 4GB."),
        click.option(
            "--log-format",
            type=click.Choice(streams.LOG_FORMATS),
            help="Format of stderr [default: text].",
        ),
        click.option(
            "--lang",
            type=click.Choice(languages()),
            help="Language of results and reports [default: the locale's, else en].",
        ),
        click.option(
            "--quiet", "-q", is_flag=True, help="Print only results and errors."
        ),
        click.option(
            "--verbose", "-v", is_flag=True, help="Print details and tracebacks."
        ),
    ]
    if formats:
        options.append(
            click.option(
                "--format",
                "format_",
                type=click.Choice(formats),
                default=formats[0],
                help="Format of stdout.",
            )
        )
    if formats and {"table", "csv"} <= set(formats):
        options.append(
            click.option("--wide", is_flag=True, help="Show every column of a table.")
        )
    return with_options(*options)(function)


def with_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds these options to a command, in their order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def titled(function: F) -> F:
    """Add the argument TITLE to a command, also as ``--title``."""

    @wraps(function)
    def wrapper(*, title: str | None, title_option: str | None, **values: Any) -> Any:
        if title and title_option and title != title_option:
            raise click.UsageError("TITLE and --title name different titles")
        return function(title=title or title_option, **values)

    option = click.option(
        "--title", "title_option", help="The same as TITLE.", metavar="TITLE"
    )
    argument = click.argument("title", required=False)
    return argument(option(wrapper))  # type: ignore[return-value]


def nothing_titled(con: duckdb.DuckDBPyConnection, title: str | None) -> str:
    """The reason for an empty result: no tasks at all, or no tasks of this title."""
    rows = con.execute("select distinct title from marts.dim_tasks").fetchall()
    titles = [str(row[0]) for row in rows]
    if title is None or not titles:
        return "no task yet; `promptlab run PATH`"
    hint = did_you_mean(title, titles) or "; `promptlab runs` lists the tasks"
    return f"there is no task titled {title!r}{hint}"
