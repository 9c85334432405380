//! Intents: which operation fits what somebody wants.

mod match_intent;
mod matching;
mod words;

pub use match_intent::MatchIntent;
