"""One round judged twice: by the evaluator, and by the warehouse as one of many.

A round that carries rules or golden answers comes in as an analysis input, any other as
an evaluation result; all of them share one testset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import yaml

from promptlab.errors import InputError
from promptlab.evaluator import (
    EvaluationConfig,
    PipelineRun,
    RuleConfig,
    UnifiedEvaluator,
)
from promptlab.evaluator.matching import MatchOptions, compare
from promptlab.json_text.reading import parse_as_duckdb
from tests.judging.cases import Judgement, Round, Sample

TOLERANCE = 0.01
"""Of golden answers."""

WHEN = "2026-01-01T00:00:00Z"
DIMENSIONS = (
    ("accuracy", {"match_rule": "json", "tolerance": TOLERANCE}),
    ("rules", {}),
)


def in_python(sample: Sample) -> Judgement:
    """Judge a sample with the evaluator."""
    rules = [RuleConfig(str(n), **rule) for n, rule in enumerate(sample.rules)]
    pipeline = None if sample.pipeline is None else {"id": "p", **sample.pipeline}
    evaluator = UnifiedEvaluator(EvaluationConfig(rules=rules), pipeline=pipeline)
    given = sample.round
    result = evaluator.evaluate_run(
        "p",
        "v",
        {"id": sample.id, **sample.case},
        PipelineRun(
            # a result always says what its steps gave
            step_outputs=given.step_outputs if is_analysis(sample) else steps_of(given),
            final_output=given.final_output,
            parsed_output=given.parsed_output,
            raw_output=given.raw_output,
            messages=given.messages,
            output_tokens=given.output_tokens,
            error=given.error,
        ),
    )
    verdicts = result.step_outputs
    scopes = {
        f"intermediate:{step}": verdict
        for step, verdict in verdicts.get("_intermediate_evaluation", {}).items()
    }
    for scope in ("aggregation", "final"):
        if f"_{scope}_evaluation" in verdicts:
            scopes[scope] = verdicts[f"_{scope}_evaluation"]
    broken = {each["rule"] for each in result.rule_violations}
    unjudged = set(result.unjudged_rules or ())
    return Judgement(
        {
            name: (
                verdict["status"],
                verdict["actual_source"],
                tuple(
                    (each["pointer"], each["reason"]) for each in verdict["failures"]
                ),
            )
            for name, verdict in scopes.items()
        },
        tuple(
            None if rule.name in unjudged else rule.name not in broken for rule in rules
        ),
        _golden_metric(sample),
        result.must_have_pass,
    )


def _golden_metric(sample: Sample) -> float | None:
    """Match the answer with each golden answer, as an expectation of a testset."""
    given = sample.round
    document = given.parsed_output
    if document is None:
        result = UnifiedEvaluator(pipeline=_named(sample.pipeline)).evaluate_run(
            "p",
            "v",
            {"id": sample.id},
            PipelineRun(given.step_outputs, raw_output=given.raw_output),
        )
        document = result.final_output
    metrics = []
    for golden in sample.golden:
        if golden is None:
            continue
        answer = document if isinstance(golden, str) else _read(document)
        options = MatchOptions(tolerance=TOLERANCE)
        status = compare(golden, answer, options).status
        if status == "pass" or status == "fail":
            metrics.append(float(status == "pass" and given.error is None))
    return max(metrics, default=None)


def _named(pipeline: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if pipeline is None else {"id": "p", **pipeline}


def _read(document: Any) -> Any:
    try:
        return parse_as_duckdb(document) if isinstance(document, str) else document
    except InputError:
        return document


def is_analysis(sample: Sample) -> bool:
    """Say whether a sample goes in as an analysis input: raw output is a must there."""
    return sample.round.final_output is None and sample.round.raw_output is not None


def steps_of(given: Round) -> dict[str, Any]:
    return given.step_outputs or {}


def write_samples(folder: Path, samples: Sequence[Sample]) -> None:
    """Write everything that the warehouse needs to judge the samples."""
    write_lines(
        folder / "samples.jsonl", ({"id": each.id, **each.case} for each in samples)
    )

    def key(sample: Sample) -> str:
        return json.dumps(sample.pipeline, sort_keys=True)

    for n, (_, group) in enumerate(groupby(sorted(samples, key=key), key)):
        together = list(group)
        pipeline = together[0].pipeline
        if pipeline is not None:
            text = yaml.safe_dump({"id": f"p{n}", **pipeline}, sort_keys=False)
            (folder / f"p{n}.yaml").write_text(text, "utf-8")
        analysis = [each for each in together if is_analysis(each)]
        if analysis:
            text = dumps(_analysis(f"a{n}", f"p{n}", analysis))
            (folder / f"a{n}.json").write_text(text, "utf-8")
        results = [each for each in together if not is_analysis(each)]
        if results:
            write_lines(
                folder / f"r{n}.jsonl",
                (_result(f"r{n}", f"p{n}", each) for each in results),
            )


def _analysis(task_id: str, pipeline: str, samples: list[Sample]) -> dict[str, Any]:
    return {
        "task": {
            "task_id": task_id,
            "title": task_id,
            "prompt_version": "v",
            "model": "m",
            "triggered_by": "test",
            "env": {"testset": "samples", "pipeline": pipeline},
            "created_at": WHEN,
        },
        "cases": [_case(sample) for sample in samples],
        "dimensions": [
            {
                "dimension_id": dimension,
                "name": dimension,
                "weight": 0.5,
                "target": {},
                "parameters": parameters,
                "scoring_mode": "higher_better",
            }
            for dimension, parameters in DIMENSIONS
        ],
    }


def _case(sample: Sample) -> dict[str, Any]:
    given = sample.round
    metadata: dict[str, Any] = {}
    if given.step_outputs is not None:
        metadata["step_outputs"] = given.step_outputs
    if given.messages is not None:
        metadata["messages"] = given.messages
    if given.error is not None:
        metadata["error"] = given.error
    # a rule of a baseline has no severity of its own accord
    rules = [{"severity": "must", **rule} for rule in sample.rules]
    baselines = [
        (f"{n:03}", "rules", {"rules": part})
        for n, part in enumerate((rules[:3], rules[3:]))
        if part
    ] + (
        [("golden", "golden_answer", {"text": sample.golden})] if sample.golden else []
    )
    return {
        "case_id": sample.id,
        "context": {},
        "rounds": [
            {
                "round_id": "r",
                "run_index": 1,
                "raw_output": given.raw_output,
                "parsed_output": given.parsed_output,
                "input_tokens": None,
                "output_tokens": given.output_tokens,
                "latency_ms": None,
                "metadata": metadata,
                "executed_at": WHEN,
            }
        ],
        "baselines": [
            {"baseline_id": name, "type": kind, "payload": payload, "owner": "test"}
            for name, kind, payload in baselines
        ],
        "tags": [],
    }


def _result(run_id: str, pipeline: str, sample: Sample) -> dict[str, Any]:
    given = sample.round
    return {
        "sample_id": sample.id,
        "entity_type": "pipeline",
        "entity_id": pipeline,
        "variant": "v",
        "run_id": run_id,
        "testset": "samples",
        "step_outputs": steps_of(given),
        "final_output": given.final_output,
        "raw_output": given.raw_output,
        **({} if given.messages is None else {"messages": given.messages}),
        "error": given.error,
        "failed_steps": [],
        "created_at": WHEN,
    }


def in_sql(con: duckdb.DuckDBPyConnection) -> dict[str, Judgement]:
    """Read what the warehouse judged, by the samples' ids."""
    failures: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for case_id, scope, pointer, reason in con.execute(
        f"select case_id, {_SCOPE}, pointer, reason from marts.fct_check_results"
        " where reason is not null order by case_id, check_no"
    ).fetchall():
        failures.setdefault((case_id, scope), []).append((pointer, reason))
    scopes: dict[str, dict[str, Any]] = {}
    for case_id, scope, status, source in con.execute(
        f"select case_id, {_SCOPE}, status, actual_source from marts.fct_match_results"
    ).fetchall():
        found = tuple(failures.get((case_id, scope), ()))
        scopes.setdefault(case_id, {})[scope] = (status, source, found)
    rules: dict[str, list[bool | None]] = {}
    for case_id, kept in con.execute(
        "select case_id, holds from intermediate.int_rules_judged"
        " order by case_id, baseline_id, rule_no"
    ).fetchall():
        rules.setdefault(case_id, []).append(kept)
    golden = dict(
        con.execute(
            "select case_id, metric from marts.fct_round_scores"
            " where dimension_id = 'accuracy'"
        ).fetchall()
    )
    must_haves = dict(
        con.execute("select case_id, must_have_pass from marts.fct_rounds").fetchall()
    )
    return {
        case_id: Judgement(
            scopes.get(case_id, {}),
            tuple(rules.get(case_id, ())),
            golden.get(case_id),
            must_haves.get(case_id),
        )
        for case_id in scopes.keys() | rules.keys() | golden.keys()
    }


_SCOPE = "scope || coalesce(':' || step_id, '')"


def write_lines(path: Path, records: Iterable[Any]) -> None:
    text = "".join(f"{dumps(record)}\n" for record in records)
    path.write_text(text, "utf-8", newline="\n")


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
