"""A request that the client repeats after a second."""

import os

from typesafe_sdk import Choice, RetryPolicy, TypeSafeClient

access = {"base_url": "https://polls.example.com", "api_key": os.environ["EP_API_KEY"], "model": "poll"}
with TypeSafeClient(**access, timeout=1, retry=RetryPolicy(max_retries=9, timeout=60)) as client:
    grade = Choice(instructions="Is the answer right?", criteria={"pass": None, "fail": None})
    response = client.system_one(state="Question: 2 + 2? Answer: 4.", questions={"grade": grade})
print(response.choices["grade"].choice)
