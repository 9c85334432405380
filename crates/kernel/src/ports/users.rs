//! Users.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use crate::email::Email;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// A new user.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Its id.
    pub id: UserId,
    /// Its address; no other user has it.
    pub email: Email,
    /// Credited at once, unless zero, under a reference that makes it happen once per user.
    pub starter_credit: MicroUsd,
    /// When it is created.
    pub created_at: Timestamp,
}

/// Keeps users.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Creates a user, its account and its starter credit in one transaction, acknowledged once a
    /// power loss cannot undo it. [`StoreError::Conflict`] if the address is taken.
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError>;

    /// The user with this address.
    async fn user_by_email(&self, email: &Email) -> Result<Option<UserId>, StoreError>;
}
