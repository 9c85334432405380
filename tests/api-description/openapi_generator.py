"""Polls with the package that openapi-generator has generated."""

import json
import sys

sys.path.insert(0, sys.argv[1])
import polls_client
from polls_client.exceptions import NotFoundException


def main():
    settings = polls_client.Configuration(host=sys.argv[2], access_token=sys.argv[3])
    with polls_client.ApiClient(settings) as client:
        polls, results = polls_client.PollsApi(client), polls_client.ResultsApi(client)
        started = polls.start_poll(
            polls_client.AnyPollRequest(
                polls_client.PollRequest(
                    question="Which of the two is the better one?", options=["Alpha", "Beta"], preset="budget"
                )
            )
        )
        result = results.get_poll_result(started.poll_id, wait_ms=60000)
        unchecked = polls_client.UncheckedPollRequest(question="Which of the two is the better one?", preset="none")
        priced = polls.dry_run_poll(unchecked_poll_request=unchecked)
        try:
            results.get_poll_result("EP-20260101-0000000000")
            refused = None
        except NotFoundException as error:
            refused = json.loads(error.body)["error"]
    shown = {"outcome": result.outcome, "votes": len(result.votes), "valid": priced.valid, "refused": refused}
    print(json.dumps(shown))


main()
