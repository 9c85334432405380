//! The price of a run, before its first call.

use std::fmt::Write;

use anyhow::bail;
use ep_kernel::tool::Entry as Operation;
use ep_polling::money::MicroUsd;
use ep_polling::plan::INSTRUCTION_TOKENS;
use ep_tools::polls::DryRun;
use ep_tools::polls::reply::PollReply;

use super::cost_bound::{CostBound, LONGER};
use super::progress::duration;
use super::question::RowQuestion;
use super::rows::InputCounts;
use super::settings::LabelSettings;
use crate::cli::target::Target;

/// The budget of dry runs: more than any panel costs.
const ANY_BUDGET: MicroUsd = MicroUsd::new(1_000_000_000_000);

/// The price of a row, as far as it is known before the first call.
pub(super) struct Quote {
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

impl Quote {
    /// Describes the work before it begins. The time is known if the number of rows that are asked at once is.
    pub(super) fn text(
        &self,
        missing: Option<&InputCounts>,
        at_once: Option<u16>,
        cap: Option<MicroUsd>,
    ) -> String {
        let mut text = match missing {
            Some(InputCounts { rows, labelled, at_most, bytes, .. }) => {
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
        if let (Some(ms), Some(missing), Some(at_once)) = (self.typical_ms, missing, at_once) {
            let seconds = f64::from(ms) / 1000.0 * missing.rows as f64 / f64::from(at_once);
            let _ = write!(text, ", about {}", duration(seconds));
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
pub(super) async fn price(
    target: &Target,
    operation: &'static Operation,
    settings: &LabelSettings,
    first: Option<&RowQuestion>,
) -> anyhow::Result<Option<(CostBound, Quote)>> {
    let Some(first) = first else { return Ok(None) };
    let longer =
        RowQuestion { question: format!("{}{}", first.question, "x".repeat(LONGER)), ..first.clone() };
    let mut estimates = Vec::new();
    for question in [first, &longer] {
        let mut request = question.request(&settings.panel, ANY_BUDGET);
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
    let (base, longer) = (short.cost_usd_at_most.0, long.cost_usd_at_most.0.minus(short.cost_usd_at_most.0));
    let bound = CostBound { base, bytes: first.bytes(), longer, models: short.models };
    let quote = Quote {
        models: short.models,
        typical: short.cost_usd_typical_full_roster.0.as_usd(),
        bytes: first.bytes(),
        typical_ms: short.typical_vote_ms,
        unpriced: short.models_of_unknown_price,
        simulated: short.simulated,
        notices: short.notices.clone(),
    };
    Ok(Some((bound, quote)))
}
