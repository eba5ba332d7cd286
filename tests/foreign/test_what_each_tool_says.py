"""The table "What each tool says" of docs/runs.md, against what the readers fill."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptlab.contracts.sources import TableMapping
from promptlab.ingest.foreign.registry import TOOLS
from promptlab.ingest.raw.rows import Reading
from tests.foreign.reading_of import DATA, reading_of, table

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "runs.md").read_text("utf-8")
SECTION = TEXT.partition("## What each tool says")[2].partition("\n## ")[0]
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|")
]
NAMES = LINES[0][1:]
CELLS = {
    (line[0], name): cell
    for line in LINES[2:]
    for name, cell in zip(NAMES, line[1:], strict=True)
}
FILES = {
    "promptfoo": "promptfoo/rivers.json",
    "Inspect AI": "inspect_ai/late.json",
    "lm-evaluation-harness": "lm_eval/late",
    "HELM": "helm/rivers,model=acme_early",
    "DeepEval": "deepeval/late/.latest_run_full.json",
    "OpenAI evals": "openai_evals/rivers.jsonl",
    "Pydantic Evals": "pydantic_evals/late_1.json",
    "MLflow": "mlflow/late_genai_traces.jsonl",
    "LangSmith": "langsmith/late.jsonl",
    "Ragas": "ragas/late.jsonl",
    "Azure AI Evaluation": "azure_ai_evaluation/early.json",
    "EvalScope": "evalscope/20261122_160000",
    "OpenCompass": "opencompass/20261122_170000",
    "OpenAI Evals API": "openai_evals_api/early",
    "Langfuse": "langfuse/early",
    "Every Eval Ever": "every_eval_ever",
}
MARK = "mark-7"
COST = 0.0625

Steps = Sequence[str | int]
"""Keys and indexes; ``*`` stands for every element."""


class Filled(NamedTuple):
    """What a reader filled, by column of the table."""

    reading: Reading

    def of(self, column: str) -> set[str]:
        tasks = table(self.reading, "tasks")
        if column == "title":
            return set(tasks["title"])
        if column == "run":
            pairs = zip(tasks["run_id"], tasks["task_id"], strict=True)
            return {run for run, task in pairs if task != run or run == MARK}
        if column == "variant":
            names = ("provider", "prompt_name", "model", "variant")
            said = {str(each) for name in names for each in tasks[name] if each}
            return said - {"unknown"}
        if column == "prompt version":
            return set(tasks["prompt_version"]) - {"unknown"}
        if column == "judge":
            judges = table(self.reading, "judges")
            names = ("model", "template", "rubric")
            columns = [judges[name] for name in names if judges.columns]
            of_task = {each for each in tasks["judge"] if each}
            return of_task | {each for column in columns for each in column if each}
        if column == "tags":
            cases = table(self.reading, "cases")
            found = {tag for tags in cases["tags"] for tag in json.loads(tags)}
            return found | {each for each in cases["categories"] if each != "{}"}
        if column == "cost":
            metadata = map(json.loads, table(self.reading, "rounds")["metadata"])
            return {str(m["cost"]) for m in metadata if m.get("cost") is not None}
        if column == "settings":
            return {each for each in tasks["settings"] if each}
        if column == "cached":
            return {str(each) for each in table(self.reading, "rounds")["is_cached"]}
        assert column == "first metric"
        metrics = table(self.reading, "dimension_configs")
        return {
            name
            for name, weight in metrics.select("dimension_id", "weight").rows()
            if weight
        }


def _put(value: Any, path: Steps, new: Any) -> None:
    """Replace the value at a path; lines that lack the path stay as they are."""
    step, *rest = path
    if step == "*":
        for each in value.values() if isinstance(value, dict) else value:
            _put(each, rest, new)
    elif not rest:
        value[step] = new
    elif isinstance(step, int) or step in value:
        _put(value[step], rest, new)


class Field(NamedTuple):
    """A field of a tool's file that fills a column."""

    name: str
    """As the cell names it."""
    at: Steps | Callable[[Any], None]
    """Its place, or a function that changes a document."""
    value: Any = MARK
    also: Sequence[tuple[Steps, Any]] = ()
    """Further changes that the field needs."""
    files: Sequence[str] = ("",)
    """The files of a folder that have it."""
    made: Callable[[Path], Reading] | None = None
    """Writes other files with the field, and reads them."""

    def reading(self, tool: str, folder: Path) -> Reading:
        """Read the tool's file, with the field changed."""
        if self.made is not None:
            return self.made(folder)
        copy = folder / "copy" / Path(FILES[tool]).name
        source = DATA / FILES[tool]
        if source.is_dir():
            shutil.copytree(source, copy)
        else:
            copy.parent.mkdir()
            shutil.copy(source, copy)
        for name in self.files:
            file = copy / name if name else copy
            text = file.read_text("utf-8")
            lines = text.splitlines() if file.suffix == ".jsonl" else [text]
            documents = [json.loads(line) for line in lines]
            for document in documents:
                for path, new in self.also:
                    _put(document, path, new)
                if callable(self.at):
                    self.at(document)
                else:
                    _put(document, self.at, self.value)
            file.write_text("\n".join(map(json.dumps, documents)), "utf-8")
        return reading_of(copy)


