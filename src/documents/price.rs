//! The price of a poll, as quoted by documents.

use ep_kernel::tool::Tool;
use ep_polling::money::Usd;
use ep_tools::polls::{EstimatePoll, Estimates};

use super::Site;

/// The estimate for a poll with default arguments at current prices (`estimate_poll`).
#[derive(Debug, Clone)]
pub struct PollPrice {
    /// The preset that chooses the models.
    pub(super) preset: String,
    /// Number of models.
    pub(super) models: u32,
    /// The cost if the poll stops as early as possible, in USD.
    pub(super) cost_usd_at_least: Usd,
    /// The cost if all models are called, in USD.
    pub(super) cost_usd_typical_full_roster: Usd,
}

impl PollPrice {
    /// Returns the price in this estimate; `None` if the models were named one by one.
    pub fn of(estimate: Estimates) -> Option<Self> {
        Some(Self {
            preset: estimate.preset?,
            models: estimate.models,
            cost_usd_at_least: estimate.cost_usd_at_least,
            cost_usd_typical_full_roster: estimate.cost_usd_typical_full_roster,
        })
    }
}

impl Site {
    /// Returns a paragraph with the price of a poll; empty if polls are free or the price is unknown.
    pub(super) fn price_paragraph(&self) -> String {
        let Some(price) = self.price() else { return String::new() };
        let PollPrice {
            preset,
            models,
            cost_usd_at_least: Usd(least),
            cost_usd_typical_full_roster: Usd(all),
        } = price;
        let estimates = self.url_of(EstimatePoll::SPEC.name).unwrap_or_default();
        format!(
            "At the current prices, a short question to the {models} models of `{preset}` costs {least} if the poll stops \
             as early as possible, and {all} if all of them are asked. Estimate other polls at {estimates}.\n\n"
        )
    }
}
