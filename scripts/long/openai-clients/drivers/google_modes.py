"""Yes or no, and a score, about an input of several parts."""

import os

from google import genai

options = {"base_url": "https://polls.example.com", "api_version": "v1beta"}
client = genai.Client(api_key=os.environ["EP_API_KEY"], http_options=options)
refund = {
    "type": "noul",
    "instructions": "Is a refund asked for?",
    "criteria": {"true_description": "Money back.", "false_description": "All else."},
}
urgency = {"type": "score", "instructions": "How urgent is it?", "criteria": ["low", "high"]}
parts = [{"type": "text", "text": "I was charged twice."}, {"type": "text", "text": "Pay it back."}]
answers = client.decisions.create(
    model="models/poll", input=parts, questions={"refund": refund, "urgency": urgency}
).answers
assert all(0 <= answer.confidence <= 1 for answer in answers.values()), answers
print(answers["refund"].noul, answers["urgency"].score)
