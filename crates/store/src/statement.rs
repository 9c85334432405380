//! SQL texts that may differ between the engines.

/// A statement, with its text on each engine.
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
