"""A judge of OpenEvals whose score is a number without bounds."""

import os

from openai import OpenAI
from openevals.llm import create_llm_as_judge
from openevals.prompts import CONCISENESS_PROMPT

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
judge = create_llm_as_judge(prompt=CONCISENESS_PROMPT, judge=client, model="poll", continuous=True)
judge(inputs="How much is 2 + 2?", outputs="4")
