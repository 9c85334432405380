//! What an API key may be used for, and how long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ep_polling::money::MicroUsd;
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
    /// The most it may spend.
    pub caps: SpendingCaps,
}

/// The most that the polls of a key may cost. A running poll counts with all that is held for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingCaps {
    /// In all.
    pub total: Option<MicroUsd>,
    /// Those opened on one day, in UTC.
    pub daily: Option<MicroUsd>,
}

impl SpendingCaps {
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// How much may still be spent, given what was in all, and today; `None` without a cap.
    pub fn left(self, spent: MicroUsd, spent_today: MicroUsd) -> Option<MicroUsd> {
        let left = |cap: Option<MicroUsd>, spent| Some(cap?.minus(spent));
        [left(self.total, spent), left(self.daily, spent_today)].into_iter().flatten().min()
    }
}
