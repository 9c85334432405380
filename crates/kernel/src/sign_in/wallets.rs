//! Wallets: Sign-In with Ethereum (EIP-4361), and what a signature may do to an account's keys.

use std::sync::Arc;

use super::{ChallengeNonces, Sessions, SignUps, SignedIn};
use crate::answer::SessionChange;
use crate::caller::{Caller, KeyId, UserId};
use crate::email::Email;
use crate::fault::{Fault, Kind};
use crate::identity::{Identity, Purpose, WalletAddress};
use crate::key_label::KeyLabel;
use crate::keys::{IssuedKey, Keys};
use crate::ports::{Clock, Entropy, SessionStore, UserStore, WalletMessage, WalletMessages};
use ep_polling::time::Timestamp;

/// The texts and signatures of wallets, and what they lead to.
pub struct Wallets {
    /// Writes and proves messages.
    pub messages: Arc<dyn WalletMessages>,
    /// Makes each message usable once.
    pub nonces: ChallengeNonces,
    /// Keeps the nonces that were used.
    pub used_nonces: Arc<dyn SessionStore>,
    /// Finds users.
    pub users: Arc<dyn UserStore>,
    /// Finds or makes accounts.
    pub sign_ups: Arc<SignUps>,
    /// Begins sessions.
    pub sessions: Arc<Sessions>,
    /// Revokes and issues keys.
    pub keys: Arc<Keys>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// A message to sign.
#[derive(Debug, Clone)]
pub struct Challenge {
    /// The text.
    pub message: String,
    /// Its nonce.
    pub nonce: String,
    /// Until when it can be used.
    pub expires_at: Timestamp,
}

/// A wallet that has signed in.
#[derive(Debug)]
pub struct WalletSignIn {
    /// The wallet.
    pub address: WalletAddress,
    /// Its account.
    pub account: SignedIn,
    /// The session that begins.
    pub session: SessionChange,
}

/// All keys of an account have been replaced by one.
#[derive(Debug)]
pub struct RotatedKeys {
    /// How many were revoked.
    pub revoked: u32,
    /// The new one.
    pub key: IssuedKey,
}

impl Wallets {
    /// A message for this wallet to sign.
    pub fn challenge(&self, address: WalletAddress, purpose: Purpose) -> Result<Challenge, Fault> {
        let now = self.clock.now();
        let (nonce, expires_at) = self.nonces.issue(address, purpose, now, self.entropy.bytes());
        let message = self.messages.write(address, purpose, &nonce, now, expires_at)?;
        Ok(Challenge { message, nonce, expires_at })
    }

    /// Signs a wallet in; a wallet without an account gets one, with an API key.
    pub async fn sign_in(
        &self,
        message: &str,
        signature: &str,
        caller: &Caller,
    ) -> Result<WalletSignIn, Fault> {
        let address = self.prove(message, signature, Purpose::SignIn).await?;
        let (identity, email) = (Identity::Wallet(address), Email::of_wallet(address));
        let account = self.sign_ups.sign_in(identity, email, true, caller).await?;
        let session = self.sessions.start(account.user, None).await?;
        Ok(WalletSignIn { address, account, session })
    }

    /// Revokes a key of the wallet's account. [`Kind::NotFound`] if the wallet has no account, or the account no
    /// such active key.
    pub async fn revoke_key(&self, message: &str, signature: &str, key: Option<KeyId>) -> Result<(), Fault> {
        let user = self.prove_account(message, signature, Purpose::RevokeKey).await?;
        self.keys.revoke(user, key.ok_or_else(Keys::not_found)?).await
    }

    /// Revokes all keys of the wallet's account and issues one. [`Kind::NotFound`] if the wallet has no account.
    pub async fn rotate_key(&self, message: &str, signature: &str) -> Result<RotatedKeys, Fault> {
        let user = self.prove_account(message, signature, Purpose::RotateKey).await?;
        let label: KeyLabel = "rotated key".parse().unwrap_or_default();
        let (revoked, key) = self.keys.rotate(user, label).await?;
        Ok(RotatedKeys { revoked, key })
    }

    async fn prove_account(&self, message: &str, signature: &str, purpose: Purpose) -> Result<UserId, Fault> {
        let address = self.prove(message, signature, purpose).await?;
        let user = self.users.user_of(&Identity::Wallet(address)).await?;
        let text = "this wallet has no account yet; sign in with it first";
        user.ok_or_else(|| Fault::new(Kind::NotFound, text))
    }

    /// The wallet that has signed this message, which can be used once.
    async fn prove(&self, message: &str, signature: &str, purpose: Purpose) -> Result<WalletAddress, Fault> {
        let now = self.clock.now();
        let refused = |why: &str| {
            Fault::new(Kind::Unauthenticated, format!("{why}; ask for a new challenge and sign it"))
        };
        let WalletMessage { address, nonce } =
            self.messages.read(message, now).map_err(|why| refused(&why.to_string()))?;
        // Before the signature: a contract's signature is checked on its chain, which not anybody may cause.
        let expires_at = self.nonces.check(&nonce, address, purpose, now).ok_or_else(|| {
            refused("the nonce of the message was not issued for this wallet and purpose, or has expired")
        })?;
        if !self.messages.is_signed(message, signature).await? {
            return Err(refused("the signature is not this wallet's signature of this message"));
        }
        if self.used_nonces.use_nonce(&nonce, expires_at).await? {
            Ok(address)
        } else {
            Err(refused("this message has been used already"))
        }
    }
}
