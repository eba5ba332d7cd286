"""Two models over the same rows, by both of MLflow's evaluations, in a local store.

usage: python mlflow_rivers.py OUT
"""

import json
import os
import sys
from pathlib import Path

out = Path(sys.argv[1]).resolve()
out.mkdir(parents=True, exist_ok=True)
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", USER="ci", LOGNAME="ci")
os.environ["MLFLOW_GENAI_EVAL_MAX_WORKERS"] = "1"
os.chdir(out)

import mlflow  # noqa: E402
import pandas as pd  # noqa: E402
from mlflow.entities import Feedback  # noqa: E402
from mlflow.genai.scorers import scorer  # noqa: E402

mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("rivers")
SEAS = {"Nile": "Mediterranean", "Rhine": "North", "Danube": "Black", "Styx": "Hades"}
KNOWN = {"early": {"Nile"}, "late": {"Nile", "Rhine"}}


@scorer
def right(outputs, expectations):
    return outputs == expectations["expected_response"]


@scorer
def characters(outputs):
    return Feedback(value=len(outputs), rationale="counted")


@scorer
def polite(outputs):
    return "no" if outputs.startswith("I ") else "yes"


def write(name, metrics, table):
    (out / f"{name}_metrics.json").write_text(json.dumps(metrics, default=float))
    return out / f"{name}_{table}"


for model in KNOWN:

    def answer(river, model=model):  # MLflow writes the model next to the question
        if river == "Styx":
            raise RuntimeError("no such river")
        return SEAS[river] if river in KNOWN[model] else "I cannot say"

    table = pd.DataFrame({"inputs": list(SEAS)[:3], "truth": list(SEAS.values())[:3]})
    with mlflow.start_run(run_name=f"classic-{model}"):
        result = mlflow.models.evaluate(
            model=lambda rows, answer=answer: [answer(each) for each in rows["inputs"]],
            data=table,
            targets="truth",
            evaluators="default",
            extra_metrics=[mlflow.metrics.exact_match(), mlflow.metrics.latency()],
        )
        file = write(f"{model}_classic", result.metrics, "eval_results_table.json")
        table = result.tables["eval_results_table"]
        file.write_text(table.to_json(orient="split", index=False))
    with mlflow.start_run(run_name=f"genai-{model}"):
        result = mlflow.genai.evaluate(
            data=[
                {"inputs": {"river": r}, "expectations": {"expected_response": sea}}
                for r, sea in SEAS.items()
            ],
            predict_fn=answer,
            scorers=[right, characters, polite],
        )
        file = write(f"{model}_genai", result.metrics, "result_df.jsonl")
        table = result.result_df
        table.to_csv(file.with_suffix(".csv"), index=False)
        columns = [each for each in table.columns if each not in ("trace", "spans")]
        lines = table[columns].to_json(
            orient="records", lines=True, default_handler=str
        )
        file.write_text(lines)
        traces = mlflow.search_traces(run_id=result.run_id, return_type="list")
        rows = [json.dumps(each.to_dict(), default=str) + "\n" for each in traces]
        (out / f"{model}_genai_traces.jsonl").write_text("".join(rows))
