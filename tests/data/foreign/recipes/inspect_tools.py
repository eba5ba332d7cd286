"""An agent that calls a tool, as .eval.

usage: python inspect_tools.py OUT
"""

import sys

from inspect_ai import Task, task
from inspect_ai import eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolError, tool

MODEL = "mockllm/guide"
SEAS = {"Rhine": "North Sea", "Rhone": "Mediterranean"}


@tool
def sea_of():
    async def execute(river: str) -> str:
        """Return the sea that a river ends in.

        Args:
            river: Name of the river.
        """
        if river not in SEAS:
            raise ToolError(f"no such river: <b>{river}</b>")
        return SEAS[river]

    return execute


def calls(river):
    return _counted(ModelOutput.for_tool_call(MODEL, "sea_of", {"river": river}), 20, 5)


def says(text):
    return _counted(ModelOutput.from_content(MODEL, text), 30, 7)


def _counted(output, given, made):
    output.usage = ModelUsage(
        input_tokens=given, output_tokens=made, total_tokens=given + made
    )
    return output


@task
def rivers_with_tools() -> Task:
    samples = [
        Sample(id="one", input="Where does the Rhine end?", target="North"),
        Sample(id="broken", input="Where does the Styx end?", target="Hades"),
        Sample(id="two", input="Where do Rhine and Rhone end?", target="Mediterranean"),
        Sample(id="plain", input="Where does the Nile end?", target="Mediterranean"),
    ]
    return Task(
        dataset=MemoryDataset(samples, name="rivers"),
        solver=[use_tools(sea_of()), generate()],
        scorer=[includes()],
    )


outputs = [
    *(calls("Rhine"), says("It ends in the North Sea.")),
    *(calls("Styx"), says("I cannot say.")),
    *(calls("Rhine"), calls("Rhone"), says("North Sea and Mediterranean.")),
    says("In the Mediterranean."),
]
run(
    rivers_with_tools(),
    model=get_model(MODEL, custom_outputs=outputs),
    log_dir=sys.argv[1],
    max_samples=1,
    display="none",
)
