//! Users and the identities that sign in to their accounts.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::Email;
use crate::accounts::Identity;
use crate::accounts::TokenHash;
use crate::accounts::account;
use crate::connection::{Connection, Durability};
use crate::handles::{Store, Treasury};
use crate::ids::UserId;
use crate::keys::NewKey;
use crate::keys::transactions as keys;
use crate::ledger::transactions as ledger;
use crate::store_error::{Result, StoreError};
use crate::value::{Value, day, values};

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

pub(crate) const USERS_BY_EMAIL: &str =
    "SELECT id FROM users WHERE email = $1 ORDER BY created_at, id LIMIT $2";
const CONFIRM_ABOVE: &str = "SELECT confirm_above FROM accounts WHERE id = $1";
const SET_CONFIRM_ABOVE: &str = "UPDATE accounts SET confirm_above = $2 WHERE id = $1";
const EMAIL: &str = "SELECT email FROM users WHERE id = $1";
/// Claims an identity before its user exists, so that concurrent claims wait for each other.
const ADD_IDENTITY: &str = "INSERT INTO identities (kind, issuer, subject, user_id, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, issuer, subject) DO NOTHING";
const USER_OF_IDENTITY: &str =
    "SELECT user_id AS id FROM identities WHERE kind = $1 AND issuer = $2 AND subject = $3";
/// Counts a starter credit, unless the limit of the day ($3; 0 is no limit) is reached.
const COUNT_STARTER_CREDIT: &str = "INSERT INTO starter_credits (day, scope, given) \
     VALUES ($1, $2, 1) ON CONFLICT (day, scope) DO UPDATE SET given = starter_credits.given + 1 \
     WHERE $3 = 0 OR starter_credits.given < $3";
const DELETE_STARTER_CREDITS: &str = "DELETE FROM starter_credits WHERE day < $1";
/// The identities of the users in a range of ids.
pub(crate) const IDENTITIES: &str = "SELECT user_id, kind, issuer, subject, created_at FROM identities \
     WHERE user_id BETWEEN $1 AND $2 ORDER BY user_id, created_at, kind, subject";
const USED_NONCE: &str = "SELECT nonce AS id FROM used_nonces WHERE nonce = $1 AND expires_at > $2";

/// The scope of the service-wide count.
const SERVICE: &str = "service";

/// Reads user profiles.
impl Store {
    /// Returns the email address of a user; `None` for an unknown user.
    pub async fn email_of(&self, user: UserId) -> Result<Option<Email>> {
        self.0.fetch_optional(EMAIL, values![user]).await
    }
}

/// Stores the cost above which an account confirms a poll first, if its client supports this.
impl Store {
    /// Returns the threshold; `None` if nothing needs confirmation.
    pub async fn confirm_above(&self, user: UserId) -> Result<Option<MicroUsd>> {
        let amount: Option<Option<MicroUsd>> = self.0.fetch_optional(CONFIRM_ABOVE, values![user]).await?;
        Ok(amount.flatten())
    }

    /// Sets the threshold. Acknowledged once a power loss cannot undo it; [`StoreError::NotFound`] for an
    /// unknown account.
    pub async fn set_confirm_above(&self, user: UserId, amount: Option<MicroUsd>) -> Result<()> {
        match self.0.execute(Durability::PowerLoss, SET_CONFIRM_ABOVE, values![user, amount]).await? {
            1 => Ok(()),
            _ => Err(StoreError::NotFound("account")),
        }
    }
}

/// Stores users. Changes are acknowledged once a power loss cannot undo them.
impl Treasury {
    /// Creates a user with its account and starter credit in one transaction. [`StoreError::Conflict`] if the
    /// id exists.
    pub async fn create_user(&self, user: &NewUser) -> Result<()> {
        let user = user.clone();
        transact!(self.0, PowerLoss, |db| {
            create(db, &user).await?;
            give_starter_credit(db, &user).await
        })
    }

    /// Creates the user of an identity with its account, starter credit and key in one transaction, unless
    /// the identity already belongs to a user.
    pub async fn sign_up(&self, sign_up: &NewSignUp) -> Result<SignedUp> {
        let new = sign_up.clone();
        transact!(self.0, PowerLoss, |db| add(db, &new).await)
    }

