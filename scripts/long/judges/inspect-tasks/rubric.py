"""A model-graded scorer through `response_schema`: three samples, with the metric of Inspect."""

import os

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ResponseSchema, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import solver
from inspect_ai.util import JSONSchema


@solver
def answer():
    async def solve(state, _):
        state.output = ModelOutput.from_content("answer", state.metadata["proposed"])
        return state

    return solve


@task
def rubric():
    grade = JSONSchema(type="string", enum=["C", "I"], description="C is correct, I is incorrect.")
    verdict = JSONSchema(type="object", properties={"grade": grade}, required=["grade"])
    config = GenerateConfig(response_schema=ResponseSchema(name="verdict", json_schema=verdict))
    access = {"base_url": os.environ["JUDGES_URL"], "api_key": os.environ["EP_API_KEY"]}
    panel = get_model("openai-api/polls/panel", **access, config=config)
    samples = [("How much is 2 + 2?", "4", "4"), ("How much is 2 + 2?", "4", "5"), ("Capital of France?", "Paris", "Rome")]
    return Task(
        dataset=[Sample(input=asked, target=right, metadata={"proposed": given}) for asked, right, given in samples],
        solver=answer(),
        scorer=model_graded_qa(model=panel, grade_pattern=r'"grade":\s*"([CI])"'),
    )
