"""A score, and a question about a conversation with parts."""

import os

from openai import OpenAI

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
score = {
    "type": "score",
    "name": "urgency",
    "instructions": "How urgent is it?",
    "levels": [{"label": "low"}, {"label": "medium"}, {"label": "high", "description": "today"}],
}
answer = client.decisions.create(model="poll", input="I was charged twice.", questions=[score]).answers[0]
mean = sum(level.value * level.probability for level in answer.probabilities)
assert abs(mean - answer.score) < 1e-6 and abs(sum(level.probability for level in answer.probabilities) - 1) < 1e-6, (
    answer
)
assert [level.label for level in answer.probabilities] == ["low", "medium", "high"] and 0 <= answer.confidence <= 1, (
    answer
)
print("score:", round(answer.score, 3) + 0.0)
items = [
    {"role": "developer", "content": "You judge."},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "I was charged twice."},
            {"type": "input_json", "data": {"plan": "pro"}},
        ],
    },
    {"role": "assistant", "content": [{"type": "output_text", "text": "I am sorry."}]},
]
choices = [{"value": True, "description": "A refund."}, {"value": False}]
asked = {
    "type": "choice",
    "name": "refund",
    "instructions": [{"type": "input_text", "text": "Is a refund due?"}],
    "choices": choices,
}
answer = client.decisions.create(model="poll", input=items, questions=[asked]).answers[0]
assert isinstance(answer.choice, bool) and answer.name == "refund", answer
print("items:", str(answer.choice).lower())
