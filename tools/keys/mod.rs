//! The caller's API keys.

mod create_key;
mod list_keys;
mod revoke_key;

pub use create_key::CreateKey;
pub use list_keys::ListKeys;
pub use revoke_key::RevokeKey;