    /// Returns the user that this identity belongs to.
    pub async fn user_of(&self, identity: &Identity) -> Result<Option<UserId>> {
        let subject = identity.subject();
        self.0.fetch_optional(USER_OF_IDENTITY, &key(identity, &subject)).await
    }

    /// Returns true if the account of this identity was deleted within the last day. Only identities of a
    /// provider are remembered, as a hash: their access tokens stay valid after the deletion.
    pub async fn was_deleted(&self, identity: &Identity, now: Timestamp) -> Result<bool> {
        let name = deleted_identity(identity.kind(), identity.issuer(), &identity.subject());
        let found: Option<String> = self.0.fetch_optional(USED_NONCE, values![&*name, now]).await?;
        Ok(found.is_some())
    }

    /// Returns the oldest [`MAX_USERS_OF_EMAIL`] users with this address.
    pub async fn users_by_email(&self, email: &Email) -> Result<Vec<UserId>> {
        self.0.fetch_all(USERS_BY_EMAIL, values![email.as_str(), MAX_USERS_OF_EMAIL]).await
    }

    /// Deletes the counts of starter credits given before this day.
    pub async fn delete_old_starter_credits(&self, now: Timestamp) -> Result<()> {
        self.0.execute(Durability::ProcessCrash, DELETE_STARTER_CREDITS, values![day(now)]).await.map(drop)
    }
}

/// Returns the name under which a deleted identity is stored among the used nonces: a hash.
pub(crate) fn deleted_identity(kind: &str, issuer: &str, subject: &str) -> String {
    let identity = serde_json::json!([kind, issuer, subject]).to_string();
    format!("deleted:{}", TokenHash::of(&identity).as_str())
}

async fn create(db: &mut Connection<'_>, user: &NewUser) -> Result<()> {
    account::create(db, user.id, &user.email, None, user.created_at).await
}

async fn give_starter_credit(db: &mut Connection<'_>, user: &NewUser) -> Result<()> {
    if user.starter_credit.is_zero() {
        return Ok(());
    }
    let reference = format!("starter:{}", user.id);
    ledger::credit(db, user.id, user.starter_credit, &reference, user.created_at).await.map(drop)
}

/// Creates the user of a new identity.
pub(crate) async fn add(db: &mut Connection<'_>, new: &NewSignUp) -> Result<SignedUp> {
    let NewSignUp { identity, user, key: first_key, limits, client, network } = new;
    let subject = identity.subject();
    let [kind, issuer, of] = key(identity, &subject);
    let claim = [kind, issuer, of, user.id.into(), user.created_at.into()];
    if db.execute(ADD_IDENTITY, &claim).await? == 0 {
        let known = db.fetch_one(USER_OF_IDENTITY, &key(identity, &subject)).await?;
        return Ok(SignedUp::Known(known));
    }
    create(db, user).await?;
    if let Some(first_key) = first_key {
        keys::add(db, first_key, first_key.user).await?;
    }
    if user.starter_credit.is_zero() {
        return Ok(SignedUp::New { starter_credit: MicroUsd::ZERO });
    }
    let today = day(user.created_at);
    // The narrowest count first: a rejected client must not use up the credits of its network, nor a rejected
    // network those of the service.
    let counts = [
        (client.as_str(), limits.per_address_and_day),
        (network.as_str(), limits.per_network_and_day),
        (SERVICE, limits.per_day),
    ];
    for (scope, limit) in counts {
        if db.execute(COUNT_STARTER_CREDIT, values![today, scope, limit]).await? == 0 {
            return Ok(SignedUp::New { starter_credit: MicroUsd::ZERO });
        }
    }
    give_starter_credit(db, user).await?;
    Ok(SignedUp::New { starter_credit: user.starter_credit })
}

/// Returns the primary key of an identity.
fn key<'a>(identity: &'a Identity, subject: &'a str) -> [Value<'a>; 3] {
    [identity.kind().into(), identity.issuer().into(), subject.into()]
}
