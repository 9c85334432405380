"""A decision through /v1/responses, with Instructor."""

import os
from typing import Literal

import instructor
from openai import OpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """The verdict about an answer."""

    reason: str
    grade: Literal["pass", "fail"]


openai = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
client = instructor.from_openai(openai, mode=instructor.Mode.RESPONSES_TOOLS)
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print(client.responses.create(model="poll", input=ask, response_model=Verdict).grade)
