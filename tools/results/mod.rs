//! Results: what polls came to, for anyone.

mod get_poll_result;

pub use get_poll_result::{GetPollResult, PollResult};
