"""What the columns of an unknown table probably mean: a mapping to correct.

Names decide, in the words that people use for them; the cells of the first rows confirm
what should be a number or a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ingest.foreign.documents import Refused
from ingest.foreign.table.cells import (
    is_few,
    is_nothing,
    mostly_numbers,
    number_of,
    verdict_of,
)
from ingest.foreign.table.opening import (
    Row,
    form_of,
    is_header_alone,
    is_nameless,
    rows_of,
)
from ingest.reading.problems import Problem
from ingest.reading.source import Source
from promptlab.contracts.table_mapping import TableMapping
from promptlab.errors import InputError

_ROWS = 1000

_NAMES: dict[str, str] = {
    "case": "id|case|case id|example id|question id|sample id|test id|uid|key|编号",
    "inputs": "question|input|inputs|query|user input|prompt|instruction|user|问题"
    "|输入",
    "output": "answer|output|response|completion|prediction|actual|actual output|model"
    " answer|model output|generated|generation|回答|输出",
    "expected": "expected|expected output|reference|ground truth|golden|golden answer"
    "|gold|target|label|truth|correct answer|ideal|标准答案|期望",
    "round": "round|run|repeat|attempt|epoch|trial|repetition|轮次",
    "title": "title|dataset|task|benchmark|suite|数据集",
    "model": "model|model name|model id|llm|provider|engine|模型",
    "prompt_version": "prompt version|version|prompt name|variant|prompt id|版本",
    "verdict": "pass|passed|verdict|status|result|success|correct|is correct|结果|通过",
    "error": "error|exception|error message|错误",
    "latency_ms": "latency ms|duration ms|time ms|elapsed ms|耗时ms",
    "latency_s": "latency|latency s|duration|duration s|seconds|elapsed|time s"
    "|execution time|耗时",
    "input_tokens": "input tokens|prompt tokens|tokens in",
    "output_tokens": "output tokens|completion tokens|tokens out",
    "tags": "tags|tag|category|categories|标签|分类",
    "time": "time|timestamp|date|created|created at|executed at|时间",
}
"""Setting → names of columns, the likeliest first; underscores are blanks."""
_WORDS = {name: words.split("|") for name, words in _NAMES.items()}
_NUMBERS = frozenset({"latency_ms", "latency_s", "input_tokens", "output_tokens"})
_LOWER = re.compile(r"\b(latency|cost|price|error|loss|perplexity|toxicity|seconds)\b")
_NOT_WORD = re.compile(r"[\W_]+")


class NoGuess(InputError):
    """Nothing of a table says what it means."""


def guess(path: Path) -> tuple[TableMapping, list[str]]:
    """A mapping for a table, and the names of all of its columns.

    Raises:
        InputError: it is no table, or none of its columns is understood.
    """
    rows = _first_rows(path)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = {name: [row.get(name) for row in rows] for name in columns}
    plain = {name: _NOT_WORD.sub(" ", name.lower()).strip() for name in columns}
    settings: dict[str, Any] = {}
    for setting, words in _WORDS.items():
        taken = set(settings.values())
        by_word = (name for word in words for name in columns if plain[name] == word)
        for name in by_word:
            if name not in taken and _suits(setting, cells[name]):
                settings[setting] = name
                break
    if "inputs" in settings:
        settings["inputs"] = (settings["inputs"],)
    taken = {*settings.values(), *settings.get("inputs", ())}
    taken |= {name for name in columns if is_nameless(name)}
    numeric = [n for n in columns if n not in taken and mostly_numbers(cells[n])]
    settings["scores"] = tuple(n for n in numeric if _on_scale(cells[n]))
    settings["values"] = tuple(n for n in numeric if n not in settings["scores"])
    settings["lower_is_better"] = tuple(
        n for n in settings["values"] if _LOWER.search(plain[n])
    )
    settings = {name: value for name, value in settings.items() if value}
    try:
        return TableMapping(**settings), columns
    except ValidationError as error:
        needed = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise NoGuess(
            f"{path}: no meaning could be guessed of {', '.join(columns)}: a mapping"
            f" {needed}; write it by hand (docs/tools/table.md)"
        ) from None


def _first_rows(path: Path) -> list[Row]:
    try:
        with path.open("rb") as file:
            head = file.read(1 << 20)
        form = form_of(head)
        if form is None and is_header_alone(head):
            raise InputError(f"{path}: holds no row below its columns")
        if form is None:
            raise InputError(
                f"{path}: is no table: expected CSV, TSV, JSONL, Parquet or XLSX"
            )
        size = path.stat().st_size
        source = Source(b"", path.stem, path, str(path), size=size, form=form)
        found = (r for r in rows_of(source, form) if not isinstance(r, Problem))
        return [row for _, row in islice(found, _ROWS)]
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{path}: cannot be read: {why}") from None
    except Refused as error:
        raise InputError(f"{path}: {error}") from None


def _suits(setting: str, cells: list[Any]) -> bool:
    if setting in _NUMBERS:
        return mostly_numbers(cells)
    if setting == "verdict":
        odd = sum(verdict_of(each) is None for each in cells)
        return is_few(odd, len(cells))
    if setting in {"round"}:
        return _all_numbers(cells)
    if setting == "case":
        return not any(is_nothing(each) for each in cells)
    return True


def _all_numbers(cells: Iterable[Any]) -> bool:
    there = [each for each in cells if not is_nothing(each)]
    return bool(there) and all(number_of(each) is not None for each in there)


def _on_scale(cells: Iterable[Any]) -> bool:
    numbers = (number_of(each) for each in cells)
    return all(0 <= each <= 1 for each in numbers if each is not None)
