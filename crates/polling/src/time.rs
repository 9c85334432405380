//! Points in time.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time in whole milliseconds since 1970-01-01T00:00:00Z; shown as RFC 3339 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a point in time from milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the point in time this much later.
    pub const fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_millis() as i64))
    }

    /// Returns the point in time this much earlier.
    pub const fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_millis() as i64))
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(if millis > 0 { millis as u64 } else { 0 })
    }

    /// Returns the same point as a `jiff` timestamp, or the epoch if it is outside jiff's range.
    pub fn calendar(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.calendar())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        jiff::Timestamp::deserialize(deserializer).map(|at| Self(at.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_rfc_3339_with_milliseconds() {
        let at = Timestamp::from_millis(1_769_817_600_007);
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-01-31T00:00:00.007Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>("\"2026-01-31T00:00:00.007Z\"").unwrap(), at);
    }
}
