//! Finds the account of an identity, or makes one.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::caller::{Caller, UserId};
use crate::email::Email;
use crate::fault::Fault;
use crate::identity::{Identity, WalletAddress};
use crate::key_label::KeyLabel;
use crate::keys::{IssuedKey, Keys};
use crate::ports::{Clock, Entropy, NewSignUp, NewUser, SignedUp, StarterCreditLimits, UserStore};
use ep_polling::money::MicroUsd;

/// What new accounts are given.
#[derive(Debug, Clone, Copy)]
pub struct StarterCredit {
    /// How much.
    pub amount: MicroUsd,
    /// How often in a day: identities are cheap to make.
    pub limits: StarterCreditLimits,
}

/// Accounts that their holders make by signing in.
pub struct SignUps {
    users: Arc<dyn UserStore>,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    starter_credit: StarterCredit,
}

/// Who has signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The account.
    pub user: UserId,
    /// Whether it has just been made.
    pub is_new: bool,
    /// Its first key, where a new account gets one.
    pub key: Option<IssuedKey>,
    /// What the holder should know.
    pub notice: Option<&'static str>,
}

impl SignUps {
    /// Accounts get this starter credit.
    pub fn new(
        users: Arc<dyn UserStore>,
        keys: Arc<Keys>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        starter_credit: StarterCredit,
    ) -> Self {
        Self { users, keys, clock, entropy, starter_credit }
    }

    /// The account of an identity that has been proven; a new one with this address if there is none yet.
    /// `with_key`: whether a new account gets an API key at once.
    pub async fn sign_in(
        &self,
        identity: Identity,
        email: Email,
        with_key: bool,
        caller: &Caller,
    ) -> Result<SignedIn, Fault> {
        let known = |user| SignedIn { user, is_new: false, key: None, notice: None };
        if let Some(user) = self.users.user_of(&identity).await? {
            return Ok(known(user));
        }
        let StarterCredit { amount, .. } = self.starter_credit;
        let (sign_up, key) = self.draw(identity, email, with_key, amount, Some(caller));
        let user = sign_up.user.id;
        Ok(match self.users.sign_up(&sign_up).await? {
            SignedUp::Known(user) => known(user),
            SignedUp::New { starter_credit } => {
                let withheld = starter_credit < amount;
                let notice = withheld.then_some(
                    "this account has no starter credit: too many were given today; \
                     add funds, or choose the preset free, which costs nothing",
                );
                SignedIn { user, is_new: true, key, notice }
            }
        })
    }

    /// The sign-up of a wallet that has paid and perhaps has no account: without starter credit, which is for those
    /// who sign in.
    pub(crate) fn draw_payer(&self, payer: WalletAddress, with_key: bool) -> (NewSignUp, Option<IssuedKey>) {
        let (identity, email) = (Identity::Wallet(payer), Email::of_wallet(payer));
        self.draw(identity, email, with_key, MicroUsd::ZERO, None)
    }

    /// Issues the first key of an account that has never had one.
    pub(crate) async fn first_key_of(&self, user: UserId) -> Result<Option<IssuedKey>, Fault> {
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

/// The hash by which a client or a network is counted: counting does not need the address itself.
fn hashed(scope: Option<String>) -> String {
    hex::encode(Sha256::digest(scope.unwrap_or_default()))
}

fn first_key_label() -> KeyLabel {
    "first key".parse().unwrap_or_default()
}
