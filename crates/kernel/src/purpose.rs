//! Purposes of messages signed by wallets.

use schemars::JsonSchema;
use serde::Deserialize;

ep_polling::words! {
    /// The purpose of a signed message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    #[schemars(inline)]
    pub enum Purpose {
        /// Whichever of the others it is sent to first.
        Any = "any",
        /// Signing in.
        SignIn = "sign_in",
        /// Revoking a key.
        RevokeKey = "revoke_key",
        /// Replacing all keys.
        RotateKey = "rotate_key",
    }
}