PAGES = ("output_items_1.json", "output_items_2.json")


def _page_with(name: str) -> Callable[[Path], Reading]:
    """Read a page without its run, whose items name no model."""

    def made(folder: Path) -> Reading:
        page = json.loads(
            (DATA / "openai_evals_api/early" / PAGES[1]).read_text("utf-8")
        )
        for item in page["data"]:
            item["sample"]["model"] = ""
            (item["datasource_item"] if "agent" in name else item)[name] = MARK
        (folder / "page.json").write_text(json.dumps(page), "utf-8")
        return reading_of(folder)

    return made


def _argument(name: str) -> Callable[[Any], None]:
    """Give the function that MLflow evaluates one more argument."""

    def change(trace: Any) -> None:
        asked = json.loads(trace["info"]["trace_metadata"]["mlflow.traceInputs"])
        asked = {key: value for key, value in asked.items() if key != "model"}
        written = json.dumps(asked | {name: MARK})
        trace["info"]["trace_metadata"]["mlflow.traceInputs"] = written
        for span in trace["data"]["spans"]:
            span["attributes"]["mlflow.spanInputs"] = written
            span["attributes"].pop("mlflow.llm.model")

    return change


def _run_of_openai(line: Any) -> None:
    line.get("spec", line)["run_id"] = MARK


ROW = ("results", "results", "*")
GRADED = (*ROW, "testCase", "assert", -1)
RUBRIC = ({"type": "llm-rubric", "value": "polite?"},)
HELM = ("run_spec.json",)
STATES = ("scenario_state.json",)
RESULTS = ("results_2026-11-22T16-07-52.843043.json",)
RIVERS = ("rivers.json",)
INSPECT_JUDGE = (("eval", "scorers", 0, "name"), "model_graded_qa")
TEXT_OF_PROMPT = ("results", "prompts", "*", "label")

