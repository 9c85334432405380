//! The price of a run, before its first call.

use std::fmt::Write;

use anyhow::bail;
use ep_kernel::tool::Entry as Operation;
use ep_polling::money::MicroUsd;
use ep_polling::plan::INSTRUCTION_TOKENS;
use ep_tools::polls::reply::PollReply;
use ep_tools::polls::{DryRun, Estimates};
use serde_json::json;

use super::progress::duration;
use super::rows::Missing;
use super::task::{CostBound, Question, Task};
use crate::cli::target::Target;

/// The budget of dry runs, in USD: more than any panel costs.
const ANY_BUDGET: f64 = 1e6;
/// Bytes by which the question of the second dry run is longer.
const LONGER: usize = 1_000;

/// The price of a row, as far as it is known before the first call.
pub(super) struct Offer {
    models: u32,
    /// The typical cost of the first row, in USD.
    typical: f64,
    /// The bytes of the first row.
    bytes: usize,
    typical_ms: Option<u32>,
    /// Models without a listed price.
    pub(super) unpriced: u32,
    simulated: bool,
    notices: Vec<String>,
}

impl Offer {
    /// Describes the work before it begins.
    pub(super) fn text(&self, missing: Option<&Missing>, at_once: u16, cap: Option<f64>) -> String {
        let mut text = match missing {
            Some(Missing { rows, labelled, at_most, bytes, .. }) => {
                let calls = rows * u64::from(self.models);
                // The cost grows with the prompt.
                let prompts = (rows * INSTRUCTION_TOKENS + bytes) as f64;
                let first = (INSTRUCTION_TOKENS + self.bytes as u64) as f64;
                let have =
                    if *labelled > 0 { format!(" ({labelled} more have labels)") } else { String::new() };
                format!(
                    "{rows} rows{have}, {} models each: {calls} calls, about ${:.4}, at most {at_most}",
                    self.models,
                    self.typical * prompts / first
                )
            }
            None => format!("{} models for each row, about ${:.6} a row", self.models, self.typical),
        };
        if let Some((ms, missing)) = self.typical_ms.zip(missing) {
            let seconds = f64::from(ms) / 1000.0 * missing.rows as f64 / f64::from(at_once);
            let _ = write!(text, ", about {}", duration(seconds));
        }
        if let Some(cap) = cap {
            let _ = write!(text, ". The limit for the file is ${cap}");
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
pub(super) async fn price(
    target: &Target,
    operation: &'static Operation,
    task: &Task,
    first: Option<&Question>,
) -> anyhow::Result<Option<(CostBound, Offer)>> {
    let Some(first) = first else { return Ok(None) };
    let longer = Question { question: format!("{}{}", first.question, "x".repeat(LONGER)), ..first.clone() };
    let mut estimates = Vec::new();
    for question in [first, &longer] {
        let mut request = question.request(&task.panel, MicroUsd::ZERO);
        request["max_cost_usd"] = json!(ANY_BUDGET);
        request["dry_run"] = true.into();
        let reply = target.call(operation, request, None).await?;
        match serde_json::from_value(reply)? {
            PollReply::DryRun(DryRun { estimates: Some(found), .. }) => {
                estimates.push(found);
            }
            PollReply::DryRun(run) => bail!("row {}: {}", first.row.number, run.errors.join("; ")),
            PollReply::Complete(_) | PollReply::Running(_) => bail!("a dry run opened a poll"),
        }
    }
    let [short, long] = estimates.as_slice() else { bail!("the first row has no price") };
    let at_most = |estimates: &Estimates| estimates.cost_usd_at_most.0.micro() as f64;
    let bound = CostBound {
        base: at_most(short),
        bytes: first.bytes(),
        slope: (at_most(long) - at_most(short)).max(0.0) / LONGER as f64,
        models: short.models,
    };
    let offer = Offer {
        models: short.models,
        typical: short.cost_usd_typical_full_roster.0.as_usd(),
        bytes: first.bytes(),
        typical_ms: short.typical_vote_ms,
        unpriced: short.models_of_unknown_price,
        simulated: short.simulated,
        notices: short.notices.clone(),
    };
    Ok(Some((bound, offer)))
}
