//! API keys: issuing, listing and revoking them, and finding the account of a presented one.
//!
//! Apart from [`Accounts`](crate::accounts::Accounts), because operations may reach keys, but never credits.

use std::sync::Arc;

use crate::api_key::{ApiKey, Pepper};
use crate::caller::{KeyId, UserId};
use crate::email::Email;
use crate::fault::{Fault, Kind};
use crate::key_label::KeyLabel;
use crate::key_terms::KeyTerms;
use crate::ports::{
    Added, Clock, Entropy, KeyAccount, KeyFunds, KeyOwner, KeyStore, MAX_ACTIVE_KEYS, NewKey, StoreError,
    StoredKey,
};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// The API keys of all accounts.
pub struct Keys {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
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
    /// What it may be used for, and how long.
    pub terms: KeyTerms,
    /// When it was issued.
    pub created_at: Timestamp,
}

impl Keys {
    /// Keys are hashed with `pepper`; under another pepper no key issued before is valid.
    pub fn new(
        store: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        pepper: Pepper,
    ) -> Self {
        Self { store, clock, entropy, pepper }
    }

    /// Issues a key. [`Kind::NotFound`] if the user does not exist, [`Kind::Conflict`] if it has
    /// [`MAX_ACTIVE_KEYS`] active keys already.
    pub async fn issue(&self, user: UserId, label: KeyLabel) -> Result<IssuedKey, Fault> {
        self.issue_on(user, label, KeyTerms::default()).await
    }

    /// Issues a key on these terms. [`Kind::InvalidInput`] if they have expired already; otherwise like
    /// [`Keys::issue`].
    pub async fn issue_on(&self, user: UserId, label: KeyLabel, terms: KeyTerms) -> Result<IssuedKey, Fault> {
        let (new, issued) = self.draw_on(user, label, terms)?;
        active(self.store.add_key(&new).await?)?;
        Ok(issued)
    }

    /// Issues a key with money of its own, which this account pays: the key spends that alone. It is an account of
    /// its own, which sees nothing of the funder's. [`Kind::InsufficientBalance`] if the funder has less available;
    /// otherwise like [`Keys::issue_on`].
    pub async fn issue_funded(
        &self,
        funder: UserId,
        label: KeyLabel,
        terms: KeyTerms,
        amount: MicroUsd,
    ) -> Result<IssuedKey, Fault> {
        let user = UserId::from_random(self.entropy.bytes());
        let (new, issued) = self.draw_on(user, label, terms)?;
        let email = Email::of_key(new.id);
        let added = self.store.add_funded_key(&new, &KeyAccount { funder, amount, email }).await;
        active(added.map_err(cannot_fund)?)?;
        Ok(issued)
    }

    /// Moves an amount from an account to a pre-funded key of it, once per idempotent request; gives what is on the
    /// key. [`Kind::NotFound`] if the account has no such active key, [`Kind::InsufficientBalance`] if it has less.
    pub async fn fund(
        &self,
        funder: UserId,
        key: KeyId,
        amount: MicroUsd,
        request_ref: Option<&str>,
    ) -> Result<KeyFunds, Fault> {
        let request = request_ref.map_or_else(|| hex::encode(self.entropy.bytes::<16>()), str::to_owned);
        let reference = format!("fund:{key}:{request}");
        let funded = self.store.fund_key(funder, key, amount, &reference, self.clock.now()).await;
        funded.map_err(|error| match error {
            StoreError::NotFound(_) => Fault::new(
                Kind::NotFound,
                "this account has no such active pre-funded key; list its keys to see which have funds_usd",
            ),
            error => cannot_fund(error),
        })
    }

    /// Revokes all active keys of a user and issues one; gives how many were revoked. [`Kind::NotFound`] if the
    /// user does not exist.
    pub async fn rotate(&self, user: UserId, label: KeyLabel) -> Result<(u32, IssuedKey), Fault> {
        let (new, issued) = self.draw(user, label);
        Ok((self.store.rotate_keys(&new).await?, issued))
    }

    /// A key to be stored, and the same with its plaintext.
    pub(crate) fn draw(&self, user: UserId, label: KeyLabel) -> (NewKey, IssuedKey) {
        let key = ApiKey::from_random(self.entropy.bytes());
        let id = KeyId::from_random(self.entropy.bytes());
        let (prefix, created_at) = (key.prefix().to_owned(), self.clock.now());
        let hash = key.hash(&self.pepper);
        let terms = KeyTerms::default();
        let new = NewKey { id, user, hash, prefix: prefix.clone(), label: label.clone(), terms, created_at };
        (new, IssuedKey { id, key, prefix, label, terms, created_at })
    }

    /// A key on these terms to be stored, and the same with its plaintext.
    fn draw_on(&self, user: UserId, label: KeyLabel, terms: KeyTerms) -> Result<(NewKey, IssuedKey), Fault> {
        if terms.expires_at.is_some_and(|at| at <= self.clock.now()) {
            return Err(Fault::invalid("expires_at", "must be in the future"));
        }
        let (new, issued) = self.draw(user, label);
        Ok((NewKey { terms, ..new }, IssuedKey { terms, ..issued }))
    }

    /// The keys of a user, newest first, revoked and pre-funded ones included.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<StoredKey>, Fault> {
        Ok(self.store.keys_of(user, self.clock.now()).await?)
    }

    /// Revokes a key for good; what is left on a pre-funded one returns to the account. [`Kind::NotFound`] if this user has no active key with this id.
    pub async fn revoke(&self, user: UserId, key: KeyId) -> Result<(), Fault> {
        if self.store.revoke_key(user, key, self.clock.now()).await? {
            Ok(())
        } else {
            Err(Self::not_found())
        }
    }

    /// The refusal of an id by which the account has no active key.
    pub fn not_found() -> Fault {
        Fault::new(Kind::NotFound, "this account has no such active key; list its keys to see their ids")
    }

    /// The key and the user that a presented key belongs to; `None` if it is unknown, revoked or has expired.
    pub async fn owner(&self, key: &ApiKey) -> Result<Option<KeyOwner>, Fault> {
        Ok(self.store.key_owner(&key.hash(&self.pepper), self.clock.now()).await?)
    }

    /// Stores when keys were last used.
    pub async fn record_uses(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), Fault> {
        Ok(self.store.touch_keys(uses).await?)
    }
}

/// Refuses a key that was one too many.
fn active(added: Added) -> Result<(), Fault> {
    match added {
        Added::Active => Ok(()),
        Added::TooMany => Err(Fault::new(
            Kind::Conflict,
            format!("this account has {MAX_ACTIVE_KEYS} active keys; revoke one that is no longer used"),
        )),
    }
}

fn cannot_fund(error: StoreError) -> Fault {
    match error {
        StoreError::InsufficientBalance { available, .. } => Fault::new(
            Kind::InsufficientBalance,
            format!(
                "only {available} is available on this account: add funds to it, or move less onto the key"
            ),
        ),
        error => error.into(),
    }
}
