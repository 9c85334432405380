//! The price of a run, before its first call.

use std::fmt::Write;

use anyhow::bail;
use ep_polling::MicroUsd;
use ep_polling::counted::counted;
use ep_polling::plan::INSTRUCTION_TOKENS;
use ep_tools::entry_of;
use ep_tools::polls::reply::PollReply;
use ep_tools::polls::{DryRun, PollQuestion};
use ep_tools::reputation::{ListModelReputation, ModelReputations};
use serde_json::json;

use crate::asking::cost_bound::{CostBound, LONGER};
use crate::journal::Journal;

use crate::operations::Operations;
use crate::question::RowQuestion;
use crate::rows::InputCounts;
use crate::settings::{LabelSettings, Panel};

/// The budget of dry runs: more than any panel costs.
const ANY_BUDGET: MicroUsd = MicroUsd::new(1_000_000_000_000);

/// The price of a row before the first call.
pub struct Priced {
    /// The most that a row costs.
    pub bound: CostBound,
    /// The price for a person.
    pub quote: Quote,
}

/// The typical price and time of a row.
pub struct Quote {
    models: u32,
    /// The typical cost of the first row, in USD.
    typical: f64,
    /// The bytes of the first row.
    bytes: usize,
    /// The mean time of a row, in milliseconds; `None` before the first votes.
    row_ms: Option<f64>,
    /// Models without a listed price.
    pub(crate) unpriced: u32,
    simulated: bool,
    notices: Vec<String>,
}

impl Quote {
    /// Describes the work before it begins. Without the number of rows that are asked at once, a service decides it.
    pub fn text(&self, missing: Option<&InputCounts>, at_once: Option<u16>, cap: Option<MicroUsd>) -> String {
        let mut text = match missing {
            Some(InputCounts { rows, labelled, at_most, bytes, .. }) => {
                let calls = rows * u64::from(self.models);
                // The cost grows with the prompt.
                let prompts = (rows * INSTRUCTION_TOKENS + bytes) as f64;
                let first = (INSTRUCTION_TOKENS + self.bytes as u64) as f64;
                let have =
                    if *labelled > 0 { format!(" ({labelled} labelled before)") } else { String::new() };
                format!(
                    "{}{have}, {} each: up to {}, about ${:.4}, at most {at_most}",
                    counted(*rows, "row"),
                    counted(self.models, "model"),
                    counted(calls, "call"),
                    self.typical * prompts / first
                )
            }
            None => {
                format!("{} for each row, about ${:.6} a row", counted(self.models, "model"), self.typical)
            }
        };
        match (missing, at_once, self.row_ms) {
            // The number of rows of standard input is not known.
            (None, ..) => {}
            (Some(_), None, _) => text.push_str("; the service sets the pace"),
            (Some(_), Some(_), None) => text.push_str(", time unknown until the first rows are labelled"),
            (Some(missing), Some(at_once), Some(ms)) => {
                let waves = (missing.rows as f64 / f64::from(at_once)).max(1.0);
                let _ = write!(text, ", about {}", duration(ms / 1000.0 * waves));
            }
        }
        if let Some(cap) = cap {
            let _ = write!(text, ". The limit for the file is {cap}");
        }
        if self.simulated {
            text.push_str(". These voters are simulated: the labels mean nothing");
        }
        for notice in &self.notices {
            let _ = write!(text, "\n{notice}");
        }
        text
    }
}

/// Prices the first row, and one with a longer question. `None` without rows.
pub(crate) async fn price(
    operations: &impl Operations,
    is_server: bool,
    settings: &LabelSettings,
    first: Option<&RowQuestion>,
    journal: &Journal,
) -> anyhow::Result<Option<Priced>> {
    let Some(first) = first else { return Ok(None) };
    let operation = entry_of::<PollQuestion>()?;
    let with = |text: usize| RowQuestion {
        question: format!("{}{}", first.question, "x".repeat(text)),
        ..first.clone()
    };
    // Without its text, a question can be too short for a poll.
    let (first, longer) =
        if first.is_empty { (&with(LONGER), with(2 * LONGER)) } else { (first, with(LONGER)) };
    let mut estimates = Vec::new();
    for question in [first, &longer] {
        let mut request = question.request(&settings.panel, ANY_BUDGET);
        request["dry_run"] = true.into();
        let reply = operations.call(operation, request).await?;
        match serde_json::from_value(reply)? {
            PollReply::DryRun(DryRun { estimates: Some(found), .. }) => {
                estimates.push(found);
            }
            PollReply::DryRun(run) => bail!("row {}: {}", first.row.number, run.errors.join("; ")),
            PollReply::Complete(_) | PollReply::Running(_) => bail!("a dry run opened a poll"),
        }
    }
    let [short, long] = estimates.as_slice() else { bail!("the first row has no price") };
    let (base, longer) = (short.cost_usd_at_most.0, long.cost_usd_at_most.0.minus(short.cost_usd_at_most.0));
    let bound = CostBound { base, bytes: first.bytes(), longer, models: short.models };
    let row_ms = match journal.mean_row_ms() {
        _ if is_server => None,
        Some(ms) => Some(ms),
        None => slowest_mean_ms(operations, &settings.panel).await,
    };
    let quote = Quote {
        models: short.models,
        typical: short.cost_usd_typical_full_roster.0.as_usd(),
        bytes: first.bytes(),
        row_ms,
        unpriced: short.models_of_unknown_price,
        simulated: short.simulated,
        notices: short.notices.clone(),
    };
    Ok(Some(Priced { bound, quote }))
}

/// Returns the mean time of the slowest model of a panel in earlier polls, in milliseconds; `None` unless it is known for
/// each model. The members of a preset are not known here.
async fn slowest_mean_ms(operations: &impl Operations, panel: &Panel) -> Option<f64> {
    let Panel::Models(models) = panel else { return None };
    let list = operations.call(entry_of::<ListModelReputation>().ok()?, json!({})).await.ok()?;
    let known: ModelReputations = serde_json::from_value(list).ok()?;
    let mean_of = |model: &String| {
        let known = known.models.iter().find(|known| known.model_id.eq_ignore_ascii_case(model));
        known.and_then(|known| known.average_latency_ms)
    };
    models.iter().map(mean_of).try_fold(0.0, |slowest: f64, ms| Some(slowest.max(ms?)))
}

/// Returns a time for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        90.0..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
