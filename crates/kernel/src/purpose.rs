//! Purposes of messages signed by wallets.

use schemars::JsonSchema;
use serde::Deserialize;

/// The purpose of a signed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Purpose {
    /// Whichever of the others it is sent to first.
    Any,
    /// Signing in.
    SignIn,
    /// Revoking a key.
    RevokeKey,
    /// Replacing all keys.
    RotateKey,
}

impl Purpose {
    /// Returns the name used in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::SignIn => "sign_in",
            Self::RevokeKey => "revoke_key",
            Self::RotateKey => "rotate_key",
        }
    }
}
