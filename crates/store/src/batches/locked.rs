//! Open batches, locked until the transaction ends.

use ep_polling::{MicroUsd, Timestamp};

use crate::batches::BatchStatus;
use crate::ids::{KeyId, UserId};
use crate::row::from_row;

/// An open batch, locked.
pub(crate) struct LockedBatch {
    pub(crate) user: UserId,
    pub(crate) status: BatchStatus,
    pub(crate) lines: u32,
    pub(crate) leased: u32,
    pub(crate) held: MicroUsd,
    pub(crate) key: Option<KeyId>,
    pub(crate) day: Option<i64>,
    pub(crate) expires_at: Timestamp,
    pub(crate) funder: Option<UserId>,
    pub(crate) frozen: bool,
    pub(crate) is_cut: bool,
    /// In micro-USD; negative if rows cost more than was reserved for them.
    pub(crate) budget: Option<i64>,
}

from_row!(LockedBatch {
    user,
    status: name,
    lines,
    leased,
    held,
    key,
    day,
    expires_at,
    funder,
    frozen,
    is_cut,
    budget,
});
