//! Which polls an account wants to be asked about first.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use ep_polling::money::MicroUsd;

/// Keeps the amount above which an account wants to confirm a poll, where its client can ask.
#[async_trait]
pub trait Confirmations: Send + Sync {
    /// The amount; `None` if nothing is to be confirmed.
    async fn confirm_above(&self, user: UserId) -> Result<Option<MicroUsd>, StoreError>;

    /// Sets it. Acknowledged once a power loss cannot undo it; [`StoreError::NotFound`] for an unknown account.
    async fn set_confirm_above(&self, user: UserId, amount: Option<MicroUsd>) -> Result<(), StoreError>;
}
