//! Users, and what signs in to their accounts.

use async_trait::async_trait;

use super::{NewKey, StoreError};
use crate::caller::UserId;
use crate::email::Email;
use crate::identity::Identity;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// A new user.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Its id.
    pub id: UserId,
    /// Its address; other users may have the same.
    pub email: Email,
    /// Credited at once, unless zero, under a reference that makes it happen once per user.
    pub starter_credit: MicroUsd,
    /// When it is created.
    pub created_at: Timestamp,
}

/// A user that signs up by itself.
#[derive(Debug, Clone)]
pub struct NewSignUp {
    /// What it signs in with.
    pub identity: Identity,
    /// The user. Its starter credit is given as far as the limits allow.
    pub user: NewUser,
    /// Its first API key, if it gets one.
    pub key: Option<NewKey>,
    /// How many starter credits may be given in a day.
    pub limits: StarterCreditLimits,
    /// The hash of the client's address, by which its starter credits are counted.
    pub client: String,
    /// The hash of the client's network, by which its starter credits are counted.
    pub network: String,
}

/// How many starter credits are given in a day (UTC); 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StarterCreditLimits {
    /// By the service.
    pub per_day: u32,
    /// To one network: see [`Caller::network`](crate::caller::Caller::network).
    pub per_network_and_day: u32,
    /// To one client address.
    pub per_address_and_day: u32,
}

/// What became of a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedUp {
    /// The user, its account and its key exist now.
    New {
        /// What the account has been credited.
        starter_credit: MicroUsd,
    },
    /// The identity belongs to this user already; nothing has changed.
    Known(UserId),
}

/// Reads what is known of users.
#[async_trait]
pub trait Profiles: Send + Sync {
    /// The address of a user; `None` for an unknown one.
    async fn email_of(&self, user: UserId) -> Result<Option<Email>, StoreError>;
}

/// Keeps users. Changes are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait UserStore: Profiles {
    /// Creates a user, its account and its starter credit in one transaction. [`StoreError::Conflict`] if
    /// the id exists.
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError>;

    /// Creates the user of an identity with its account, its starter credit and its key in one transaction,
    /// unless the identity belongs to a user already.
    async fn sign_up(&self, sign_up: &NewSignUp) -> Result<SignedUp, StoreError>;

    /// The user that this identity belongs to.
    async fn user_of(&self, identity: &Identity) -> Result<Option<UserId>, StoreError>;

    /// The oldest [`MAX_USERS_OF_EMAIL`] users with this address.
    async fn users_by_email(&self, email: &Email) -> Result<Vec<UserId>, StoreError>;

    /// Forgets how many starter credits were given before this day.
    async fn delete_old_starter_credits(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// The most users that are found by an address.
pub const MAX_USERS_OF_EMAIL: u32 = 20;
