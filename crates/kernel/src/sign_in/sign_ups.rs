//! Finds or creates the account of an identity.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::caller::Caller;
use crate::fault::{Fault, Kind, Result};
use crate::keys::{IssuedKey, Keys};
use crate::ports::{Clock, Entropy};
use ep_polling::MicroUsd;
use ep_store::{
    Email, Identity, KeyLabel, NewSignUp, NewUser, SignedUp, StarterCreditLimits, Treasury, UserId,
    WalletAddress,
};

/// The starter credit of new accounts.
#[derive(Debug, Clone, Copy)]
pub struct StarterCredit {
    /// The amount.
    pub amount: MicroUsd,
    /// The daily limits, needed because identities are cheap to create.
    pub limits: StarterCreditLimits,
}

/// Finds and creates accounts at sign-in.
pub struct SignUps {
    treasury: Treasury,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    starter_credit: StarterCredit,
}

/// An account that has signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The account.
    pub user: UserId,
    /// True if the account was just created.
    pub is_new: bool,
    /// The first key, if a new account gets one.
    pub key: Option<IssuedKey>,
    /// A notice for the account's holder.
    pub notice: Option<&'static str>,
}

impl SignUps {
    /// Creates the service. New accounts get this starter credit.
    pub fn new(
        treasury: Treasury,
        keys: Arc<Keys>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        starter_credit: StarterCredit,
    ) -> Self {
        Self { treasury, keys, clock, entropy, starter_credit }
    }

    /// Returns the account of a verified identity. Creates one with this address if there is none yet, with
    /// an API key if `with_key`.
    pub async fn sign_in(
        &self,
        identity: Identity,
        email: Email,
        with_key: bool,
        caller: &Caller,
    ) -> Result<SignedIn> {
        let known = |user| SignedIn { user, is_new: false, key: None, notice: None };
        if let Some(user) = self.treasury.user_of(&identity).await? {
            return Ok(known(user));
        }
        let StarterCredit { amount, .. } = self.starter_credit;
        let (sign_up, key) = self.draw(identity, email, with_key, amount, Some(caller));
        let user = sign_up.user.id;
        Ok(match self.treasury.sign_up(&sign_up).await? {
            SignedUp::Known(user) => known(user),
            SignedUp::New { starter_credit } => {
                let withheld = starter_credit < amount;
                let notice = withheld.then_some(
                    "this account has no starter credit: the daily limit is reached; \
                     add funds, or choose the preset free, which costs nothing",
                );
                SignedIn { user, is_new: true, key, notice }
            }
        })
    }

    /// Returns the account of an access token's holder. Creates one if there is none yet.
    /// [`Kind::Unauthenticated`] if the account was deleted: a token that a program still sends must not
    /// create it again.
    pub(super) async fn sign_in_by_token(
        &self,
        identity: Identity,
        email: Email,
        caller: &Caller,
    ) -> Result<UserId> {
        if let Some(user) = self.treasury.user_of(&identity).await? {
            return Ok(user);
        }
        if self.treasury.was_deleted(&identity, self.clock.now()).await? {
            return Err(Fault::new(
                Kind::Unauthenticated,
                "the account of this access token was deleted; to get a new account, sign in with a browser",
            ));
        }
        Ok(self.sign_in(identity, email, false, caller).await?.user)
    }

    /// Creates the sign-up of a paying wallet that may have no account. It has no starter credit, which
    /// requires signing in.
    pub(crate) fn draw_payer(&self, payer: WalletAddress, with_key: bool) -> (NewSignUp, Option<IssuedKey>) {
        let (identity, email) = (Identity::Wallet(payer), Email::of_wallet(payer));
        self.draw(identity, email, with_key, MicroUsd::ZERO, None)
    }

    /// Issues the first key of an account that has never had one.
    pub(crate) async fn first_key_of(&self, user: UserId) -> Result<Option<IssuedKey>> {
        if !self.keys.of_user(user).await?.is_empty() {
            return Ok(None);
        }
        self.keys.issue(user, first_key_label()).await.map(Some)
    }

    fn draw(
        &self,
        identity: Identity,
        email: Email,
        with_key: bool,
        starter_credit: MicroUsd,
        caller: Option<&Caller>,
    ) -> (NewSignUp, Option<IssuedKey>) {
        let id = UserId::from_random(self.entropy.bytes());
        let key = with_key.then(|| self.keys.draw(id, first_key_label()));
        let (new_key, key) = key.unzip();
        let sign_up = NewSignUp {
            identity,
            user: NewUser { id, email, starter_credit, created_at: self.clock.now() },
            key: new_key,
            limits: self.starter_credit.limits,
            client: hashed(caller.map(Caller::scope)),
            network: hashed(caller.map(Caller::network)),
        };
        (sign_up, key)
    }
}

/// Returns the hash for counting a client or a network, because counting does not need the address itself.
fn hashed(scope: Option<String>) -> String {
    hex::encode(Sha256::digest(scope.unwrap_or_default()))
}

fn first_key_label() -> KeyLabel {
    "first key".parse().unwrap_or_default()
}
