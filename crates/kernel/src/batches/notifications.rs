//! Signed notifications of ended batches.

use std::sync::Arc;

use async_trait::async_trait;
use ep_polling::Usd;
use serde_json::json;

use super::Batches;
use crate::fault::Result;
use crate::ports::{Entropy, NotDelivered, PreparedNotification};
use crate::tasks::Tasks;
use crate::webhooks::{Outbox, Webhooks, deliver};
use ep_store::{AttemptOutcome, BatchId, BatchRecord, ClaimLimits, DueNotification, StoreError, UserId};

/// Notifies accounts of the ends of their batches.
pub struct BatchNotifications {
    batches: Arc<Batches>,
    webhooks: Arc<Webhooks>,
}

impl BatchNotifications {
    /// Notifies of these batches with the secrets of these webhooks.
    pub const fn new(batches: Arc<Batches>, webhooks: Arc<Webhooks>) -> Self {
        Self { batches, webhooks }
    }

    /// Sends notifications until the service stops, then waits for running attempts.
    pub async fn run(self, tasks: Tasks) {
        let ended = Arc::clone(&self.batches.ended);
        deliver(Arc::new(self), ended, tasks).await;
    }
}

/// Returns the notification of an ended batch (Standard Webhooks 1.0.0, "Payload structure"), with the event types of
/// OpenAI's webhooks.
fn payload(batch: &BatchRecord) -> String {
    let ended_at = batch.ended_at.unwrap_or(batch.created_at);
    let file = |id: Option<ep_store::FileId>| id.map(|id| id.to_string());
    json!({
        "type": format!("batch.{}", batch.status.as_str()),
        "timestamp": ended_at,
        "data": {
            "batch_id": batch.id,
            "status": batch.status,
            "rows": batch.rows,
            "cost_usd": Usd(batch.spent),
            "output_file_id": file(batch.output_file()),
            "error_file_id": file(batch.error_file()),
            "metadata": batch.terms.metadata,
        },
    })
    .to_string()
}

#[async_trait]
impl Outbox for BatchNotifications {
    const COUNTER: &'static str = <Webhooks as Outbox>::COUNTER;
    type Due = DueNotification<BatchId>;

    async fn due(&self, limits: ClaimLimits<'_>) -> Result<Vec<Self::Due>, StoreError> {
        self.webhooks.0.vault.due_batch_notifications(limits).await
    }

    fn account(due: &Self::Due) -> UserId {
        due.user
    }

    fn attempt(due: &Self::Due) -> (String, u32) {
        (due.about.to_string(), due.attempts)
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.batches.ports.entropy
    }

    async fn attempted(&self, due: &Self::Due, attempted: &AttemptOutcome) -> Result<(), StoreError> {
        self.webhooks.0.vault.batch_attempted(due.about, attempted).await
    }

    async fn send(&self, due: &Self::Due) -> Result<Result<(), NotDelivered>> {
        let Some(batch) = self.batches.ports.store.batch(due.user, due.about).await? else {
            let error = "the batch no longer exists".to_owned();
            return Ok(Err(NotDelivered { error, gone: true, retry_after: None }));
        };
        let what = (&*due.about.to_string(), due.url.clone(), payload(&batch));
        let signed: PreparedNotification = self.webhooks.sign((due.user, due.secret), what);
        Ok(self.webhooks.send_signed(&signed).await)
    }
}
