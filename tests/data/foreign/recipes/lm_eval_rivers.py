"""Two models over the same documents, without torch and offline.

usage: python lm_eval_rivers.py OUT
"""

import json
import os
import sys
from pathlib import Path

out = Path(sys.argv[1]).resolve()
(out / "tasks").mkdir(parents=True, exist_ok=True)
os.environ.update(HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", HF_HOME=str(out / "hf"))

from lm_eval import simple_evaluate  # noqa: E402
from lm_eval.api.model import LM  # noqa: E402
from lm_eval.loggers import EvaluationTracker  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

SEAS = {"Nile": "Mediterranean", "Rhine": "North", "Danube": "Black"}
KNOWN = {"early": {"Nile"}, "late": {"Nile", "Rhine"}}
ROWS = [*SEAS.items(), ("Nile", "Mediterranean")]  # one document is repeated
data = out / "tasks" / "rivers.jsonl"
data.write_text(
    "".join(json.dumps({"river": river, "sea": sea}) + "\n" for river, sea in ROWS)
)
(out / "tasks" / "rivers.yaml").write_text(
    f"""task: rivers
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Where does the {{{{river}}}} end?"
doc_to_target: "{{{{sea}}}}"
repeats: 2
generation_kwargs: {{until: ["\\n"]}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
filter_list:
  - {{name: first, filter: [{{function: take_first}}]}}
  - name: word
    filter:
      - {{function: regex, regex_pattern: "([A-Z][a-z]+) Sea"}}
      - {{function: take_first}}
metadata: {{version: 1.5}}
"""
)


class Table(LM):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def generate_until(self, requests, disable_tqdm=False):
        rivers = [next(r for r in SEAS if r in each.args[0]) for each in requests]
        return [
            f"the {SEAS[r]} Sea" if r in KNOWN[self.model] else "no idea"
            for r in rivers
        ]

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


for model in KNOWN:
    tracker = EvaluationTracker(output_path=str(out / model))
    results = simple_evaluate(
        model=Table(model),
        tasks=["rivers"],
        task_manager=TaskManager(
            include_path=str(out / "tasks"), include_defaults=False
        ),
        log_samples=True,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)
