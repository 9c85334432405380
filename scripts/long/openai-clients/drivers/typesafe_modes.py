"""Yes or no, and a score, about a state that is long enough for a compressed body."""

import os

from typesafe_sdk import Noul, Score, TypeSafeClient

questions = {
    "refund": Noul(instructions="Is a refund asked for?"),
    "urgency": Score(instructions="How urgent is it?", criteria=["low", "high"]),
}
with TypeSafeClient(
    base_url="https://polls.example.com", api_key=os.environ["EP_API_KEY"], model="poll", timeout=60
) as client:
    response = client.system_one(state={"ticket": "I was charged twice. " * 60, "plan": "pro"}, questions=questions)
    assert "poll" in [model.name for model in client.models.list().models]
print(response.nouls["refund"].noul, response.scores["urgency"].score)
