//! Tags that group the operations.

use serde_json::{Value, json};

use super::part::Described;
use super::paths::Endpoint;

/// The first segment of an operation's path, the tag and its description.
const GROUPS: [(&str, &str, &str); 8] = [
    ("poll", "Polls", "Asking, pricing and following polls."),
    ("results", "Results", "Results of polls."),
    ("keys", "Keys", "API keys of an account."),
    ("account", "Account", "An account's money, settings and notifications."),
    ("deposit", "Payments", "Funding an account."),
    ("auth", "Sign-in", "Sign-in with a wallet or at the identity provider."),
    ("models", "Models", "The models that can vote."),
    ("health", "Service", "The service itself."),
];

/// Other first segments, each with the first segment of its group.
const SAME: [(&str, &str); 8] = [
    ("polls", "poll"),
    ("profiles", "poll"),
    ("balance", "account"),
    ("checkout", "deposit"),
    ("webhooks", "deposit"),
    ("wallet", "auth"),
    ("errors", "health"),
    ("me", "auth"),
];

/// Returns the tag of an endpoint and its description.
pub(super) fn of(endpoint: &Endpoint<'_>) -> (String, String) {
    match endpoint.routes[0].group {
        Some((group, about)) => (group.into(), about.into()),
        None => of_path(&endpoint.path),
    }
}

/// Returns the tag of an operation's path and its description.
pub(in crate::documents) fn of_path(path: &str) -> (String, String) {
    let part = path.split('/').nth(2).unwrap_or_default();
    let first = SAME.iter().find(|(other, _)| *other == part).map_or(part, |(_, first)| *first);
    match GROUPS.iter().find(|(known, ..)| *known == first) {
        Some((_, group, about)) => ((*group).into(), (*about).into()),
        None => named(part),
    }
}

/// Returns a tag named after a path segment.
fn named(part: &str) -> (String, String) {
    let mut letters = part.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let group: String = first.into_iter().chain(letters).collect();
    let about = format!("Operations on {part}.");
    (group, about)
}

/// Returns every tag in use, in the order of the operations.
pub(super) fn used(described: &[Described<'_>]) -> Value {
    let mut groups: Vec<(String, String)> = Vec::new();
    for described in described {
        let group = of(&described.endpoint);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
        .into_iter()
        .map(|(name, description)| json!({ "name": name, "description": description }))
        .collect()
}
