//! An adapter for OpenAI-compatible chat completions: it writes requests and reads responses.
//! [`voting`](crate::voting) decides on the next request.

pub(crate) mod cost;
pub(crate) mod error;
pub(crate) mod prompt;
pub(crate) mod request;
pub(crate) mod response;
