//! What an API key may be used for, and how long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ep_polling::time::Timestamp;

/// What a key may be used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum KeyScope {
    /// Everything that its account may do with a key.
    #[default]
    All,
    /// Asking polls, and reading.
    Polls,
    /// Reading alone.
    Read,
}

impl KeyScope {
    /// Its name, as it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Polls => "polls",
            Self::Read => "read",
        }
    }
}

/// The terms of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyTerms {
    /// What it may be used for.
    pub scope: KeyScope,
    /// From when on it is refused; `None` for never.
    pub expires_at: Option<Timestamp>,
}
