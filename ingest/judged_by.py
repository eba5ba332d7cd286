"""The yardstick of an evaluation result: its expectations, rules and judge.

The evaluator writes them into the result. A later run that lacks one of them, or has
another, is judged by another yardstick.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
JudgedBy = tuple[str, str]
"""Hashes of the expectations and of the must-haves of a result; empty: none."""


class Judge(msgspec.Struct, frozen=True):
    """The judge of a result."""

    agent_id: str = ""
    flow: str = ""


class _Scope(msgspec.Struct):
    """The verdict about a step, the aggregation or the final output."""

    expected: msgspec.Raw = msgspec.Raw(b"")
    matched: Any = msgspec.UNSET


class _Verdicts(msgspec.Struct):
    """The verdicts in ``step_outputs``."""

    steps: dict[str, _Scope] = msgspec.field(
        name="_intermediate_evaluation", default_factory=dict
    )
    aggregation: _Scope | None = msgspec.field(
        name="_aggregation_evaluation", default=None
    )
    final: _Scope | None = msgspec.field(name="_final_evaluation", default=None)


class _Rule(msgspec.Struct):
    """A rule, without its message, which decides nothing."""

    name: str
    type: str
    field: Any = None
    value: msgspec.Raw = msgspec.Raw(b"null")
    severity: str = "must"


class _Judgement(msgspec.Struct):
    status: str | None = None
    must_have: bool | None = None


class _Metadata(msgspec.Struct):
    evaluation_config: msgspec.Raw = msgspec.Raw(b"")
    rules: msgspec.Raw = msgspec.Raw(b"[]")
    unjudged_rules: msgspec.Raw = msgspec.Raw(b"[]")
    judge: msgspec.Raw = msgspec.Raw(b"{}")


def judge_of(metadata: str) -> Judge | None:
    """Return the judge that the metadata of a result names."""
    if '"judge"' not in metadata:
        return None
    judge = _decode(_parse_metadata(metadata).judge, Judge)
    return judge if judge != Judge() else None


def judged_by(step_outputs: str, metadata: str) -> JudgedBy:
    """Return hashes of the expectations and must-haves that a result records."""
    expected = list(_expected(step_outputs))
    if expected and '"evaluation_config"' in metadata:
        expected.append(
            b"compared " + bytes(_parse_metadata(metadata).evaluation_config)
        )
    return _digest(expected), _digest(sorted(_must_haves(metadata)))


def verdict_of(step_outputs: str, must_have_pass: bool | None) -> str | None:
    """Return the verdict of a result's own judgements; ``None`` if it has none.

    A failed judgement decides, then one that could not be made (``matched`` is null).
    Must-haves that passed are a verdict only without a testset, which SQL knows.
    """
    matches = [
        match.matched
        for match in _scopes(step_outputs)
        if match.matched is not msgspec.UNSET
    ]
    if must_have_pass is False:
        return "fail"
    if any(match is False for match in matches):
        return "fail"
    if any(match is not True for match in matches):
        return "unevaluated"
    return "pass" if matches else None


def hash_of(results: Collection[JudgedBy]) -> str | None:
    """Return ``<hash of the expectations>/<hash of the must-haves>`` of a case."""
    if not results:
        return None
    return "/".join(
        _digest(part.encode() for part in sorted(set(parts)))
        for parts in zip(*results, strict=True)
    )


def _expected(step_outputs: str) -> Iterator[bytes]:
    if '_evaluation"' not in step_outputs:
        return
    verdicts = _decode(step_outputs, _Verdicts) or _Verdicts()
    for step, scope in sorted(verdicts.steps.items()):
        yield b"step " + msgspec.json.encode(step) + bytes(scope.expected)
    if verdicts.aggregation is not None:
        yield b"aggregation " + bytes(verdicts.aggregation.expected)
    if verdicts.final is not None:
        yield b"final " + bytes(verdicts.final.expected)


def _scopes(step_outputs: str) -> list[_Scope]:
    if '_evaluation"' not in step_outputs:
        return []
    judgements = _decode(step_outputs, _Verdicts) or _Verdicts()
    return [
        *judgements.steps.values(),
        *filter(None, (judgements.aggregation, judgements.final)),
    ]


def _must_haves(metadata: str) -> Iterator[bytes]:
    """Yield the must rules and the judge, each marked if it gave no verdict."""
    if '"rules"' not in metadata and '"judge"' not in metadata:
        return
    fields = _parse_metadata(metadata)
    unjudged = _decode(fields.unjudged_rules, list[str]) or []
    for rule in _decode(fields.rules, list[_Rule]) or ():
        if rule.severity == "must":
            yield msgspec.json.encode(rule) + b" unjudged" * (rule.name in unjudged)
    judgement = _decode(fields.judge, _Judgement) or _Judgement()
    if judgement.status == "unevaluated":
        yield b"judge unjudged"
    elif judgement.must_have is not None:
        yield b"must-haves of the judge"


def _parse_metadata(metadata: str) -> _Metadata:
    return _decode(metadata, _Metadata) or _Metadata()


def _decode(content: Any, kind: type[_T]) -> _T | None:
    """Return JSON as *kind*; ``None`` if it has another shape."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError:
        return None


def _digest(parts: Iterable[bytes]) -> str:
    content = b"\x1f".join(parts)
    return hashlib.blake2b(content, digest_size=16).hexdigest() if content else ""
