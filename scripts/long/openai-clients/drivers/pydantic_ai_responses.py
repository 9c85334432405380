"""Decisions through /v1/responses, with Pydantic AI."""

import os
from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Verdict(BaseModel):
    """The verdict about an answer."""

    reason: str
    grade: Literal["pass", "fail"]


panel = OpenAIProvider(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
model = OpenAIResponsesModel("poll", provider=panel)
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print("tool:", Agent(model, output_type=Verdict).run_sync(ask).output.grade)
print("native:", Agent(model, output_type=NativeOutput(Verdict)).run_sync(ask).output.grade)
