"""A decision through /v1/responses, with LiteLLM."""

import os

import litellm

schema = {
    "type": "object",
    "properties": {"grade": {"enum": ["pass", "fail"]}},
    "required": ["grade"],
    "additionalProperties": False,
}
response = litellm.responses(
    model="openai/poll",
    api_base="https://polls.example.com/v1",
    api_key=os.environ["EP_API_KEY"],
    input="Question: 2 + 2? Answer: 4. Grade the answer.",
    text={"format": {"type": "json_schema", "name": "verdict", "schema": schema, "strict": True}},
)
print(response.output[0].content[0].text)
