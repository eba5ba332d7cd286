"""Help, progress and errors in the language of the person who runs the command.

The English text is in the code, and it is the key in the file of a language, such as
``zh.toml``. A key with ``{}`` is the template of messages with facts, which are
``{0}``, ``{1}`` … in its translation. A fact is a name or text of others and stays as
it is; ``{0:words}`` is one that the code puts in words, and is translated too. A key
that begins with a blank or a mark is the end of other messages, such as a hint. A text
without a translation stays English, and so do messages as JSON, which programs read.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import resources
from inspect import cleandoc
from typing import NamedTuple

import click

from promptlab.paths import language_of, languages

LANGUAGE: ContextVar[str] = ContextVar("lang", default="en")


_MOST_PARTS = 100
"""Parts of a message that are looked up, such as hints and words in it: a fact may be
hostile, and have the words of many messages in it."""

_END = re.compile(r" (?! )|[,;:.)]")
"""The beginning of the end of a message."""

_FACTS = re.compile(r"(?:\{\})+")

_WORD = re.compile("[A-Za-z]{2,}")

_PLACES = 4
"""Parts before a message: the program or the file with its line, and the pointer."""


@dataclass
class _Parts:
    """The parts of one message that may still be looked up."""

    left: int = _MOST_PARTS


@dataclass(frozen=True)
class _Fact:
    text: str
    parts: _Parts

    def __format__(self, spec: str) -> str:
        return _words(self.text, self.parts) if spec == "words" else self.text


class _Template(NamedTuple):
    pieces: list[str]
    """The message's own words, before, between and after its facts."""
    translation: str
    sides: list[int]
    """The number of facts between two pieces: the second of two is a hint."""

    @classmethod
    def from_text(cls, key: str, translation: str) -> _Template:
        """Return the template of a text of the catalogue."""
        sides = [len(facts) // 2 for facts in _FACTS.findall(key)]
        return cls(_FACTS.split(key), translation, sides)

    def facts(self, text: str) -> list[str] | None:
        """Return the facts of a message, ``None`` for another one.

        Found from left to right in linear time: facts may be long and of others.
        """
        if len(self.pieces) == 1:
            return [] if text == self.pieces[0] else None
        first, *middle, last = self.pieces
        begin, end = len(first), len(text) - len(last)
        if begin > end or not (text.startswith(first) and text.endswith(last)):
            return None
        facts = []
        for piece in middle:
            place = text.find(piece, begin, end)
            if place < 0:
                return None
            facts.append(text[begin:place])
            begin = place + len(piece)
        facts.append(text[begin:end])
        pairs = zip(facts, self.sides, strict=True)
        return [part for fact, n in pairs for part in _parted(fact, n)]

    def translated(
        self, text: str, parts: _Parts, *, may_have_place: bool = False
    ) -> str | None:
        """Return a message of this template in its language, ``None`` for another."""
        facts = self.facts(text)
        if facts is None:
            return None
        if may_have_place and (
            any("\n" in fact for fact in facts)
            or (not self.pieces[0] and ": " in facts[0] and not self.needs_words)
        ):
            return None
        if self.needs_words and (
            _words(facts[0], parts, may_have_place=may_have_place) == facts[0]
        ):
            return None
        return self.translation.format(*(_Fact(fact, parts) for fact in facts))

    @property
    def needs_words(self) -> bool:
        """Return whether this is a message only if its first fact is words."""
        first = self.pieces[0]
        return "{0:words}" in self.translation and (
            not first or bool(_END.match(first))
        )

    def words(self) -> set[str]:
        """Return words that every message of this template has."""
        last = len(self.pieces) - 1
        return {
            word[0]
            for n, piece in enumerate(self.pieces)
            for word in _WORD.finditer(piece)
            if (word.start() or not n) and (word.end() < len(piece) or n == last)
        }


def _rank(key: str) -> tuple[int, int]:
    """Return the order of templates: ends, whole messages, those that end in a fact.

    A fact at the end would take the end of the message for its own.
    """
    group = 2 if key.endswith("{}") else 0 if _END.match(key) else 1
    return group, -len(key)


class _Messages:
    """The templates of a language, found by a word that only few of them have."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        templates = [
            _Template.from_text(key, texts[key])
            for key in sorted(texts, key=_rank)
            if "{}" in key or _END.match(key)
        ]
        frequency = Counter(word for template in templates for word in template.words())
        self._by_word: dict[str, list[tuple[int, _Template]]] = {}
        for place, template in enumerate(templates):
            word = min(template.words(), key=frequency.__getitem__, default="")
            self._by_word.setdefault(word, []).append((place, template))

    def templates(self, text: str) -> list[_Template]:
        """Return the templates that may be those of a message, the likeliest first."""
        words = {"", *_WORD.findall(text)} & self._by_word.keys()
        candidates = [entry for word in words for entry in self._by_word[word]]
        return [template for _, template in sorted(candidates)]


@cache
def catalogue(lang: str) -> dict[str, str]:
    """Return the translations of a language by their English text."""
    file = resources.files("promptlab.cli").joinpath(f"{lang}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


@cache
def _messages(lang: str) -> _Messages:
    return _Messages(catalogue(lang))


def translated(
    text: str, parts: _Parts | None = None, *, may_have_place: bool = False
) -> str:
    """Return a text, or a message with facts, in the language of the call.

    *parts* are those of the message that it is in. Of a text that may have its place
    before it, no place is taken for the first fact.
    """
    lang = LANGUAGE.get()
    if lang == "en" or not text:
        return text
    known = catalogue(lang).get(text)
    if known is not None:
        return known
    parts = parts or _Parts()
    parts.left -= 1
    if parts.left < 0:
        return text
    templates = _messages(lang).templates(text)
    written = _sentences(text, parts, may_have_place)
    if written is not None:
        return written
    for template in templates:
        written = None
        if _END.match(template.pieces[0]):
            written = _with_end(text, template, parts, may_have_place)
        if written is None:
            written = template.translated(text, parts, may_have_place=may_have_place)
        if written is not None:
            return written
    return text


def _sentences(text: str, parts: _Parts, may_have_place: bool) -> str | None:
    """Translate a message and the hint after it, a separate sentence."""
    message, _, hint = text.rpartition(". ")
    first = translated(message, parts, may_have_place=may_have_place)
    second = translated(hint, parts) if first != message else hint
    return None if second == hint else f"{first}。{second}"


def _with_end(
    text: str, end: _Template, parts: _Parts, may_have_place: bool
) -> str | None:
    """Translate a message whose end is a separate hint or count."""
    place = text.rfind(end.pieces[0]) if text.endswith(end.pieces[-1]) else -1
    hint = end.translated(text[place:], parts) if place > 0 else None
    if hint is None:
        return None
    begin = translated(text[:place], parts, may_have_place=may_have_place)
    return None if begin == text[:place] else begin + hint


def _parted(fact: str, n: int) -> list[str]:
    """Return *n* adjacent facts: one, and a hint or nothing after it."""
    for end in _messages(LANGUAGE.get()).templates(fact) if n > 1 else ():
        place = fact.rfind(end.pieces[0]) if _END.match(end.pieces[0]) else -1
        if place >= 0 and end.facts(fact[place:]) is not None:
            return [fact[:place], fact[place:], *[""] * (n - 2)]
    return [fact, *[""] * (n - 1)]


def _words(text: str, parts: _Parts, *, may_have_place: bool = False) -> str:
    """Translate what the code puts in words, such as ``text or a list``."""
    written = translated(text, parts, may_have_place=may_have_place)
    choices = text.split(" or ")
    if written != text or len(choices) == 1:
        return written
    translations = [translated(choice, parts) for choice in choices]
    return (
        text if any(map(str.__eq__, translations, choices)) else "或".join(translations)
    )


def translated_message(text: str) -> str:
    """Translate a message: whole or line by line, without the place before it."""
    for may_have_place in (True, False):
        for separator in ("", "\n"):
            parts = text.split("\n") if separator else [text]
            written = separator.join(
                _after_place(part) if may_have_place else translated(part)
                for part in parts
            )
            if written != text:
                return written
    return text


def _after_place(text: str) -> str:
    begin = 0
    for _ in range(_PLACES):
        message = translated(text[begin:], may_have_place=True)
        if message != text[begin:]:
            return text[:begin] + message
        gap = text.find(": ", begin)
        if gap < 0:
            break
        begin = gap + 2
    return text


def asked_language(args: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Return the language of a call before its settings are read, as for ``--help``."""
    language = environ.get("PROMPTLAB_LANG") or language_of(environ)
    for option, value in zip(args, [*args[1:], ""], strict=True):
        name, _, inside = option.partition("=")
        if name == "--lang":
            language = inside or value
    return language if language in languages() else language_of(environ)


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
        sentence = "；".join(
            f"{n} {translated(meaning)}" for n, meaning in _EXITS.findall(codes)
        )
        return f"{translated(head)}：{sentence}。"
    sentence = translated(text)
    if sentence == text:  # click takes the full stop from the summary of a command
        sentence = translated(f"{text}.").removesuffix("。").removesuffix(".")
    return sentence


def _unwrapped(text: str, room: int) -> str:
    r"""Return a paragraph in lines of *room* cells; click keeps lines after ``\b``."""
    from promptlab.cli.output import wrap

    return "\n".join(("\b", *wrap(text, room)))


class HelpContext(click.Context):
    """The context of a command whose help is translated."""

    formatter_class = HelpFormatter
