//! SQL texts.

/// A statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Statement {
    /// A statement with a text for each engine.
    pub(crate) const fn of(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }
}

impl From<&'static str> for Statement {
    fn from(text: &'static str) -> Self {
        Self::of(text, text)
    }
}

/// Writes a row that the next deletion of expired records removes. Only a write shows that the database is
/// neither full nor read-only.
pub(crate) const PING: &str = "INSERT INTO replays (scope, fingerprint, lease_until, expires_at) \
     VALUES ('ping', '', 0, 0) ON CONFLICT (scope) DO UPDATE SET lease_until = excluded.lease_until";
