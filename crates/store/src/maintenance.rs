//! What the operator asks of the database itself.

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
