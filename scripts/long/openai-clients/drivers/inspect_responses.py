"""A grader of Inspect through /v1/responses."""

import os

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.util import JSONSchema

grade = JSONSchema(type="object", properties={"grade": JSONSchema(type="string", enum=["C", "I"])}, required=["grade"])
config = GenerateConfig(response_schema=ResponseSchema(name="verdict", json_schema=grade))
access = {"base_url": "https://polls.example.com/v1", "api_key": os.environ["EP_API_KEY"]}
panel = get_model("openai-api/polls/poll", **access, config=config, responses_api=True)
scorer = model_graded_qa(model=panel, grade_pattern=r'"grade":\s*"([CI])"')
log = eval(
    Task(dataset=[Sample(input="How much is 2 + 2?", target="4")], scorer=scorer), model="mockllm/model", display="none"
)[0]
print(list(log.samples[0].scores.values())[0].value)
