//! The caller's API keys.

mod create_key;
mod fund_key;
mod list_keys;
mod revoke_key;

pub use create_key::CreateKey;
pub use fund_key::FundKey;
pub use list_keys::{ListKeys, ListedKey};
pub use revoke_key::RevokeKey;
