//! Poll ids.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Crockford's base 32 in upper case, without similar-looking characters (crockford.com/base32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const SUFFIX: usize = 10;

/// A poll id: `EP-<YYYYMMDD>-<10 random base-32 characters>`. The 50 random bits make the URL of a public
/// result hard to guess.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PollId(String);

/// The error of [`PollId::from_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a poll id looks like EP-20260131-7KQ2M4X9TB")]
pub struct NotAPollId;

impl PollId {
    /// The length of an id, in bytes.
    pub const LENGTH: usize = "EP-20260131-".len() + SUFFIX;
    /// The format as a regular expression, for schemas.
    pub const PATTERN: &str = "^EP-[0-9]{8}-[0-9A-Z]{10}$";

    /// Creates an id from 10 random bytes for a poll that starts at `now`; the date is in UTC.
    pub fn new(now: Timestamp, random: [u8; SUFFIX]) -> Self {
        let date = now.calendar().to_zoned(TimeZone::UTC).date();
        let suffix: String = random.iter().map(|byte| ALPHABET[usize::from(byte & 31)] as char).collect();
        Self(format!("EP-{:04}{:02}{:02}-{suffix}", date.year(), date.month(), date.day()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PollId {
    type Err = NotAPollId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '-');
        let fits = parts.next() == Some("EP")
            && parts.next().is_some_and(|date| date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()))
            && parts.next().is_some_and(|suffix| {
                suffix.len() == SUFFIX && suffix.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(NotAPollId) }
    }
}

crate::checked!(PollId: String, NotAPollId, |text| text.parse(), |id| id.0);

impl fmt::Display for PollId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_rejects_other_formats() {
        let id = PollId::new(Timestamp::from_millis(1_769_817_600_000), [0, 1, 31, 32, 255, 7, 8, 9, 10, 11]);
        assert_eq!(id.as_str(), "EP-20260131-01Z0Z789AB");
        assert_eq!(id.as_str().parse(), Ok(id));
        for bad in
            ["", "EP-2026-01", "EP-20260131-01Z0Z789A", "EP-20260131-01Z0Z789A/", "ep-20260131-01Z0Z789AB"]
        {
            assert_eq!(bad.parse::<PollId>(), Err(NotAPollId), "{bad}");
        }
    }
}
