//! The port by which a batch asks its rows.

use async_trait::async_trait;
use ep_polling::{MicroUsd, TokenUsage};
use serde_json::Value;

use super::line::BatchLine;
use crate::fault::{Fault, Result};
use ep_store::{BatchRecord, RequestId, RowAnswer};

/// The response to a row.
pub struct RowResponse {
    /// The body.
    pub body: Value,
    /// The answer, if the row asked one poll.
    pub answer: Option<RowAnswer>,
    /// The tokens of its models.
    pub usage: TokenUsage,
}

/// Runs the requests of rows.
#[async_trait]
pub trait RowRunner: Send + Sync {
    /// Returns the maximum cost of a row. Fails if the row cannot be asked.
    async fn at_most(&self, batch: &BatchRecord, row: &BatchLine) -> Result<MicroUsd>;

    /// Asks a row. The same `reference` opens the same polls, however often the row is asked.
    async fn run(
        &self,
        batch: &BatchRecord,
        row: &BatchLine,
        reference: String,
        request: RequestId,
    ) -> Result<RowResponse>;

    /// Returns the cost of the polls of a row with this reference, as far as they have ended.
    async fn cost(&self, reference: &str) -> Result<MicroUsd>;

    /// True if a row with this reference has opened polls.
    async fn has_begun(&self, reference: &str) -> Result<bool>;

    /// Returns the body of the response to a row that failed.
    fn error(&self, batch: &BatchRecord, fault: &Fault, request: RequestId) -> Value;
}
