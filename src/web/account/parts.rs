//! Outputs of operations in the form that an account's page shows.

use ep_kernel::caller::KeyId;
use ep_kernel::key_terms::KeyScope;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use ep_tools::account::{BalanceReply, SpendingOfDay};
use ep_tools::keys::ListedKey;
use ep_tools::results::HistoryResult;

use crate::layout::one_line;
use crate::web::result::quoted;

/// Returns the amount held for running polls, or `None` if it is zero.
pub(crate) fn held(balance: &BalanceReply) -> Option<String> {
    Some(balance.held_cents).filter(|cents| *cents > 0).map(dollars)
}

fn dollars(cents: i64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Spending by day.
pub(crate) struct Spending(pub(super) ep_tools::account::Spending);

/// A row of the table of days.
pub(crate) struct DayRow<'a> {
    pub(super) day: &'a str,
    pub(super) polls: u32,
    pub(super) cost: String,
}

impl<'a> From<&'a SpendingOfDay> for DayRow<'a> {
    fn from(day: &'a SpendingOfDay) -> Self {
        Self { day: &day.day, polls: day.polls, cost: figure(day.cost_usd.0.as_usd()) }
    }
}

/// A bar of the plot, within [`WIDTH`] × [`HEIGHT`].
pub(crate) struct Bar {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) title: String,
}

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 100.0;
/// Minimum height of a bar, so that a small amount stays visible.
const LEAST: f64 = 2.0;

impl Spending {
    pub(crate) fn days(&self) -> &[SpendingOfDay] {
        &self.0.days
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

    /// Returns the highest spending on a day if there are several days with polls.
    pub(crate) fn most(&self) -> Option<String> {
        (self.active().count() > 1).then(|| figure(self.highest()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.days().iter().all(|day| day.polls == 0)
    }

    pub(crate) fn first(&self) -> &str {
        self.days().first().map_or("", |day| day.day.as_str())
    }

    fn highest(&self) -> f64 {
        self.days().iter().map(|day| day.cost_usd.0.as_usd()).fold(0.0, f64::max)
    }

    /// Returns the days with polls, newest first.
    pub(crate) fn active(&self) -> impl Iterator<Item = DayRow<'_>> {
        self.days().iter().rev().filter(|day| day.polls > 0).map(DayRow::from)
    }

    /// Returns a bar for each day.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let step = WIDTH / self.days().len().max(1) as f64;
        let highest = self.highest();
        let bar = |(index, day): (usize, &SpendingOfDay)| {
            let share = if highest > 0.0 { day.cost_usd.0.as_usd() / highest * HEIGHT } else { 0.0 };
            let height = if day.polls > 0 { share.max(LEAST) } else { 0.0 };
            let height = (height * 10.0).round() / 10.0;
            Bar {
                x: (index as f64).mul_add(step, 1.0),
                y: ((HEIGHT - height) * 10.0).round() / 10.0,
                width: step - 2.0,
                height,
                title: format!("{}: {}, {}", day.day, DayRow::from(day).cost, polls(day.polls)),
            }
        };
        self.days().iter().enumerate().map(bar).collect()
    }
}

/// Formats an amount in dollars, with two decimals if they are precise enough.
fn figure(amount: f64) -> String {
    if amount == 0.0 || amount >= 0.1 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

fn polls(count: u32) -> String {
    if count == 1 { "1 poll".to_owned() } else { format!("{count} polls") }
}

/// A time in machine-readable and human-readable form.
pub(crate) struct Moment {
    pub(super) at: Timestamp,
    pub(super) shown: String,
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        // The time is in UTC; a script converts it to the reader's time zone.
        Self { at, shown: at.calendar().strftime("%-d %B %Y, %H:%M UTC").to_string() }
    }
}

/// A poll of the account.
pub(crate) struct ListedPollRow {
    pub(super) id: PollId,
    pub(super) question: String,
    pub(super) path: String,
    pub(super) outcome: String,
    pub(super) cost: Option<String>,
    pub(super) took: Option<String>,
    pub(super) created_at: Moment,
}

impl ListedPollRow {
    /// Converts a listed poll. `page_of` returns the URL of a poll's page.
    pub(crate) fn new(listed: HistoryResult, page_of: impl Fn(&str) -> String) -> Self {
        let end = &listed.outcome;
        let votes = format!("{} of {} models voted", end.models_succeeded, end.models_requested);
        let outcome = match &end.winning_option {
            _ if listed.status.is_open() => format!("Running: {} votes so far", end.models_succeeded),
            Some(option) => format!("{} won; {votes}", quoted(option)),
            None if end.is_tie => format!("A tie; {votes}"),
            None => format!("No result; {votes}"),
        };
        let cost = listed.total_cost_usd.and_then(|cost| cost.parse().ok());
        Self {
            path: page_of(listed.result_id.as_str()),
            id: listed.result_id,
            question: listed.question,
            outcome,
            cost: cost.map(|cost: f64| if cost == 0.0 { "free".to_owned() } else { figure(cost) }),
            took: listed.total_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0)),
            created_at: listed.created_at.into(),
        }
    }
}

impl ListedPollRow {
    /// Returns the question as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&self.question)
    }

    /// Returns the outcome as one line of Markdown.
    pub(crate) fn outcome_line(&self) -> String {
        one_line(&self.outcome)
    }
}

/// The keys of an account.
pub(crate) struct Keys {
    pub(super) active: Vec<Key>,
    pub(super) revoked: Vec<Key>,
}

impl Keys {
    pub(crate) fn new(keys: Vec<ListedKey>) -> Self {
        let (revoked, active) = keys.into_iter().map(Key::from).partition(|key| key.revoked_at.is_some());
        Self { active, revoked }
    }
}

/// A key without its secret.
pub(crate) struct Key {
    pub(super) id: KeyId,
    pub(super) key_prefix: String,
    label: String,
    scope: KeyScope,
    pub(super) created_at: Moment,
    pub(super) last_used_at: Option<Moment>,
    pub(super) expires_at: Option<Moment>,
    pub(super) revoked_at: Option<Moment>,
}

impl From<ListedKey> for Key {
    fn from(key: ListedKey) -> Self {
        Self {
            id: key.id,
            key_prefix: key.key_prefix,
            label: key.label,
            scope: key.scope,
            created_at: key.created_at.into(),
            last_used_at: key.last_used_at.map(Moment::from),
            expires_at: key.expires_at.map(Moment::from),
            revoked_at: key.revoked_at.map(Moment::from),
        }
    }
}

impl Key {
    /// Returns the key's label, or a placeholder.
    pub(crate) fn name(&self) -> &str {
        if self.label.is_empty() { "Without a label" } else { &self.label }
    }

    /// Returns the name as one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(self.name())
    }

    /// Describes the key's permissions.
    pub(crate) fn may(&self) -> &'static str {
        match self.scope {
            KeyScope::All => "all operations with a key",
            KeyScope::Polls => "asking and reading",
            KeyScope::Read => "reading",
        }
    }
}
