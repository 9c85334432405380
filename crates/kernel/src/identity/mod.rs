//! What an account is signed in to with.

mod purpose;
mod wallet_address;

pub use purpose::Purpose;
pub use wallet_address::{InvalidWalletAddress, WalletAddress};

/// What proves who its holder is: never an email address, which anyone may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A wallet that signs messages.
    Wallet(WalletAddress),
    /// A user of an identity provider (OpenID Connect Core 1.0 §2: `iss` and `sub` together).
    Provider {
        /// The provider's issuer URL.
        issuer: String,
        /// The user's id there.
        subject: String,
    },
}

impl Identity {
    /// Its kind as it is stored.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Wallet(_) => "wallet",
            Self::Provider { .. } => "oidc",
        }
    }

    /// Who vouches for it; empty for a wallet, which proves itself.
    pub fn issuer(&self) -> &str {
        match self {
            Self::Wallet(_) => "",
            Self::Provider { issuer, .. } => issuer,
        }
    }

    /// Its id as it is stored.
    pub fn subject(&self) -> String {
        match self {
            Self::Wallet(address) => address.lower_case(),
            Self::Provider { subject, .. } => subject.clone(),
        }
    }
}
