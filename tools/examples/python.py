"""Asks AI models to vote, and reads the result. Python 3.9 or newer, standard library only.

Without EP_API_KEY it asks the free models; with an API key in EP_API_KEY also a larger panel, which costs a little.
"""

import json
import os
import urllib.request
import uuid

BASE = {{base_url}}


def call(path, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(BASE + path, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


# Free: open-weight models, no account.
free = call("{{poll_free}}", {{poll_free.body}})
print(free["answer"], "-", free["reasoning"])

key = os.environ.get("EP_API_KEY")
if key:
    # With an account. The Idempotency-Key makes it safe to send the same request again.
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": str(uuid.uuid4())}
    poll = call("{{poll_question}}", {{poll_question.body}}, headers)
    # The result, for anyone who knows the id. While the poll runs, its status is running or queued.
    while True:
        result = call("{{get_poll_result}}?wait_ms=20000")
        if result["status"] not in ("running", "queued"):
            break
    print(result["outcome"], result["tally"], "confidence", result["confidence"])
