"""The other ways to ask for a decision with the official client."""

import json
import os
from typing import Literal

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel, Field


class Verdict(BaseModel):
    """The verdict about an answer."""

    reasoning: str
    grade: Literal["pass", "fail"] = Field(description="Pass a right answer.")


class Report(BaseModel):
    ok: bool
    score: int = Field(ge=0, le=10)


client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
ask = {
    "model": "poll",
    "messages": [
        {"role": "system", "content": "You grade answers."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Question: 2 + 2?"}, {"type": "text", "text": "Answer: 4."}],
        },
    ],
}
schema = {
    "type": "object",
    "properties": {"grade": {"enum": ["pass", "fail"]}},
    "required": ["grade"],
    "additionalProperties": False,
}
form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
function = {"type": "function", "function": {"name": "grade", "parameters": schema}}


def show(name, text):
    print(f"{name}: {json.loads(text)['grade']}")


forced = client.chat.completions.create(
    **ask, tools=[function], tool_choice={"type": "function", "function": {"name": "grade"}}
)
show("forced", forced.choices[0].message.tool_calls[0].function.arguments)
parsed = client.chat.completions.parse(**ask, tools=[pydantic_function_tool(Verdict)], tool_choice="required")
print("required:", parsed.choices[0].message.tool_calls[0].function.parsed_arguments.grade)
plain = client.chat.completions.create(**ask, response_format=form, temperature=0, seed=1, max_tokens=100, n=1)
show("json_schema", plain.choices[0].message.content)
assert plain.choices[0].finish_reason == "stop" and plain.poll["outcome"] == "decided", plain
with client.chat.completions.stream(**ask, response_format=Verdict, stream_options={"include_usage": True}) as stream:
    stream.until_done()
    final = stream.get_final_completion()
    print("stream:", final.choices[0].message.parsed.grade)
    assert final.usage is not None
with client.chat.completions.stream(**ask, tools=[pydantic_function_tool(Verdict)], tool_choice="required") as stream:
    print(
        "stream_tool:", stream.get_final_completion().choices[0].message.tool_calls[0].function.parsed_arguments.grade
    )
ask["messages"].append({"role": "user", "content": f"Answer as JSON of this schema: {json.dumps(schema)}"})
show(
    "json_object",
    client.chat.completions.create(**ask, response_format={"type": "json_object"}).choices[0].message.content,
)
several = client.chat.completions.parse(**ask, response_format=Report)
print("several:", several.choices[0].message.parsed.score)
assert [model.id for model in client.models.list()][0] == "poll" and client.models.retrieve("poll").object == "model"
