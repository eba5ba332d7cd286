"""The task in one line: overall score, grade, coverage, alerts, evidence, sentences."""

from __future__ import annotations

import re

import pytest

from tests.scoring.tasks import answered, case, dimension, failed, score, task

TENTHS = {f"grade-{n}": n / 100 for n in (95, 90, 89, 80, 70, 60, 59, 0)}

TASKS = [
    *(
        task(name, [case("x")], [dimension("judge"), dimension("shown", weight=0)])
        for name in TENTHS
    ),
    task(
        "capped",
        [case("x", "x", golden="x"), case("x", golden="y")],
        [
            dimension("judge", weight=0.9, target={"min_score": 0.5}),
            dimension("accuracy", weight=0.1, target={"min_score": 1}),
            dimension("length", weight=0, mode="lower_better", target={"max": 5}),
            dimension("keywords", weight=0, must="y", target={"min_score": 0.9}),
        ],
    ),
    task("unweighed", [case("x", golden="x")], []),
    task(
        "mostly-unscored",
        [case("x", golden="x")],
        [
            dimension("accuracy", weight=0.3),
            dimension("judge", weight=0.4),
            dimension("latency", weight=0.1, mode="lower_better", target={"max": 1}),
        ],
    ),
    task(
        "gaps",
        [
            case("x", failed(), failed("quota"), golden="x"),
            case("y", "y", "y"),
            case(golden="x"),
        ],
        [dimension("accuracy", weight=0.5), dimension("error_rate", weight=0, mode="lower_better", target={"max": 0.1})],
    ),
    task(
        "unsteady",
        [case("x", "y", golden="x"), case("x", "x", golden="x"), case("y", golden="x")],
        [dimension("accuracy", target={"max_variance": 0.1})],
    ),
    task(
        "ignored",
        [case("x", golden="x")],
        [dimension("accuracy"), dimension("judge"), dimension("mystery"), dimension("fuzzy", scorer="accuracy", match_rule="semantic")],
    ),
    {
        **task(
            "faulty",
            [
                case("x", golden="x"),
                case("x", golden="x", case_id="c1"),
                case({**answered("x"), "round_id": "r2"}, "x", golden="x"),
            ],
            [dimension("accuracy")],
        )
    },
    task(
        "evident",
        [
            case("您好，请前往设置页面。", golden="您好，请前往首页。"),
            case(*("x" * 300 + "禁" for _ in range(12)), golden="y"),
            *(case("z", golden="z") for _ in range(12)),
        ],
        [
            dimension("accuracy"),
            dimension("keywords", must_not="禁"),
            dimension("latency", mode="lower_better", target={"max": 5}),
        ],
    ),
    task(
        "patterns",
        [case("王先生", golden=r"\w+女士", rules=[{"regex": r"\w+女士"}])],
        [dimension("accuracy", match_rule="regex"), dimension("rules")],
    ),
]  # fmt: skip

SCORES = [
    [score(name, "judge", value) for name, value in TENTHS.items()],
    [
        score("capped", "judge", 1, round_id="r1"),
        score("ignored", "accuracy", 1),
        score("ignored", "unasked", 1),
        score("ignored", "judge", 1),
        score("ignored", "judge", 0.5, scorer="judge-2"),
    ],
]


@pytest.mark.parametrize(
    ("name", "grade"), list(zip(TENTHS, "AABBCDFF", strict=True)), ids=list(TENTHS)
)
def test_a_grade_begins_at_its_score(scored, name, grade):
    found = scored.summary(name)
    assert (found["overall_score"], found["grade"]) == (TENTHS[name], grade)


def test_a_critical_alert_caps_the_grade(scored):
    found = scored.summary("capped")
    assert found["overall_score"] == 0.95
    assert found["grade"] == "D"
    keywords = [
        each
        for each in scored.rows("fct_alerts", "capped")
        if each["dimension_ids"] == ["keywords"]
    ]
    assert [each["severity"] for each in keywords] == ["critical"]


def test_an_alert_names_its_cases_and_counts(scored):
    (found,) = (
        each
        for each in scored.rows("fct_alerts", "capped")
        if each["dimension_ids"] == ["accuracy"]
    )
    assert (found["code"], found["severity"]) == ("below_min_score", "major")
    assert found["case_ids"] == ["c2"]
    assert (
        scored.sentence("fct_alerts", found, "zh")
        == "“accuracy”得分 50.0%，低于目标 100.0%：2 个有分数的用例中有 1 个低于目标。"
    )
    assert scored.sentence("fct_alerts", found) == (
        "“accuracy” scored 50.0%, below its target of 100.0%:"
        " 1 of 2 scored cases are below it."
    )


def test_used_weights_are_shares_of_what_was_scored(scored):
    found = {
        each["dimension_id"]: each["weight_used"]
        for each in scored.rows("fct_dimension_scores", "mostly-unscored")
    }
    assert found == {"accuracy": 1, "judge": 0, "latency": 0}


def test_under_half_of_the_weight_there_is_no_grade(scored):
    found = scored.summary("mostly-unscored")
    assert (found["overall_score"], found["grade"]) == (1, "n/a")
    assert scored.alerts("mostly-unscored")["weights_not_one"]["severity"] == "info"
    assert "unscored_dimension" in scored.alerts("mostly-unscored")


