//! Intents: finds the operation for a sentence.

mod match_intent;
mod matching;
mod named_routes;
mod words;

pub use match_intent::{LANGUAGES, MAX_CHARS, MatchIntent};
pub use named_routes::{NAMED_ROUTES, NamedRoute};
