//! Messages signed by wallets (Sign-In with Ethereum, EIP-4361).

use async_trait::async_trait;

use crate::fault::Result;
use crate::purpose::Purpose;
use ep_polling::Timestamp;
use ep_store::WalletAddress;

/// A message with a valid form, domain, URI, chain and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletMessage {
    /// The wallet that must sign it.
    pub address: WalletAddress,
    /// The nonce, not checked yet.
    pub nonce: String,
}

/// The reason for rejecting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The message does not follow EIP-4361, or is too long.
    #[error("the message does not follow EIP-4361 exactly")]
    Form,
    /// The message is for another service.
    #[error("the domain or URI of the message is not this service's")]
    Domain,
    /// The message is for another chain.
    #[error("the chain of the message differs from the challenge's")]
    Chain,
    /// The message is too old or not valid yet.
    #[error("the message has expired, or is not valid yet")]
    Time,
}

/// Writes, reads and verifies messages.
#[async_trait]
pub trait WalletMessages: Send + Sync {
    /// Returns the text for a wallet to sign.
    fn write(
        &self,
        address: WalletAddress,
        purpose: Purpose,
        nonce: &str,
        issued_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<String>;

    /// Reads a message and checks everything but its nonce and its signature.
    fn read(&self, text: &str, now: Timestamp) -> Result<WalletMessage, MessageError>;

    /// True if the wallet named in the message signed it: with its key (EIP-191), or as a contract (EIP-1271,
    /// EIP-6492) if a chain node is configured. Fails if the node is unavailable.
    async fn is_signed(&self, text: &str, signature: &str) -> Result<bool>;
}
