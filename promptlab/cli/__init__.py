"""The command line: groups of commands in modules, loaded on first use.

Data goes to stdout, everything else to stderr. Exit codes: `options.EXITS`.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import click

from promptlab import messages
from promptlab.cli import streams
from promptlab.cli.streams import for_people
from promptlab.cli.translation import (
    LANGUAGE,
    HelpContext,
    asked_language,
    translated_message,
)
from promptlab.errors import PromptlabError, WarehouseError, storage_error

if TYPE_CHECKING:
    from types import FrameType

SECTIONS = {
    "Load and report": {
        "init": "reference", "run": "load", "validate": "load",
        "ingest": "load", "build": "load", "score": "load",
        "report": "load", "send": "send", "digest": "send",
    },
    "Decide": {
        "gate": "decide", "recheck": "recheck", "accept": "accept",
        "compare": "decide", "power": "decide",
    },
    "Look": {
        "runs": "look", "show": "look", "trends": "look", "flaky": "look",
        "leaderboard": "leaderboard",
    },
    "Labels of people": {"labels": "labels", "judges": "judges"},
    "Data": {
        "query": "data", "export": "data", "purge": "data", "doctor": "reference",
        "dbt": "dbt", "mcp": "agents",
    },
}  # fmt: skip
"""Section of ``--help`` → its commands, and the module with the function of each."""

COMMANDS = {
    name: module for names in SECTIONS.values() for name, module in names.items()
}


_INTERRUPTED = 130


class _LazyGroup(click.Group):
    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = import_module(f"promptlab.cli.{COMMANDS[name]}")
        command: click.Command = getattr(module, name)
        for part in (command, *getattr(command, "commands", {}).values()):
            part.context_class = HelpContext
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        width = max(map(len, COMMANDS))
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(100))
                        for name in names
                        if (command := self.get_command(ctx, name))
                    ]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from promptlab.errors import did_you_mean

            hint = did_you_mean(args[0], COMMANDS) or "; `promptlab --help` lists all"
            ctx.fail(f"there is no command `{args[0]}`{hint}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from promptlab.version import __version__

        click.echo(f"promptlab {__version__}")
        ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def cli() -> None:
    """The warehouse for prompt evaluation.

    Loads result files into a DuckDB warehouse, builds tested dbt models, and writes
    AnalysisResult JSON and HTML reports. The whole history can be queried with SQL.
    """


def run_cli(args: list[str] | None = None) -> int:
    """Run one command and return the exit code; expected errors are not raised."""
    arguments = sys.argv[1:] if args is None else args
    verbose = bool({"--verbose", "-v"} & set(arguments))
    streams.listen(streams.asked_form(arguments))
    LANGUAGE.set(asked_language(arguments))
    with _interrupts() as interrupted:
        try:
            code = cli.main(args=args, prog_name="promptlab", standalone_mode=False)
            return code if isinstance(code, int) else 0
        except (click.exceptions.Abort, KeyboardInterrupt):
            return _INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the last resort
            if interrupted.is_set():  # libraries raise their own errors for Ctrl-C
                return _INTERRUPTED
            return _failed(error, verbose=verbose)


def _failed(error: Exception, *, verbose: bool) -> int:
    """Report why a command failed; return the exit code."""
    if isinstance(error, click.NoSuchOption) and error.ctx and not error.ctx.parent:
        hint = " Options stand after the command, as in `promptlab gate -v`."
        error = click.UsageError(f"{error.format_message()}{hint}", error.ctx)
    if isinstance(error, click.ClickException):
        if streams.is_json():
            messages.fail(error.format_message(), type="UsageError", exit_code=2)
        else:
            shown = io.StringIO()
            error.show(file=shown)
            lines = map(translated_message, shown.getvalue().splitlines())
            click.echo(for_people("\n".join(lines)), err=True)
        return 2
    if not isinstance(error, PromptlabError):
        known = None if verbose else storage_error(error) or _other_marts(error)
        if known is None:
            return _failed_by_a_defect(error, verbose=verbose)
        error = known
    messages.fail(
        f"promptlab: {error}", type=type(error).__name__, exit_code=error.exit_code
    )
    return error.exit_code


def _other_marts(error: Exception) -> WarehouseError | None:
    """Return the error of a query that finds no such table or column in the marts."""
    import duckdb

    if not isinstance(error, (duckdb.BinderException, duckdb.CatalogException)):
        return None
    reason, *_ = str(error).splitlines()
    return WarehouseError(
        "the marts are not those of this version of promptlab: build them again from"
        f" the raw tables with `promptlab build --full-refresh` ({reason})"
    )


def _failed_by_a_defect(error: Exception, *, verbose: bool) -> int:
    if verbose:
        raise error
    messages.fail(
        f"promptlab: internal error: {type(error).__name__}: {error}\n"
        "This is a fault of promptlab; --verbose shows where it happened.",
        type=type(error).__name__,
        exit_code=70,
    )
    return 70


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Yield an event that is set when Ctrl-C is pressed."""
    interrupted = threading.Event()
    default = signal.default_int_handler
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is default
    )
    if not is_ours:
        yield interrupted
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        default(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, default)
