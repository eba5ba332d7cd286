"""The commands, and the generated part of docs/cli.md: the settings."""

from __future__ import annotations

from collections.abc import Iterator

import click

from promptlab.cli import cli
from promptlab.contracts.base import descriptions
from promptlab.settings import ENV_PREFIX, ONLY_IN_FILES, Settings


def all_commands() -> dict[str, click.Command]:
    """Return every command by its full name; the parts of a group one by one."""
    return dict(_below(cli, ""))


def parts() -> dict[str, str]:
    """Return name → text of every generated part of the page."""
    return {"settings": _settings()}


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
