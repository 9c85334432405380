//! Wallets: Sign-In with Ethereum (EIP-4361), and key management by signature.

use std::sync::Arc;

use super::{ChallengeNonces, Sessions, SignUps, SignedIn};
use crate::caller::Caller;
use crate::fault::{Fault, Kind, Result};
use crate::keys::{IssuedKey, Keys};
use crate::output::SessionChange;
use crate::ports::{Clock, Entropy, WalletMessage, WalletMessages};
use crate::purpose::Purpose;
use ep_polling::Timestamp;
use ep_store::{Email, Identity, KeyId, KeyLabel, Treasury, UserId, Vault, WalletAddress};

/// The parts of [`Wallets`].
pub struct WalletParts {
    /// Writes and verifies messages.
    pub messages: Arc<dyn WalletMessages>,
    /// Ensures that each message is used only once.
    pub nonces: ChallengeNonces,
    /// Stores used nonces.
    pub vault: Vault,
    /// Finds users.
    pub treasury: Treasury,
    /// Finds or creates accounts.
    pub sign_ups: Arc<SignUps>,
    /// Starts sessions.
    pub sessions: Arc<Sessions>,
    /// Revokes and issues keys.
    pub keys: Arc<Keys>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// Verifies signatures of wallets, and signs in or manages keys with them. Operations cannot reach its parts, which credit
/// accounts and start sessions.
pub struct Wallets(WalletParts);

impl From<WalletParts> for Wallets {
    fn from(parts: WalletParts) -> Self {
        Self(parts)
    }
}

/// A message to sign.
#[derive(Debug, Clone)]
pub struct Challenge {
    /// The text.
    pub message: String,
    /// The nonce of the message.
    pub nonce: String,
    /// The time when it expires.
    pub expires_at: Timestamp,
}

/// A wallet that has signed in.
#[derive(Debug)]
pub struct WalletSignIn {
    /// The wallet.
    pub address: WalletAddress,
    /// The account.
    pub account: SignedIn,
    /// The new session.
    pub session: SessionChange,
}

/// The result of replacing all keys of an account.
#[derive(Debug)]
pub struct RotatedKeys {
    /// Number of revoked keys.
    pub revoked: u32,
    /// The new key.
    pub key: IssuedKey,
}

impl Wallets {
    /// Returns a message for this wallet to sign.
    pub fn challenge(&self, address: WalletAddress, purpose: Purpose) -> Result<Challenge> {
        let now = self.0.clock.now();
        let (nonce, expires_at) = self.0.nonces.issue(address, purpose, now, self.0.entropy.bytes());
        let message = self.0.messages.write(address, purpose, &nonce, now, expires_at)?;
        Ok(Challenge { message, nonce, expires_at })
    }

    /// Signs a wallet in. Creates an account with an API key if there is none.
    pub async fn sign_in(&self, message: &str, signature: &str, caller: &Caller) -> Result<WalletSignIn> {
        let address = self.prove(message, signature, Purpose::SignIn).await?;
        let (identity, email) = (Identity::Wallet(address), Email::of_wallet(address));
        let account = self.0.sign_ups.sign_in(identity, email, true, caller).await?;
        let session = self.0.sessions.start(account.user, None).await?;
        Ok(WalletSignIn { address, account, session })
    }

    /// Revokes a key of the wallet's account. [`Kind::NotFound`] if the wallet has no account, or the account
    /// has no such active key.
    pub async fn revoke_key(&self, message: &str, signature: &str, key: Option<KeyId>) -> Result<()> {
        let user = self.prove_account(message, signature, Purpose::RevokeKey).await?;
        self.0.keys.revoke(user, key.ok_or_else(Keys::not_found)?).await
    }

    /// Revokes all keys of the wallet's account and issues a new one. [`Kind::NotFound`] if the wallet has no
    /// account.
    pub async fn rotate_key(&self, message: &str, signature: &str) -> Result<RotatedKeys> {
        let user = self.prove_account(message, signature, Purpose::RotateKey).await?;
        let label: KeyLabel = "rotated key".parse().unwrap_or_default();
        let (revoked, key) = self.0.keys.rotate(user, label).await?;
        Ok(RotatedKeys { revoked, key })
    }

    async fn prove_account(&self, message: &str, signature: &str, purpose: Purpose) -> Result<UserId> {
        let address = self.prove(message, signature, purpose).await?;
        let user = self.0.treasury.user_of(&Identity::Wallet(address)).await?;
        let text = "this wallet has no account yet; sign in with it first";
        user.ok_or_else(|| Fault::new(Kind::NotFound, text))
    }

    /// Returns the wallet that signed this message. Each message can be used only once.
    async fn prove(&self, message: &str, signature: &str, purpose: Purpose) -> Result<WalletAddress> {
        let now = self.0.clock.now();
        let rejected = |why: &str| {
            Fault::new(Kind::Unauthenticated, format!("{why}; ask for a new challenge and sign it"))
        };
        let WalletMessage { address, nonce } =
            self.0.messages.read(message, now).map_err(|why| rejected(&why.to_string()))?;
        // Checked before the signature: a contract's signature is checked on its chain, which must not be
        // open to everyone.
        let expires_at = self.0.nonces.check(&nonce, address, purpose, now).ok_or_else(|| {
            rejected("the nonce of the message was not issued for this wallet and purpose, or has expired")
        })?;
        if !self.0.messages.is_signed(message, signature).await? {
            return Err(rejected("the signature is not this wallet's signature of this message"));
        }
        if self.0.vault.use_nonce(&nonce, expires_at).await? {
            Ok(address)
        } else {
            Err(rejected("this message has already been used"))
        }
    }
}
