//! Users and the identities that sign in to their accounts.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::NewKey;
use crate::email::Email;
use crate::identity::Identity;
use crate::ids::UserId;

/// A new user.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The user's id.
    pub id: UserId,
    /// The email address; other users may have the same.
    pub email: Email,
    /// Amount of the starter credit, if not zero. Its reference ensures that it is credited once per user.
    pub starter_credit: MicroUsd,
    /// The time of creation.
    pub created_at: Timestamp,
}

/// A self-service sign-up.
#[derive(Debug, Clone)]
pub struct NewSignUp {
    /// The identity.
    pub identity: Identity,
    /// The user. Gets its starter credit only within the limits.
    pub user: NewUser,
    /// The first API key, if requested.
    pub key: Option<NewKey>,
    /// The daily limits of starter credits.
    pub limits: StarterCreditLimits,
    /// Hash of the client's address, for counting its starter credits.
    pub client: String,
    /// Hash of the client's network, for counting its starter credits.
    pub network: String,
}

/// Maximum number of starter credits in a day (UTC); 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StarterCreditLimits {
    /// Of the service.
    pub per_day: u32,
    /// Per network: see `Caller::network`.
    pub per_network_and_day: u32,
    /// Per client address.
    pub per_address_and_day: u32,
}

/// The outcome of a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedUp {
    /// The user, the account and the key were created.
    New {
        /// The amount credited.
        starter_credit: MicroUsd,
    },
    /// The identity already belongs to this user; nothing changed.
    Known(UserId),
}

/// Maximum number of users returned for an address.
pub const MAX_USERS_OF_EMAIL: u32 = 20;