SEAS = ("reports/acme-early/seas.json",)
FIELDS: dict[tuple[str, str], Sequence[Field]] = {
    ("promptfoo", "title"): [Field("description", ("config", "description"))],
    ("promptfoo", "run"): [Field("evalId", ("evalId",))],
    ("promptfoo", "variant"): [
        Field("provider", ("results", "prompts", "*", "provider"),
              also=[((*ROW, "provider"), {"id": MARK})]),
        Field("label", ("results", "prompts", "*", "label")),
    ],
    ("promptfoo", "prompt version"): [Field("label", TEXT_OF_PROMPT)],
    ("promptfoo", "judge"): [
        Field("provider", (*ROW, "testCase", "options", "provider"),
              {"id": "judge.js", "config": {"model": MARK, "apiKey": "k"}},
              also=[((*ROW, "testCase", "assert"), RUBRIC)]),
        Field("provider", (*ROW, "testCase", "options", "provider"), {"id": MARK},
              also=[((*ROW, "testCase", "assert"), RUBRIC)]),
        Field("rubricPrompt", (*ROW, "testCase", "options", "rubricPrompt"),
              also=[((*ROW, "testCase", "assert"), RUBRIC)]),
        Field("value", (*GRADED, "value"),
              also=[((*ROW, "testCase", "assert"), RUBRIC)]),
    ],
    ("promptfoo", "tags"): [
        Field("metadata", (*ROW, "testCase", "metadata"), {"area": MARK}),
        Field("tags", (*ROW, "testCase", "metadata"), {"tags": [MARK]}),
    ],
    ("promptfoo", "cost"): [Field("cost", (*ROW, "cost"), COST)],
    ("Inspect AI", "title"): [Field("task", ("eval", "task"))],
    ("Inspect AI", "run"): [
        Field("eval_set_id", ("eval", "eval_set_id")),
        Field("run_id", ("eval", "run_id")),
    ],
    ("Inspect AI", "variant"): [
        Field("model", ("eval", "model")),
        Field("task_args_passed", ("eval", "task_args_passed"), {"depth": MARK}),
        Field("solver", ("eval", "solver")),
    ],
    ("Inspect AI", "prompt version"): [
        Field("prompt_version", ("metadata", "prompt_version")),
        Field("metadata", ("metadata",), {"prompt_version": MARK}),
        Field("task_version", ("eval", "task_version"), also=[(("metadata",), {})]),
    ],
    ("Inspect AI", "judge"): [
        Field("model_graded_*", INSPECT_JUDGE[0], "model_graded_x",
              also=[(("eval", "scorers", 0, "options"), {"model": MARK})]),
        Field("model", ("eval", "scorers", 0, "options"), {"model": MARK},
              also=[INSPECT_JUDGE]),
        Field("grader", ("eval", "model_roles"), {"grader": {"model": MARK}},
              also=[INSPECT_JUDGE]),
        Field("template", ("eval", "scorers", 0, "options"), {"template": MARK},
              also=[INSPECT_JUDGE]),
    ],
    ("Inspect AI", "tags"): [Field("metadata", ("samples", "*", "metadata"), {"a": MARK})],
    ("Inspect AI", "cost"): [
        Field("total_cost", ("samples", "*", "model_usage"),
              {"mockllm/late": {"total_cost": COST}}),
    ],
    ("lm-evaluation-harness", "variant"): [
        Field("model_name", ("model_name",), files=RESULTS,
              also=[(("config", "model_args"), {"pretrained": MARK})]),
        Field("model", ("config", "model"), files=RESULTS),
    ],
    ("lm-evaluation-harness", "prompt version"): [
        Field("versions", ("versions", "rivers"), files=RESULTS),
        Field("n-shot", ("n-shot", "rivers"), files=RESULTS),
    ],
    ("HELM", "title"): [Field("name", ("name",), f"{MARK}:model=m", files=HELM)],
    ("HELM", "variant"): [Field("model", ("adapter_spec", "model"), files=HELM)],
    ("HELM", "prompt version"): [
        Field("method", ("adapter_spec", "method"), files=HELM),
        Field("max_train_instances", ("adapter_spec", "max_train_instances"), files=HELM),
        Field("instructions", ("adapter_spec", "instructions"), files=HELM),
    ],
    ("HELM", "tags"): [
        Field("split", ("request_states", "*", "instance", "split"), files=STATES),
        Field("perturbation", ("request_states", "*", "instance", "perturbation"),
              {"name": MARK}, files=STATES),
        Field("groups", ("groups",), [MARK], files=HELM),
    ],
    ("DeepEval", "title"): [
        Field("datasetAlias", ("datasetAlias",)),
        Field("testFile", ("testFile",)),
        Field("identifier", ("identifier",)),
    ],
    ("DeepEval", "variant"): [
        Field("model", ("hyperparameters", "model")),
        Field("hyperparameters", ("hyperparameters",), {"model": MARK}),
        Field("model_settings", ("prompts",), [{"model_settings": {"name": MARK}}],
              also=[(("hyperparameters",), None)]),
    ],
    ("DeepEval", "prompt version"): [
        Field("prompt version", ("hyperparameters", "prompt version")),
        Field("version", ("prompts",), [{"version": MARK}],
              also=[(("hyperparameters",), None)]),
    ],
    ("DeepEval", "judge"): [
        Field("evaluationModel", ("testCases", "*", "metricsData", "*", "evaluationModel"))
    ],
    ("DeepEval", "tags"): [
        Field("tags", ("testCases", "*", "tags"), [MARK]),
        Field("metadata", ("testCases", "*", "metadata"), {"area": MARK}),
    ],
    ("DeepEval", "cost"): [Field("tokenCost", ("testCases", "*", "tokenCost"), COST)],
    ("OpenAI evals", "title"): [Field("eval_name", ("spec", "eval_name"))],
    ("OpenAI evals", "run"): [Field("run_id", _run_of_openai)],
    ("OpenAI evals", "variant"): [
        Field("completion_fns", ("spec", "completion_fns"), [MARK])
    ],
    ("OpenAI evals", "judge"): [
        Field("modelgraded_spec", ("spec", "run_config", "eval_spec"),
              {"args": {"modelgraded_spec": "fact"}},
              also=[(("spec", "completion_fns"), ["a", MARK])]),
        Field("completion_fns", ("spec", "completion_fns"), ["a", MARK],
              also=[(("spec", "run_config", "eval_spec"),
                     {"args": {"modelgraded_spec": "fact"}})]),
    ],
    ("OpenAI evals", "prompt version"): [
        Field("eval_name", ("spec", "eval_name"), f"rivers.{MARK}"),
        Field("base_eval", ("spec", "base_eval"), "rivers",
              also=[(("spec", "eval_name"), f"rivers.{MARK}")]),
    ],
    ("Pydantic Evals", "title"): [
        Field("dataset_name", ("dataset_name",)),
        Field("name", ("name",), also=[(("dataset_name",), None)]),
    ],
    ("Pydantic Evals", "variant"): [
        Field("model", ("experiment_metadata", "model")),
        Field("experiment_metadata", ("experiment_metadata",), {"model": MARK}),
        Field("attributes", ("cases", "*", "attributes"), {"model": MARK},
              also=[(("experiment_metadata",), None)]),
    ],
    ("Pydantic Evals", "prompt version"): [
        Field("prompt_version", ("experiment_metadata", "prompt_version"))
    ],
    ("Pydantic Evals", "judge"): [
        Field(name, ("cases", "*", "assertions", "EqualsExpected", "source"),
              {"name": "LLMJudge", "arguments": {name: MARK}})
        for name in ("model", "rubric")
    ],
    ("Pydantic Evals", "tags"): [Field("metadata", ("cases", "*", "metadata"), {"a": MARK})],
    ("Pydantic Evals", "cost"): [Field("cost", ("cases", "*", "metrics", "cost"), COST)],
    ("MLflow", "run"): [
        Field("mlflow.sourceRun", ("info", "trace_metadata", "mlflow.sourceRun"))
    ],
    ("MLflow", "variant"): [
        Field("mlflow.llm.model",
              ("data", "spans", 0, "attributes", "mlflow.llm.model"), f'"{MARK}"'),
        Field("model", _argument("model")),
    ],
    ("MLflow", "prompt version"): [
        Field("prompt version", _argument("prompt_version")),
        Field("mlflow.linkedPrompts", ("info", "tags", "mlflow.linkedPrompts"),
              json.dumps([{"name": MARK, "version": "3"}])),
    ],
    ("MLflow", "judge"): [
        Field("source_id", ("info", "assessments", "*", "source"),
              {"source_type": "LLM_JUDGE", "source_id": MARK}),
        Field("LLM_JUDGE", ("info", "assessments", "*", "source"),
              {"source_type": "LLM_JUDGE", "source_id": MARK}),
    ],
    ("MLflow", "cost"): [
        Field("mlflow.trace.cost", ("info", "trace_metadata", "mlflow.trace.cost"),
              json.dumps({"total_cost": COST})),
    ],
    ("Azure AI Evaluation", "judge"): [
        Field("…_model", ("rows", "*", "outputs.f1.f1_score_model")),
        Field("model", ("rows", "*", "outputs.f1.f1_score_properties"), {"model": MARK}),
        Field("…_properties", ("rows", "*", "outputs.f1.f1_score_properties"),
              {"model": MARK}),
        Field("sample", ("rows", "*", "outputs.f1.sample"), {"model": MARK}),
    ],
    ("EvalScope", "title"): [
        Field("dataset_name", ("dataset_name",), files=SEAS),
    ],
    ("EvalScope", "variant"): [Field("model_name", ("model_name",), files=SEAS)],
    ("OpenAI Evals API", "title"): [
        Field("name", ("name",), files=("eval.json",)),
        Field("eval_id", (), made=_page_with("eval_id")),
    ],
    ("OpenAI Evals API", "run"): [
        Field("run_id", (), made=_page_with("run_id")),
    ],
    ("OpenAI Evals API", "variant"): [
        Field("model", ("data", "*", "sample", "model"), files=PAGES),
        Field("agent_name", (), made=_page_with("agent_name")),
    ],
    ("OpenAI Evals API", "prompt version"): [
        Field("prompt version", ("metadata",), {"prompt version": MARK},
              files=("run.json",)),
        Field("agent_version", ("data", "*", "datasource_item", "agent_version"),
              files=PAGES),
        Field("name", ("name",), files=("run.json",)),
    ],
    ("OpenAI Evals API", "judge"): [
        Field("model", ("data", "*", "results", 1, "sample", "model"), files=PAGES),
        Field("sample", ("data", "*", "results", 1, "sample"), {"model": MARK},
              files=PAGES),
    ],
    ("Langfuse", "title"): [
        Field("datasetName", ("datasetName",), files=("run.json",)),
    ],
    ("Langfuse", "run"): [Field("id", ("id",), files=("run.json",))],
    ("Langfuse", "variant"): [
        Field("model", ("metadata", "model"), files=("run.json",)),
        Field("metadata", ("metadata",), {"model": MARK}, files=("run.json",)),
    ],
    ("Langfuse", "prompt version"): [
        Field("prompt version", ("metadata",), {"prompt version": MARK},
              files=("run.json",)),
        Field("prompt", ("metadata",), {"prompt": MARK}, files=("run.json",)),
        Field("name", ("name",), files=("run.json",)),
    ],
    ("Langfuse", "tags"): [
        Field("metadata", ("data", "*", "metadata"), {"area": MARK},
              files=("dataset_items.json",)),
    ],
    ("Langfuse", "cost"): [
        Field("totalCost", ("data", "*", "totalCost"), COST, files=("traces.json",)),
    ],
    ("Every Eval Ever", "title"): [
        Field("evaluation_name", ("evaluation_name",), files=("rivers_samples.jsonl",)),
    ],
    ("Every Eval Ever", "run"): [
        Field("evaluation_id", ("evaluation_id",), files=RIVERS),
    ],
    ("Every Eval Ever", "variant"): [
        Field("id", ("model_info", "id"), files=RIVERS),
        Field("model_info", ("model_info",), {"id": MARK}, files=RIVERS),
    ],
    ("Every Eval Ever", "prompt version"): [
        Field("prompt_version", ("evaluation_results", "*", "generation_config"),
              {"additional_details": {"prompt_version": MARK}}, files=RIVERS),
    ],
    ("Every Eval Ever", "judge"): [
        Field("llm_scoring", ("evaluation_results", "*", "metric_config", "llm_scoring"),
              {"judges": [{"model_info": {"id": MARK}}], "input_prompt": "polite?"},
              files=RIVERS),
    ],
    ("Every Eval Ever", "tags"): [
        Field("tags", ("metadata",), {"tags": MARK}, files=("rivers_samples.jsonl",)),
        Field("metadata", ("metadata",), {"tags": MARK}, files=("rivers_samples.jsonl",)),
    ],
}  # fmt: skip


