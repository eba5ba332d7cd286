"""What a cell says: nothing, a text, a number, a verdict, a list."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import Any

import msgspec

from ingest.foreign.documents import decode, number, says_nothing
from ingest.foreign.records import Status

_TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_VERDICTS: dict[str, Status] = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "1", "1.0", "ok"), "pass"),
    **dict.fromkeys(("correct", "success", "y", "t", "✓", "通过", "正确"), "pass"),
    **dict.fromkeys(("fail", "failed", "false", "no", "0", "0.0"), "fail"),
    **dict.fromkeys(("incorrect", "wrong", "failure", "n", "f", "✗"), "fail"),
    **dict.fromkeys(("不通过", "错误"), "fail"),
    **dict.fromkeys(("error", "errored"), "error"),
    **dict.fromkeys(("skipped", "unevaluated", "unscored"), "unevaluated"),
}
_LONGEST_LITERAL = 1_000_000
_DIGITS = 9
_FEW = 4
"""One odd cell in so many."""


def said(cell: Any) -> str | None:
    """A cell as text; ``None`` where it is empty."""
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # Excel has no whole numbers
    if isinstance(cell, bool | int | float):
        return str(cell)
    return msgspec.json.encode(cell, enc_hook=str).decode().strip('"')


def number_of(cell: Any) -> float | None:
    """A cell as a number: digits, a percentage, true and false."""
    if not isinstance(cell, str):
        return number(cell)
    word = cell.strip().lower()
    if word in _TRUTH:
        return _TRUTH[word]
    try:
        if word.endswith("%"):
            return number(float(word[:-1]) / 100)
        return number(float(word))
    except ValueError:
        return None


def is_infinite(cell: Any) -> bool:
    """Whether a cell is a number beyond all others: the tool's failure, not a text."""
    try:
        return math.isinf(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


def is_nothing(cell: Any) -> bool:
    """Whether a cell that should hold a number says that there is none."""
    text = said(cell)
    return text is None or says_nothing(text)


def is_few(odd: int, of: int) -> bool:
    """Whether some odd cells among others are mistakes, and not what a column is."""
    return odd * _FEW <= of


def mostly_numbers(cells: Iterable[Any]) -> bool:
    """Whether a column holds numbers, but for empty cells and a few texts."""
    there = [each for each in cells if not is_nothing(each)]
    numbers = sum(number_of(each) is not None for each in there)
    return numbers > 0 and is_few(len(there) - numbers, len(there))


def verdict_of(cell: Any) -> Status | None:
    """A cell as a verdict; ``None`` for any other word."""
    text = said(cell)
    if text is None or says_nothing(text):
        return "unevaluated"
    return _VERDICTS.get(text.strip().lower())


def content(cell: Any) -> Any:
    """What a cell holds: lists and objects that were written as text are read.

    pandas writes them into CSV as Python shows them, others as JSON.
    """
    if not isinstance(cell, str):
        return None if isinstance(cell, float) and math.isnan(cell) else cell
    if cell[:1] not in ("[", "{") or len(cell) > _LONGEST_LITERAL:
        return cell or None
    try:
        return decode(cell.encode(), Any)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(cell)  # constants alone: nothing is run
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return cell


def same(cell: Any) -> str:
    """Equal for cells that say the same in two formats: numbers, empty cells, lists."""
    if is_nothing(cell):
        return ""
    as_number = number_of(cell)
    if as_number is not None:
        return repr(round(as_number, _DIGITS))
    held = content(cell)
    if isinstance(held, str):
        return held
    return msgspec.json.encode(held, enc_hook=str, order="deterministic").decode()
