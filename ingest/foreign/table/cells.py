"""Cells of a table: fields inside objects, and what a cell means.

A field is named by a dotted path or a JSON Pointer. A cell may be nothing, a text, a
number, a verdict, a list.
"""

from __future__ import annotations

import ast
import base64
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from promptlab.contracts.base import LARGEST
from promptlab.contracts.sources import steps_of
from promptlab.ingest.foreign.casts import as_float, as_time, is_blank
from promptlab.ingest.foreign.documents import decode
from promptlab.ingest.foreign.writing import Status

_DEEPEST = 6
_MOST_ITEMS = 20


def nested_names(
    row: Mapping[str, Any], above: str = "", depth: int = 1
) -> Iterator[str]:
    """Yield the dotted paths of the fields inside the objects and lists of a row."""
    for name, value in row.items():
        if above:
            yield f"{above}{name}"
        inside = _inside(value)
        if inside is not None and depth < _DEEPEST:
            yield from nested_names(inside, f"{above}{name}.", depth + 1)


def _inside(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(n): item for n, item in enumerate(value[:_MOST_ITEMS])}
    return None


def with_nested(row: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Return the row with the fields at *paths* as columns of these names."""
    nested = {path: _at(row, path) for path in paths if path not in row}
    return {**row, **nested} if nested else row


def _at(row: Any, path: str) -> Any:
    """Return the value at a path, or ``None``."""
    value = row
    for step in steps_of(path):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


_TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_VERDICTS: dict[str, Status] = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "1", "1.0", "ok"), "pass"),
    **dict.fromkeys(("correct", "success", "y", "t", "✓", "通过", "正确"), "pass"),
    **dict.fromkeys(("fail", "failed", "false", "no", "0", "0.0"), "fail"),
    **dict.fromkeys(("incorrect", "wrong", "failure", "n", "f", "✗"), "fail"),
    **dict.fromkeys(("是", "对", "合格", "达标", "符合", "准确", "成功"), "pass"),
    **dict.fromkeys(("√", "✔", "✅"), "pass"),
    **dict.fromkeys(("不通过", "未通过", "错误", "不正确", "否", "错"), "fail"),
    **dict.fromkeys(("不对", "不合格", "不达标", "不符合", "不准确", "失败"), "fail"),
    **dict.fromkeys(("×", "✘", "❌"), "fail"),
    **dict.fromkeys(("error", "errored"), "error"),
    **dict.fromkeys(("skipped", "unevaluated", "unscored"), "unevaluated"),
}
_TRUTH_OR_NOT = frozenset(
    ("1", "1.0", "0", "0.0", "y", "n", "t", "f", "是", "否", "对", "错", *_TRUTH)
)
_NO_ERROR = frozenset(("false", "0", "0.0", "no", "n", "-", "--", "–", "—", "[]", "{}"))
SUCCEEDED = frozenset(
    (
        *("success", "succeeded", "successful", "succeed", "ok", "done", "complete"),
        *("completed", "finished", "成功", "完成", "已完成", "执行成功", "运行成功"),
    )
)
"""Words for the state of a request that worked: its answer may be wrong."""
_NO_ERROR |= {
    *SUCCEEDED,
    *("no error", "no errors", "without error", "无", "没有", "否"),
}
_LONGEST_NUMBER = 64
"""Maximum length of a number or of a word for a missing value."""
_LONGEST_LITERAL = 1_000_000
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*%?\s*")
_SECONDS = re.compile(r"(\d{10}|\d{13}|\d{16})(\.\d+)?")
"""Seconds, milliseconds or microseconds since 1970, from 2001 on."""
_DAY_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_DIGITS = 10
"""Digits after the point that pandas writes into JSON."""
_FEW = 4
"""One unusual cell in this many is accepted as a mistake."""


def plain(value: Any) -> Any:
    """Convert a typed cell to a JSON value, so that redaction changes no other cell.

    Decimals keep their digits, times become ISO 8601, bytes text; NaN is empty.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    if isinstance(value, datetime | date | time):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else plain(float(value))
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def text_of(data: bytes) -> str:
    """Return bytes as text: UTF-8, else Base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def cell_text(cell: Any) -> str | None:
    """Return a cell as text; ``None`` if it is empty."""
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # Excel stores all numbers as doubles
    if isinstance(cell, bool | int | float):
        return str(cell)
    return msgspec.json.encode(cell, enc_hook=str).decode().strip('"')


def with_point(cell: str) -> str:
    """Replace the decimal comma of a number by a point."""
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def number_of(cell: Any) -> float | None:
    """Return a cell as a number: digits, a percentage, true and false."""
    if not isinstance(cell, str):
        return as_float(cell)
    if len(cell) > _LONGEST_NUMBER:
        return None
    try:
        value = float(cell)
    except ValueError:
        word = cell.strip().lower()
        if word in _TRUTH:
            return _TRUTH[word]
        if word[-1:] != "%" or word[-2:-1] == "%":
            return None
        share = number_of(word[:-1])
        if share is None or word[:-1] in _TRUTH:
            return None
        return float(Decimal(repr(share)).scaleb(-2))  # 12.3 / 100 is not 0.123
    if "_" in cell:  # Python reads 1_0 as ten
        return None
    return value if math.isfinite(value) else None


def is_share_or_truth(cell: Any) -> bool:
    """Return true for a percentage and a truth value, which have a scale: 0 to 1."""
    if not isinstance(cell, str):
        return isinstance(cell, bool)
    word = cell.strip().lower()
    return word in _TRUTH or (word[-1:] == "%" and number_of(word) is not None)


def is_nothing(cell: Any) -> bool:
    """Return true for a cell that is empty or has a word for a missing value."""
    text = cell_text(cell)
    return text is None or is_blank(text)


def count_of(cell: Any) -> int | None:
    """Return a cell as a whole number from 0 to 2^63; ``None`` for others."""
    value = number_of(cell)
    if value is None or not 0 <= value <= LARGEST or not value.is_integer():
        return None
    text = cell_text(cell)
    # doubles have 53 bits
    return (
        int(text)
        if text is not None and text.isascii() and text.isdecimal()
        else int(value)
    )


def moment(cell: Any) -> datetime | None:
    """Return a cell as a time: ISO 8601, or seconds, ms or µs since 1970."""
    text = (cell_text(cell) or "").strip()
    since_1970 = _SECONDS.fullmatch(text)
    if since_1970 is not None:
        digits = len(since_1970[1])
        return as_time(float(text) / 10 ** (digits - 10))
    return as_time(text)


def are_times(cells: Iterable[Any]) -> bool:
    """Return whether all cells are a day with a time, apart from empty ones."""
    there = [(cell_text(cell) or "").strip() for cell in cells if not is_nothing(cell)]
    return bool(there) and all(
        _DAY_AND_TIME.match(text) and moment(text) is not None for text in there
    )


def error_of(cell: Any) -> str | None:
    """Return the error of a round; ``None`` if the cell means "no error"."""
    text = cell_text(cell)
    if text is None or is_blank(text):
        return None
    return None if text.strip().lower().rstrip(".") in _NO_ERROR else text


def is_few(odd: int, total: int) -> bool:
    """Return true if unusual cells are few enough to be mistakes."""
    return odd * _FEW <= total


def mostly_numbers(cells: Iterable[Any]) -> bool:
    """Return whether a column is numbers, apart from empty cells and a few texts."""
    there = [cell for cell in cells if not is_nothing(cell)]
    numbers = sum(number_of(cell) is not None for cell in there)
    return numbers > 0 and is_few(len(there) - numbers, len(there))


def verdict_of(cell: Any) -> Status | None:
    """Return a cell as a verdict; ``None`` for any other word."""
    text = cell_text(cell)
    if text is None or is_blank(text):
        return "unevaluated"
    return _VERDICTS.get(text.strip().lower())


def is_verdict_word(cell: Any) -> bool:
    """Return whether a cell is a word for pass or fail; yes, no, 0 and 1 are not."""
    is_word = isinstance(cell, str) and cell.strip().lower() not in _TRUTH_OR_NOT
    return is_word and verdict_of(cell) is not None


def content(cell: Any) -> Any:
    """Return the value of a cell; lists and objects written as text are parsed.

    pandas writes them into CSV as Python literals, other tools as JSON.
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
        return ast.literal_eval(cell)  # only literals: no code is run
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return cell


def text_key(cell: Any) -> str:
    """Return a key that is equal for the same text or list in two formats."""
    if isinstance(cell, str) and cell[:1] not in ("[", "{"):
        return cell
    held = content(cell)
    if isinstance(held, list | dict):
        return msgspec.json.encode(held, enc_hook=str, order="deterministic").decode()
    return cell_text(held) or ""


def cell_key(cell: Any) -> str:
    """Return a key that is equal for the same number, time or list in two formats."""
    if isinstance(cell, datetime) or (
        isinstance(cell, str) and _DAY_AND_TIME.match(cell)
    ):
        at = moment(cell)
        if at is not None:
            return at.isoformat()
    if not isinstance(cell, str) or len(cell) <= _LONGEST_NUMBER:
        if is_nothing(cell):
            return ""
        as_number = number_of(cell)
        if as_number is not None:
            return repr(round(as_number, _DIGITS))
    held = content(cell)
    if isinstance(held, str):
        return held
    return msgspec.json.encode(held, enc_hook=str, order="deterministic").decode()
