//! Messages that wallets sign (Sign-In with Ethereum, EIP-4361).

use async_trait::async_trait;

use crate::fault::Fault;
use crate::identity::{Purpose, WalletAddress};
use ep_polling::time::Timestamp;

/// What a message says, once its form, domain, URI, chain and times have been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletMessage {
    /// The wallet that is to sign it.
    pub address: WalletAddress,
    /// Its nonce; nobody has checked it yet.
    pub nonce: String,
}

/// Why a message cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is not a message of EIP-4361, or too long.
    #[error("the message does not follow EIP-4361 to the letter")]
    Form,
    /// It signs in to another service.
    #[error("the message names another domain or URI than this service's")]
    Domain,
    /// It is for another chain.
    #[error("the message names another chain than the challenge did")]
    Chain,
    /// It is too old, is not valid yet, or comes from the future.
    #[error("the message has expired, or is not valid yet")]
    Time,
}

/// Writes, reads and proves messages.
#[async_trait]
pub trait WalletMessages: Send + Sync {
    /// The text for a wallet to sign.
    fn write(
        &self,
        address: WalletAddress,
        purpose: Purpose,
        nonce: &str,
        issued_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<String, Fault>;

    /// Reads a message and checks everything but its nonce and its signature.
    fn read(&self, text: &str, now: Timestamp) -> Result<WalletMessage, MessageError>;

    /// Whether the wallet that the message names has signed it: by its key (EIP-191), or as a contract
    /// (EIP-1271, EIP-6492) where a node of the chain can be asked. A failure says that it cannot be asked now.
    async fn is_signed(&self, text: &str, signature: &str) -> Result<bool, Fault>;
}
