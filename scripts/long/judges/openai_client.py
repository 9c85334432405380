"""The official client with real models: a Literal, a bounded score, and a stream. Prints one JSON line each."""

import json
import os
from typing import Literal

from openai import OpenAI
from pydantic import BaseModel, Field

client = OpenAI(base_url=os.environ["JUDGES_URL"], api_key=os.environ["EP_API_KEY"])


class Verdict(BaseModel):
    reasoning: str
    grade: Literal["correct", "partly correct", "wrong"]


class Rating(BaseModel):
    score: int = Field(ge=1, le=5, description="1 is useless, 5 is excellent")


def show(name, value, answer):
    poll = answer.poll
    row = {"case": name, "value": value, "refusal": answer.choices[0].message.refusal, "outcome": poll["outcome"]}
    row |= {"votes": [share["votes"] for share in poll["shares"]], "tokens": answer.usage.total_tokens}
    print(json.dumps(row | {"cost_usd": poll["cost_usd"]}), flush=True)


def parse(name, form, text):
    answer = client.chat.completions.parse(
        model="panel", messages=[{"role": "user", "content": text}], response_format=form
    )
    parsed = answer.choices[0].message.parsed
    show(name, parsed and parsed.model_dump(), answer)


for text in ("Question: 2 + 2? Answer: 4.", "Question: capital of France? Answer: Berlin."):
    parse("literal", Verdict, f"{text} Grade the answer.")
for text in ("It is raining, take an umbrella.", "asdf asdf"):
    parse("score", Rating, f"Question: What should I take for a walk today? Answer: {text} Rate the answer.")

schema = Verdict.model_json_schema()
stream = client.chat.completions.create(
    model="panel",
    messages=[{"role": "user", "content": "Question: 3 + 3? Answer: 6. Grade the answer."}],
    response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}},
    stream=True,
    stream_options={"include_usage": True},
)
text, refusal, finish, usage = "", None, None, None
for chunk in stream:
    usage = chunk.usage or usage
    for choice in chunk.choices:
        text += choice.delta.content or ""
        refusal = choice.delta.refusal or refusal
        finish = choice.finish_reason or finish
value = Verdict.model_validate_json(text).model_dump() if text else None
tokens = usage.total_tokens if usage else None
print(json.dumps({"case": "stream", "value": value, "refusal": refusal, "finish_reason": finish, "tokens": tokens}))
