//! API keys.

mod hash;
mod label;
mod records;
mod terms;
pub(crate) mod transactions;

pub use self::hash::KeyHash;
pub use self::label::{InvalidKeyLabel, KeyLabel};
pub use self::records::{
    Added, KeyAccount, KeyFunds, KeyOwner, KeySpending, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey, StoredKey,
};
pub use self::terms::{CappedKey, Creator, KeyScope, KeyTerms, SpendingCaps};
