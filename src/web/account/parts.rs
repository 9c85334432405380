//! Outputs of operations in the form that an account's page shows.

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::layout::one_line;
use crate::web::result::quoted;

/// The signed-in account.
#[derive(Deserialize)]
pub(crate) struct User {
    pub(super) email: String,
}

/// The money available, held and spent.
#[derive(Deserialize)]
pub(crate) struct Balance {
    pub(super) balance: String,
    held_cents: i64,
    usage_cents: i64,
}

impl Balance {
    /// True if no money is available.
    pub(crate) fn is_zero(&self) -> bool {
        self.balance == MicroUsd::ZERO.to_string()
    }

    /// Returns the amount held for running polls, or `None` if it is zero.
    pub(crate) fn held(&self) -> Option<String> {
        Some(self.held_cents).filter(|cents| *cents > 0).map(dollars)
    }
}

fn dollars(cents: i64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Spending by day.
#[derive(Deserialize)]
pub(crate) struct Spending {
    pub(super) days: Vec<Day>,
    total_usd: f64,
}

#[derive(Deserialize)]
pub(crate) struct Day {
    pub(super) day: String,
    pub(super) polls: u32,
    cost_usd: f64,
}

impl Day {
    pub(crate) fn cost(&self) -> String {
        figure(self.cost_usd)
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
    pub(crate) fn total(&self) -> String {
        figure(self.total_usd)
    }

    /// Returns the total spending if part of it predates the listed days.
    pub(crate) fn earlier(&self, balance: &Balance) -> Option<String> {
        let used = balance.usage_cents;
        (used as f64 > (self.total_usd * 100.0).ceil()).then(|| dollars(used))
    }

    /// Returns the highest spending on a day if there are several days with polls.
    pub(crate) fn most(&self) -> Option<String> {
        (self.active().count() > 1).then(|| figure(self.highest()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.days.iter().all(|day| day.polls == 0)
    }

    pub(crate) fn first(&self) -> &str {
        self.days.first().map_or("", |day| day.day.as_str())
    }

    fn highest(&self) -> f64 {
        self.days.iter().map(|day| day.cost_usd).fold(0.0, f64::max)
    }

    /// Returns the days with polls, newest first.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Day> {
        self.days.iter().rev().filter(|day| day.polls > 0)
    }

    /// Returns a bar for each day.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let step = WIDTH / self.days.len().max(1) as f64;
        let highest = self.highest();
        let bar = |(place, day): (usize, &Day)| {
            let share = if highest > 0.0 { day.cost_usd / highest * HEIGHT } else { 0.0 };
            let height = if day.polls > 0 { share.max(LEAST) } else { 0.0 };
            let height = (height * 10.0).round() / 10.0;
            Bar {
                x: (place as f64).mul_add(step, 1.0),
                y: ((HEIGHT - height) * 10.0).round() / 10.0,
                width: step - 2.0,
                height,
                title: format!("{}: {}, {}", day.day, day.cost(), polls(day.polls)),
            }
        };
        self.days.iter().enumerate().map(bar).collect()
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
#[derive(Deserialize)]
#[serde(from = "Timestamp")]
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
pub(crate) struct Past {
    pub(super) id: String,
    pub(super) question: String,
    pub(super) path: String,
    pub(super) outcome: String,
    pub(super) cost: Option<String>,
    pub(super) took: Option<String>,
    pub(super) created_at: Moment,
}

#[derive(Deserialize)]
struct PastList {
    results: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    result_id: String,
    question: String,
    status: String,
    winning_option: Option<String>,
    is_tie: bool,
    models_requested: u32,
    models_succeeded: u32,
    total_cost_usd: Option<String>,
    total_ms: Option<u64>,
    created_at: Timestamp,
}

impl Past {
    /// Converts a list of polls, with the URL of each poll's page.
    pub(crate) fn all(list: Value, page_of: impl Fn(&str) -> String) -> serde_json::Result<Vec<Self>> {
        let list: PastList = serde_json::from_value(list)?;
        Ok(list.results.into_iter().map(|listed| Self::new(listed, &page_of)).collect())
    }

    fn new(listed: Listed, page_of: &impl Fn(&str) -> String) -> Self {
        let running = listed.status == "running" || listed.status == "queued";
        let votes = format!("{} of {} models voted", listed.models_succeeded, listed.models_requested);
        let outcome = match &listed.winning_option {
            _ if running => format!("Running: {} votes so far", listed.models_succeeded),
            Some(option) => format!("{} won; {votes}", quoted(option)),
            None if listed.is_tie => format!("A tie; {votes}"),
            None => format!("No result; {votes}"),
        };
        let cost = listed.total_cost_usd.and_then(|cost| cost.parse().ok());
        Self {
            path: page_of(&listed.result_id),
            id: listed.result_id,
            question: listed.question,
            outcome,
            cost: cost.map(|cost: f64| if cost == 0.0 { "free".to_owned() } else { figure(cost) }),
            took: listed.total_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0)),
            created_at: listed.created_at.into(),
        }
    }
}

impl Past {
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
    pub(crate) fn new(keys: Vec<Key>) -> Self {
        let (revoked, active) = keys.into_iter().partition(|key| key.revoked_at.is_some());
        Self { active, revoked }
    }
}

#[derive(Deserialize)]
pub(crate) struct KeyList {
    pub(super) keys: Vec<Key>,
}

/// A key without its secret.
#[derive(Deserialize)]
pub(crate) struct Key {
    pub(super) id: String,
    pub(super) key_prefix: String,
    label: String,
    scope: String,
    pub(super) created_at: Moment,
    pub(super) last_used_at: Option<Moment>,
    pub(super) expires_at: Option<Moment>,
    pub(super) revoked_at: Option<Moment>,
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
        match self.scope.as_str() {
            "all" => "everything a key can",
            "polls" => "asking and reading",
            _ => "reading",
        }
    }
}
