//! The price of a poll, as quoted by documents.

use ep_polling::Usd;
use ep_tools::polls::Estimates;

/// The estimate for a poll with default arguments at current prices (`estimate_poll`).
#[derive(Debug, Clone)]
pub struct PollPrice {
    /// The preset that chooses the models.
    pub preset: String,
    /// Number of models.
    pub models: u32,
    /// The cost if the poll stops as early as possible, in USD.
    pub cost_usd_at_least: Usd,
    /// The cost if all models are called, in USD.
    pub cost_usd_typical_full_roster: Usd,
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
