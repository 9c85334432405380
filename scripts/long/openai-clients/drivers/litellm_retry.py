"""A request that LiteLLM repeats after a second."""

import os

import litellm

schema = {"type": "object", "properties": {"grade": {"enum": ["pass", "fail"]}}, "required": ["grade"]}
answer = litellm.completion(
    model="openai/poll",
    api_base="https://polls.example.com/v1",
    api_key=os.environ["EP_API_KEY"],
    messages=[{"role": "user", "content": "Question: 2 + 2? Answer: 4. Grade the answer."}],
    response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}},
    timeout=1,
    num_retries=9,
)
print(answer.choices[0].message.content, answer.id)
