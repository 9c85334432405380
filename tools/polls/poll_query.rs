//! The input of operations on one of the caller's own polls.

use ep_kernel::{Ctx, Fault, PollState};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::poll_access::owned;

/// The poll to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollQuery {
    /// The poll's id: EP-<date>-<suffix>.
    pub poll_id: String,
}

impl PollQuery {
    /// Reads the poll. It is reported as not found to anyone but its owner.
    pub async fn read(&self, cx: &Ctx) -> Result<PollState, Fault> {
        owned(cx, &self.poll_id).await
    }
}