FOUND = {
    ("promptfoo", "first metric"): {"score"},
    ("Inspect AI", "first metric"): {"includes"},
    ("lm-evaluation-harness", "title"): {"rivers"},
    ("lm-evaluation-harness", "run"): {"table-e0c57d4fa992"},
    ("lm-evaluation-harness", "first metric"): {"exact_match,first"},
    ("HELM", "first metric"): {"exact_match"},
    ("DeepEval", "first metric"): {"Exact Match"},
    ("OpenAI evals", "first metric"): {"match"},
    ("Pydantic Evals", "first metric"): {"EqualsExpected"},
    ("MLflow", "title"): {"late_genai_traces"},
    ("MLflow", "first metric"): {"polite"},
    ("LangSmith", "title"): {"late"},
    ("LangSmith", "first metric"): {"right"},
    ("Ragas", "title"): {"ragas"},
    ("Ragas", "prompt version"): {"late"},
    ("Ragas", "first metric"): {"exact_match"},
    ("Azure AI Evaluation", "title"): {"azure"},
    ("Azure AI Evaluation", "prompt version"): {"early"},
    ("Azure AI Evaluation", "first metric"): {"f1.f1_score"},
    ("EvalScope", "run"): {"20261122_160000"},
    ("EvalScope", "tags"): {"subset:default"},
    ("EvalScope", "first metric"): {"accuracy"},
    ("OpenCompass", "title"): {"seas"},
    ("OpenCompass", "run"): {"20261122_170000"},
    ("OpenCompass", "variant"): {"acme-early"},
    ("OpenCompass", "prompt version"): {"1b2c3d"},
    ("OpenCompass", "first metric"): {"correct"},
    ("OpenAI Evals API", "first metric"): {"Right sea"},
    ("Langfuse", "first metric"): {"right"},
    ("Every Eval Ever", "first metric"): {"accuracy"},
}
"""What is in no field: the first of several, the name of a file, always the same."""


