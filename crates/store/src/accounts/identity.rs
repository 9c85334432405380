//! Identities that sign in to accounts.

use crate::accounts::WalletAddress;

/// A verified identity. Never an email address, because anyone can claim one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A wallet that signs messages.
    Wallet(WalletAddress),
    /// A user of an identity provider (OpenID Connect Core 1.0 §2: `iss` and `sub` together).
    Provider {
        /// The provider's issuer URL.
        issuer: String,
        /// The user's id at this provider.
        subject: String,
    },
}

impl Identity {
    /// Returns the stored name of this kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Wallet(_) => "wallet",
            Self::Provider { .. } => "oidc",
        }
    }

    /// Returns the provider's issuer URL; empty for a wallet, which proves itself.
    pub fn issuer(&self) -> &str {
        match self {
            Self::Wallet(_) => "",
            Self::Provider { issuer, .. } => issuer,
        }
    }

    /// Returns the stored id.
    pub fn subject(&self) -> String {
        match self {
            Self::Wallet(address) => address.lower_case(),
            Self::Provider { subject, .. } => subject.clone(),
        }
    }
}
