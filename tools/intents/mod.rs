//! Intents: finds the operation for a sentence.

mod beside;
mod match_intent;
mod matching;
mod words;

pub use beside::{BESIDE, Beside};
pub use match_intent::{LANGUAGES, MatchIntent};
