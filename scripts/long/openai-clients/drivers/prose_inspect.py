"""A grader of Inspect without a schema: its format is prose."""

import os

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import model_graded_qa

panel = get_model("openai-api/polls/poll", base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
task = Task(dataset=[Sample(input="How much is 2 + 2?", target="4")], scorer=model_graded_qa(model=panel))
log = eval(task, model="mockllm/model", display="none")[0]
print(log.samples[0].error.message)
