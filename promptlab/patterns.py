r"""Matchers and patterns in the texts of expectations.

This module defines the prefix of each matcher and the syntax of a ``regex:`` pattern.
Ingest stores its results, SQL runs them, and the Python evaluator calls it, so that all
three agree.

Patterns are RE2. RE2's own ``\d \w \s`` know only ASCII, and the full Unicode classes
are too slow where SQL compiles a pattern for every row; so these classes become fixed
lists of ranges (``docs/matching.md`` names them). Next to the translated pattern is
a cheaper one for ASCII texts; on such texts both return the same result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal, NamedTuple

import re2

TextMatcher = Literal["text", "contains", "regex"]

#: Digits: ASCII and full-width.
DIGIT = r"0-9\x{ff10}-\x{ff19}"

#: Everything else: ``\D`` inside a class.
NOT_DIGIT = r"\x{0}-\x{2f}\x{3a}-\x{ff0f}\x{ff1a}-\x{10ffff}"

#: Unicode spaces, the same that Python's ``\s`` knows. The last item is written as a
#: range, because in ``[\s-z]`` a single character would make a range with what follows.
SPACE = (
    r"\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}-\x{2029}\x{202f}\x{205f}\x{3000}-\x{3000}"
)

#: Letters and digits of the blocks in use, and ``_``; unassigned code points are
#: included if that saves a range.
WORD = (
    r"0-9A-Z_a-z"  # ASCII
    r"\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{2af}"  # Latin, IPA
    r"\x{370}-\x{374}\x{376}-\x{37d}\x{37f}\x{386}\x{388}-\x{3f5}"  # Greek
    r"\x{3f7}-\x{481}\x{48a}-\x{52f}"  # Greek, Cyrillic
    r"\x{1100}-\x{11ff}"  # Hangul Jamo
    r"\x{1e00}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fcc}\x{1fd0}-\x{1fdb}"  # Latin, Greek
    r"\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ffc}"  # Greek with accents
    r"\x{3005}-\x{3007}\x{3041}-\x{3096}\x{309d}-\x{309f}"  # CJK marks, Hiragana
    r"\x{30a1}-\x{30fa}\x{30fc}-\x{318e}"  # Katakana, Bopomofo, Hangul letters
    r"\x{31f0}-\x{31ff}"  # Katakana for Ainu
    r"\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}"  # CJK
    r"\x{ac00}-\x{d7a3}\x{f900}-\x{faff}"  # Hangul, CJK compatibility
    r"\x{ff10}-\x{ff19}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}"  # full
    r"\x{20000}-\x{323af}"  # CJK beyond the BMP
)

# RE2's own \s lacks \v and \x1c-\x1f, so the ASCII pattern lists them too.
_ASCII_SPACE = r"\t-\r\x{1c}-\x{20}"

_FULL = {
    "d": f"[{DIGIT}]",
    "D": f"[^{DIGIT}]",
    "w": f"[{WORD}]",
    "W": f"[^{WORD}]",
    "s": f"[{SPACE}]",
    "S": f"[^{SPACE}]",
}
_FULL_IN_CLASS = {"d": DIGIT, "D": NOT_DIGIT, "w": WORD, "s": SPACE}
_ASCII = {"s": f"[{_ASCII_SPACE}]", "S": f"[^{_ASCII_SPACE}]"}
_ASCII_IN_CLASS = {"s": _ASCII_SPACE}

_PREFIXES: tuple[tuple[str, TextMatcher], ...] = (
    ("contains:", "contains"),
    ("regex:", "regex"),
    ("literal:", "text"),
)
_ALL_PREFIXES = tuple(prefix for prefix, _ in _PREFIXES)


class TextCheck(NamedTuple):
    """The matcher of a text in an expectation."""

    matcher: TextMatcher
    """``text`` for equality, ``contains`` for a part, ``regex`` for a search."""

    operand: str
    """The text; the needle, trimmed; or the pattern, trimmed at the left."""


def text_check(expected: str) -> TextCheck:
    """Read the prefix of an expected text (``contains:``, ``regex:``, ``literal:``)."""
    if not expected.startswith(_ALL_PREFIXES):  # nearly always
        return TextCheck("text", expected)
    for prefix, matcher in _PREFIXES:
        if expected.startswith(prefix):
            rest = expected[len(prefix) :]
            if matcher == "contains":
                rest = rest.strip()
            elif matcher == "regex":
                rest = rest.lstrip()
            return TextCheck(matcher, rest)
    return TextCheck("text", expected)


def mistyped_prefix(expected: str) -> tuple[str, str] | None:
    """Return a prefix such as ``contain:`` or ``regexp:``, and the one that is meant.

    A prefix with a space before it, or with a full-width colon, is mistyped too: such a
    text is compared as a whole, which is rarely intended.
    """
    if expected.startswith(_ALL_PREFIXES):
        return None
    match = _WORD_AND_COLON.match(expected)
    if match is None:
        return None
    prefix = _nearest_prefix(match[1].lower())
    return (match[0], prefix) if prefix else None


@lru_cache(maxsize=1024)
def _nearest_prefix(word: str) -> str | None:
    words = [prefix[:-1] for prefix in _ALL_PREFIXES]
    near = get_close_matches(word, words, n=1, cutoff=0.85)
    return f"{near[0]}:" if near else None


_WORD_AND_COLON = re.compile(r"\s*([A-Za-z]{4,12})\s?[:\N{FULLWIDTH COLON}]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A ``regex:`` pattern, translated for RE2, or its error."""

    source: str
    """The pattern as written, trimmed at the left."""

    translated: str | None
    """For every text; ``None`` when the pattern is invalid."""

    ascii: str | None
    """For ASCII texts, with the same result, only faster."""

    error: str | None
    """One sentence: the error and the fix."""

    warnings: tuple[str, ...] = ()
    """Warnings about a valid pattern with a possibly unintended meaning."""

    def search(self, text: str) -> bool | None:
        """Return true if *text* contains a match; ``None`` for an invalid pattern."""
        chosen = self.ascii if text.isascii() else self.translated
        if chosen is None:
            return None
        return _compile(chosen).search(text) is not None


