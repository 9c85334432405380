//! Users and their identities.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{accounts, day, keys, ledger};
use crate::connection::{Connection, Durability};
use crate::email::Email;
use crate::handles::{Store, Treasury};
use crate::identity::Identity;
use crate::ids::UserId;
use crate::records::{MAX_USERS_OF_EMAIL, NewSignUp, NewUser, SignedUp, StoreError};
use crate::statements as sql;
use crate::token_hash::TokenHash;
use crate::value::{Value, values};

/// The scope of the service-wide count.
const SERVICE: &str = "service";

/// Reads user profiles.
impl Store {
    /// Returns the email address of a user; `None` for an unknown user.
    pub async fn email_of(&self, user: UserId) -> Result<Option<Email>, StoreError> {
        self.0.engine.fetch_optional(sql::EMAIL, values![user]).await
    }
}

/// Stores the cost above which an account confirms a poll first, if its client supports this.
impl Store {
    /// Returns the threshold; `None` if nothing needs confirmation.
    pub async fn confirm_above(&self, user: UserId) -> Result<Option<MicroUsd>, StoreError> {
        let amount: Option<Option<MicroUsd>> =
            self.0.engine.fetch_optional(sql::CONFIRM_ABOVE, values![user]).await?;
        Ok(amount.flatten())
    }

    /// Sets the threshold. Acknowledged once a power loss cannot undo it; [`StoreError::NotFound`] for an
    /// unknown account.
    pub async fn set_confirm_above(&self, user: UserId, amount: Option<MicroUsd>) -> Result<(), StoreError> {
        let values = values![user, amount];
        match self.0.engine.execute(Durability::PowerLoss, sql::SET_CONFIRM_ABOVE, values).await? {
            1 => Ok(()),
            _ => Err(StoreError::NotFound("account")),
        }
    }
}

/// Stores users. Changes are acknowledged once a power loss cannot undo them.
impl Treasury {
    /// Creates a user with its account and starter credit in one transaction. [`StoreError::Conflict`] if the
    /// id exists.
    pub async fn create_user(&self, user: &NewUser) -> Result<(), StoreError> {
        let user = user.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move {
                    create(db, &user).await?;
                    give_starter_credit(db, &user).await
                }
                .boxed()
            })
            .await
    }

    /// Creates the user of an identity with its account, starter credit and key in one transaction, unless
    /// the identity already belongs to a user.
    pub async fn sign_up(&self, sign_up: &NewSignUp) -> Result<SignedUp, StoreError> {
        let new = sign_up.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { add(db, &new).await }.boxed())
            .await
    }

    /// Returns the user that this identity belongs to.
    pub async fn user_of(&self, identity: &Identity) -> Result<Option<UserId>, StoreError> {
        let subject = identity.subject();
        self.0.engine.fetch_optional(sql::USER_OF_IDENTITY, &key(identity, &subject)).await
    }

    /// Returns true if the account of this identity was deleted within the last day. Only identities of a
    /// provider are remembered, as a hash: their access tokens stay valid after the deletion.
    pub async fn was_deleted(&self, identity: &Identity, now: Timestamp) -> Result<bool, StoreError> {
        let name = deleted_identity(identity.kind(), identity.issuer(), &identity.subject());
        let found: Option<String> =
            self.0.engine.fetch_optional(sql::USED_NONCE, values![&*name, now]).await?;
        Ok(found.is_some())
    }

    /// Returns the oldest [`MAX_USERS_OF_EMAIL`] users with this address.
    pub async fn users_by_email(&self, email: &Email) -> Result<Vec<UserId>, StoreError> {
        let values = values![email.as_str(), MAX_USERS_OF_EMAIL];
        self.0.engine.fetch_all(sql::USERS_BY_EMAIL, values).await
    }

    /// Deletes the counts of starter credits given before this day.
    pub async fn delete_old_starter_credits(&self, now: Timestamp) -> Result<(), StoreError> {
        let today = values![day(now)];
        self.0.engine.execute(Durability::ProcessCrash, sql::DELETE_STARTER_CREDITS, today).await.map(drop)
    }
}

/// Returns the name under which a deleted identity is stored among the used nonces: a hash.
pub(super) fn deleted_identity(kind: &str, issuer: &str, subject: &str) -> String {
    let identity = serde_json::json!([kind, issuer, subject]).to_string();
    format!("deleted:{}", TokenHash::of(&identity).as_str())
}

async fn create(db: &mut Connection<'_>, user: &NewUser) -> Result<(), StoreError> {
    accounts::create(db, user.id, &user.email, None, user.created_at).await
}

async fn give_starter_credit(db: &mut Connection<'_>, user: &NewUser) -> Result<(), StoreError> {
    if user.starter_credit.is_zero() {
        return Ok(());
    }
    let reference = format!("starter:{}", user.id);
    ledger::credit(db, user.id, user.starter_credit, &reference, user.created_at).await.map(drop)
}

/// Creates the user of a new identity.
pub(super) async fn add(db: &mut Connection<'_>, new: &NewSignUp) -> Result<SignedUp, StoreError> {
    let NewSignUp { identity, user, key: first_key, limits, client, network } = new;
    let subject = identity.subject();
    let [kind, issuer, of] = key(identity, &subject);
    let claim = [kind, issuer, of, user.id.into(), user.created_at.into()];
    if db.execute(sql::ADD_IDENTITY, &claim).await? == 0 {
        let known = db.fetch_one(sql::USER_OF_IDENTITY, &key(identity, &subject)).await?;
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
        if db.execute(sql::COUNT_STARTER_CREDIT, values![today, scope, limit]).await? == 0 {
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