def test_coverage_and_error_share_count_rounds(scored):
    found, alerts = scored.summary("gaps"), scored.alerts("gaps")
    assert (found["coverage"], found["n_scored_rounds"]) == (0.5, 3)
    assert scored.message("gaps", "low_coverage") == (
        "Only 3 of 6 rounds were scored (50.0%), below 80.0%."
    )
    assert scored.message("gaps", "high_error_share") == (
        "2 of 6 rounds ended in an error (33.3%), above 5.0%."
    )
    assert alerts["case_without_rounds"]["case_ids"] == ["c3"]
    assert alerts["case_without_baseline"]["case_ids"] == ["c2"]
    assert alerts["above_max_target"]["dimension_ids"] == ["error_rate"]


def test_variance_within_cases_is_held_against_its_limit(scored):
    found = scored.alerts("unsteady")["max_variance_exceeded"]
    # 0.25 and 0 over the two cases with several rounds
    assert found["facts"]["value"] == 0.125
    assert found["case_ids"] == ["c1"]


def test_outside_scores_that_are_not_used_are_reported(scored):
    alerts = scored.alerts("ignored")
    assert alerts["scores_ignored"]["dimension_ids"] == ["accuracy"]
    assert alerts["scores_without_dimension"]["dimension_ids"] == ["unasked"]
    assert alerts["several_scorers"]["dimension_ids"] == ["judge"]
    assert alerts["unknown_scorer"]["severity"] == "major"
    for lang in ("zh", "en"):  # a page is read by people who run no command
        message = scored.message("ignored", "semantic_without_scores", lang)
        assert "promptlab" not in message
    assert scored.summary("ignored")["overall_score"] == 0.75


def test_what_ingest_refused_is_reported_with_the_task(scored):
    alerts = scored.alerts("faulty")
    assert scored.message("faulty", "rejected_case") == (
        "1 of 3 cases is invalid and was rejected: c1."
    )
    assert alerts["duplicate_round"]["case_ids"] == ["c3"]


def test_nothing_to_weigh_is_no_score(scored):
    found = scored.summary("unweighed")
    assert (found["overall_score"], found["grade"]) == (None, "n/a")


def test_evidence_is_at_most_ten_of_the_worst_and_of_many_cases(scored):
    found = scored.rows("fct_evidence", "evident", dimension_id="accuracy")
    found.sort(key=lambda each: each["evidence_rank"])
    assert [each["case_id"] for each in found] == ["c1", *["c2"] * 9]
    keywords = scored.rows("fct_evidence", "evident", dimension_id="keywords")
    assert {each["case_id"] for each in keywords} == {"c2"}


def test_evidence_shows_patterns_as_they_were_written(scored):
    found = {
        each["dimension_id"]: each["payload"]["expected"]
        for each in scored.rows("fct_evidence", "patterns")
    }
    assert found == {"accuracy": r"\w+女士", "rules": r'regex: "\\w+女士"'}


def test_evidence_shows_where_to_look(scored):
    (first,) = (
        each
        for each in scored.rows("fct_evidence", "evident", dimension_id="accuracy")
        if each["case_id"] == "c1"
    )
    payload = first["payload"]
    ((start, end),) = payload["offsets"]
    assert payload["snippet"][start:end] == "设置页面。"
    assert payload["expected"] == "您好，请前往首页。"
    assert scored.sentence("fct_evidence", first, "zh") == (
        "与参考答案不符（0.0%）：期望“您好，请前往首页。”，实际“您好，请前往设置页面。”"
    )
    keyword = scored.rows("fct_evidence", "evident", dimension_id="keywords")[0]
    ((start, end),) = keyword["payload"]["offsets"]
    assert keyword["payload"]["snippet"][start:end] == "禁"


def test_every_sentence_is_whole_in_both_languages(scored):
    chinese = re.compile(r"[\u4e00-\u9fff]")
    for name in ("capped", "gaps", "evident", "ignored", "mostly-unscored"):
        texts = [
            [scored.sentence(mart, each, lang) for lang in ("zh", "en")]
            for mart in ("fct_task_summaries", "fct_dimension_scores", "fct_alerts")
            for each in scored.rows(mart, name)
        ]
        for zh, en in texts:
            assert zh.endswith("。") and en.endswith("."), (zh, en)
            assert chinese.search(zh) and not chinese.search(en), (zh, en)
            assert not re.search(r"[{}]|None|null", zh + en), (zh, en)
            assert "  " not in en


def test_a_diagnosis_says_what_is_wrong_where_and_how_sure(scored):
    mart = "fct_dimension_scores"
    found = scored.sentence(mart, scored.dimension("evident", "accuracy"), "zh")
    assert found.startswith(
        "得分 85.7%（95% 区间 60.1% 至 96.0%；14 个用例中 14 个有分数）。"
    )
    assert "2 个用例不是满分，最低的是 c1（0.0%）、c2（0.0%）。" in found
    silent = scored.sentence(mart, scored.dimension("evident", "latency"), "zh")
    assert silent == "没有分数：没有测得该数值（25 个回合中有 0 个得到评分）。"
