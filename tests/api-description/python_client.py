"""Polls with the package that openapi-python-client has generated."""

import json
import sys

sys.path.insert(0, sys.argv[1])
from polls_client import AuthenticatedClient
from polls_client.api.polls import dry_run_poll, start_poll
from polls_client.api.results import get_poll_result
from polls_client.models import PollRequest, UncheckedPollRequest


def main():
    client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])
    body = PollRequest(question="Which of the two is the better one?", options=["Alpha", "Beta"], preset="budget")
    started = start_poll.sync(client=client, body=body)
    result = get_poll_result.sync(started.poll_id, client=client, wait_ms=60000)
    unchecked = UncheckedPollRequest(question="Which of the two is the better one?", preset="none")
    priced = dry_run_poll.sync(client=client, body=unchecked)
    unknown = get_poll_result.sync("EP-20260101-0000000000", client=client)
    shown = {"outcome": result.outcome, "votes": len(result.votes), "valid": priced.valid, "refused": unknown.error}
    print(json.dumps(shown))


main()
