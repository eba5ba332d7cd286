"""The guide's own samples (pipeline-evaluation.md), only their import lines changed."""

from __future__ import annotations

from typing import Any

import pytest

import promptlab
from promptlab.errors import UsageError
from promptlab.evaluator import EvaluationResult, PipelineEvaluationResult

INTERMEDIATE = """
from promptlab import UnifiedEvaluator
from promptlab import EvaluationConfig

# 创建评估器
config = EvaluationConfig(
    judge_enabled=False,
    rules=[]
)
evaluator = UnifiedEvaluator(config)

# 测试用例
test_case = {
    'id': 'test_1',
    'intermediate_expectations': {
        'step1': {'status': 'success'},
        'step2': {'count': 5}
    }
}

# 步骤输出
step_outputs = {
    'step1': {'status': 'success'},
    'step2': {'count': 5},
    'step3': {'final': 'output'}
}

# 执行中间步骤评估
results = evaluator.evaluate_intermediate_steps(
    pipeline_id='my_pipeline',
    variant='v1',
    test_case=test_case,
    step_outputs=step_outputs
)

# 检查结果
for step_id, result in results.items():
    if result['matched']:
        print(f"✓ {step_id}: {result['details']}")
    else:
        print(f"✗ {step_id}: {result['details']}")
"""

AGGREGATION = """
from promptlab import UnifiedEvaluator
from promptlab import EvaluationConfig

# 创建评估器
config = EvaluationConfig(
    judge_enabled=False,
    rules=[]
)
evaluator = UnifiedEvaluator(config)

# 测试用例
test_case = {
    'id': 'test_1',
    'expected_aggregation': {
        'total': 10,
        'success_rate': 0.8
    }
}

# 聚合输出
aggregation_output = {
    'total': 10,
    'success_rate': 0.8,
    'details': 'Additional info'
}

# 执行聚合评估
result = evaluator.evaluate_aggregation_result(
    pipeline_id='my_pipeline',
    variant='v1',
    test_case=test_case,
    aggregation_output=aggregation_output
)

# 检查结果
if result['matched']:
    print(f"✓ 聚合评估通过: {result['details']}")
else:
    print(f"✗ 聚合评估失败: {result['details']}")
"""

WHOLE = """
from promptlab import UnifiedEvaluator
from promptlab import EvaluationConfig

# 创建评估器
config = EvaluationConfig(
    judge_enabled=True,
    judge_agent_id='judge_default',
    judge_flow='judge_v1',
    rules=[]
)
evaluator = UnifiedEvaluator(config)

# 测试用例
test_case = {
    'id': 'test_1',
    'inputs': {'text': 'Input text'},
    'intermediate_expectations': {
        'step1': {'status': 'success'}
    },
    'expected_aggregation': {
        'total': 10
    },
    'expected_outputs': {
        'final_output': 'Expected result'
    }
}

# 步骤输出
step_outputs = {
    'step1': {'status': 'success'},
    'aggregated_result': {'total': 10},
    'final_output': 'Actual result'
}

# 执行完整评估
result = evaluator.evaluate_pipeline_output(
    pipeline_id='my_pipeline',
    variant='v1',
    test_case=test_case,
    step_outputs=step_outputs,
    final_output='Actual result',
    execution_time=1.5,
    evaluation_target='final_output',
    evaluate_intermediate=True,  # 启用中间步骤评估
    evaluate_aggregation=True    # 启用聚合评估
)

# 检查评估结果
print(f"Sample ID: {result.sample_id}")
print(f"Overall Score: {result.overall_score}")
print(f"Must-Have Pass: {result.must_have_pass}")
print(f"Judge Feedback: {result.judge_feedback}")

# 检查中间步骤评估结果
if '_intermediate_evaluation' in result.step_outputs:
    intermediate_eval = result.step_outputs['_intermediate_evaluation']
    for step_id, eval_result in intermediate_eval.items():
        print(f"  {step_id}: {'✓' if eval_result['matched'] else '✗'}")

# 检查聚合评估结果
if '_aggregation_evaluation' in result.step_outputs:
    aggregation_eval = result.step_outputs['_aggregation_evaluation']
    print(f"Aggregation: {'✓' if aggregation_eval['matched'] else '✗'}")
"""

PIPELINE = """
from promptlab import PipelineEvaluator
{load_pipeline_config}

# 加载 Pipeline 配置
pipeline_config = load_pipeline_config('my_pipeline')

# 创建评估器
evaluator = PipelineEvaluator(pipeline_config)

# 测试样本
samples = [
    {
        'id': 'test_1',
        'inputs': {'text': 'Input 1'},
        'intermediate_expectations': {
            'step1': {'status': 'success'}
        },
        'expected_aggregation': {
            'total': 10
        }
    },
    {
        'id': 'test_2',
        'inputs': {'text': 'Input 2'},
        'intermediate_expectations': {
            'step1': {'status': 'success'}
        }
    }
]

# 执行评估
result = evaluator.evaluate_pipeline(
    samples=samples,
    variant='v1',
    apply_rules=True,
    apply_judge=True
)

# 查看结果
print(f"Total Samples: {result.overall_stats['total_samples']}")
print(f"Success Rate: {result.overall_stats['success_rate']:.2%}")
print(f"Average Score: {result.overall_stats['average_score']:.2f}")
"""

