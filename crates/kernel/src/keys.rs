//! API keys: issuing, listing and revoking them, and authenticating with them.
//!
//! Separate from [`Accounts`](crate::accounts::Accounts), because operations may use keys but never credits.

use std::sync::Arc;

use crate::api_key::{ApiKey, KeyMaterial, Pepper};
use crate::fault::{Fault, Kind, Result};
use crate::ports::{Clock, Entropy};
use ep_polling::{MicroUsd, Timestamp};
use ep_store::{
    Added, Creator, Email, KeyAccount, KeyFunds, KeyId, KeyLabel, KeyOwner, KeyTerms, MAX_ACTIVE_KEYS,
    NewKey, StoreError, StoredKey, UserId, Vault,
};

/// The API keys of all accounts.
pub struct Keys {
    store: Vault,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    pepper: Pepper,
}

/// A new key with its plaintext, which is not stored and cannot be shown again.
#[derive(Debug)]
pub struct IssuedKey {
    /// The public id.
    pub id: KeyId,
    /// The plaintext.
    pub key: ApiKey,
    /// The first characters, by which the owner recognises the key.
    pub prefix: String,
    /// The owner's label.
    pub label: KeyLabel,
    /// The scope, expiry and caps.
    pub terms: KeyTerms,
    /// The time of issue.
    pub created_at: Timestamp,
}

impl Keys {
    /// Creates the service. Keys are hashed with `pepper`; another pepper invalidates all existing keys.
    pub fn new(store: Vault, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>, pepper: Pepper) -> Self {
        Self { store, clock, entropy, pepper }
    }

    /// Issues a key. [`Kind::NotFound`] for an unknown user, [`Kind::Conflict`] if it already has
    /// [`MAX_ACTIVE_KEYS`] active keys.
    pub async fn issue(&self, user: UserId, label: KeyLabel) -> Result<IssuedKey> {
        self.issue_on(user, label, KeyTerms::default(), None, Creator::Proof, None).await
    }

    /// Returns the expiry of a key created by a caller with this key: the requested one, or the caller's own
    /// by default. [`Kind::InvalidInput`] if the new key would outlive the caller's.
    pub fn expiry_of_created_key(
        own: Option<&KeyTerms>,
        requested: Option<Timestamp>,
    ) -> Result<Option<Timestamp>> {
        match (own.and_then(|own| own.expires_at), requested) {
            (Some(own), Some(requested)) if requested > own => Err(Fault::invalid(
                "expires_at",
                format!(
                    "must not be later than {own}, when the key of this request expires; choose an earlier \
                     time, or create the key while signed in"
                ),
            )),
            (own, requested) => Ok(requested.or(own)),
        }
    }

    /// Issues a key on these terms, once per idempotent request. [`Kind::InvalidInput`] if the terms have
    /// already expired, [`Kind::Unauthenticated`] if its creator has ended meanwhile; otherwise like
    /// [`Keys::issue`].
    ///
    /// With `funds`, this account moves money onto the key, and the key can spend only that. Such a key is an
    /// account of its own, without access to the funder's data. [`Kind::InsufficientBalance`] if the funder
    /// has less available.
    pub async fn issue_on(
        &self,
        user: UserId,
        label: KeyLabel,
        terms: KeyTerms,
        funds: Option<MicroUsd>,
        creator: Creator,
        request_ref: Option<&str>,
    ) -> Result<IssuedKey> {
        if terms.expires_at.is_some_and(|at| at <= self.clock.now()) {
            return Err(Fault::invalid("expires_at", "must be in the future"));
        }
        let material = request_ref.map_or_else(|| self.random(), |request| self.pepper.key_of(request));
        let holder = match (funds, request_ref) {
            (None, _) => user,
            (Some(_), Some(request)) => UserId::from_random(self.pepper.account_of(request)),
            (Some(_), None) => UserId::from_random(self.entropy.bytes()),
        };
        let (new, issued) = self.make(material, holder, label, terms, creator);
        let added = match funds {
            None => self.store.add_key(&new).await,
            Some(amount) => {
                let account = KeyAccount { funder: user, amount, email: Email::of_key(new.id) };
                self.store.add_funded_key(&new, &account).await
            }
        };
        if matches!(added, Ok(Added::Active)) {
            return Ok(issued);
        }
        // An earlier attempt of an idempotent request may have been interrupted after issuing the key. Its terms
        // differ if its creator was another credential.
        if request_ref.is_some()
            && let Some(StoredKey { created_at, .. }) = self
                .of_user(user)
                .await?
                .into_iter()
                .find(|key| key.id == issued.id && key.terms == issued.terms)
        {
            return Ok(IssuedKey { created_at, ..issued });
        }
        match added.map_err(cannot_fund)? {
            Added::Active => Ok(issued),
            Added::CreatorEnded => Err(Fault::new(
                Kind::Unauthenticated,
                "this key or session was ended while the request ran, so no key was created; sign in again",
            )),
            Added::TooMany => Err(Fault::new(
                Kind::Conflict,
                format!("this account has {MAX_ACTIVE_KEYS} active keys; revoke an unused one"),
            )),
        }
    }

