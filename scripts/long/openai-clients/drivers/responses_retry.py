"""A response that the client repeats after a second."""

import os

from openai import OpenAI

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"], timeout=1, max_retries=9)
schema = {
    "type": "object",
    "properties": {"grade": {"enum": ["pass", "fail"]}},
    "required": ["grade"],
    "additionalProperties": False,
}
form = {"type": "json_schema", "name": "verdict", "schema": schema, "strict": True}
ask = "Question: 2 + 2? Answer: 4. Grade the answer."
print(client.responses.create(model="poll", input=ask, text={"format": form}).output_text)