RULES = """
from promptlab import EvaluationConfig, RuleConfig

config = EvaluationConfig(
    judge_enabled=True,
    judge_agent_id='judge_default',
    judge_flow='judge_v1',
    rules=[
        RuleConfig(
            name='status_check',
            type='contains',
            field='output',
            value='success'
        )
    ]
)
"""

STEPS = {
    "id": "my_pipeline",
    "steps": [
        {"id": "step1", "output_key": "processed_data"},
        {"id": "step2", "output_key": "aggregated_result"},
    ],
}


def run(source: str, **names: Any) -> dict[str, Any]:
    namespace = dict(names)
    exec(compile(source, "<guide>", "exec"), namespace)
    return namespace


def pipeline_sample(**names: Any) -> dict[str, Any]:
    return run(PIPELINE.replace("{load_pipeline_config}", ""), **names)


def test_the_intermediate_sample(capsys):
    run(INTERMEDIATE)
    assert capsys.readouterr().out == "✓ step1: 所有字段匹配\n✓ step2: 所有字段匹配\n"


def test_the_aggregation_sample(capsys):
    run(AGGREGATION)
    assert capsys.readouterr().out == "✓ 聚合评估通过: 所有字段匹配\n"


def test_the_whole_sample(capsys):
    result = run(WHOLE)["result"]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "Sample ID: test_1",
        "Overall Score: None",
        "Must-Have Pass: False",
        "Judge Feedback: 没有运行 judge：创建评估器时请传入 judge=…",
        "  step1: ✓",
        "Aggregation: ✓",
    ]
    assert isinstance(result, EvaluationResult)
    assert result.step_outputs["_final_evaluation"]["details"] == (
        '1 处不匹配：/final_output：期望 "Expected result"，实际 "Actual result"'
    )


def test_the_result_has_the_shape_that_the_guide_shows():
    result = run(WHOLE)["result"]
    shape = [
        *("sample_id", "entity_type", "entity_id", "variant", "overall_score"),
        *("must_have_pass", "judge_feedback", "execution_time", "step_outputs"),
        "failed_steps",
    ]
    assert list(result.to_dict())[: len(shape)] == shape
    verdict = result.step_outputs["_intermediate_evaluation"]["step1"]
    assert list(verdict)[:4] == ["matched", "expected", "actual", "details"]
    assert (result.entity_type, result.execution_time) == ("pipeline", 1.5)


def test_the_pipeline_sample_runs_with_a_configuration_that_can_run(capsys, caplog):
    def load_pipeline_config(name: str) -> dict[str, Any]:
        outputs = {"step1": {"status": "success"}, "aggregated_result": {"total": 10}}
        return {**STEPS, "id": name, "runner": lambda sample: outputs}

    result = pipeline_sample(load_pipeline_config=load_pipeline_config)["result"]
    assert capsys.readouterr().out == (
        "Total Samples: 2\nSuccess Rate: 100.00%\nAverage Score: nan\n"
    )
    assert "average_score is nan: no judge scored the results; pass judge=…" in (
        caplog.text
    )
    assert isinstance(result, PipelineEvaluationResult)


def test_the_pipeline_sample_over_nothing_prints_nan(capsys):
    source = PIPELINE.replace("{load_pipeline_config}", "")
    before, _, rest = source.partition("samples = [")
    after = rest[rest.index("\n]\n") + 3 :]
    run(
        f"{before}samples = []\n{after}",
        load_pipeline_config=lambda name: {**STEPS, "id": name},
    )
    assert capsys.readouterr().out == (
        "Total Samples: 0\nSuccess Rate: nan%\nAverage Score: nan\n"
    )


def test_the_pipeline_sample_without_a_runner_says_what_to_pass():
    with pytest.raises(
        UsageError, match=r"sample 'test_1' has no step_outputs.*runner="
    ):
        pipeline_sample(load_pipeline_config=lambda name: {**STEPS, "id": name})


def test_the_rules_sample():
    config = run(RULES)["config"]
    assert [rule.name for rule in config.rules] == ["status_check"]
    assert config.rules[0].severity == "must"


@pytest.mark.parametrize(
    "name",
    [
        "EvaluationConfig",
        "EvaluationResult",
        "PipelineEvaluator",
        "RuleConfig",
        "UnifiedEvaluator",
    ],
)
def test_the_public_names_come_from_promptlab(name):
    assert getattr(promptlab, name).__module__.startswith("promptlab.evaluator")
