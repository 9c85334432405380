//! How operations are grouped.

use serde_json::{Value, json};

use super::operation::Described;
use super::paths::Endpoint;
use crate::site::RouteKind;

/// The first part of an operation's path, its group, and what the group is about.
const GROUPS: [(&str, &str, &str); 8] = [
    ("poll", "Polls", "Asking, pricing and following polls."),
    ("results", "Results", "What polls came to."),
    ("keys", "Keys", "API keys of an account."),
    ("account", "Account", "An account's money, settings and notifications."),
    ("deposit", "Payments", "Funding an account."),
    ("auth", "Sign-in", "Signing in, with a wallet or at the identity provider."),
    ("models", "Models", "The models that can be asked."),
    ("health", "Service", "The service itself."),
];

/// Other first parts that belong to a group, by the first part that names it.
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

/// The group of an endpoint, and what it is about.
pub(super) fn of(endpoint: &Endpoint<'_>) -> (String, String) {
    match endpoint.routes[0].kind {
        RouteKind::Protocol(endpoint) => (endpoint.protocol.group.into(), endpoint.protocol.about.into()),
        RouteKind::Document(_) | RouteKind::ProxiedDocument => {
            ("Documents".into(), "What machines read about the service.".into())
        }
        RouteKind::Page | RouteKind::Form => ("Pages".into(), "Pages for people.".into()),
        RouteKind::Probe => ("Service".into(), "The service itself.".into()),
        RouteKind::Redirect
        | RouteKind::Webhook
        | RouteKind::Payment
        | RouteKind::Operation(..)
        | RouteKind::Stream(..) => {
            let part = endpoint.path.split('/').nth(2).unwrap_or_default();
            let first = SAME.iter().find(|(other, _)| *other == part).map_or(part, |(_, first)| *first);
            match GROUPS.iter().find(|(known, ..)| *known == first) {
                Some((_, group, about)) => ((*group).into(), (*about).into()),
                None => named(part),
            }
        }
    }
}

/// A group of its own.
fn named(part: &str) -> (String, String) {
    let mut letters = part.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let group: String = first.into_iter().chain(letters).collect();
    let about = format!("Operations on {part}.");
    (group, about)
}

/// Every group that operations belong to, in their order.
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
