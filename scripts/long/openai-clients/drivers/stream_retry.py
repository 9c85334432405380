"""A stream that the client repeats after a second."""

import os

from openai import OpenAI

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], timeout=0.2, max_retries=9)
schema = {"type": "object", "properties": {"grade": {"enum": ["pass", "fail"]}}, "required": ["grade"]}
stream = client.chat.completions.create(
    model="poll",
    messages=[{"role": "user", "content": "Question: 2 + 2? Answer: 4. Grade the answer."}],
    response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}},
    stream=True,
)
print("".join(chunk.choices[0].delta.content or "" for chunk in stream))
