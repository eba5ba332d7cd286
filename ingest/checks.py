"""A case's expectations as flat checks: one per leaf and per container.

Each check is judged separately: by ``path`` the actual value is taken from an output,
and ``matcher`` with ``operand`` define the expected one (docs/matching.md). It starts

- in the scope ``intermediate`` at the output of ``step_id``,
- in ``aggregation`` at the aggregation's output,
- in ``final`` at the actual value of ``field``, a key of ``expected_outputs``.

``pointer`` is for people and starts at the scope's output: ``/<field>…`` in ``final``.
Under ``strict_mode`` the final scope has one more check, on the final output itself
(``field`` null, path ``$``, pointer ``""``), which names the keys it may have.

A path is a JSONPath with quoted keys. It cannot contain the empty key or
``*``; with one of them ``path`` is the JSON Pointer instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from promptlab.contracts.scoring import golden_alternatives
from promptlab.contracts.testset import TestCase
from promptlab.json_text.places import escape_pointer
from promptlab.json_text.reading import parse_all
from promptlab.json_text.writing import compact
from promptlab.patterns import mistyped_prefix, text_check, translate

#: Maximum length of an expected object or list in a check; a longer one is only in
#: the case itself, which its check mentions.
LONGEST_EXPECTED = 10_000


class ExpectationCheck(NamedTuple):
    """One check, named as the columns of ``raw.expectations``."""

    scope: str
    step_id: str | None
    field: str | None
    path: str
    pointer: str
    matcher: str
    expected: str
    operand: str | None = None
    operand_ascii: str | None = None
    number: float | None = None
    length: int | None = None
    allowed: str | None = None


_Place = tuple[str, str | None, str | None, str, str]
"""The first five columns of a check: scope, step, field, path, pointer."""


class Remark(NamedTuple):
    """A warning about one expected text; its check is kept."""

    scope: str
    step_id: str | None
    pointer: str
    code: str
    message: str


class ExpectationTooLargeError(ValueError):
    """The flattened expectations would be many times the size of their file."""


class Flattener:
    """Converts cases to checks.

    Args:
        limit: Maximum characters of paths and repeated values of all cases. Deep
            nesting multiplies them: a value below 1,000 keys has a path of all.
    """

    def __init__(self, limit: int = 1 << 28) -> None:
        self._room = limit

    def flatten(self, case: TestCase) -> tuple[list[ExpectationCheck], list[Remark]]:
        """Return the case's checks in the order of its fields, and warnings.

        Scopes are yielded in the order intermediate, aggregation, final; only those
        that ``evaluation_config`` enables and that have expectations. ``{}`` expected
        of a step is a check; empty ``expected_outputs``, a null aggregation are not.

        Raises:
            ExpectationTooLargeError: The limit is reached.
        """
        options = case.options
        ignored = options.ignore_fields
        case_checks = _CaseChecks(
            options.strict_mode, ignored, len(case.id), self._room
        )
        if options.evaluate_intermediate:
            for step_id, expected in case.intermediate_expectations.items():
                case_checks.add(expected, "intermediate", step_id, None)
        if options.evaluate_aggregation and case.expected_aggregation is not None:
            case_checks.add(case.expected_aggregation, "aggregation", None, None)
        if options.evaluate_final:
            fields = [key for key in case.expected_outputs if key not in ignored]
            if fields and options.strict_mode:
                case_checks.add_final_root(case.expected_outputs, fields)
            for key in fields:
                case_checks.add(case.expected_outputs[key], "final", None, key)
        self._room = case_checks.room
        return case_checks.checks, case_checks.remarks

    def flatten_value(self, expected: Any) -> list[ExpectationCheck]:
        """Return the checks of one value that is expected as a whole answer.

        ``strict_mode`` and ``ignore_fields`` do not apply. Paths start at the answer;
        ``scope`` has no meaning.

        Raises:
            ExpectationTooLargeError: The limit is reached.
        """
        case_checks = _CaseChecks(False, [], 0, self._room)
        case_checks.add(expected, "", None, None)
        self._room = case_checks.room
        return case_checks.checks


@dataclass
class _CaseChecks:
    """Collects the checks of one case."""

    strict: bool
    """True if objects name the keys that they may have."""
    ignored: list[str]
    """Keys to leave out at every depth."""
    id_size: int
    """Length of the case's id, which every check repeats."""
    room: int
    """Remaining characters for the checks."""
    checks: list[ExpectationCheck] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def add_final_root(self, expected: dict[str, Any], fields: list[str]) -> None:
        text = self._text_of(expected, _long_containers(expected))
        allowed = self._allowed(fields)
        self.checks.append(
            ExpectationCheck(
                "final", None, None, "$", "", "object", text, allowed=allowed
            )
        )

    def add(
        self, expected: Any, scope: str, step_id: str | None, field: str | None
    ) -> None:
        """Add the checks below one step's, the aggregation's or one field's value."""
        base = "" if field is None else "/" + escape_pointer(field)
        long_containers = _long_containers(expected)
        # Every check repeats these: the pointer, the field and the step.
        repeated = self.id_size + 2 * len(base) + len(step_id or "")
        self._spend(repeated)
        # value, path, pointer below base, whether a pointer must replace the path
        stack: list[tuple[Any, str, str, bool]] = [(expected, "$", "", False)]
        while stack:
            value, path, pointer, needs_pointer = stack.pop()
            place = (scope, step_id, field, path, base + pointer)
            if type(value) is dict:
                self._spend((repeated + len(path) + len(pointer)) * len(value))
                text = self._text_of(value, long_containers)
                allowed = None
                if self.strict:
                    allowed = self._allowed(k for k in value if k not in self.ignored)
                check = ExpectationCheck(*place, "object", text, allowed=allowed)
                self.checks.append(check)
                for key in reversed(value):
                    if key in self.ignored:
                        continue
                    child_pointer = f"{pointer}/{escape_pointer(key)}"
                    if needs_pointer or key in ("", "*"):
                        stack.append((value[key], child_pointer, child_pointer, True))
                    else:
                        quoted = key.replace("\\", "\\\\").replace('"', '\\"')
                        stack.append(
                            (value[key], f'{path}."{quoted}"', child_pointer, False)
                        )
            elif type(value) is list:
                size = len(value)
                self._spend((repeated + len(path) + len(pointer)) * size)
                text = self._text_of(value, long_containers)
                self.checks.append(ExpectationCheck(*place, "array", text, length=size))
                for index in range(size - 1, -1, -1):
                    child_pointer = f"{pointer}/{index}"
                    child_path = child_pointer if needs_pointer else f"{path}[{index}]"
                    stack.append(
                        (value[index], child_path, child_pointer, needs_pointer)
                    )
            else:
                self._add_leaf(value, place)

    def _add_leaf(self, value: Any, place: _Place) -> None:
        if type(value) is str:
            self._add_text(value, place)
        elif value is None:
            self.checks.append(ExpectationCheck(*place, "null", "null"))
        elif value is True or value is False:
            text = "true" if value else "false"
            self.checks.append(ExpectationCheck(*place, "bool", text, text))
        else:
            text = compact(value)
            number = _double(value)
            # a number beyond a double, which testsets do not have, matches no other
            is_beyond = number in (math.inf, -math.inf)
            operand, number = (None, None) if is_beyond else (text, number)
            self.checks.append(
                ExpectationCheck(*place, "number", text, operand, None, number)
            )

    def _add_text(self, value: str, place: _Place) -> None:
        expected = compact(value)
        matcher, operand = text_check(value)
        mistyped = mistyped_prefix(value)
        if mistyped is not None:
            written_prefix, prefix = map(compact, mistyped)
            message = (
                f"{written_prefix} is not a prefix, so the whole text is compared; did"
                f" you mean {prefix}? If not, put literal: in front."
            )
            self._remark(place, "doubtful_prefix", message)
        if matcher == "regex":
            pattern = translate(operand)
            if pattern.error:
                message = f"{pattern.error} The check stays unevaluated."
                self._remark(place, "invalid_pattern", message)
            for warning in pattern.warnings:
                self._remark(place, "doubtful_pattern", warning)
            self.checks.append(
                ExpectationCheck(
                    *place, matcher, expected, pattern.translated, pattern.ascii
                )
            )
            return
        if matcher == "contains" and not operand:
            self._remark(place, "empty_needle", "contains: alone matches every text.")
        self.checks.append(ExpectationCheck(*place, matcher, expected, operand))

    def _allowed(self, keys: Iterable[str]) -> str:
        text = compact([*keys, *self.ignored])
        self._spend(len(text))
        return text

    def _text_of(self, value: Any, long_containers: frozenset[int]) -> str:
        """Return an expected container, or a sentence about one that is too long."""
        if id(value) not in long_containers:
            text = compact(value)
        else:
            kind, parts = ("a list", "elements")
            if isinstance(value, dict):
                kind, parts = ("an object", "keys")
            size = f"{kind} of {len(value)} {parts}"
            text = compact(f"{size}, too long to repeat here: see the test case")
        self._spend(len(text))
        return text

    def _spend(self, characters: int) -> None:
        self.room -= characters
        if self.room < 0:
            raise ExpectationTooLargeError

    def _remark(
        self,
        place: _Place,
        code: str,
        message: str,
    ) -> None:
        scope, step_id, _, _, pointer = place
        self.remarks.append(Remark(scope, step_id, pointer, code, message))


