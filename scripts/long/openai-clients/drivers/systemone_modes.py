"""Yes or no, and a score, without a model's name."""

import os

from systemone import Client, Noul, Score

questions = {
    "refund": Noul("Is a refund asked for?", "The customer wants money back."),
    "urgency": Score("How urgent is it?", ["low", "high"]),
}
with Client("https://polls.example.com", api_key=os.environ["EP_API_KEY"], timeout=60) as client:
    response = client.system_one(state={"ticket": {"body": "I was charged twice."}}, questions=questions)
assert response.scores["urgency"].legend == {"0": "low", "1": "high"} and response.model == "poll", response
print(response.nouls["refund"].noul, response.scores["urgency"].score)
