"""Help, progress and errors in the language of the person who runs the command.

The English text is in the code, and it is the key in the file of a language, such as
``zh.toml``. A key with ``{}`` is the template of messages with facts, which are
``{0}``, ``{1}`` … in its translation; facts that are texts of the catalogue, such as a
hint, are translated too. A text without a translation stays English, and so do
messages as JSON, which programs read.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import resources
from inspect import cleandoc
from typing import NamedTuple

import click

from promptlab.paths import language_of, languages

LANGUAGE: ContextVar[str] = ContextVar("lang", default="en")


_DEEPEST = 3
"""Facts in facts that are translated: a hint in a message, and its own fact."""


class _Template(NamedTuple):
    pieces: list[str]
    """The message's own words, before, between and after its facts."""
    translation: str

    def facts(self, text: str) -> list[str] | None:
        """Return the facts of a message, ``None`` for another one.

        Found from left to right in linear time: facts may be long and of others.
        """
        first, *middle, last = self.pieces
        if not text.startswith(first):
            return None
        begin, end = len(first), len(text) - len(last)
        facts = []
        for piece in middle:
            place = text.find(piece, begin, end)
            if place < 0:
                return None
            facts.append(text[begin:place])
            begin = place + len(piece)
        if begin > end or not text.endswith(last):
            return None
        return [*facts, text[begin:end]]


@cache
def catalogue(lang: str) -> dict[str, str]:
    """Return the translations of a language by their English text."""
    file = resources.files("promptlab.cli").joinpath(f"{lang}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


@cache
def _templates(lang: str) -> list[_Template]:
    """Return the messages with facts, those with the most words of their own first."""
    keys = [key for key in catalogue(lang) if "{}" in key]
    keys.sort(key=len, reverse=True)
    return [_Template(key.split("{}"), catalogue(lang)[key]) for key in keys]


def translated(text: str, depth: int = 0) -> str:
    """Return a text, or a message with facts, in the language of the call.

    *depth* is that of a fact in a message.
    """
    lang = LANGUAGE.get()
    if lang == "en" or not text:
        return text
    known = catalogue(lang).get(text)
    if known is not None or depth == _DEEPEST:
        return text if known is None else known
    for template in _templates(lang):
        facts = template.facts(text)
        if facts is not None:
            return template.translation.format(
                *(translated(fact, depth + 1) for fact in facts)
            )
    return text


def translated_message(text: str) -> str:
    """Translate a message to stderr, whole or line by line."""
    name = "promptlab: "
    if text.startswith(name):
        return name + translated(text.removeprefix(name))
    message = translated(text)
    return message if message != text else "\n".join(map(translated, text.split("\n")))


def asked_language(args: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Return the language of a call before its settings are read, as for ``--help``."""
    asked = environ.get("PROMPTLAB_LANG") or language_of(environ)
    for option, value in zip(args, [*args[1:], ""], strict=True):
        name, _, inside = option.partition("=")
        if name == "--lang":
            asked = inside or value
    return asked if asked in languages() else "en"


_EXITS = re.compile(r"(\d+) ([^;]+?)(?=;|\.$)")


class HelpFormatter(click.HelpFormatter):
    """Writes help in the language of the call; English exactly as click does."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        if prefix is None:
            word = translated("Usage:")
            prefix = word if word.endswith("：") else f"{word} "
        super().write_usage(prog, args, prefix)

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        name = translated(heading)
        if name == heading:
            super().write_heading(heading)
        else:
            self.write(f"{'':>{self.current_indent}}{name}：\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        if LANGUAGE.get() != "en":
            room = self.width - self.current_indent
            parts = re.split(r"\n\s*\n", cleandoc(text))
            text = "\n\n".join(_unwrapped(_paragraph(part), room) for part in parts)
        super().write_text(text)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of options or commands."""
        rows = list(rows)
        if LANGUAGE.get() != "en":
            first = min(max(len(name) for name, _ in rows), col_max) + col_spacing
            room = max(self.width - self.current_indent - first - 2, 10)
            rows = [(name, _unwrapped(_option(text), room)) for name, text in rows]
        super().write_dl(rows, col_max, col_spacing)


def _option(text: str) -> str:
    """Translate the help of an option, to which click adds ``[default: …]``."""
    help_text, gap, added = text.partition("[" if text.startswith("[") else "  [")
    for english in ("default: ", "required"):
        added = added.replace(english, translated(english))
    return _paragraph(help_text) + gap + added


def _paragraph(text: str) -> str:
    text = " ".join(text.split())
    head, _, codes = text.partition(": ")
    if head == "Exit codes":
        told = "；".join(f"{n} {translated(why)}" for n, why in _EXITS.findall(codes))
        return f"{translated(head)}：{told}。"
    told = translated(text)
    if told == text:  # click takes the full stop from the summary of a command
        told = translated(f"{text}.").removesuffix("。").removesuffix(".")
    return told


def _unwrapped(text: str, room: int) -> str:
    r"""Return a paragraph in lines of *room* cells; click keeps lines after ``\b``."""
    from promptlab.cli.output import wrap

    return "\n".join(("\b", *wrap(text, room)))


class HelpContext(click.Context):
    """The context of a command whose help is translated."""

    formatter_class = HelpFormatter
