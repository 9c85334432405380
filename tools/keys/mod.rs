//! The caller's API keys.

mod create_key;
mod fund_key;
mod list_keys;
mod revoke_key;

pub use create_key::{CreateKey, CreatedKey};
pub use fund_key::FundKey;
pub use list_keys::{KeyList, ListKeys, ListedKey};
pub use revoke_key::RevokeKey;
