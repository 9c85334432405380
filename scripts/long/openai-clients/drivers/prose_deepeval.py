"""A metric of DeepEval that asks for a list of statements."""

import os

from deepeval.metrics import AnswerRelevancyMetric
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase

model = GPTModel(
    model="poll",
    base_url="https://polls.example.com/v1",
    api_key=os.environ["EP_API_KEY"],
    cost_per_input_token=0,
    cost_per_output_token=0,
)
metric = AnswerRelevancyMetric(model=model, async_mode=False)
metric.measure(LLMTestCase(input="How much is 2 + 2?", actual_output="4"))
print(metric.score)