    /// Moves an amount from an account to its pre-funded key, once per idempotent request. Returns the money
    /// on the key. [`Kind::NotFound`] for no such active key of the account, [`Kind::InsufficientBalance`] if
    /// the account has less available.
    pub async fn fund(
        &self,
        funder: UserId,
        key: KeyId,
        amount: MicroUsd,
        request_ref: Option<&str>,
    ) -> Result<KeyFunds> {
        let request = request_ref.map_or_else(|| hex::encode(self.entropy.bytes::<16>()), str::to_owned);
        let reference = format!("fund:{key}:{request}");
        let funded = self.store.fund_key(funder, key, amount, &reference, self.clock.now()).await;
        funded.map_err(|error| match error {
            StoreError::NotFound(_) => Fault::new(
                Kind::NotFound,
                "this account has no active pre-funded key with this id; list its keys to find those with funds_usd",
            ),
            error => cannot_fund(error),
        })
    }

    /// Revokes all active keys of a user and issues a new one. Returns the number of revoked keys.
    /// [`Kind::NotFound`] for an unknown user.
    pub async fn rotate(&self, user: UserId, label: KeyLabel) -> Result<(u32, IssuedKey)> {
        let (new, issued) = self.draw(user, label);
        Ok((self.store.rotate_keys(&new).await?, issued))
    }

    /// Creates a random key: the record to store, and the plaintext.
    pub(crate) fn draw(&self, user: UserId, label: KeyLabel) -> (NewKey, IssuedKey) {
        self.make(self.random(), user, label, KeyTerms::default(), Creator::Proof)
    }

    fn random(&self) -> KeyMaterial {
        let entropy = &self.entropy;
        KeyMaterial { key: entropy.bytes(), id: entropy.bytes() }
    }

    fn make(
        &self,
        material: KeyMaterial,
        user: UserId,
        label: KeyLabel,
        terms: KeyTerms,
        creator: Creator,
    ) -> (NewKey, IssuedKey) {
        let (key, id) = (ApiKey::from_random(material.key), KeyId::from_random(material.id));
        let (prefix, created_at) = (key.prefix().to_owned(), self.clock.now());
        let hash = key.hash(&self.pepper);
        let new = NewKey {
            id,
            user,
            hash,
            prefix: prefix.clone(),
            label: label.clone(),
            terms,
            creator,
            created_at,
        };
        (new, IssuedKey { id, key, prefix, label, terms, created_at })
    }

    /// Returns the keys of a user, newest first, including revoked and pre-funded ones.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<StoredKey>> {
        Ok(self.store.keys_of(user, self.clock.now()).await?)
    }

    /// Revokes a key for good. The remaining money of a pre-funded key returns to the account.
    /// [`Kind::NotFound`] if this user has no active key with this id.
    pub async fn revoke(&self, user: UserId, key: KeyId) -> Result<()> {
        if self.store.revoke_key(user, key, self.clock.now()).await? {
            Ok(())
        } else {
            Err(Self::not_found())
        }
    }

    /// Returns the fault for an id of no active key of the account.
    pub fn not_found() -> Fault {
        Fault::new(
            Kind::NotFound,
            "this account has no active key with this id; list its keys to find their ids",
        )
    }

    /// Returns the id, user and terms of a presented key; `None` if it is unknown, revoked or expired.
    pub async fn owner(&self, key: &ApiKey) -> Result<Option<KeyOwner>> {
        Ok(self.store.key_owner(&key.hash(&self.pepper), self.clock.now()).await?)
    }

    /// Stores the times of the last uses of keys.
    pub async fn record_uses(&self, uses: &[(KeyId, Timestamp)]) -> Result<()> {
        Ok(self.store.touch_keys(uses).await?)
    }
}

fn cannot_fund(error: StoreError) -> Fault {
    match error {
        StoreError::InsufficientBalance { available, .. } => Fault::new(
            Kind::InsufficientBalance,
            format!("the available balance is {available}: add funds, or move a smaller amount onto the key"),
        ),
        error => error.into(),
    }
}
