//! Open batches, locked until the transaction ends.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use crate::batches::BatchStatus;
use crate::ids::{KeyId, UserId};
use crate::row::{Columns, FromRow};
use crate::store_error::StoreError;

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

impl FromRow for LockedBatch {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            user: columns.get()?,
            status: columns.name()?,
            lines: columns.get()?,
            leased: columns.get()?,
            held: columns.get()?,
            key: columns.get()?,
            day: columns.get()?,
            expires_at: columns.get()?,
            funder: columns.get()?,
            frozen: columns.get()?,
            is_cut: columns.get()?,
            budget: columns.get()?,
        })
    }
}
