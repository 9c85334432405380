"""The other ways to ask for a decision with client.responses."""

import json
import os
from typing import Literal

from openai import OpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """The verdict about an answer."""

    reason: str
    grade: Literal["pass", "fail"]


client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
items = [{"role": "user", "content": [{"type": "input_text", "text": "Question: 2 + 2? Answer: 4."}]}]
ask = {"model": "poll", "instructions": "Grade the answer.", "input": items, "temperature": 0, "store": False}
schema = {
    "type": "object",
    "properties": {"grade": {"enum": ["pass", "fail"]}},
    "required": ["grade"],
    "additionalProperties": False,
}
function = {"type": "function", "name": "grade", "parameters": schema, "strict": True}
called = client.responses.create(**ask, tools=[function], tool_choice={"type": "function", "name": "grade"})
print("forced:", json.loads(next(item for item in called.output if item.type == "function_call").arguments)["grade"])
with client.responses.stream(**ask, text_format=Verdict) as stream:
    print("stream:", stream.get_final_response().output_parsed.grade)
with client.responses.stream(**ask, tools=[function], tool_choice="required") as stream:
    events = [event.type for event in stream]
    item = next(item for item in stream.get_final_response().output if item.type == "function_call")
assert "response.function_call_arguments.done" in events and events[-1] == "response.completed", events
print("stream_tool:", json.loads(item.arguments)["grade"])
