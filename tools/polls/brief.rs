//! The brief form of poll responses. It omits the fields of the request and qualifies each confidence.

use ep_kernel::tool::Brief;
use serde_json::{Map, Value};

/// The caveat beside every confidence that a model reads.
const CAVEAT: &str = "Agreement among models, not truth.";
/// Maximum total length of options shown in full, in characters: about 60 tokens.
const NAMED_IN_FULL: usize = 240;
/// Length of a shortened option, in characters.
const CUT: usize = 24;

/// The fields that a model uses to answer.
const NAMED: &[&str] = &[
    "poll_id",
    "status",
    "question",
    "outcome",
    "is_tie",
    "decision",
    "scale",
    "tally",
    "votes",
    "reasons",
    "confidence",
    "simulated",
    "notices",
    "costs",
    "result_url",
    "poll_after_ms",
    "estimates",
];

/// The brief form of a poll that the caller has just opened.
pub const ASKED: Brief = Brief {
    without: &[
        "question",
        "options",
        "poll_type",
        "winning_option",
        "confidence_threshold",
        "max_cost_usd",
        "early_terminated",
        "models_succeeded",
        "models_failed",
        "models_unused",
        "timing",
        "families",
        "preset",
        "pace",
        "reader",
        "created_at",
    ],
    named: NAMED,
    caveat: Some(CAVEAT),
    only_with: "confidence",
    shorten,
};

/// The brief form of a poll that someone else may have opened. It omits what other fields say.
pub const READ: Brief = Brief {
    without: &["poll_type", "early_terminated", "models_succeeded", "reader"],
    named: NAMED,
    caveat: Some(CAVEAT),
    only_with: "confidence",
    ..Brief::WHOLE
};

/// Removes zero costs and shortens long options.
fn shorten(poll: &mut Map<String, Value>) {
    if let Some(Value::Object(costs)) = poll.get_mut("costs") {
        costs.retain(|_, cost| cost.as_f64() != Some(0.0));
    }
    if let Some(Value::Object(tally)) = poll.get_mut("tally") {
        let length: usize = tally.keys().map(|option| option.chars().count()).sum();
        if length > NAMED_IN_FULL {
            let counts = std::mem::take(tally).into_iter().enumerate();
            tally.extend(counts.map(|(index, (option, votes))| (numbered(index, &option), votes)));
        }
    }
}

/// Formats an option as its one-based number and its beginning: `3. Keep the existing…`.
fn numbered(index: usize, option: &str) -> String {
    let beginning: String = option.chars().take(CUT).collect();
    let more = if beginning.len() < option.len() { "…" } else { "" };
    format!("{}. {beginning}{more}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shortened_options_keep_their_order_and_stay_distinct() {
        let options: Vec<String> =
            (0..10).map(|n| format!("{}{n}", "the same beginning ".repeat(5))).collect();
        let tally: Map<String, Value> = options.iter().map(|option| (option.clone(), json!(1))).collect();
        let mut poll = json!({ "confidence": 0.5, "question": "?", "tally": tally, "outcome": options[0] });
        ASKED.apply(&mut poll);
        let names: Vec<&String> = poll["tally"].as_object().unwrap().keys().collect();
        assert_eq!((names.len(), names[9].as_str()), (10, "10. the same beginning the s…"));
        assert_eq!((&poll["outcome"], &poll["caveat"]), (&json!(options[0]), &json!(CAVEAT)));
        assert!(poll.get("question").is_none());
        let mut short = json!({ "confidence": 0.5, "tally": { "Tea": 1 }, "costs": { "a": 0.0, "b": null } });
        ASKED.apply(&mut short);
        assert_eq!((&short["tally"], &short["costs"]), (&json!({ "Tea": 1 }), &json!({ "b": null })));
        let mut checked = json!({ "dry_run": true, "preset": "budget" });
        ASKED.apply(&mut checked);
        assert_eq!(checked, json!({ "dry_run": true, "preset": "budget" }));
    }
}
