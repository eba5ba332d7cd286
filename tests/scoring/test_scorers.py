"""The metric of each scorer for a round."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, score, task

Example = tuple[str, Any, Any, Any]

# name, one case, one dimension, the metric of each round (or the reason for a missing one)
EXAMPLES: list[tuple[str, dict[str, Any], dict[str, Any], list[Any]]] = [
    (
        "exact-ignores-white-space-around",
        case(" 对\u3000\n", "对。", golden="\t对"),
        dimension("accuracy"),
        [1, 0],
    ),
    (
        "best-alternative-counts",
        case("b", "c", golden=["a", "b"]),
        dimension("accuracy", match_rule="exact"),
        [1, 0],
    ),
    (
        "contains",
        case("请前往设置页面", "前往", golden="前往设置"),
        dimension("accuracy", match_rule="contains"),
        [1, 0],
    ),
    (
        "contains-nothing-is-no-expectation",
        case("anything", golden=" "),
        dimension("accuracy", match_rule="contains"),
        ["blank_baseline"],
    ),
    (
        "regex",
        case("order 12-34", "order", golden=r"\d{2}-\d{2}"),
        dimension("accuracy", match_rule="regex"),
        [1, 0],
    ),
    (
        "regex-knows-letters-of-every-script",
        case("王先生您好", "先生", "Wang先生", golden=r"^\w+先生"),
        dimension("accuracy", match_rule="regex"),
        [1, 0, 1],
    ),
    (
        "regex-alternatives-each-have-their-spelling",
        case("１２号", "a\u3000b", "x", golden=[r"\d+号", r" a\sb ", r"[\W]"]),
        dimension("accuracy", match_rule="regex"),
        [1, 1, 0],
    ),
    (
        "a-pattern-that-only-ingest-can-refuse-is-not-judged",
        case("x", golden=r"[\W]"),
        dimension("accuracy", match_rule="regex"),
        ["invalid_pattern"],
    ),
    (
        "bad-pattern-is-not-judged",
        case("x", failed(), golden="("),
        dimension("accuracy", match_rule="regex"),
        ["invalid_pattern", "invalid_pattern"],
    ),
    (
        "numeric-is-the-whole-text",
        case(" 0.95 ", "0.951", "0.95 元", "1e-1", "1_000", golden="0.94"),
        dimension("accuracy", match_rule="numeric", tolerance=0.01),
        [1, 0, 0, 0, 0],
    ),
    (
        "numeric-needs-a-number",
        case("1", golden="one"),
        dimension("accuracy", match_rule="numeric"),
        ["baseline_not_numeric"],
    ),
    (
        "token-f1",
        case("The cat sat.", "a dog", golden="the cat"),
        dimension("accuracy", match_rule="token_f1"),
        [0.8, 0],
    ),
    (
        "char-f1",
        case("重置密码", golden="重设密码"),
        dimension("accuracy", match_rule="char_f1"),
        [0.75],
    ),
    (
        "json-as-a-testset-matches",
        case(
            answered("", parsed_output={"a": 1.0, "b": ["x 12", {"c": None}], "d": 0}),
            answered('{"a": 1, "b": ["x 12", {"c": null}]}'),
            answered("", parsed_output={"a": 1, "b": ["x", {"c": None}]}),
            answered("", parsed_output={"a": 1, "b": ["x 12"]}),
            "no JSON",
            failed(),
            golden={"a": 1, "b": [r"regex: \d\d", {"c": None}]},
        ),
        dimension("accuracy", match_rule="json"),
        [1, 1, 0, 0, 0, 0],
    ),
    (
        "json-patterns-know-letters-of-every-script",
        case(
            answered("", parsed_output={"a": "王先生", "b": "x"}),
            answered("", parsed_output={"a": "先生", "b": "x"}),
            golden={"a": r"regex: ^\w+先生", "b": "x"},
        ),
        dimension("accuracy", match_rule="json"),
        [1, 0],
    ),
    (
        "json-keys-may-be-anything",
        case(
            answered("", parsed_output={"": {"*": [1, {"": 2}]}, "a.*": {"": 3}}),
            answered("", parsed_output={"": {"*": [1, {"": 0}]}, "a.*": {"": 3}}),
            answered("", parsed_output={"": {"x": [1, {"": 2}]}, "a.*": {"": 3}}),
            answered("", parsed_output={"": {"*": [1, {"": 2}]}, "a.*": {"": 0}}),
            golden={"": {"*": [1, {"": 2}]}, "a.*": {"": 3}},
        ),
        dimension("accuracy", match_rule="json"),
        [1, 0, 0, 0],
    ),
    (
        "json-keys-with-a-star-tilde-and-slash",
        case(
            answered("", parsed_output={"*": {"~1": {"a/b": 'x"'}, 'q"\\': 1}}),
            answered("", parsed_output={"*": {"~1": {"a/b": 'y"'}, 'q"\\': 1}}),
            golden={"*": {"~1": {"a/b": 'x"'}, 'q"\\': 1}},
        ),
        dimension("accuracy", match_rule="json"),
        [1, 0],
    ),
    (
        "json-alternatives-and-texts",
        case("42", "43", "x", golden=["literal:42", 43]),
        dimension("accuracy", match_rule="json"),
        [1, 1, 0],
    ),
    (
        "json-with-a-bad-pattern",
        case(
            answered("", parsed_output={"a": "x", "b": 1}),
            answered("", parsed_output={"a": "x", "b": 2}),
            golden={"a": "regex:(", "b": 1},
        ),
        dimension("accuracy", match_rule="json"),
        ["invalid_pattern", 0],
    ),
    (
        "json-without-golden-answer",
        case("1"),
        dimension("accuracy", match_rule="json"),
        ["no_baseline"],
    ),
    (
        "no-golden-answer-no-metric",
        case("x", failed()),
        dimension("accuracy"),
        ["no_baseline", "no_baseline"],
    ),
    (
        "error-round-is-wrong-where-the-case-could-be-scored",
        case("x", failed(), golden="x"),
        dimension("accuracy"),
        [1, 0],
    ),
    (
        "rules-are-shares-of-baselines",
        case(
            "您好，请前往设置",
            rules=[
                {"contains": "设置", "max_chars": 20},
                {"type": "not_contains", "value": "抱歉"},
                {"rules": [{"starts_with": "您好"}, {"ends_with": "。"}]},
                {"type": "allowed_values", "values": ["a", "b"]},
            ],
        ),
        dimension("rules"),
        [0.5],
    ),
    (
        "every-rule",
        case(
            answered(
                '{"a": 1, "b": "x"}',
                parsed_output={"a": 1, "b": "x"},
                output_tokens=10,
            ),
            rules=[
                {"contains": ['"a"', '"b"']},
                {"not_contains": ["y", "z"]},
                {"contains_any": ["y", "x"]},
                {"regex": r"\d"},
                {"starts_with": "{"},
                {"ends_with": "}"},
                {"equals": '{"a": 1, "b": "x"}'},
                {"allowed_values": ["no", ' {"a": 1, "b": "x"} ']},
                {"max_chars": 18},
                {"min_chars": 18},
                {"max_tokens": 10},
                {"non_empty": True},
                {"is_json": True},
                {"required_keys": ["a", "b"]},
                {"required_keys": {"a": "integer", "b": "string"}},
                {"equals": "x", "field": "b"},
            ],
        ),
        dimension("rules"),
        [1],
    ),
    (
        "every-rule-broken",
        case(
            answered('{"a": 1.5,}', output_tokens=11),
            rules=[
                {"contains": ["a", "b"]},
                {"not_contains": ["a", "z"]},
                {"contains_any": ["y", "x"]},
                {"regex": r"^\d"},
                {"starts_with": "a"},
                {"ends_with": "a"},
                {"equals": "a"},
                {"allowed_values": ["a"]},
                {"max_chars": 10},
                {"min_chars": 12},
                {"max_tokens": 10},
                {"is_json": True},
                {"required_keys": {"a": "integer"}},
            ],
        ),
        dimension("rules"),
        [0],
    ),
    (
        "rules-know-letters-of-every-script",
        case(
            "王先生，１２号",
            rules=[
                {"regex": r"^\w+先生"},
                {"type": "regex_match", "pattern": r"\d+号"},
                {"rules": [{"type": "regex", "value": r" \W\d "}]},
                {"regex": r"^\W", "severity": "must"},
            ],
        ),
        dimension("rules"),
        [0.75],
    ),
    (
        "a-rule-that-only-ingest-can-refuse-is-not-judged",
        case("x", rules=[{"regex": r"[\W]"}]),
        dimension("rules"),
        ["invalid_pattern"],
    ),
    (
        "what-cannot-be-judged-is-left-out",
        case("x", rules=[{"regex": "("}, {"contains": "x"}, {"no_such_rule": 1}]),
        dimension("rules"),
        [1],
    ),
    ("no-rules", case("x", failed()), dimension("rules"), ["no_rules", "no_rules"]),
    (
        "only-a-bad-pattern",
        case("x", rules=[{"regex": "("}]),
        dimension("rules"),
        ["invalid_pattern"],
    ),
    (
        "consistent-whatever-the-order-of-keys",
        case(
            answered("1", parsed_output={"a": 1, "b": {"x": 1.0, "y": "1.0"}}),
            answered("2", parsed_output={"b": {"y": "1.0", "x": 1}, "a": 1.0}),
            answered("3", parsed_output={"a": 1, "b": {"x": 1, "y": "1"}}),
        ),
        dimension("consistency"),
        [0.5, 0.5, 0],
    ),
    (
        "without-parsed-output-the-text-is-compared",
        case("a", "a", "b", answered("a", parsed_output={"a": 1}), failed()),
        dimension("consistency"),
        [0.333333, 0.333333, 0, 0, "error_round"],
    ),
    (
        "raw-compares-texts",
        case(
            answered("x", parsed_output={"a": 1}), answered("y", parsed_output={"a": 1})
        ),
        dimension("consistency", compare="raw"),
        [0, 0],
    ),
    (
        "token-f1-is-a-mean-over-the-others",
        case("a b", "a b", "a c", "d"),
        dimension("consistency", compare="token_f1"),
        [0.5, 0.5, 0.333333, 0],
    ),
    (
        "a-lone-round-cannot-be-consistent",
        case("a", failed()),
        dimension("consistency"),
        ["single_round", "error_round"],
    ),
    (
        "format-wants-keys-and-types",
        case(
            answered("", parsed_output={"a": "x", "n": 2, "more": None}),
            answered("", parsed_output={"a": "x", "n": 2.5}),
            answered("", parsed_output={"a": None, "n": 2}),
            "text",
            failed(),
        ),
        dimension("format", required_keys={"a": "string", "n": "integer"}),
        [1, 0, 0, 0, 0],
    ),
    (
        "format-without-keys-wants-an-object",
        case(answered("", parsed_output={}), "text"),
        dimension("format"),
        [1, 0],
    ),
    (
        "measures",
        case(
            answered("四个汉字", latency_ms=842, input_tokens=3, output_tokens=4),
            answered("", input_tokens=3),
            failed(),
        ),
        dimension("total_tokens", mode="lower_better", target={"max": 10}),
        [7, "not_measured", "error_round"],
    ),
    (
        "length-counts-characters",
        case("四个汉字"),
        dimension("length", mode="lower_better", target={"max": 10}),
        [4],
    ),
    (
        "cost-is-given-or-computed",
        case(
            answered("", metadata={"cost": 0.25}),
            answered("", input_tokens=1000, output_tokens=500),
        ),
        dimension(
            "cost",
            mode="lower_better",
            target={"max": 1},
            input_price_per_million=2,
            output_price_per_million=8,
        ),
        [0.25, 0.006],
    ),
    (
        "keywords",
        case("红 绿", "红", "红 绿 坏", failed()),
        dimension("keywords", must=["红", "绿"], must_not="坏"),
        [1, 0.5, 0, 0],
    ),
    (
        "only-forbidden-keywords",
        case("好", "坏"),
        dimension("keywords", must_not=["坏"]),
        [1, 0],
    ),
    (
        "error-rate",
        case("x", failed(), answered("[ERROR]")),
        dimension("error_rate", mode="lower_better"),
        [0, 1, 1],
    ),
    (
        "a-name-that-nobody-knows",
        case("x"),
        dimension("politeness"),
        ["unknown_scorer"],
    ),
    (
        "a-parameter-that-cannot-be-used",
        case("x", golden="x"),
        dimension("accuracy", match_rule="fuzzy"),
        ["invalid_parameters"],
    ),
    (
        "semantic-without-scores",
        case("x", failed(), golden="x"),
        dimension("accuracy", match_rule="semantic"),
        ["no_score", "error_round"],
    ),
    (
        "scorer-by-parameter",
        case("x", golden="x"),
        dimension("correctness", scorer="accuracy"),
        [1],
    ),
]

TASKS = [
    task(name, [one], [asked | {"weight": 1.0}]) for name, one, asked, _ in EXAMPLES
] + [
    task(
        "stability",
        [
            case("x", "y", "x", failed(), golden="x"),
            case("x", golden="x"),
            case("x", "x", golden="x"),
        ],
        [
            dimension("accuracy"),
            dimension("stability", of="accuracy"),
            dimension("self", scorer="stability", of="stability"),
        ],
    ),
    task(
        "judged",
        [case("x", "y", "z", failed(), golden="x")],
        [
            dimension("judge"),
            dimension("politeness"),
            dimension("rudest", scorer="politeness", reducer="min"),
            dimension("accuracy", match_rule="semantic"),
            dimension("chosen", scorer="judge", scorer_name="judge-2"),
        ],
    ),
]

SCORES = [
    [
        score("judged", "judge", 8, scale=10, round_id="r1"),
        score("judged", "judge", None, scale=10, round_id="r2"),
        score("judged", "judge", 10, scale=10, round_id="r4"),
        score("judged", "politeness", 0.5, round_id="r2"),
        score("judged", "accuracy", 1, round_id="r3"),
        score("judged", "chosen", 1, round_id="r1"),
        score("judged", "chosen", 0, round_id="r1", scorer="judge-2"),
    ]
]


@pytest.mark.parametrize(
    ("name", "dimension_id", "metrics"),
    [(name, asked["dimension_id"], metrics) for name, _, asked, metrics in EXAMPLES],
    ids=[name for name, *_ in EXAMPLES],
)
def test_a_scorer_measures_what_its_rule_says(scored, name, dimension_id, metrics):
    assert scored.metrics(name, dimension_id) == metrics


def test_stability_is_how_little_the_scores_of_a_case_vary(scored):
    # scores 1 0 1 and 0 for the error: sd 0.5; the lone round has none
    assert scored.metrics("stability", "stability") == [
        *(0, 0, 0, "error_round"),
        "single_round",
        *(1, 1),
    ]


def test_stability_of_stability_is_refused(scored):
    assert set(scored.metrics("stability", "self")) == {"invalid_parameters"}


@pytest.mark.parametrize(
    ("dimension_id", "metrics"),
    [
        ("judge", [0.8, "scorer_could_not_judge", "no_score", "error_round"]),
        ("politeness", ["no_score", 0.5, "no_score", "error_round"]),
        ("rudest", ["no_score", 0.5, "no_score", "error_round"]),
        ("accuracy", ["no_score", "no_score", 1, 0]),
        ("chosen", [0, "no_score", "no_score", "error_round"]),
    ],
)
def test_scores_from_outside_are_shares_of_their_scale(scored, dimension_id, metrics):
    assert scored.metrics("judged", dimension_id) == metrics
