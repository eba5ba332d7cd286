"""Wrap text to a width in terminal cells.

Lines break at spaces and next to Chinese, Japanese or Korean characters; a word is
broken only where it alone is longer than the line. So an id in a sentence stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptlab.cli.cells import BREAK

_EAST_ASIAN = "\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
_OPENING = "（「『《【〈“‘"
_CLOSING = "）」』》】〉”’，。、；：！？％"
_PIECE = re.compile(
    rf"[{_OPENING}]*"
    rf"(?:[{_EAST_ASIAN}]|[^\s{_EAST_ASIAN}{_OPENING}{_CLOSING}{BREAK}]+)[{_CLOSING}]*"
    rf"|[{_OPENING}{_CLOSING}]+|\s+|{BREAK}"
)


def width(text: str) -> int:
    """Return the width of a text in cells: most Chinese characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text.replace(BREAK, ""))


def least_width(text: str) -> int:
    """Return the width of its longest word, the minimum width of a column."""
    return max((width(piece) for piece in _pieces(text)), default=0)


def wrap(text: str, room: int) -> list[str]:
    """Wrap a text into lines of at most *room* cells; return at least one line."""
    if width(text) <= room:
        return [text.replace(BREAK, "")]
    lines: list[str] = []
    line, used, gap = "", 0, ""
    for piece in _pieces(text):
        if piece.isspace():
            gap = " " if line else ""
            continue
        for part, size in _chopped(piece, room):
            if line and used + len(gap) + size > room:
                lines.append(line)
                line, used, gap = "", 0, ""
            line, used, gap = f"{line}{gap}{part}", used + len(gap) + size, ""
    return [*lines, line]


def _pieces(text: str) -> Iterator[str]:
    return (found[0] for found in _PIECE.finditer(text) if found[0] != BREAK)


def _chopped(piece: str, room: int) -> Iterator[tuple[str, int]]:
    size = width(piece)
    if size <= room:
        yield piece, size
        return
    from rich.cells import chop_cells

    for part in chop_cells(piece, room):
        yield part, width(part)
