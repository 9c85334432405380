//! Times on the account page.

use ep_polling::Timestamp;
use jiff::civil::Date;

const DAY_MS: i64 = 86_400_000;

/// A time in machine-readable and human-readable form, in UTC. A script converts it to the reader's time zone.
pub(crate) struct Moment {
    pub(in crate::web) at: Timestamp,
    /// The day, short enough for a table.
    pub(in crate::web) day: String,
    /// The day and the time.
    pub(in crate::web) full: String,
}

impl Moment {
    /// Describes a time for a reader at the time `now`.
    pub(crate) fn new(at: Timestamp, now: Timestamp) -> Self {
        let number = |at: Timestamp| at.millis().div_euclid(DAY_MS);
        let text = |format: &str| at.calendar().strftime(format).to_string();
        let is_this_year = text("%Y") == now.calendar().strftime("%Y").to_string();
        let day = match number(now) - number(at) {
            0 => "Today".to_owned(),
            1 => "Yesterday".to_owned(),
            _ if is_this_year => text("%-d %b"),
            _ => text("%-d %b %Y"),
        };
        Self { at, day, full: text("%-d %B %Y, %H:%M UTC") }
    }
}

/// Writes a day such as 2026-11-15 as 15 November, or as 15 Nov.
pub(super) fn date(day: &str, long: bool) -> String {
    let format = if long { "%-d %B" } else { "%-d %b" };
    day.parse::<Date>().map_or_else(|_| day.to_owned(), |day| day.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn recent_days_have_words() {
        let now = Timestamp::from_millis(1_764_000_000_000);
        let days = |days: u64| Moment::new(now.before(Duration::from_hours(24 * days)), now).day;
        assert_eq!([0, 1, 2, 360].map(days), ["Today", "Yesterday", "22 Nov", "29 Nov 2024"]);
        assert_eq!(Moment::new(now, now).full, "24 November 2025, 16:00 UTC");
    }
}
