"""A chat without possible answers."""

import os

from openai import OpenAI

client = OpenAI(base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
client.chat.completions.create(model="poll", messages=[{"role": "user", "content": "Is a hot dog a sandwich?"}])
