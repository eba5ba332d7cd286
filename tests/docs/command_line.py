"""The generated parts of docs/cli.md: usage, help and options of every command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from promptlab.cli import cli

_PART = "<!-- generated: {} -->\n"
_END = "<!-- end -->"


def all_commands() -> dict[str, click.Command]:
    """Return every command by its full name; the parts of a group one by one."""
    return dict(_below(cli, ""))


def refreshed(page: str) -> str:
    """Return the page with its generated parts made anew, missing ones at the end."""
    parts = {"common options": _options(_common(), others=()), **_sections()}
    for name, text in parts.items():
        start = _PART.format(name)
        if start not in page:
            page += f"\n## {name}\n\n{start}{_END}\n"
        pattern = re.compile(re.escape(start) + ".*?" + re.escape(_END), re.DOTALL)
        page = pattern.sub(lambda _, new=start + text + _END: new, page)
    return page


def described(page: str) -> list[str]:
    """Return the names that the page has generated parts for."""
    return re.findall(_PART.format("(.*?)").rstrip(), page)


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
        name: f"\n```sh\n{_usage(name, command)}\n```\n\n{_help(command)}\n"
        + _options(_options_of(command), others=common)
        for name, command in all_commands().items()
    }


def _usage(name: str, command: click.Command) -> str:
    pieces = command.collect_usage_pieces(click.Context(command))
    return " ".join(["promptlab", name, *pieces])


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


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
    text = (option.help or "").replace("|", "\\|").rstrip()
    if option.show_default and option.default is not None:
        text = f"{text} [default: {option.default}]".strip()
    return f"| {names} | {text} |"
