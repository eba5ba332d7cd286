"""Results of scorers for an answer: a number, a label, or an error.

A scorer that broke has no result. Its check was not judged, it has no score, and the
answer is neither right nor wrong unless another scorer decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from promptlab.ingest.foreign.casts import as_float, as_object, as_share
from promptlab.ingest.foreign.writing import RoundWriter, Status
from promptlab.ingest.reading.problems import Problem, warning
from promptlab.json_text.writing import compact


def write_score(
    answer: RoundWriter,
    name: str,
    result: Any,
    *,
    why: Any = None,
    broke: str | None = None,
    is_share: bool = True,
) -> None:
    """Write the result of a scorer.

    Args:
        answer: The answer.
        name: The dimension.
        result: A number, a truth value, or a label, which is kept and has no value.
        why: Its reason; anything but a text is left out.
        broke: Why it could not judge: then *result* is ignored.
        is_share: False if a number from 0 to 1 need not be a score.
    """
    value = None if broke else as_float(result)
    payload: dict[str, Any] = {"error": broke} if broke else {}
    if value is None and result is not None and not broke:
        payload["given"] = result
    answer.score(
        name,
        value,
        as_share(value) if is_share else None,
        summary=why if isinstance(why, str) else None,
        payload=payload,
    )


def verdict(passed: Iterable[bool | None]) -> Status | None:
    """Return whether all scorers with a pass rule passed; ``None`` without any.

    If one did not judge and no other one failed, the verdict is unevaluated.
    """
    listed = list(passed)
    if any(result is False for result in listed):
        return "fail"
    if not listed:
        return None
    return "pass" if all(result is True for result in listed) else "unevaluated"


def unjudged_problems(name: str, case_ids: Sequence[str]) -> Iterator[Problem]:
    """Return one warning for the rows of these cases, which have no verdict."""
    if case_ids:
        rows = "1 row has" if len(case_ids) == 1 else f"{len(case_ids)} rows have"
        yield warning(
            "verdict_missing",
            f"{rows} no `{name}` of true or false, the first of case"
            f" {case_ids[0]}: they are not evaluated, which is neither a pass nor a"
            " fail",
            record_id=case_ids[0],
        )


def error_text(error: Any) -> str | None:
    """Return the words of an error: a text, or an object with a message or a code."""
    about: Mapping[str, Any] = as_object(error)
    for name in ("message", "error_message", "code", "error_code"):
        if about.get(name):
            error = about[name]
            break
    if not error:
        return None
    return error if isinstance(error, str) else compact(error)
