"""A decision that the client repeats after a second."""

import os

from openai import OpenAI

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], timeout=1, max_retries=9)
grade = {"type": "predicate", "name": "right", "instructions": "The answer is right."}
print(
    client.decisions.create(model="poll", input="Question: 2 + 2? Answer: 4.", questions=[grade]).answers[0].probability
)