@lru_cache(maxsize=8192)
def translate(pattern: str) -> Pattern:
    r"""Translate a pattern for SQL and the evaluator; never raises.

    Returns:
        The pattern with its character classes spelled out, or with ``error`` set: for
        look-around, back-references, syntax that RE2 does not know, ``\W`` or ``\S``
        inside a class, and patterns that grow too large.
    """
    # Check the pattern as written first: expanding a class could turn an invalid range
    # such as [a-\d] into a valid one with another meaning.
    error = _refusal(pattern)
    if error is None:
        full = _spell_out(pattern, _FULL, _FULL_IN_CLASS)
        ascii_only = _spell_out(pattern, _ASCII, _ASCII_IN_CLASS)
        if full is None or ascii_only is None:
            error = (
                r"\W and \S cannot stand inside a character class. "
                r"List the characters instead, or use [^\w…] or [^\s…]."
            )
        else:
            error = _refusal(full) or _refusal(ascii_only)
            if error is None:
                return Pattern(pattern, full, ascii_only, None, _warnings(pattern))
    return Pattern(pattern, None, None, error)


# One item of RE2's syntax outside a class; \Q…\E and escapes are taken whole.
_ITEM = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\(\?<(?=[^=!])|\[\^?\]?|.", re.DOTALL)
# The same inside a class, up to and with its end.
_CLASS_ITEM = re.compile(r"\\.|\[:\^?[a-zA-Z]*:\]|.", re.DOTALL)


def _spell_out(
    pattern: str, outside: dict[str, str], inside: dict[str, str]
) -> str | None:
    r"""Replace class escapes in a valid pattern; None for \W or \S inside a class."""
    parts: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        match = (_CLASS_ITEM if in_class else _ITEM).match(pattern, position)
        assert match is not None  # both patterns end in "any character"
        item = match[0]
        position = match.end()
        if in_class:
            if item in (r"\W", r"\S"):
                return None
            if item == "]":
                in_class = False
            parts.append(inside.get(item[1:], item) if item[0] == "\\" else item)
        elif item[0] == "[":
            in_class = True
            parts.append(item)
        elif item == "(?<":
            # A named group; DuckDB's RE2 only supports this syntax.
            parts.append("(?P<")
        else:
            parts.append(outside.get(item[1:], item) if item[0] == "\\" else item)
    return "".join(parts)


_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_LOOK_AROUND = re.compile(r"\(\?(?:<?[=!])")
_HINTS = (
    (
        re.compile(r"invalid escape sequence: \\[1-9]"),
        "RE2 has no back-references. Write the repeated part out.",
    ),
    (
        re.compile(r"invalid escape sequence: \\Z"),
        r"The end of the text is $ or \z.",
    ),
    (
        re.compile(r"invalid escape sequence: \\[uU]"),
        r"Write the character itself, or \x{4e2d}.",
    ),
    (
        re.compile(r"bad repetition operator"),
        "Possessive and stacked quantifiers do not exist; group the part with ( ).",
    ),
    (
        re.compile(r"pattern too large"),
        "Repeat less, or use a smaller character class.",
    ),
)


def _refusal(pattern: str) -> str | None:
    """Return RE2's error for *pattern*, with a hint; ``None`` if it is valid."""
    try:
        _compile(pattern)
    except re2.error as error:
        reason = _reason(error)
    except UnicodeEncodeError:
        return "The pattern holds half of a surrogate pair; write the whole character."
    else:
        return None
    if "invalid perl operator: (?" in reason and _LOOK_AROUND.search(pattern):
        return (
            f"Look-around does not exist in RE2 ({reason}). "
            "Match the surrounding text instead, or use contains: for a part of it."
        )
    for shape, hint in _HINTS:
        if shape.search(reason):
            return f"RE2 says: {reason}. {hint}"
    return f"RE2 says: {reason}. Correct it; for plain text, use contains: instead."


def _reason(error: re2.error) -> str:
    message = error.args[0] if error.args else ""
    return (
        message.decode("utf-8", "replace")
        if isinstance(message, bytes)
        else str(message)
    )


@lru_cache(maxsize=8192)
def _compile(pattern: str) -> re2._Regexp:
    return re2.compile(pattern, _OPTIONS)


_WORD_BOUNDARY = re.compile(r"\\[bB]")


def _warnings(pattern: str) -> tuple[str, ...]:
    warnings = []
    if not pattern:
        warnings.append("An empty pattern matches every text.")
    if not pattern.isascii() and _has_word_boundary(pattern):
        warnings.append(
            r"\b knows only ASCII words: beside other letters it sees no boundary. "
            r"Name the characters around the word instead, such as (^|\s)."
        )
    return tuple(warnings)


def _has_word_boundary(pattern: str) -> bool:
    return any(_WORD_BOUNDARY.fullmatch(item) for item in _ITEM.findall(pattern))
