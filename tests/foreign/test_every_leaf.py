"""Each value of a configuration is read, or is known to decide nothing.

A reader that lists what counts loses what its list lacks. So every value of the files
of a tool that says how was asked and judged is changed here, one at a time: it changes
a row, or stands in the list of what does not count.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

Steps = tuple[str | int, ...]

READ = {
    "tasks": (
        *("title", "prompt_version", "prompt_name", "model", "provider", "variant"),
        *("created_at", "settings", "judge", "branch", "commit_sha"),
    ),
    "dimension_configs": ("dimension_id", "weight", "direction", "parameters"),
    "judges": ("name", "model", "template", "rubric"),
    "cases": ("case_id", "context", "tags", "cluster", "expectation_hash"),
    "baselines": ("case_id", "payload"),
}
"""Columns that say what was asked, who answered, and how it was judged."""


class Tool(NamedTuple):
    """A file of a tool."""

    folder: str
    file: str
    """The document that is changed; of JSON lines the first."""
    at: Sequence[Steps]
    """Where its configuration is."""
    no_part: str
    """Paths that decide nothing, as a regular expression."""
    judging: str
    """Paths that decide how answers are judged; others are asked, or are settings."""
    with_more: Callable[[Any], object] = lambda _: None
    """Adds what the tool may write and this file lacks."""


def _inspect(log: Any) -> None:
    judge = {"model": "acme/judge", "config": {"temperature": 0}, "args": {"bits": 4}}
    judge |= {"base_url": "https://a.test"}
    del log["eval"]["scorers"][1:]
    log["eval"]["scorers"][0] |= {
        "name": "model_graded_qa",
        "options": {"grade_pattern": "G", "template": "T", "model": judge}
        | {"max_retries": 3, "max_connections": 9, "api_key": "k"},
        "metadata": {"version": 1},
    }
    log["results"]["scores"] = []
    log["eval"] |= {"model_args": {"bits": 4}, "task_version": 3}
    log["eval"]["config"] |= {"message_limit": 4, "approval": {"approvers": ["a"]}}
    log["eval"]["model_generate_config"] = {"stop_seqs": ["."]}
    log["eval"]["sandbox"] = {"type": "docker"}
    log["plan"]["config"] = {"temperature": 0.5, "timeout": 3}
    for sample in log["samples"]:
        sample["scores"] = {"model_graded_qa": {"value": "C"}}
    del log["samples"][1:]
    log["samples"][0] |= {
        "files": ["a"], "setup": "b", "choices": ["c"], "sandbox": {"type": "docker"},
        "metadata": {"sea": "d"},
    }  # fmt: skip


def _helm(spec: Any) -> None:
    spec["metric_specs"] = [
        {"class_name": "m.Basic", "args": {"names": ["exact_match"], "strip": True}},
        {"class_name": "m.Judge", "args": {"model": "b", "api_key": "k"}},
    ]
    spec["annotators"] = [{"class_name": "a.Judge", "args": {"model": "b"}}]
    spec["adapter_spec"] |= {
        "stop_sequences": ["."],
        "multi_label": True,
        "max_eval_instances": 3,
        "output_mapping_pattern": "p",
        "input_prefix": "q",
        "num_outputs": 2,
        "chain_of_thought_prefix": "c",
        "eval_splits": ["test"],
    }


def _lm_eval(results: Any) -> None:
    config = results["configs"]["rivers"]
    config["metric_list"][0] |= {"ignore_case": True, "regexes_to_ignore": [","]}
    config |= {"doc_to_choice": ["a"], "process_results": "def f(): 1"}
    config |= {"added_later": 1, "dataset_kwargs": {"revision": "a"}}
    config["generation_kwargs"] |= {"temperature": 0}
    results["config"] |= {"model_args": "pretrained=qdpv68r5,dtype=half"}
    results["config"] |= {"gen_kwargs": "top_p=1"}
    results |= {"chat_template": "t", "chat_template_sha": "s"}
    results |= {"system_instruction": "s"}


def _openai(line: Any) -> None:
    line["spec"]["run_config"]["eval_spec"]["args"] = {
        "modelgraded_spec": "fact",
        "samples_jsonl": "a",
        "max_tokens": 5,
        "eval_kwargs": {"temperature": 0, "timeout": 3, "max_retries": 3},
        "ignore_case": True,
        "scorer": "own",
    }


def _every_eval(aggregate: Any) -> None:
    del aggregate["evaluation_results"][1:]
    (result,) = aggregate["evaluation_results"]
    judge = {"model_info": {"id": "acme/judge"}, "temperature": 0.0, "weight": 1.0}
    result["metric_config"] |= {
        "metric_parameters": {"k": 1}, "metric_unit": "points", "level_names": ["a"],
        "llm_scoring": {"judges": [judge], "input_prompt": "p", "expert_baseline": 0.5},
    }  # fmt: skip
    result["generation_config"] |= {
        "generation_args": {
            "temperature": 0,
            "prompt_template": "p",
            "execution_command": "c",
            "eval_limits": {"time_limit": 3},
        }
    }


def _promptfoo(export: Any) -> None:
    row = export["results"]["results"][0]
    export["results"]["results"] = [row]
    row["testCase"]["options"] = {
        "transform": "output.a",
        "rubricPrompt": "r",
        "prefix": "p",
        "repeat": 1,
        "provider": {"id": "j", "config": {"temperature": 0, "timeout": 3}},
    }
    row["testCase"]["assert"][1] |= {"config": {"a": 1}, "threshold": 0.5}
    row["testCase"]["assert"][1] |= {"transform": "output.a", "contextTransform": "c"}
    row["testCase"] |= {"threshold": 0.5, "provider": "p"}
    row["testCase"] |= {"assertScoringFunction": "file://score.js"}
    row["testCase"]["metadata"] |= {"conversationId": "c", "purpose": "p"}
    row["testCase"]["metadata"]["pluginConfig"] = {"policy": "a"}
    export["config"]["providers"][0]["config"] |= {"tools": [{"type": "t"}], "delay": 3}
    export["config"]["providers"][0]["config"]["reasoning"] = {"effort": "low"}


def _openai_api(of_eval: Any) -> None:
    of_eval["testing_criteria"][1] |= {
        "sampling_params": {"temperature": 0, "max_retries": 3},
        "added_later": {"strict": True},
    }


def _langfuse(run: Any) -> None:
    run["metadata"] |= {"top_p": 1, "prompt": "Name the sea.", "team": "maps"}


SAMPLE = ("samples", 0)
TOOLS = {
    "Inspect AI": Tool(
        "inspect_ai",
        "late.json",
        [
            ("eval",),
            ("plan", "config"),
            *((*SAMPLE, name) for name in ("id", "input", "choices", "target")),
            *((*SAMPLE, name) for name in ("files", "setup", "sandbox", "metadata")),
        ],
        r"eval/(eval_id|run_id|eval_set_id|task_(id|file|display_name|registry_name)"
        r"|task_attribs|task_args/.*|dataset/.*|packages/.*|tags|metadata/.*|viewer"
        r"|model_base_url|revision/(type|origin|dirty)|solver_args.*"
        r"|scorers/0/options/(api_key|max_\w+|model/base_url)"
        r"|config/(epochs|epochs_reducer.*|fail_on_error"
        r"|continue_on_fail|score_on_error|sandbox_(cleanup|prebuilt)|score_display"
        r"|log_\w+|max_\w+|limit|retry_on_error)|scorers/0/metrics.*)",
        r"eval/(task_version|scorers/0/(name|metadata/version"
        r"|options/(grade_pattern|template|model/(model|args/.*|config/.*))))",
        _inspect,
    ),
    "HELM": Tool(
        "helm/rivers,model=acme_early",
        "run_spec.json",
        [("name",), ("adapter_spec",), ("metric_specs",), ("annotators",), ("groups",)],
        r"name|adapter_spec/(max_eval_instances|eval_splits/0)"
        r"|metric_specs/1/args/api_key",
        r"adapter_spec/(multi_label|output_mapping_pattern)|annotators/.*"
        r"|metric_specs/(?!1/args/api_key).*",
        _helm,
    ),
    "lm-evaluation-harness": Tool(
        "lm_eval/late",
        "results_*.json",
        [("configs",), ("versions",), ("n-shot",), ("config",), ("higher_is_better",)]
        + [(name,) for name in ("date", "system_instruction", "chat_template_sha")]
        + [(name,) for name in ("fewshot_as_multiturn", "model_name", "chat_template")],
        # rows have the documents and their targets
        r"configs/rivers/(task|dataset_\w+(/.*)?|test_split|doc_to_target|unsafe_code"
        r"|num_fewshot|should_decontaminate|fewshot_config/doc_to_(text|target)|metadata/.*"
        r"|metric_list/0/(aggregation|higher_is_better))"
        r"|config/(model|batch_size\w*|device|use_cache|limit|bootstrap_iters)"
        r"|chat_template",
        r"configs/rivers/(added_later|doc_to_choice/0|filter_list/.*|output_type|repeats"
        r"|process_results|metric_list/0/(metric|ignore_case|regexes_to_ignore/0))"
        r"|higher_is_better/.*|versions/.*",
        _lm_eval,
    ),
    "OpenAI evals": Tool(
        "openai_evals",
        "rivers.jsonl",
        [("spec",)],
        r"spec/(split|created_by|run_id|run_config/completion_fns/0"
        r"|run_config/eval_spec/(key|args/(samples_jsonl|eval_kwargs/max_retries)))",
        r"spec/(completion_fns/0|run_config/eval_spec/(cls|args/(ignore_case|scorer"
        r"|modelgraded_spec|eval_kwargs/(temperature|timeout))))",
        _openai,
    ),
    "OpenAI Evals API": Tool(
        "openai_evals_api/early",
        "eval.json",
        [("name",), ("testing_criteria",)],
        r"testing_criteria/(0/name|1/(id|name|sampling_params/max_retries))",
        r"testing_criteria/(0/(type|id|input|reference|operation)|1/(type|model"
        r"|range/.*|pass_threshold|input/.*|sampling_params/temperature"
        r"|added_later/strict))",
        _openai_api,
    ),
    "Langfuse": Tool(
        "langfuse/early",
        "run.json",
        [("name",), ("metadata",), ("datasetName",)],
        # the name counts where the metadata name no version of the prompt
        r"name|metadata/team",
        r"",
        _langfuse,
    ),
    "Every Eval Ever": Tool(
        "every_eval_ever",
        "rivers.json",
        [("evaluation_results",), ("model_info",), ("eval_library",)],
        r"evaluation_results/0/(evaluation_(result_id|timestamp)|source_data/.*"
        r"|score_details/.*|metric_config/(metric_name|evaluation_description"
        r"|llm_scoring/expert_baseline)"
        r"|generation_config/generation_args/execution_command)"
        r"|model_info/(name|developer|additional_details/(deployment_type|model_av.*))"
        r"|eval_library/version",
        r"eval_library/name|evaluation_results/0/(evaluation_name|metric_config/"
        r"(level_names/0|llm_scoring/(input_prompt|judges/.*)|lower_is_better|m.._score"
        r"|metric_(id|unit|parameters/k)|score_type))",
        _every_eval,
    ),
    "promptfoo": Tool(
        "promptfoo",
        "rivers.json",
        [("results", "results", 0, "testCase"), ("config", "providers", 0)],
        r".*/options/repeat|.*/metadata/conversationId"
        r"|config/providers/0/config/delay",
        r".*/testCase/(assert/.*|assertScoringFunction|threshold|metadata/(purpose"
        r"|pluginConfig/.*)|options/(provider/.*|rubricPrompt|transform))",
        _promptfoo,
    ),
}


def _leaves(value: Any, at: Steps) -> Iterator[Steps]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    if not items or not value:
        yield at
    for key, each in items:
        yield from _leaves(each, (*at, key))


def _at(document: Any, path: Steps) -> Any:
    for step in path:
        document = document[step]
    return document


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}-x"
    return {"x": 1} if isinstance(value, dict) else ["x"]


def _read(reading: Reading) -> tuple[str, str]:
    """Return all that is read, and the part of it that says how answers are judged."""
    found = {}
    for name, columns in READ.items():
        rows = table(reading, name)
        found[name] = rows.select(c for c in columns if c in rows.columns).rows()
    prompts = [json.loads(e).get("prompt") for e in table(reading, "tasks")["extras"]]
    asserted = table(reading, "cases")["expectation_hash"].to_list()
    judged = [found["dimension_configs"], found["judges"], asserted]
    return json.dumps([found, prompts], default=str), json.dumps(judged, default=str)


@pytest.mark.parametrize("name", TOOLS)
def test_every_value_of_a_configuration_decides_what_it_should(
    name: str, tmp_path: Path
) -> None:
    tool = TOOLS[name]
    (named,) = (DATA / tool.folder).glob(tool.file)
    is_alone = name in ("Inspect AI", "promptfoo", "OpenAI evals")
    shutil.copytree(DATA / tool.folder, tmp_path, dirs_exist_ok=True)
    file = tmp_path / named.name
    first, rest = file.read_text("utf-8"), ""
    if file.suffix == ".jsonl":
        first, rest = first.split("\n", 1)
    document = json.loads(first)
    tool.with_more(document)

    def reading(changed: Any) -> Reading:
        file.write_text(f"{json.dumps(changed)}\n{rest}", "utf-8")
        return reading_of(file if is_alone else tmp_path)

    before, judged_before = _read(reading(document))
    unread, judging = set(), set()
    paths = []
    for path in (leaf for at in tool.at for leaf in _leaves(_at(document, at), at)):
        changed = copy.deepcopy(document)
        *steps, last = path
        _at(changed, tuple(steps))[last] = _other(_at(document, path))
        found = reading(changed)
        if found.rejected:
            continue
        paths.append(name_of_path := "/".join(map(str, path)))
        after, judged_after = _read(found)
        if after == before:
            unread.add(name_of_path)
        if judged_after != judged_before:
            judging.add(name_of_path)
    assert unread == {path for path in paths if re.fullmatch(tool.no_part, path)}
    assert judging == {path for path in paths if re.fullmatch(tool.judging, path)}
