"""A forced function and a stream with LiteLLM."""

import json
import os

import litellm

schema = {
    "type": "object",
    "properties": {"grade": {"enum": ["pass", "fail"]}},
    "required": ["grade"],
    "additionalProperties": False,
}
ask = {
    "model": "openai/poll",
    "api_base": "https://polls.example.com/v1",
    "api_key": os.environ["EP_API_KEY"],
    "messages": [{"role": "user", "content": "Question: 2 + 2? Answer: 4. Grade the answer."}],
}
function = {"type": "function", "function": {"name": "grade", "parameters": schema}}
choice = {"type": "function", "function": {"name": "grade"}}
call = litellm.completion(**ask, tools=[function], tool_choice=choice).choices[0].message.tool_calls[0]
print("tool:", json.loads(call.function.arguments)["grade"])
form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
chunks = list(litellm.completion(**ask, response_format=form, stream=True))
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
print("stream:", json.loads(text)["grade"])
