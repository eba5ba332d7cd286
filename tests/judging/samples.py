"""Generated rounds with all that can be asked of them at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from promptlab.json_text.writing import compact_as_duckdb
from promptlab.steps import calls_of
from tests.judging.cases import Round, Sample
from tests.judging.pairs import KEYS, VALUES, literal

STEPS = st.sampled_from(
    [
        *("a", "b", "output", "answer", "draft", "text", "last"),
        *("aggregate", "my_Batch", "BATCH_Aggregated", "_verdict", "a/b", "*", "0"),
    ]
)
PIPELINES = st.sampled_from(
    [
        None,
        {"steps": [{"id": "a"}, {"id": "b"}]},
        {
            "steps": [
                {"id": "a", "output_key": "draft"},
                {"id": "b", "output_key": "text"},
            ]
        },
        {
            "steps": [
                {"id": "a", "output_key": "text"},
                {"id": "b", "output_key": "text"},
            ],
            "evaluation_target": "text",
        },
        {
            "steps": [{"id": "a", "output_key": "draft"}, {"id": "b"}],
            "evaluation_target": "a",
        },
        {"steps": [{"id": "a"}], "evaluation_target": "last"},
        {"steps": [{"id": "_verdict"}, {"id": "b", "output_key": "_verdict"}]},
    ]
)
OUTPUTS = st.dictionaries(STEPS, VALUES, max_size=5)
CALLS = st.builds(
    lambda name, arguments, result: [
        {"role": "assistant", "tool_calls": [{"name": name, "arguments": arguments}]},
        {"role": "tool", "name": name, "content": result},
    ],
    STEPS,
    VALUES,
    VALUES,
)
MESSAGES = st.lists(CALLS, max_size=3).map(lambda calls: list(chain(*calls)))
TEXTS = st.one_of(
    st.sampled_from(
        [
            *("", "a", " a\n", "a b", "b\u3000", "中文。", "\ufeffa", "5", " 5.0\r\n"),
            *("{}", "[ ]", "nan", "[inf]", '"NaN"', "{'a': 1}", '{"a":1,}', "1e5"),
            *('{"a": 1, "b": null}', '{"b": {"a": 1.0}}', '"a', "true", "null", "-0"),
        ]
    ),
    VALUES.map(compact_as_duckdb),
    VALUES.map(lambda value: f" {compact_as_duckdb(value)}\n"),
)
NEEDLES = st.sampled_from(["a", " a", "a ", "\n", "中", "5", "{", "}", "1", '"', "。"])
COUNTS = st.integers(0, 6)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "strict_mode": st.booleans(),
        "tolerance": st.sampled_from([0, 0.01, 0.5]),
        "ignore_fields": st.lists(KEYS, max_size=2, unique=True),
        "evaluate_intermediate": st.booleans(),
        "evaluate_aggregation": st.booleans(),
        "evaluate_final": st.booleans(),
    },
)
KEY_TYPES = st.sampled_from(
    ["string", "int", "number", "bool", "list", "dict", "null", "any"]
)
NO_NULLS = VALUES.filter(lambda value: value is not None)
NEEDLE_OR_LIST = st.one_of(NEEDLES, st.lists(NEEDLES, min_size=1, max_size=3))
OPERANDS: dict[str, st.SearchStrategy[Any]] = {
    "contains": NEEDLE_OR_LIST,
    "not_contains": NEEDLE_OR_LIST,
    "contains_any": NEEDLE_OR_LIST,
    "regex": st.sampled_from([".*", "^a", r"\d", r" \w$ ", r"^\s", "a$", "(?i)NAN"]),
    "starts_with": NEEDLE_OR_LIST,
    "ends_with": NEEDLE_OR_LIST,
    "equals": st.one_of(NO_NULLS, TEXTS),
    "allowed_values": st.lists(st.one_of(NO_NULLS, TEXTS), min_size=1, max_size=3),
    "max_chars": st.one_of(COUNTS, st.just(1000)),
    "min_chars": COUNTS,
    "max_tokens": st.one_of(COUNTS, st.just(1000)),
    "non_empty": st.just(True),
    "is_json": st.just(True),
    "required_keys": st.one_of(
        st.lists(KEYS.filter(bool), min_size=1, max_size=2),
        st.dictionaries(KEYS, KEY_TYPES, min_size=1, max_size=2),
    ),
}


Parts = list[tuple[str, Any]]
"""Keys and values of the objects of a round: what its fields may be."""


@st.composite
def rules(draw: st.DrawFn, whole: list[Any], parts: Parts) -> dict[str, Any]:
    """A rule, which the answer or one of its fields may well keep."""
    kind = draw(st.sampled_from(sorted(OPERANDS)))
    value = draw(OPERANDS[kind])
    field = draw(st.one_of(st.none(), STEPS))
    near = whole
    fitting = [
        (key, each)
        for key, each in parts
        if kind != "required_keys" or (isinstance(each, dict) and any(each))
    ]
    if fitting and draw(st.booleans()):
        field, found = draw(st.sampled_from(fitting))
        near = [found]
    near = [each for each in near if each is not None]
    if near and kind in ("equals", "allowed_values") and draw(st.booleans()):
        found = draw(st.sampled_from(near))
        value = found if kind == "equals" else [*value, found]
    words = ("contains_any", "starts_with", "ends_with")
    if near and kind in words and draw(st.booleans()):
        found = draw(st.sampled_from(near))
        text = found if isinstance(found, str) else compact_as_duckdb(found)
        part = text[-2:] if kind == "ends_with" else text[:2]
        value = [draw(NEEDLES), part or "a"]
    keys = [key for each in near if isinstance(each, dict) for key in each if key]
    if keys and kind == "required_keys" and draw(st.booleans()):
        value = [draw(st.sampled_from(keys))]
    severity = draw(st.sampled_from(("must", "should")))
    rule = {"type": kind, "value": value, "severity": severity}
    return rule if field is None else {**rule, "field": field}


@st.composite
def expected(draw: st.DrawFn, candidates: list[Any]) -> Any:
    """An expectation, which one of the candidates may well meet."""
    if candidates and draw(st.integers(0, 3)):
        return literal(draw(st.sampled_from(candidates)))
    return draw(VALUES)


@st.composite
def expected_fields(
    draw: st.DrawFn, parts: Parts, whole: list[Any], size: int
) -> dict[str, Any]:
    """Expectations by key, which values of these keys may well meet."""
    fields: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, size))):
        key = draw(st.sampled_from(parts))[0] if parts else "output"
        if not draw(st.integers(0, 3)):
            key = draw(STEPS)
        fields[key] = draw(expected([v for k, v in parts if k == key] or whole))
    return fields


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """A round, and expectations of all scopes; of an analysis also rules and answers."""
    steps = draw(st.one_of(st.none(), OUTPUTS))
    given = Round(
        raw_output=draw(st.one_of(st.none(), TEXTS)),
        step_outputs=steps,
        output_tokens=draw(st.one_of(st.none(), COUNTS)),
        messages=draw(st.one_of(st.none(), st.none(), MESSAGES)),
        error=draw(st.sampled_from([None, None, None, "timeout"])),
    )
    is_analysis = given.raw_output is not None and draw(st.integers(0, 3)) > 0
    if is_analysis:
        given = replace(given, parsed_output=draw(st.one_of(st.none(), OUTPUTS)))
    else:
        given = replace(given, final_output=draw(st.one_of(st.none(), OUTPUTS, VALUES)))
    outputs = (given.final_output, given.parsed_output, given.raw_output)
    whole = [each for each in outputs if each is not None]
    parts = [
        part
        for each in (steps, *whole)
        if isinstance(each, dict)
        for part in each.items()
    ]
    parts += list(calls_of(given.messages).items())
    values = [value for _, value in parts] + whole
    return Sample(
        "",
        given,
        pipeline=draw(PIPELINES),
        case={
            "intermediate_expectations": draw(expected_fields(parts, whole, 2)),
            "expected_aggregation": draw(st.one_of(st.none(), expected(values))),
            "expected_outputs": draw(expected_fields(parts, whole, 3)),
            "evaluation_config": draw(CONFIGS),
        },
        rules=draw(st.lists(rules(whole, parts), max_size=4)) if is_analysis else [],
        golden=draw(st.lists(expected(whole), max_size=3)) if is_analysis else [],
    )
