"""The other ways to ask for a decision with LangChain."""

import os
from typing import Literal

from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """The verdict about an answer."""

    grade: Literal["pass", "fail"]


model = ChatOpenAI(
    model="poll", base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], temperature=0
)
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print("function_calling:", model.with_structured_output(Verdict, method="function_calling").invoke(ask).grade)
print("include_raw:", model.with_structured_output(Verdict, include_raw=True).invoke(ask)["parsed"].grade)
print("bind_tools:", model.bind_tools([Verdict], tool_choice="any").invoke(ask).tool_calls[0]["args"]["grade"])
for chunk in model.with_structured_output(Verdict).stream(ask):
    last = chunk
print("stream:", last.grade)
