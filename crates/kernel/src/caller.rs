//! The caller of a request.

use std::net::IpAddr;

use ep_store::{BatchId, CappedKey, Creator, KeyId, KeyScope, KeyTerms, UserId};

/// The authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// No credential was sent.
    Anonymous {
        /// The client's address, as trusted proxies report it.
        address: IpAddr,
    },
    /// A signed-in browser.
    Session {
        /// The account.
        user: UserId,
    },
    /// A program with an API key.
    Key {
        /// The account.
        user: UserId,
        /// The key.
        key: KeyId,
        /// Its scope, expiry and caps.
        terms: KeyTerms,
    },
    /// A program with an access token of the configured issuer.
    Token {
        /// The account.
        user: UserId,
        /// The scope; `None` if the token has no scope of this service.
        scope: Option<KeyScope>,
    },
    /// A batch of an account, which this process works through.
    Batch {
        /// The account.
        user: UserId,
        /// The batch.
        batch: BatchId,
    },
    /// The operator in this process: the command line. No account, billing or limits.
    Local,
}

impl Caller {
    /// Returns the account, if any.
    pub const fn user(&self) -> Option<UserId> {
        match self {
            Self::Session { user }
            | Self::Key { user, .. }
            | Self::Token { user, .. }
            | Self::Batch { user, .. } => Some(*user),
            Self::Anonymous { .. } | Self::Local => None,
        }
    }

    /// Returns the batch, if a batch calls.
    pub const fn batch(&self) -> Option<BatchId> {
        match self {
            Self::Batch { batch, .. } => Some(*batch),
            _ => None,
        }
    }

    /// Returns the caller's key, if its spending is capped.
    pub fn capped_key(&self) -> Option<CappedKey> {
        match self {
            Self::Key { key, terms, .. } if !terms.caps.is_none() => {
                Some(CappedKey { key: *key, caps: terms.caps })
            }
            _ => None,
        }
    }

    /// Returns the caller's credential, as the creator of a key.
    pub const fn as_creator(&self) -> Creator {
        match self {
            Self::Key { key, .. } => Creator::Key(*key),
            Self::Session { .. } => Creator::Session,
            Self::Anonymous { .. } | Self::Token { .. } | Self::Batch { .. } | Self::Local => Creator::Proof,
        }
    }

    /// Returns the terms of the caller's key; `None` for a caller without a key.
    pub const fn key_terms(&self) -> Option<&KeyTerms> {
        match self {
            Self::Key { terms, .. } => Some(terms),
            _ => None,
        }
    }

    /// Returns the network of a caller without an account: /24 for IPv4, /48 for IPv6. Providers assign an
    /// IPv6 customer up to a /48, so counting /64 blocks alone does not limit one customer. For other
    /// callers, returns [`Caller::scope`].
    pub fn network(&self) -> String {
        match self {
            Self::Anonymous { address: IpAddr::V4(address) } => {
                let [a, b, c, _] = address.octets();
                format!("network:{a}.{b}.{c}.0/24")
            }
            Self::Anonymous { address: IpAddr::V6(address) } => {
                let [a, b, c, ..] = address.segments();
                format!("network:{a:x}:{b:x}:{c:x}::/48")
            }
            _ => self.scope(),
        }
    }

    /// Returns the key for rate limits and idempotency records: the account, or the client's address. An IPv6
    /// address is reduced to its /64, the smallest block that providers assign.
    pub fn scope(&self) -> String {
        match self {
            Self::Session { user }
            | Self::Key { user, .. }
            | Self::Token { user, .. }
            | Self::Batch { user, .. } => {
                format!("user:{user}")
            }
            Self::Anonymous { address: IpAddr::V4(address) } => format!("address:{address}"),
            Self::Anonymous { address: IpAddr::V6(address) } => {
                let [a, b, c, d, ..] = address.segments();
                format!("address:{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
            Self::Local => "local".to_owned(),
        }
    }

    /// Returns the id of the credential within its account. All sessions share one id, and so do all access tokens.
    pub fn credential(&self) -> String {
        match self {
            Self::Key { key, .. } => key.to_string(),
            _ => self.kind().to_owned(),
        }
    }

    /// Returns the label for logs and metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Anonymous { .. } => "anonymous",
            Self::Session { .. } => "session",
            Self::Key { .. } => "key",
            Self::Token { .. } => "token",
            Self::Batch { .. } => "batch",
            Self::Local => "local",
        }
    }
}
