"""The other modes of Instructor."""

import os
from typing import Literal

import instructor
from instructor import Mode
from openai import OpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """The verdict about an answer."""

    reason: str
    grade: Literal["pass", "fail"]


openai = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
ask = {"model": "poll", "messages": [{"role": "user", "content": "Question: 2 + 2? Answer: 4. Grade the answer."}]}
for mode in [Mode.TOOLS, Mode.TOOLS_STRICT, Mode.JSON, Mode.JSON_SCHEMA, Mode.MD_JSON]:
    client = instructor.from_openai(openai, mode=mode)
    print(f"{mode.name}:", client.chat.completions.create(response_model=Verdict, **ask).grade)
