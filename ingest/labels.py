"""Human labels of answers, from files of labelling tools and sheets.

Label Studio (JSON, JSON-MIN, CSV), Argilla, Langfuse, LangSmith, Opik, the sheets of
``promptlab labels out``, and tables with a row per label or a column per person. A
judge's rows in these files are not labels.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from promptlab.contracts.base import in_utc, plain_name
from promptlab.contracts.sources import LabelOptions
from promptlab.encoding import without_lone_surrogates
from promptlab.ingest.foreign.documents import (
    UNREADABLE,
    Refused,
    refused,
)
from promptlab.ingest.foreign.table.dialect import csv_rows
from promptlab.ingest.raw.rows import Reading, columns_of
from promptlab.ingest.reading.problems import Problem, lone_surrogate_warning
from promptlab.ingest.reading.source import Source, place_of_lone_surrogate
from promptlab.json_text.places import BOM

COLUMNS = (
    "line", "task_id", "case_id", "round_id", "output_hash", "dimension_id", "labeler",
    "label", "grade", "scale", "policy", "split", "draw", "weight", "comment",
    "labeled_at",
)  # fmt: skip

WORDS = {
    **dict.fromkeys(
        (
            *("pass", "passed", "yes", "y", "true", "good", "correct", "right", "ok"),
            *("accept", "accepted", "1", "1.0"),
            *("通过", "正确", "是", "对", "合格", "好"),
        ),
        "pass",
    ),
    **dict.fromkeys(
        (
            *("fail", "failed", "no", "n", "false", "bad", "incorrect", "wrong"),
            *("reject", "rejected", "0", "0.0"),
            *("不通过", "未通过", "错误", "否", "错", "不合格", "差"),
        ),
        "fail",
    ),
}
"""Word, in lower case → label."""

_EMPTY = {"", "nan", "null", "none", "n/a", "-", "skip", "skipped"}
_SCALES = (1.0, 5.0, 10.0, 100.0)
_MOST_WEIGHT = 1e12

_TASK = ("task_id", "promptlab_task", "task")
_CASE = ("case_id", "sample_id", "example_id", "question_id", "case")
_ROUND = ("round_id", "trace_id", "traceId", "run_id", "round")
_OUTPUT = ("output", "answer", "response", "raw_output", "hypothesis", "prediction")
_HASH = ("output_hash", "hash")
_ROW = ("row", "promptlab_row")
_DIMENSION = ("dimension_id", "dimension", "question", "criterion", "metric")
_LABELER = (
    "labeler", "annotator", "labeller", "rater", "reviewer", "author", "user", "by",
)  # fmt: skip
_LABEL = ("label", "verdict", "human_label", "human", "choice", "grade", "rating")
_COMMENT = ("comment", "comments", "note", "notes", "reason", "explanation")
_TIME = ("labeled_at", "created_at", "updated_at", "modified_at", "time", "timestamp")
_SPLIT = ("split",)
_WEIGHT = ("weight",)
_DRAW = ("draw",)
_POLICY = ("policy",)
_NO_PERSON = frozenset(
    {
        name.lower()
        for names in (
            _TASK, _CASE, _ROUND, _OUTPUT, _HASH, _ROW, _DIMENSION, _LABELER, _LABEL,
            _COMMENT, _TIME, _SPLIT, _WEIGHT, _DRAW, _POLICY,
        )
        for name in names
    }
    | {
        "id", "input", "inputs", "prompt", "rubric", "expected", "reference", "title",
        "model", "annotation_id", "lead_time", "tags", "context", "slice",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Label:
    """A label as in the file."""

    line: int
    word: Any
    identity: Mapping[str, Any]
    """Columns or fields that identify the answer: ids, output, row of a sheet."""
    labeler: str | None = None
    dimension: str | None = None
    comment: str | None = None
    at: Any = None
    question: str | None = None
    """The question of a form; a dimension where several have pass or fail."""


def row_id(identity: Mapping[str, Any]) -> str:
    """Return the id of a row of a sheet: the answer, and how it was drawn."""
    packed = json.dumps(identity, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def read(source: Source) -> Iterator[Reading]:
    """Read one file of labels: CSV, TSV, JSON or JSONL, UTF-8.

    Yields:
        Rows of ``raw.labels``. A label with an unknown word is rejected with its row;
        empty cells are skipped.
    """
    options = source.labels or LabelOptions()
    try:
        labels = _by_question(list(_labels(source)), options)
    except Refused as error:
        yield Reading(rows={}, problems=[error.problem], rejected=True)
        return
    problems: list[Problem] = []
    graded = _graded_columns(labels, options)
    rows: list[tuple[Any, ...]] = []
    for label in labels:
        row = label if isinstance(label, Problem) else _row(label, options, graded)
        if isinstance(row, Problem):
            problems.append(row)
        elif row is not None:
            rows.append(row)
    rejected = sum(problem.severity == "reject" for problem in problems)
    yield Reading(
        rows={"labels": columns_of(COLUMNS, rows)} if rows else {},
        problems=_without_repeats(problems),
        records_loaded=len(rows),
        records_rejected=rejected,
        rejected=not rows and rejected > 0,
        keys=[("labels", source.uri)] if rows else [],
    )


def _by_question(
    labels: list[_Label | Problem], options: LabelOptions
) -> list[_Label | Problem]:
    """Give labels the dimension of their question, if several have pass or fail.

    Labels of a question without pass or fail get it in any case.
    All rows of a file count, as a question may be answered in some only.
    """
    words = {**WORDS, **dict(options.words)}
    judging = {
        label.question
        for label in labels
        if not isinstance(label, Problem)
        and label.question is not None
        and (
            isinstance(label.word, bool)
            or str(label.word).strip().lower() in words
            or _number(str(label.word)) is not None
        )
    }
    return [
        replace(label, dimension=label.question)
        if not isinstance(label, Problem)
        and label.question is not None
        and (len(judging) > 1 or label.question not in judging)
        else label
        for label in labels
    ]


def _unreadable(why: str) -> Refused:
    return refused("labels_unreadable", why)


def _without_repeats(problems: list[Problem]) -> list[Problem]:
    """Return the problems; labels without a labeler are reported together."""
    nameless = [problem for problem in problems if problem.code == _NAMELESS]
    rest = [problem for problem in problems if problem.code != _NAMELESS]
    if len(nameless) > 1:
        message = f"{len(nameless)} labels do not say who labelled, the first in this"
        nameless = [replace(nameless[0], message=f"{message} line; {_NAME_THEM}")]
    return sorted(rest + nameless, key=lambda problem: problem.line or 0)


_NAMELESS = "no_labeler"
_NAME_THEM = "name one person with --by NAME, or add a column `labeler`"


def _labels(source: Source) -> Iterator[_Label | Problem]:
    data = source.data.removeprefix(BOM)
    if data.lstrip()[:1] in (b"[", b"{"):
        data, n_surrogates = without_lone_surrogates(data)
        if n_surrogates:
            yield lone_surrogate_warning(
                n_surrogates, **place_of_lone_surrogate([source.data])
            )
        yield from _of_records(_json_records(data))
        return
    records = list(_table_records(data, source))
    problems = [record for record in records if isinstance(record, Problem)]
    yield from problems
    rows = [record for record in records if not isinstance(record, Problem)]
    if rows or not problems:
        yield from _of_records(rows)


def _json_records(data: bytes) -> list[tuple[int, dict[str, Any]]]:
    try:
        document = msgspec.json.decode(data)
    except UNREADABLE:
        document = None
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        document = lists[0] if len(lists) == 1 else [document]
    if isinstance(document, list):
        return [
            (number, record)
            for number, record in enumerate(document, 1)
            if isinstance(record, dict)
        ]
    records = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line)
        except UNREADABLE as error:
            raise _unreadable(f"line {number} is not JSON: {error}") from None
        if isinstance(record, dict):
            records.append((number, record))
    return records


def _table_records(
    data: bytes, source: Source
) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    for row in csv_rows(data, source, ()):
        if isinstance(row, Problem):
            yield row
        elif len(row[1]) < 2:
            raise _unreadable(
                "is not a table of labels; expected columns such as case_id, labeler,"
                " label"
            )
        elif any(cell.strip() for cell in row[1].values()):
            yield row[0], {name.strip(): cell for name, cell in row[1].items()}


def _of_records(
    records: list[tuple[int, dict[str, Any]]],
) -> Iterator[_Label | Problem]:
    if not records:
        raise _unreadable(
            "holds no labels; expected columns such as case_id, labeler, label"
        )
    keys = {key for _, record in records for key in record if key is not None}
    for reader, fits in _READERS:
        if fits(keys):
            for number, record in records:
                try:
                    yield from list(reader(number, record))
                except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                    yield Problem(
                        "unreadable_label",
                        "has not the shape of this tool's exports",
                        line=number,
                    )
            return
    yield from _sheet(records, keys)


def _label_studio(number: int, task: dict[str, Any]) -> Iterator[_Label]:
    identity: dict[str, Any] = {**(task.get("data") or {}), **(task.get("meta") or {})}
    for annotation in task.get("annotations") or []:
        if annotation.get("was_cancelled"):
            continue
        annotator = annotation.get("completed_by")
        if isinstance(annotator, dict):
            annotator = (
                annotator.get("email")
                or annotator.get("username")
                or annotator.get("id")
            )
        results = annotation.get("result") or []
        comment = " ".join(
            text
            for result in results
            for text in (result.get("value") or {}).get("text") or []
        )
        for result in results:
            words = _choices(result)
            if not words:
                continue
            yield _Label(
                number,
                words[0] if len(words) == 1 else words,
                identity,
                labeler=None if annotator is None else str(annotator),
                question=_text(result.get("from_name")),
                comment=comment or None,
                at=annotation.get("updated_at") or annotation.get("created_at"),
            )


def _choices(result: Mapping[str, Any]) -> list[Any]:
    value = result.get("value") or {}
    if "rating" in value:
        return [value["rating"]]
    return list(value.get("choices") or [])


def _argilla(number: int, record: dict[str, Any]) -> Iterator[_Label]:
    identity = {**(record.get("fields") or {}), **(record.get("metadata") or {})}
    identity.setdefault("case_id", record.get("external_id"))
    responses: Any = record.get("responses") or {}
    if isinstance(responses, dict):
        for question, answers in responses.items():
            for response in answers or []:
                if response.get("status") in {"draft", "discarded"}:
                    continue
                yield _Label(
                    number,
                    response.get("value"),
                    identity,
                    labeler=str(response.get("user_id")),
                    question=question,
                )


def _argilla_flat(number: int, record: dict[str, Any]) -> Iterator[_Label]:
    questions = [
        key.removesuffix(".responses") for key in record if key.endswith(".responses")
    ]
    for question in questions:
        values = record.get(f"{question}.responses") or []
        users = record.get(f"{question}.responses.users") or []
        statuses = record.get(f"{question}.responses.status") or []
        for place, value in enumerate(values):
            if statuses and statuses[place] != "submitted":
                continue
            yield _Label(
                number,
                value,
                record,
                labeler=str(users[place]) if place < len(users) else None,
                question=question,
            )


def _langfuse(number: int, row: dict[str, Any]) -> Iterator[_Label]:
    if str(row.get("source", "")).upper() not in {"ANNOTATION", "API"}:
        return
    metadata = row.get("metadata")
    identity = {**row, **(metadata if isinstance(metadata, dict) else {})}
    word = row.get("stringValue") or row.get("string_value")
    yield _Label(
        number,
        row.get("value") if word in (None, "") else word,
        identity,
        labeler=row.get("authorUserId") or row.get("author_user_id"),
        dimension=row.get("name"),
        comment=row.get("comment"),
        at=row.get("timestamp") or row.get("createdAt") or row.get("created_at"),
    )


def _langsmith(number: int, row: dict[str, Any]) -> Iterator[_Label]:
    feedback_source = row.get("feedback_source") or {}
    if not isinstance(feedback_source, dict):
        feedback_source = {"type": feedback_source}
    kind = feedback_source.get("type")
    word = row.get("correction")
    if isinstance(word, dict):
        word = word.get("score", word.get("value"))
    if word is None and kind in {"auto_eval", "model"}:
        return
    if word is None:
        word = row["value"] if row.get("value") not in (None, "") else row.get("score")
    yield _Label(
        number,
        word,
        row,
        labeler=feedback_source.get("user_id") or feedback_source.get("user_name"),
        dimension=row.get("key"),
        comment=row.get("comment"),
        at=row.get("modified_at") or row.get("created_at"),
    )


_OPIK = re.compile(r"^(?P<by>[^.]+)\.(?P<score>[^.]+)$")


def _opik(number: int, row: dict[str, Any]) -> Iterator[_Label]:
    scores = _opik_scores(row)
    for key in scores:
        labeler, score = key.split(".")
        comment = row.get(f"{key}.comment") or row.get(f"{key}.reason")
        yield _Label(
            number,
            row[key],
            row,
            labeler=labeler,
            question=score,
            comment=comment or None,
        )


def _opik_scores(keys: Iterable[str]) -> list[str]:
    return [
        key
        for key in keys
        if _OPIK.match(key) and not key.endswith((".reason", ".comment"))
    ]


_READERS: tuple[
    tuple[
        Callable[[int, dict[str, Any]], Iterator[_Label]], Callable[[set[str]], bool]
    ],
    ...,
] = (
    (_label_studio, lambda keys: {"annotations", "data"} <= keys),
    (_argilla, lambda keys: "responses" in keys and "fields" in keys),
    (_argilla_flat, lambda keys: any(key.endswith(".responses") for key in keys)),
    (_langfuse, lambda keys: "source" in keys and "name" in keys and bool(
        {"traceId", "trace_id"} & keys)),
    (_langsmith, lambda keys: {"run_id", "key", "feedback_source"} <= keys),
    (_opik, lambda keys: any(
        keys & {f"{key}.reason", f"{key}.comment"} for key in _opik_scores(keys))),
)  # fmt: skip
"""Reader, and a test of the keys of its tool."""


def _sheet(
    records: list[tuple[int, dict[str, Any]]], keys: set[str]
) -> Iterator[_Label]:
    """Read a table with a row per label, or a column per person or per question."""
    lower = {key.lower(): key for key in keys}
    label = next((lower[name] for name in _LABEL if name in lower), None)
    columns = [label] if label else []
    are_questions = are_people = False
    if label is None:
        candidates = sorted(key for key in keys if key.lower() not in _NO_PERSON)
        columns = [key for key in candidates if _are_labels(records, key)]
        are_questions = "annotation_id" in lower  # Label Studio
        are_people = not are_questions
    if not columns:
        raise _unreadable(
            "has no column of labels; expected `label` with `labeler`, or a column per"
            " person with pass and fail or grades"
        )
    for number, record in records:
        for column in columns:
            dimension = _first(record, _DIMENSION)
            if are_questions:
                dimension = column if len(columns) > 1 else None
            yield _Label(
                number,
                record.get(column),
                record,
                labeler=column if are_people else _first(record, _LABELER),
                dimension=dimension,
                comment=_first(record, _COMMENT),
                at=_first(record, _TIME),
            )


def _are_labels(records: list[tuple[int, dict[str, Any]]], key: str) -> bool:
    words = [str(record.get(key, "")).strip().lower() for _, record in records]
    filled = [word for word in words if word not in _EMPTY]
    recognized = [word for word in filled if word in WORDS or _number(word) is not None]
    return bool(filled) and len(recognized) * 2 > len(filled)


def _row(
    label: _Label, options: LabelOptions, graded: Mapping[str | None, float]
) -> tuple[Any, ...] | Problem | None:
    word = label.word
    text = "" if word is None else str(word).strip()
    if isinstance(word, bool):
        text = "pass" if word else "fail"
    if text.lower() in _EMPTY:
        return None
    identity = _identity(label)
    dimension = identity["dimension_id"] or _text(label.dimension) or options.dimension
    key = _text(label.dimension)
    value = grade = scale = None
    if key in graded:
        grade, scale = _number(text), graded[key]
        if grade is None or not 0 <= grade <= scale:
            return _bad_word(label, f"expected a grade from 0 to {scale:g}")
    else:
        words = {**WORDS, **dict(options.words)}
        value = words.get(text.lower())
        if value is None:
            return _bad_word(
                label, "expected pass or fail; `--map WORD=pass` adds a word"
            )
    labeler = _text(label.labeler) or options.labeler
    if not labeler:
        message = f"does not say who labelled; {_NAME_THEM}"
        return Problem(_NAMELESS, message, line=label.line)
    if not (identity["round_id"] or identity["output_hash"]):
        return Problem(
            "no_answer_named",
            "names no answer; expected round_id, or case_id with output or output_hash",
            line=label.line,
        )
    weight = identity["weight"]
    if weight is not None and not 0 < weight < _MOST_WEIGHT:
        return Problem(
            "odd_weight",
            f"the weight of the answer is {weight:g}; expected a number above 0",
            line=label.line,
        )
    case_id = identity["case_id"] and plain_name(identity["case_id"])
    return (
        label.line, identity["task_id"], case_id, identity["round_id"],
        identity["output_hash"], dimension, labeler, value, grade, scale,
        identity["policy"] or options.policy, identity["split"], identity["draw"],
        weight, _text(label.comment), _moment(label.at),
    )  # fmt: skip


def _bad_word(label: _Label, expected: str) -> Problem:
    word = json.dumps(label.word, ensure_ascii=False, default=str)[:60]
    return Problem(
        "unknown_label", f"the label {word} is not known; {expected}", line=label.line
    )


def _identity(label: _Label) -> dict[str, Any]:
    identity = label.identity
    packed = _unpacked(_first(identity, _ROW))
    if packed:
        names = ("task", "case", "round", "hash", "dimension", "draw")
        task, case, round_id, digest, dimension, draw = (
            _text(packed.get(name)) for name in names
        )
        weight = packed.get("weight")
    else:
        task, case, draw = (_first(identity, n) for n in (_TASK, _CASE, _DRAW))
        digest, round_id = _first(identity, _HASH), _first(identity, _ROUND)
        dimension, weight = _first(identity, _DIMENSION[:2]), _first(identity, _WEIGHT)
        output = identity.get(next((key for key in _OUTPUT if key in identity), ""))
        # a tool may show the answer of a round in another form
        if digest is None and round_id is None and isinstance(output, str) and output:
            digest = hashlib.md5(output.encode(), usedforsecurity=False).hexdigest()
    return {
        "task_id": task,
        "case_id": case,
        "round_id": round_id,
        "output_hash": digest,
        "dimension_id": dimension,
        "draw": draw,
        "weight": _weight(weight),
        "policy": _first(identity, _POLICY),
        "split": _first(identity, _SPLIT),
    }


def _unpacked(row: str | None) -> dict[str, Any]:
    """Return the fields that `row_id` packed."""
    try:
        packed = base64.urlsafe_b64decode((row or "") + "=" * (-len(row or "") % 4))
        fields = msgspec.json.decode(packed)
    except (ValueError, *UNREADABLE):
        return {}
    return fields if isinstance(fields, dict) else {}


def _weight(value: Any) -> float | None:
    """Return a weight, also one that is not allowed; ``None`` without one."""
    try:
        return None if value is None or value == "" else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _text(value: Any) -> str | None:
    """Return a name or a comment; ``None`` for what is not a text or a number."""
    if value is None or isinstance(value, dict | list | bool):
        return None
    return str(value).strip() or None


def _first(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    lower = {key.lower(): value for key, value in record.items() if key}
    values = (_text(lower.get(name.lower())) for name in names)
    return next((value for value in values if value), None)


def _graded_columns(
    labels: list[_Label | Problem], options: LabelOptions
) -> dict[str | None, float]:
    """Return the dimensions that have grades, with the best grade of each.

    1 and 0 are pass and fail, unless the same dimension has other numbers.
    """
    numbers: dict[str | None, list[float]] = {}
    for label in labels:
        if isinstance(label, Problem) or isinstance(label.word, bool):
            continue
        number = _number(str(label.word).strip()) if label.word is not None else None
        if number is not None:
            numbers.setdefault(_text(label.dimension), []).append(number)
    graded = {}
    for dimension, grades in numbers.items():
        if options.scale is None and set(grades) <= {0.0, 1.0}:
            continue
        best = max(grades)
        graded[dimension] = options.scale or next(
            (scale for scale in _SCALES if best <= scale), best
        )
    return graded


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return in_utc(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))
    except (ValueError, OverflowError):
        return None
