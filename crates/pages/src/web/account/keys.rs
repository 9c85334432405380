//! An account's API keys as rows of a table.

use std::fmt::Write as _;

use ep_polling::Timestamp;
use ep_site::layout::one_line;
use ep_store::{KeyId, KeyScope};
use ep_tools::keys::ListedKey;

use super::moments::Moment;

/// The keys of an account.
pub(crate) struct Keys {
    pub(super) active: Vec<Key>,
    pub(super) revoked: Vec<Key>,
}

impl Keys {
    pub(crate) fn new(keys: Vec<ListedKey>, now: Timestamp) -> Self {
        let keys = keys.into_iter().map(|key| Key::new(key, now));
        let (revoked, active) = keys.partition(|key| key.revoked_at.is_some());
        Self { active, revoked }
    }
}

/// A key without its secret.
pub(crate) struct Key {
    pub(super) id: KeyId,
    pub(super) key_prefix: String,
    /// The operations and the limits of the key, in words.
    pub(super) may: String,
    label: String,
    pub(super) created_at: Moment,
    pub(super) last_used_at: Option<Moment>,
    pub(super) expires_at: Option<Moment>,
    pub(super) revoked_at: Option<Moment>,
}

impl Key {
    fn new(key: ListedKey, now: Timestamp) -> Self {
        let moment = |at| Moment::new(at, now);
        Self {
            id: key.id,
            may: may(&key),
            key_prefix: key.key_prefix,
            label: key.label,
            created_at: moment(key.created_at),
            last_used_at: key.last_used_at.map(moment),
            expires_at: key.expires_at.map(moment),
            revoked_at: key.revoked_at.map(moment),
        }
    }

    /// Returns the key's label, or a placeholder.
    pub(crate) fn name(&self) -> &str {
        if self.label.is_empty() { "Without a label" } else { &self.label }
    }

    /// Returns the name as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(self.name())
    }
}

/// Describes the key's operations and limits.
fn may(key: &ListedKey) -> String {
    let mut text = match key.scope {
        KeyScope::All => "everything, including other keys",
        KeyScope::Polls => "ask and read",
        KeyScope::Read => "read only",
    }
    .to_owned();
    // Writing to a string cannot fail.
    if let Some(cap) = key.daily_cap_usd {
        let _ = write!(text, ", up to {} a day", cap.0);
    }
    if let Some(cap) = key.cap_usd {
        let _ = write!(text, ", up to {} in total", cap.0);
    }
    if let Some(funds) = key.funds_usd {
        let _ = write!(text, ", {} of its own left", funds.0);
    }
    text
}
