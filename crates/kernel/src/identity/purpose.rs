//! What wallets sign messages for.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a signed message is for.
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
    /// Its name, as requests write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::SignIn => "sign_in",
            Self::RevokeKey => "revoke_key",
            Self::RotateKey => "rotate_key",
        }
    }
}