@pytest.mark.parametrize(
    "cell", [key for key in CELLS if key[0] in FILES], ids="/".join
)
def test_each_cell_says_what_the_reader_fills(
    cell: tuple[str, str], tmp_path: Path
) -> None:
    tool, column = cell
    text = CELLS[cell]
    fields = FIELDS.get(cell, ())
    if cell in FOUND:
        assert Filled(reading_of(DATA / FILES[tool])).of(column) == FOUND[cell]
    elif not fields:
        assert text == "–"
        assert Filled(reading_of(DATA / FILES[tool])).of(column) == set()
    named = set(re.findall(r"`([^`]+)`", text)) - FOUND.get(cell, set()) - {"model="}
    assert {field.name for field in fields} == named
    for number, field in enumerate(fields):
        (tmp_path / str(number)).mkdir()
        found = Filled(field.reading(tool, tmp_path / str(number))).of(column)
        assert any(MARK in each or each == str(COST) for each in found), field.name


def test_each_tool_of_the_registry_has_a_line():
    kinds = set(TOOLS) - {"memory_benchmarks", "table"}
    assert len(FILES) == len(kinds)
    assert {tool for tool, _ in CELLS} == {
        *FILES, "a table of your own", "analysis input"
    }  # fmt: skip


def test_a_mapped_table_fills_each_column_that_its_line_names(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("q,t,m,v,tag,paid,right\n1,T,M,V,G,0.0625,1\n", "utf-8")
    mapping = TableMapping(
        case="q", title="t", model="m", prompt_version="v", tags="tag", cost="paid",
        scores=("right",),
    )  # fmt: skip
    filled = Filled(reading_of(file, {"rows": mapping}))
    assert {name: filled.of(name) for name in NAMES if name != "run"} == {
        "title": {"T"}, "variant": {"M"}, "prompt version": {"V"},
        "judge": {"scale from 0 to 1"}, "tags": {"G"}, "cost": {str(COST)}, "first metric": {"right"},
    }  # fmt: skip


HOT = {"temperature": MARK}
SETTINGS = {
    "promptfoo": Field("", ("config", "providers"), [{"id": "late", "config": HOT}]),
    "Inspect AI": Field("", ("eval", "model_generate_config"), {"seed": 77}),
    "lm-evaluation-harness": Field("", ("config", "gen_kwargs"), HOT, files=RESULTS),
    "HELM": Field("", ("adapter_spec", "temperature"), files=HELM),
    "DeepEval": Field("", ("hyperparameters", "temperature")),
    "OpenAI evals": Field("", ("spec", "run_config", "seed"), 77),
    "Pydantic Evals": Field("", ("experiment_metadata", "temperature")),
    "MLflow": Field("", _argument("temperature")),
    "OpenAI Evals API": Field(
        "", ("data", "*", "sample", "temperature"), 77, files=PAGES
    ),
    "Langfuse": Field("", ("metadata", "temperature"), files=("run.json",)),
    "Every Eval Ever": Field(
        "", ("evaluation_results", "*", "generation_config"),
        {"generation_args": HOT}, files=RIVERS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", FILES)
def test_settings_come_from_the_tools_that_the_text_names(tool: str, tmp_path: Path):
    text = " ".join(SECTION.split())
    sentence = text.partition("The settings of the model come from")[2]
    assert (tool in sentence) == (tool in SETTINGS)
    if tool in SETTINGS:
        found = Filled(SETTINGS[tool].reading(tool, tmp_path)).of("settings")
        assert any(MARK in each or "77" in each for each in found)
    else:
        assert Filled(reading_of(DATA / FILES[tool])).of("settings") == set()


CACHED = {
    "promptfoo": Field("", (*ROW, "response"), {"output": "x", "cached": True}),
    "HELM": Field("", ("request_states", "*", "result", "cached"), True, files=STATES),
}


@pytest.mark.parametrize("tool", FILES)
def test_cached_answers_are_marked_by_the_tools_that_the_text_names(
    tool: str, tmp_path: Path
) -> None:
    text = " ".join(SECTION.split()).partition(" mark cached answers")[0]
    assert (tool in text.rpartition(". ")[2]) == (tool in CACHED)
    if tool in CACHED:
        assert Filled(CACHED[tool].reading(tool, tmp_path)).of("cached") == {"True"}
    else:
        assert Filled(reading_of(DATA / FILES[tool])).of("cached") == {"None"}
