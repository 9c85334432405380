//! An adapter for OpenAI-compatible chat completions: it writes requests and reads responses.
//! [`voting`](crate::voting) decides on the next request.

mod bare_words;
pub(crate) mod cost;
pub(crate) mod error;
mod event_stream;
pub(crate) mod prompt;
pub(crate) mod public_text;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod shapes;
