//! Spending by day: the sums and the table.

use ep_tools::account::{BalanceReply, SpendingOfDay};

use super::amounts::{dollars, figure};
use super::moments::date;

/// Spending by day.
pub(crate) struct Spending(pub(super) ep_tools::account::Spending);

/// A row of the table of days.
pub(crate) struct DayRow {
    pub(super) day: String,
    pub(super) polls: u32,
    pub(super) batch_rows: u32,
    pub(super) cost: String,
}

impl From<&SpendingOfDay> for DayRow {
    fn from(day: &SpendingOfDay) -> Self {
        let (polls, batch_rows) = (day.polls, day.batch_rows);
        Self { day: date(&day.day, true), polls, batch_rows, cost: figure(day.cost_usd.0.as_usd()) }
    }
}

impl Spending {
    pub(crate) fn days(&self) -> &[SpendingOfDay] {
        &self.0.days
    }

    /// Returns the number of polls on these days.
    pub(crate) fn polls(&self) -> u32 {
        self.days().iter().map(|day| day.polls).sum()
    }

    /// Returns the number of polls of rows of batches on these days.
    pub(crate) fn batch_rows(&self) -> u32 {
        self.days().iter().map(|day| day.batch_rows).sum()
    }

    fn sum(&self) -> f64 {
        self.0.total_usd.0.as_usd()
    }

    pub(crate) fn total(&self) -> String {
        figure(self.sum())
    }

    /// Returns the total spending if part of it predates the listed days.
    pub(crate) fn earlier(&self, balance: &BalanceReply) -> Option<String> {
        let used = balance.usage_cents;
        (used as f64 > (self.sum() * 100.0).ceil()).then(|| dollars(used))
    }

    /// Returns the days with polls, newest first.
    pub(crate) fn active(&self) -> impl Iterator<Item = DayRow> + '_ {
        self.days().iter().rev().filter(|day| day.polls + day.batch_rows > 0).map(DayRow::from)
    }
}
