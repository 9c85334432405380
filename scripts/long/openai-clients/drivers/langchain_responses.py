"""A decision through /v1/responses, with LangChain."""

import os
from typing import Literal

from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """The verdict about an answer."""

    grade: Literal["pass", "fail"]


model = ChatOpenAI(
    model="poll", base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], use_responses_api=True
)
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print(model.with_structured_output(Verdict).invoke(ask).grade)
