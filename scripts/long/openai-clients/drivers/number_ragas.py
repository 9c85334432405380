"""A metric of Ragas whose verdict is a number without bounds."""

import os

from openai import OpenAI
from ragas.dataset_schema import SingleTurnSample
from ragas.llms import llm_factory
from ragas.metrics import AspectCritic

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
metric = AspectCritic(name="correct", definition="Is the answer right?", llm=llm_factory("poll", client=client))
print(metric.single_turn_score(SingleTurnSample(user_input="How much is 2 + 2?", response="4")))
