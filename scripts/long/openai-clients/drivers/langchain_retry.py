"""A request that LangChain repeats after a second."""

import os
from typing import Literal

from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    grade: Literal["pass", "fail"]


access = {"base_url": "https://polls.example.com/v1", "api_key": os.environ["EP_API_KEY"]}
model = ChatOpenAI(model="poll", **access, timeout=1, max_retries=9)
print(model.with_structured_output(Verdict).invoke("Question: 2 + 2? Answer: 4. Grade the answer."))
