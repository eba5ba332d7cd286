"""The encoding of a file: decided once, for all of it.

Tables are written by spreadsheets, in UTF-8 or in what the system of their writer has:
GB18030 (GBK) in China, Windows-1252 in the West. In order: the ``encoding`` of the
mapping, a byte order mark, UTF-8, GB18030, Windows-1252. The last two are guesses,
which are reported, and rejected under ``--strict``.

JSON and YAML are UTF-8 by their specifications, so nothing is guessed there: the error
names the encoding that the bytes look like (`looks_like`).

A text that was cut within an emoji ends in half of a surrogate pair. Such a lone
surrogate is no character: it becomes U+FFFD in every format, with a warning
(`without_lone_surrogates`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair; in a decoded file the placeholder of an invalid byte."""

LONE_SURROGATE = "lone_surrogate"

_DECODED_SURROGATE = re.compile("\udced[\udca0-\udcbf][\udc80-\udcbf]")
"""Half of a surrogate pair in UTF-8, when its bytes are decoded."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {"gb18030": "GB18030", "cp1252": "Windows-1252"}
_UNITS = {"utf-16": 2, "utf-32": 4}


class Decoded(NamedTuple):
    """The text of a file; bytes that are invalid in its encoding are surrogates."""

    text: str
    encoding: str
    """The name of Python's codec."""
    is_guess: bool = False
    """True if another encoding was possible."""
    n_surrogates: int = 0
    """Halves of surrogate pairs that became U+FFFD."""

    @property
    def name(self) -> str:
        """Return the name for people."""
        return _NAMES.get(self.encoding, self.encoding)


def decoded(data: bytes, encoding: str | None = None) -> Decoded:
    """Return the text of a file, or of its first bytes, and how it was decoded.

    Args:
        data: The bytes.
        encoding: The codec that the user names; ``None``: decided by the bytes.
    """
    declared = encoding and codecs.lookup(encoding).name
    marked = (name for mark, name in _MARKS if data.startswith(mark))
    if declared := declared or next(marked, None):
        text, n_surrogates = _text(data, declared)
        return Decoded(text.removeprefix("\ufeff"), declared, n_surrogates=n_surrogates)
    text, n_surrogates = _text(data, "utf-8")
    n_bad = 0 if text.isascii() else len(SURROGATE.findall(text))
    n_good = len(text) - len(text.encode("ascii", "ignore")) - n_bad
    # characters of several bytes are not UTF-8 by chance
    if n_bad == 0 or n_good > n_bad:
        return Decoded(text, "utf-8", n_surrogates=n_surrogates)
    chinese = _chinese(data)
    if chinese is not None:
        return Decoded(chinese, "gb18030", is_guess=True)
    return Decoded(_text(data, "cp1252")[0], "cp1252", is_guess=True)


def _text(data: bytes, encoding: str) -> tuple[str, int]:
    """Return the text, and the number of lone surrogates in it."""
    unit = _UNITS.get(encoding[:6])
    if unit is None:
        text = data.decode(encoding, "surrogateescape")
        if encoding != "utf-8" or "\udced" not in text:
            return text, 0
        return _DECODED_SURROGATE.subn("\ufffd", text)
    rest = len(data) % unit
    whole = data[: len(data) - rest].decode(encoding, "surrogatepass")
    whole, n_surrogates = SURROGATE.subn("\ufffd", whole)
    return whole + "\udcff" * rest, n_surrogates


_PAIR = re.compile(rb"[\x81-\xfe](?:[\x30-\x39][\x81-\xfe][\x30-\x39]|[\x40-\xfe])")


def _chinese(data: bytes) -> str | None:
    """Return the text if it is GB18030, and looks like it; else ``None``.

    An accented letter of Windows-1252 before a plain one is a rare character of
    GB18030 too: ``ön`` in ``Köln``. In Chinese texts the second byte is nearly always
    above 127; in Western ones an accented letter before another one is rare.
    """
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError as error:
        if error.end < len(data) or error.reason != "incomplete multibyte sequence":
            return None
        data = data[: error.start]  # the file, or what was read of it, breaks off
        text = data.decode("gb18030") + "\udcff"
    seconds = [pair[1] > 127 or len(pair) > 2 for pair in _PAIR.findall(data)]
    return text if 2 * sum(seconds) > len(seconds) else None


_SURROGATE_IN_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_ESCAPED = re.compile(
    rb"\\u[dD](?:([89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
    rb"|([89abAB][0-9a-fA-F]{2}\\u[dD])?[c-fC-F][0-9a-fA-F]{2})"
)
"""A surrogate alone, or a pair of them, as JSON escapes them."""


def lone_surrogates(data: bytes, *, escaped: bool = True) -> Iterator[tuple[int, int]]:
    r"""Yield start and end of each half of a surrogate pair in UTF-8.

    A text that was cut inside an emoji ends in one: as ``\ud83d`` in JSON, or as three
    bytes that UTF-8 does not have.

    Args:
        data: The bytes.
        escaped: True if the text is JSON, where an escape means a character.
    """
    if b"\xed" in data:
        for match in _SURROGATE_IN_BYTES.finditer(data):
            yield match.span()
    if not escaped:
        return
    for match in _ESCAPED.finditer(data):
        start, end = match.span()
        before = start
        while data[before - 1 : before] == b"\\":
            before -= 1
        if (start - before) % 2 == 0:
            if match[2] is None:
                yield start, end
        elif match[2] is not None:  # the first half is text, after an escaped backslash
            yield start + 6, end


def without_lone_surrogates(data: bytes, *, escaped: bool = True) -> tuple[bytes, int]:
    """Write U+FFFD for every half of a surrogate pair, in as many bytes.

    Returns:
        The text, and the number of lone surrogates; all places stay the same.
    """
    spans = list(lone_surrogates(data, escaped=escaped))
    if not spans:
        return data, 0
    result = bytearray(data)
    for start, end in spans:
        result[start:end] = b"\\ufffd" if end - start == 6 else b"\xef\xbf\xbd"
    return bytes(result), len(spans)


_SLASHES = re.compile(rb"//")
_LINE_FEED = 0x0A


def without_comments(data: bytes) -> bytes:
    """Write blanks for the comments of JSON: whole lines that begin with ``//``.

    A line never begins inside a text of JSON, so nothing else is lost; all places stay.
    """
    first = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    pieces, position = [], 0
    for match in _SLASHES.finditer(data):
        start = line_start = match.start()
        if start < position:
            continue
        while line_start and data[line_start - 1] in b" \t":
            line_start -= 1
        if line_start in (0, first) or data[line_start - 1] == _LINE_FEED:
            pieces.append(data[position:start])
            end = data.find(b"\n", start)
            position = len(data) if end < 0 else end
            pieces.append(b" " * (position - start))
    return b"".join([*pieces, data[position:]]) if pieces else data


def mended(data: bytes) -> tuple[bytes, int]:
    """Return JSON without comments and lone surrogates, and how many they were."""
    return without_lone_surrogates(without_comments(data))


def looks_like(data: bytes) -> str | None:
    """Return the probable encoding of bytes that are not UTF-8, if there is one."""
    guess = decoded(data)
    return guess.name if guess.encoding == "gb18030" else None
