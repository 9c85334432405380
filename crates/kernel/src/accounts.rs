//! Accounts: creating users, issuing and revoking their API keys, and crediting money.
//!
//! Every caller that changes an account goes through [`Accounts`], so that ids, times and hashes are made
//! in one place.

use std::sync::Arc;
use std::time::Duration;

use crate::api_key::{ApiKey, Pepper};
use crate::caller::{KeyId, UserId};
use crate::email::Email;
use crate::fault::{Fault, Kind};
use crate::key_label::KeyLabel;
use crate::ports::{
    Audit, Balance, Clock, CreditOutcome, Entropy, KeyOwner, KeyStore, Ledger, NewKey, NewUser, UserStore,
};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// What [`Accounts`] works with.
pub struct Ports {
    /// Users.
    pub users: Arc<dyn UserStore>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// Money.
    pub ledger: Arc<dyn Ledger>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// Users, their API keys and their money.
pub struct Accounts {
    ports: Ports,
    pepper: Pepper,
}

/// A key just issued, with its plaintext: it is stored nowhere and cannot be shown again.
#[derive(Debug)]
pub struct IssuedKey {
    /// Its public id.
    pub id: KeyId,
    /// The plaintext.
    pub key: ApiKey,
    /// Its first characters, by which the owner recognises it.
    pub prefix: String,
    /// What the owner calls it.
    pub label: KeyLabel,
    /// When it was issued.
    pub created_at: Timestamp,
}

impl Accounts {
    /// The service. Keys are hashed with `pepper`; under another pepper no key issued before is valid.
    pub fn new(ports: Ports, pepper: Pepper) -> Self {
        Self { ports, pepper }
    }

    /// Creates a user with an email address. A starter credit above zero is credited once per user.
    /// [`Kind::Conflict`] if the address belongs to a user already.
    ///
    /// To add another way to sign in, add a function beside this one that grants the same starter credit.
    pub async fn create_user(&self, email: Email, starter_credit: MicroUsd) -> Result<UserId, Fault> {
        let id = UserId::from_random(self.ports.entropy.bytes());
        let user = NewUser { id, email, starter_credit, created_at: self.ports.clock.now() };
        self.ports.users.create_user(&user).await?;
        Ok(id)
    }

    /// The user with this address. [`Kind::NotFound`] if there is none.
    pub async fn user_by_email(&self, email: &Email) -> Result<UserId, Fault> {
        let user = self.ports.users.user_by_email(email).await?;
        user.ok_or_else(|| {
            Fault::new(Kind::NotFound, format!("there is no account with the address {email}"))
        })
    }

    /// Issues an API key. [`Kind::NotFound`] if the user does not exist.
    pub async fn issue_key(&self, user: UserId, label: KeyLabel) -> Result<IssuedKey, Fault> {
        let key = ApiKey::from_random(self.ports.entropy.bytes());
        let new = NewKey {
            id: KeyId::from_random(self.ports.entropy.bytes()),
            user,
            hash: key.hash(&self.pepper),
            prefix: key.prefix().to_owned(),
            label,
            created_at: self.ports.clock.now(),
        };
        self.ports.keys.add_key(&new).await?;
        let NewKey { id, prefix, label, created_at, .. } = new;
        Ok(IssuedKey { id, key, prefix, label, created_at })
    }

    /// Revokes an API key for good. [`Kind::NotFound`] if this user has no active key with this id.
    pub async fn revoke_key(&self, user: UserId, key: KeyId) -> Result<(), Fault> {
        if self.ports.keys.revoke_key(user, key, self.ports.clock.now()).await? {
            Ok(())
        } else {
            Err(Fault::new(Kind::NotFound, "this account has no such active key"))
        }
    }

    /// The key and the user that a presented key belongs to; `None` if it is unknown or revoked.
    pub async fn key_owner(&self, key: &ApiKey) -> Result<Option<KeyOwner>, Fault> {
        Ok(self.ports.keys.key_owner(&key.hash(&self.pepper)).await?)
    }

    /// Stores when keys were last used.
    pub async fn record_key_uses(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), Fault> {
        Ok(self.ports.keys.touch_keys(uses).await?)
    }

    /// Credits an account, once per `reference`. [`Kind::InvalidInput`] for an amount of zero,
    /// [`Kind::NotFound`] for an unknown user, [`Kind::Conflict`] if the reference was used for another
    /// amount or another account.
    pub async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
    ) -> Result<CreditOutcome, Fault> {
        if amount.is_zero() {
            return Err(Fault::invalid("", "the amount must be greater than 0"));
        }
        Ok(self.ports.ledger.credit(user, amount, reference, self.ports.clock.now()).await?)
    }

    /// An account's money. [`Kind::NotFound`] for an unknown user.
    pub async fn balance(&self, user: UserId) -> Result<Balance, Fault> {
        let balance = self.ports.ledger.balance(user).await?;
        balance.ok_or_else(|| Fault::new(Kind::NotFound, "this account no longer exists"))
    }

    /// Checks balances against the ledger, holds against the polls that need them, and polls against their
    /// deadlines: each must be settled within this time of its own.
    pub async fn audit(&self, settled_within: Duration) -> Result<Audit, Fault> {
        Ok(self.ports.ledger.audit(settled_within).await?)
    }
}
