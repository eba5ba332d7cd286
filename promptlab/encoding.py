"""The encoding of a file: decided once, for all of it.

Tables are written by spreadsheets, in UTF-8 or in what the system of their writer has:
GB18030 (GBK) in China, Windows-1252 in the West. In order: the ``encoding`` of the
mapping, a byte order mark, UTF-8, GB18030, Windows-1252. The last two are guesses,
which are told, and rejected under ``--strict``.

JSON and YAML are UTF-8 by their specifications, so nothing is guessed there: the error
names the encoding that the bytes look like (`looks_like`).
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

NO_CHARACTER = re.compile("[\ud800-\udfff]")
"""Placeholder for a byte that is invalid in the encoding of the file."""

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
    """Whether another encoding was possible."""

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
    said = encoding and codecs.lookup(encoding).name
    marked = (name for mark, name in _MARKS if data.startswith(mark))
    if said := said or next(marked, None):
        return Decoded(_text(data, said).removeprefix("\ufeff"), said)
    text = _text(data, "utf-8")
    n_bad = 0 if text.isascii() else len(NO_CHARACTER.findall(text))
    n_good = len(text) - len(text.encode("ascii", "ignore")) - n_bad
    # characters of several bytes are not UTF-8 by chance
    if n_bad == 0 or n_good > n_bad:
        return Decoded(text, "utf-8")
    chinese = _chinese(data)
    if chinese is not None:
        return Decoded(chinese, "gb18030", is_guess=True)
    return Decoded(_text(data, "cp1252"), "cp1252", is_guess=True)


def _text(data: bytes, encoding: str) -> str:
    unit = _UNITS.get(encoding[:6])
    if unit is None:
        return data.decode(encoding, "surrogateescape")
    rest = len(data) % unit
    whole = data[: len(data) - rest].decode(encoding, "surrogatepass")
    return whole + "\udcff" * rest


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


def looks_like(data: bytes) -> str | None:
    """Return the name of the encoding that bytes look like, which are not UTF-8."""
    found = decoded(data)
    return found.name if found.encoding == "gb18030" else None
