//! Sample polls of the benches.

use ep_polling::ballot::READER;
use ep_polling::{Ballot, MicroUsd, Plan, Seed, Spend, SpendBasis, Timestamp, Tokens};
use ep_store::Closing;
use serde_json::json;

/// Returns a plan with this many members.
pub fn plan(members: u32) -> Plan {
    let member = |number: u32| {
        json!({
            "model": format!("maker-{}/some-model-{number}-instruct", number % 7),
            "family": format!("family-{}", number % 7),
            "price": { "prompt": 300_000, "completion": 1_500_000, "request": 0 },
            "output_tokens": 400,
        })
    };
    let members = (0..members).map(|number| serde_json::from_value(member(number)).unwrap());
    let rules = json!({
        "preset": "generalist",
        "threshold": 0.95,
        "pace": "balanced",
        "simulated": true,
        "deadline_ms": 120_000,
        "draws": Seed::ALGORITHM,
    });
    let question = "Which of these is the better way to indent source code, all things considered?";
    let options = ["Tabs", "Spaces", "Neither"].map(str::to_owned);
    Plan::stored(
        serde_json::from_value(rules).unwrap(),
        question.to_owned(),
        options.to_vec(),
        members.collect(),
        Seed::new([7; 32]),
    )
    .unwrap()
}

/// Returns a ballot with a vote.
pub fn ballot(seq: u32) -> Ballot {
    Ballot {
        seq,
        position: seq - 1,
        vote: Ok(seq as usize % 3),
        probabilities: None,
        casting: None,
        latency_ms: 850,
        at_ms: 900 * seq,
        spend: Spend { amount: MicroUsd::new(120), basis: SpendBasis::Reported },
        tokens: Some(Tokens { prompt: 210, completion: 18 }),
        answered_by: None,
    }
}

/// Returns the closing of a poll without calls in flight.
pub fn closing() -> Closing {
    serde_json::from_value(json!({
        "reason": "confidence",
        "p_value": 0.012_345,
        "gather_ms": 4_321,
        "upstream_us": 4_000_001,
        "total_ms": 4_400,
        "closed_at": now(),
        "reader": READER,
        "unused_calls_cost": 0,
    }))
    .unwrap()
}

/// Returns the time of all stored rows.
pub const fn now() -> Timestamp {
    Timestamp::from_millis(1_769_817_600_000)
}