def _double(number: int | float) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None


_NONE: frozenset[int] = frozenset()


def _long_containers(root: Any) -> frozenset[int]:
    """Return the ids of the containers below *root* whose text would be too long."""
    if not isinstance(root, (dict, list)) or len(compact(root)) <= LONGEST_EXPECTED:
        return _NONE
    order = [root]
    for container in order:  # grows during the loop: parents before children
        order.extend(
            child for child in _children(container) if isinstance(child, (dict, list))
        )
    sizes: dict[int, int] = {}
    for container in reversed(order):
        keys = sum(map(len, container)) if isinstance(container, dict) else 0
        sizes[id(container)] = keys + sum(
            sizes[id(child)] if isinstance(child, (dict, list)) else len(str(child)) + 4
            for child in _children(container)
        )
    return frozenset(key for key, size in sizes.items() if size > LONGEST_EXPECTED)


def _children(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


MATCH_RULE = "json"
"""The value of ``parameters.match_rule`` that flattens answers."""

_LEAST_ROOM = 64 << 20
_ROOM_PER_CHARACTER = 50


GoldenAnswer = tuple[str, str, str]
"""Case id, baseline id, and payload: a JSON object as text."""


def golden_checks(baselines: Sequence[GoldenAnswer]) -> dict[str, list[Any]]:
    """Flatten the golden answers of one task.

    Args:
        baselines: In the order of the file, those of a case together.

    Returns:
        The columns of ``raw.golden_checks`` next to ``load_id`` and ``task_id``, a row
        per leaf and per container.

    Raises:
        ExpectationTooLargeError: The checks would be many times their size.
    """
    size = sum(len(payload) for _, _, payload in baselines)
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
    *("case_id", "baseline_id", "golden_no", "check_no", "path", "pointer"),
    *("matcher", "operand", "operand_ascii", "number", "length"),
)
