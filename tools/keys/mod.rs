//! The caller's API keys.

mod create_key;
mod list_keys;
mod revoke_key;

pub use create_key::CreateKey;
pub use list_keys::ListKeys;
pub use revoke_key::RevokeKey;

use ep_kernel::caller::UserId;
use ep_kernel::ctx::Ctx;
use ep_kernel::fault::{Fault, Kind};

/// The account whose keys the caller manages.
fn owner(cx: &Ctx) -> Result<UserId, Fault> {
    cx.caller.user().ok_or_else(|| {
        Fault::new(Kind::NotFound, "calls in process have no account; manage keys with ep admin")
    })
}
