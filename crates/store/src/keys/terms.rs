//! The scope, expiry and spending caps of an API key or access token.

use ep_polling::{MicroUsd, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::KeyId;

ep_polling::words! {
    /// The scope of a key or an access token.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(inline)]
    pub enum KeyScope {
        /// Everything that its account may do with a key.
        #[default]
        All = "all",
        /// Asking polls, and reading.
        Polls = "polls",
        /// Reading alone.
        Read = "read",
    }
}

impl KeyScope {
    /// True if it includes another scope.
    pub const fn includes(self, other: Self) -> bool {
        matches!((self, other), (Self::All, _) | (_, Self::Read) | (Self::Polls, Self::Polls))
    }

    /// Returns the widest scope in a token's claim `scope` (RFC 6749 §3.3), if any.
    pub fn of_token(claim: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| {
            let name = scope.token_scopes().last();
            claim.split(' ').any(|given| Some(&given) == name)
        })
    }

    /// Returns the token scopes to request: those of the narrower ones first, its own last.
    pub const fn token_scopes(self) -> &'static [&'static str] {
        match self {
            Self::Read => &["polls:read"],
            Self::Polls => &["polls:read", "polls:write"],
            Self::All => &["polls:read", "polls:write", "account"],
        }
    }
}

/// The terms of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyTerms {
    /// The scope.
    pub scope: KeyScope,
    /// The time when the key expires; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The spending caps.
    pub caps: SpendingCaps,
}

/// The maximum cost of the polls of a key. A running poll counts with its full hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingCaps {
    /// In total.
    pub total: Option<MicroUsd>,
    /// Of the polls opened on one day, in UTC.
    pub daily: Option<MicroUsd>,
}

impl SpendingCaps {
    /// True if there is no cap.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the remaining amount, given the total spending and today's; `None` without a cap.
    pub fn left(self, spent: MicroUsd, spent_today: MicroUsd) -> Option<MicroUsd> {
        let left = |cap: Option<MicroUsd>, spent| Some(cap?.minus(spent));
        [left(self.total, spent), left(self.daily, spent_today)].into_iter().flatten().min()
    }
}

/// A key whose spending is capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CappedKey {
    /// The key.
    pub key: KeyId,
    /// Its caps, at least one.
    pub caps: SpendingCaps,
}

/// The credential that creates a key. It must still be valid when the key is stored: a rotation or a deletion may have
/// ended it since the request was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creator {
    /// An API key.
    Key(KeyId),
    /// A browser session of the account.
    Session,
    /// A proof that cannot end meanwhile, such as a signature or an access token, or the operator.
    Proof,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_scope_of_a_token_counts() {
        for (claim, scope) in [
            ("polls:read", Some(KeyScope::Read)),
            ("openid polls:write", Some(KeyScope::Polls)),
            ("account polls:read", Some(KeyScope::All)),
            ("polls:read polls:write account", Some(KeyScope::All)),
            ("", None),
            ("openid email", None),
            ("polls", None),
            ("accounts polls:readx", None),
            ("Account", None),
        ] {
            assert_eq!(KeyScope::of_token(claim), scope, "{claim}");
        }
        for scope in [KeyScope::All, KeyScope::Polls, KeyScope::Read] {
            assert_eq!(KeyScope::of_token(&scope.token_scopes().join(" ")), Some(scope));
            assert!(KeyScope::All.includes(scope) && scope.includes(scope) && scope.includes(KeyScope::Read));
        }
        assert!(!KeyScope::Read.includes(KeyScope::Polls) && !KeyScope::Polls.includes(KeyScope::All));
    }
}
