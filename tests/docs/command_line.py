"""The generated parts of docs/cli.md: usage, help and options of every command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from promptlab.cli import cli
from promptlab.contracts.base import descriptions
from promptlab.settings import ENV_PREFIX, ONLY_IN_FILES, Settings


def all_commands() -> dict[str, click.Command]:
    """Return every command by its full name; the parts of a group one by one."""
    return dict(_below(cli, ""))


def parts() -> dict[str, str]:
    """Return name → text of every generated part of the page."""
    common = _options(_common(), others=())
    return {"common options": common, "settings": _settings(), **_sections()}


def _below(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        full = f"{prefix}{name}"
        if isinstance(command, click.Group):
            yield from _below(command, f"{full} ")
        else:
            yield full, command


def _sections() -> dict[str, str]:
    common = _common()
    return {
        name: f"\n```text\n{_usage(name, command)}\n```\n\n{_help(command)}\n"
        + _options(_options_of(command), others=common)
        for name, command in all_commands().items()
    }


def _settings() -> str:
    lines = ["", "| setting | environment | default | |", "| --- | --- | --- | --- |"]
    described = descriptions(Settings)
    for name, field in Settings.model_fields.items():
        default = f"`{field.default}`"
        if field.default is None or field.default_factory:
            default = ""
        variable = f"`{ENV_PREFIX}{name.upper()}`" if name not in ONLY_IN_FILES else ""
        text = " ".join(described.get(name, "").replace("``", "`").split())
        lines.append(f"| `{name}` | {variable} | {default} | {text} |")
    return "\n".join([*lines, "", ""])


def _usage(name: str, command: click.Command) -> str:
    pieces = command.collect_usage_pieces(click.Context(command))
    return " ".join(["promptlab", name, *pieces])


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(_no_html(" ".join(each.split())) for each in paragraphs)


def _no_html(text: str) -> str:
    """Escape text in angle brackets, which is not HTML, outside of backticks."""
    parts = re.split("(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else p.replace("<", "\\<") for p in parts)


def _options_of(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option)]


def _common() -> list[click.Option]:
    """Return the options that most commands have, each in the form it mostly has."""
    found = [o for c in all_commands().values() for o in _options_of(c)]
    counts = Counter(_line(option) for option in found)
    first = {_line(option): option for option in reversed(found)}
    least = len(all_commands()) / 2
    lines = sorted(
        (line for line, count in counts.items() if count > least),
        key=[_line(option) for option in found].index,
    )
    return [first[line] for line in lines]


def _options(options: list[click.Option], others: Sequence[click.Option]) -> str:
    known = {_line(each) for each in others}
    lines = [line for each in options if (line := _line(each)) not in known]
    if not lines:
        return "\n"
    return "\n".join(["", "| option | |", "| --- | --- |", *lines, "", ""])


def _line(option: click.Option) -> str:
    value = ""
    if isinstance(option.type, click.Choice):
        value = " " + "\\|".join(map(str, option.type.choices))
    elif not option.is_flag:
        value = f" {option.make_metavar(click.Context(click.Command('x')))}"
    names = ", ".join(f"`{name}{value}`" for name in option.opts)
    text = _no_html((option.help or "").replace("|", "\\|").rstrip())
    if option.show_default and option.default is not None:
        text = f"{text} [default: {option.default}]".strip()
    return f"| {names} | {text} |"
