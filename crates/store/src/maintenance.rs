//! Checks of the database itself.

/// Depth of a check of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// Every page and every row.
    Quick,
    /// Also every index against its table.
    Full,
}

/// The size of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Bytes on the disk, without the write-ahead log.
    pub bytes: u64,
    /// The pages of deleted data, which new data fills. `None` on PostgreSQL.
    pub free: Option<FreePages>,
}

/// Free pages of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreePages {
    /// Their number.
    pub pages: u64,
    /// Their size together.
    pub bytes: u64,
}

/// Writes a row that the next deletion of expired records removes. Only a write shows that the database is
/// neither full nor read-only.
pub(crate) const PING: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at) \
     VALUES ('ping', '', 0, 0) ON CONFLICT (scope) DO UPDATE SET lease_until = excluded.lease_until";
