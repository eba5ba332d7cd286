"""The assertions of promptfoo's tests, and the models that judge them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from promptlab.ingest.foreign.casts import as_list, as_object
from promptlab.ingest.foreign.documents import decode
from promptlab.ingest.foreign.promptfoo.export import TestCase
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.json_text.writing import canonical, compact

Judge = tuple[str, str, str, str]
"""Name of an assertion; model, template and rubric, empty if the file has none."""

_RULES = re.compile(
    r"(not-)?(i?contains|equals|starts-with|regex|is-|javascript|python|ruby|webhook"
    r"|latency|cost|levenshtein|rouge|bleu|gleu|meteor|word-count|perplexity|tool-call"
    r"|finish-reason|guardrails|skill-used|trace-|trajectory:(tool|step)|max-score)\S*"
    r"|human|assert-set"
)
"""Types of assertions that ask no model; all other types may ask one."""
_OF_JUDGE = ("provider", "rubricPrompt", "factuality")
"""Options of a test, and of an assertion, that define the judge."""
_OF_ASSERTIONS = ("transform", "postprocess")
"""Options of a test that change the text that is judged."""
_NO_SETTINGS = (
    *("repeat", "disableVarExpansion", "disableDefaultAsserts", "runSerially"),
    "storeOutputAs",
)
"""Options that change neither answer nor verdict."""
_OUTPUTS = ("text", "embedding", "classification", "moderation")
"""Types of judges, if a provider has one model for each."""


class Judging(Struct, eq=False):
    """The assertions and options of a test. Many tests of a run have the same ones."""

    asserts: str
    """The assertions as JSON; empty if there are none."""
    pass_rule: bytes
    """Everything that decides the verdict, except judges: these have records."""
    types: list[str]
    judges: list[Judge]
    repeat: int | None
    settings: str | None
    """The options, except those for judges and the number of repeats, as JSON."""


def judging_of(test: TestCase) -> Judging:
    """Return the assertions of a test, and its options."""
    return _judging(
        *map(bytes, (test.asserts, test.options, test.provider)),
        *map(bytes, (test.threshold, test.assertScoringFunction)),
    )


@lru_cache(4096)
def _judging(
    asserts: bytes, options: bytes, provider: bytes, *scoring: bytes
) -> Judging:
    """Decode the parts of a test; most tests have the same ones as others."""
    assertions = as_list(_decoded(asserts))
    chosen = as_object(_decoded(options))
    transforms = {name: chosen.get(name) for name in _OF_ASSERTIONS}
    settings = yardstick(
        {**chosen, "test provider": _decoded(provider)},
        *(*_OF_ASSERTIONS, *_OF_JUDGE, *_NO_SETTINGS),
    )
    repeat = chosen.get("repeat")
    return Judging(
        asserts=compact(assertions) if assertions else "",
        pass_rule=canonical([assertions, transforms, *map(_decoded, scoring)]),
        types=[kind for kind, *_ in _with_members(assertions)],
        judges=list(_judges(assertions, chosen)),
        repeat=repeat if isinstance(repeat, int) and repeat > 0 else None,
        settings=compact(dict(sorted(settings.items()))) if settings else None,
    )


def _decoded(part: bytes) -> Any:
    return decode(part or b"null", Any)


def is_rule(kind: str) -> bool:
    """Return true for the type of an assertion that asks no model."""
    return _RULES.fullmatch(kind) is not None


def _with_members(
    assertions: Any, set_metric: Any = None
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield type, assertion and metric of its set, for the members of sets, too."""
    for assertion in map(as_object, as_list(assertions)):
        if isinstance(kind := assertion.get("type"), str):
            yield kind, assertion, set_metric
        yield from _with_members(assertion.get("assert"), assertion.get("metric"))


def _judges(assertions: Any, options: Mapping[str, Any]) -> Iterator[Judge]:
    """Yield the judge of each assertion that a model judges, also for its set.

    The template of a judge is all its settings in the assertion and the options.
    """
    for kind, assertion, set_metric in _with_members(assertions):
        if is_rule(kind):
            continue
        judge = {name: assertion.get(name) or options.get(name) for name in _OF_JUDGE}
        model = _model(judge["provider"])
        if isinstance(judge["provider"], str):
            del judge["provider"]
        settings = yardstick(judge, "id", "label")
        template = canonical(settings).decode() if settings else ""
        rubric = assertion.get("value") or ""
        if not isinstance(rubric, str):
            rubric = compact(rubric)
        for name in (assertion.get("metric") or kind, set_metric):
            if isinstance(name, str):
                yield name, model, template, rubric


def _model(provider: Any) -> str:
    """Return the id of a provider; if it has one model for each type, all their ids."""
    settings = as_object(provider) or {"id": provider}
    models = [_model(settings[kind]) for kind in _OUTPUTS if settings.get(kind)]
    provider_id = settings.get("id")
    return ", ".join(models) or (provider_id if isinstance(provider_id, str) else "")
