"""Golden answers that are compared as JSON, as flat checks like every expectation.

A task asks for that with a dimension of ``match_rule: json``; of any other task no
golden answer is flattened. The tolerance is the dimension's, so no check carries one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from promptlab.contracts.golden import golden_alternatives
from promptlab.ingest.checks import Flattener
from promptlab.json_text.reading import parse_all

MATCH_RULE = "json"
"""What ``parameters.match_rule`` of a dimension says where answers are flattened."""

_LEAST_ROOM = 64 << 20
_ROOM_PER_CHARACTER = 50


class GoldenAnswer(NamedTuple):
    """One ``golden_answer`` baseline."""

    case_id: str
    baseline_id: str
    payload: str
    """A JSON object, as text."""


def golden_checks(baselines: Sequence[GoldenAnswer]) -> dict[str, list[Any]]:
    """Flatten the golden answers of one task.

    Args:
        baselines: In the order of the file, those of a case together.

    Returns:
        The columns of ``raw.golden_checks`` beside ``load_id`` and ``task_id``, a row
        per leaf and per container.

    Raises:
        ExpectationTooLargeError: Flat, they would be many times their size.
    """
    size = sum(len(each.payload) for each in baselines)
    flattener = Flattener(_LEAST_ROOM + _ROOM_PER_CHARACTER * size)
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    rows = columns.values()
    numbers: dict[str, int] = {}
    for case_id, baseline_id, payload in baselines:
        for answer in golden_alternatives(parse_all(payload)[0]):
            golden_no = numbers[case_id] = numbers.get(case_id, 0) + 1
            for check_no, check in enumerate(flattener.flatten_value(answer)):
                row = (
                    *(case_id, baseline_id, golden_no, check_no, check.path),
                    *(check.pointer, check.matcher, check.operand),
                    *(check.operand_ascii, check.number, check.length),
                )
                for column, value in zip(rows, row, strict=True):
                    column.append(value)
    return columns


_COLUMNS = (
    "case_id",
    "baseline_id",
    "golden_no",
    "check_no",
    "path",
    "pointer",
    "matcher",
    "operand",
    "operand_ascii",
    "number",
    "length",
)
