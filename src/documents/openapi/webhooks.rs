//! What the service sends by itself: the end of a poll.

use ep_tools::polls::PollCompleted;
use serde_json::{Value, json};

use super::pieces::Pieces;

/// The notifications.
pub(super) fn all(pieces: &mut Pieces<'_>) -> Value {
    let schema = pieces.response::<PollCompleted>();
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": { "type": "string" } });
    json!({
        "pollCompleted": {
            "post": {
                "operationId": "poll_completed",
                "summary": "A poll has ended",
                "description": "Sent to the URL that the account or the poll names, and again for a day until the answer is a success. \
                                Signed as Standard Webhooks 1.0.0 has it.",
                "tags": ["Polls"],
                "security": [],
                "parameters": [
                    header("webhook-id", "The poll's id: the same in every repetition."),
                    header("webhook-timestamp", "When it was sent, in seconds since 1970."),
                    header("webhook-signature", "The signatures, each with its version."),
                ],
                "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } },
                "responses": {
                    "2XX": { "description": "The notification was taken." },
                    "410": { "description": "Nothing more is sent to this URL for this poll." },
                },
            },
        },
    })
}
