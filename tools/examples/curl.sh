#!/usr/bin/env bash
# Asks AI models to vote, and reads the result.
# Without EP_API_KEY it asks the free models; with an API key in EP_API_KEY also a larger panel, which costs a little.
set -euo pipefail

base={{base_url}}

# Free: open-weight models, no account.
curl --fail-with-body --silent --show-error "$base{{poll_free}}" \
  --header 'Content-Type: application/json' \
  --data {{poll_free.body}}
echo

[ -n "${EP_API_KEY:-}" ] || exit 0

# With an account. The Idempotency-Key makes it safe to send the same request again.
poll=$(curl --fail-with-body --silent --show-error "$base{{poll_question}}" \
  --header "Authorization: Bearer $EP_API_KEY" \
  --header "Idempotency-Key: $(date +%s)-$$-$RANDOM" \
  --header 'Content-Type: application/json' \
  --data {{poll_question.body}})
poll_id=$(sed -n 's/.*"poll_id": *"\([^"]*\)".*/\1/p' <<<"$poll")

# The result, for anyone who knows the id. While the poll runs, its status is running: then ask again.
curl --fail-with-body --silent --show-error "$base{{get_poll_result}}?wait_ms=20000"
echo
