"""Make text from models and files safe to display.

Model answers are shown literally, never run or rendered. Invisible characters that
change the display of other text (control characters,
bidirectional overrides, zero-width marks) are named instead of printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# C0 and C1 without tab and line feed; soft hyphen; bidirectional marks, overrides
# and isolates; zero-width and invisible operators; line separators; lone surrogates;
# byte order mark and noncharacters; the invisible tag letters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]+"
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~!@$]|:(?=//)|(?<=www)\.)")
_SHORTEST_CUT = 200  # marts cut values at this length or a larger one
_MOST_NAMED = 4  # of a run of hidden characters; the others are counted


@dataclass(frozen=True)
class TextPiece:
    """A piece of text: plain, marked as evidence, or the codes of hidden characters."""

    text: str
    code: str = ""
    """``U+202E``: the hidden characters; then ``text`` is empty."""
    marked: bool = False


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What makes a spreadsheet read a cell as a formula, full-width forms included."""


def parts(text: object) -> list[TextPiece]:
    """Split *text* at its hidden characters."""
    return list(_parts(_one_line_end(str(text)), marked=False))


def marked_parts(text: str, *, marked: bool) -> list[TextPiece]:
    """Split *text* at its hidden characters, with one mark for all parts."""
    return list(_parts(_one_line_end(text), marked=marked))


def visible(text: object) -> str:
    """Return *text* with its hidden characters written as ``⟦U+202E⟧``."""
    return _HIDDEN.sub(lambda m: f"⟦{_code(m.group())}⟧", _one_line_end(str(text)))


def bare(text: str | None, beside: str | None = None) -> str | None:
    """Return a JSON text for people: a string without quotes and escapes.

    Quotes stay where they make the difference: around an empty string, and around the
    string ``"5"`` *beside* the number 5. Other text is returned unchanged.
    """
    if text is None or not text.startswith('"'):
        return text
    value = _json_string(text)
    return text if value is None or value in ("", beside) else value


def _json_string(text: str) -> str | None:
    """Return the string of a JSON text, which marts may have cut."""
    try:
        value = json.loads(text)
    except ValueError:
        if len(text) < _SHORTEST_CUT:
            return None
    else:
        return value if isinstance(value, str) else None
    for end in range(len(text), len(text) - len("\\u0000"), -1):  # a cut escape
        try:
            return str(json.loads(text[:end] + '"')) + "…"
        except ValueError:
            continue
    return None


def plain(text: object) -> str:
    """Return *text* on one line with Markdown escaped.

    For templates, which escape ``< > &`` and quotes themselves.
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))


def clip(text: str, limit: int) -> str:
    """Return *text* with at most *limit* characters, ending in ``…`` if cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def for_spreadsheet(value: object) -> str:
    """Return *value* as a text that no spreadsheet reads as a formula."""
    text = str(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def highlighted(
    text: str, offsets: object, *, window: int = 40, limit: int = 600
) -> list[TextPiece]:
    """Shorten a snippet around the spans of *offsets*, and mark them.

    Args:
        text: The snippet.
        offsets: Pairs ``[start, end)`` of character positions in *text*. They come
            from untrusted payloads: anything other than pairs of integers is left out,
            the rest is clamped, sorted and merged.
        window: Characters shown before the first mark.
        limit: Characters shown in all.
    """
    spans = _merged(_spans(offsets, len(text)))
    start = max(0, spans[0][0] - window) if spans and len(text) > limit else 0
    stop = min(len(text), start + limit)
    found = [TextPiece("…")] if start else []
    at = start
    for begin, end in spans:
        if begin >= stop:
            break
        found += _parts(text[at:begin], marked=False)
        at = min(end, stop)
        found += _parts(text[begin:at], marked=True)
    found += _parts(text[at:stop], marked=False)
    if stop < len(text):
        found.append(TextPiece("…"))
    return found


def _parts(text: str, *, marked: bool) -> Iterator[TextPiece]:
    at = 0
    for match in _HIDDEN.finditer(text):
        if match.start() > at:
            yield TextPiece(text[at : match.start()], marked=marked)
        yield TextPiece("", code=_code(match.group()), marked=marked)
        at = match.end()
    if at < len(text):
        yield TextPiece(text[at:], marked=marked)


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n")


def _code(hidden: str) -> str:
    named = " ".join(f"U+{ord(character):04X}" for character in hidden[:_MOST_NAMED])
    more = len(hidden) - _MOST_NAMED
    return f"{named} +{more}" if more > 0 else named


def _spans(offsets: object, length: int) -> Iterator[tuple[int, int]]:
    for pair in offsets if isinstance(offsets, list) else []:
        if not (isinstance(pair, list) and len(pair) == 2):
            continue
        if not all(type(end) is int for end in pair):
            continue
        begin, end = (min(max(0, value), length) for value in pair)
        if begin < end:
            yield begin, end


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged
