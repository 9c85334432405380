//! Spending thresholds for confirmation.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;

use super::StoreError;
use crate::ids::UserId;

/// Stores the cost above which an account confirms a poll first, if its client supports this.
#[async_trait]
pub trait Confirmations: Send + Sync {
    /// Returns the threshold; `None` if nothing needs confirmation.
    async fn confirm_above(&self, user: UserId) -> Result<Option<MicroUsd>, StoreError>;

    /// Sets the threshold. Acknowledged once a power loss cannot undo it; [`StoreError::NotFound`] for an
    /// unknown account.
    async fn set_confirm_above(&self, user: UserId, amount: Option<MicroUsd>) -> Result<(), StoreError>;
}
