"""The other output types of Pydantic AI."""

import os
from enum import Enum

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Grade(str, Enum):
    PASS = "pass"
    FAIL = "fail"


class Verdict(BaseModel):
    """The verdict about an answer."""

    reason: str
    grade: Grade


panel = OpenAIProvider(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
model = OpenAIChatModel("poll", provider=panel)
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print("boolean:", Agent(model, output_type=bool).run_sync(ask).output)
print("enum:", Agent(model, output_type=Grade).run_sync(ask).output.value)
print(
    "tool:", Agent(model, output_type=ToolOutput(Verdict), system_prompt="You grade.").run_sync(ask).output.grade.value
)
print("native:", Agent(model, output_type=NativeOutput(Verdict)).run_sync(ask).output.grade.value)
print("prompted:", Agent(model, output_type=PromptedOutput(Verdict)).run_sync(ask).output.grade.value)
