//! The price of a poll, as documents quote it.

use ep_kernel::tool::Tool;
use ep_polling::money::Usd;
use ep_tools::polls::EstimatePoll;
use serde::Deserialize;

use super::Site;

/// The estimate of a poll with the default arguments, at the current prices (`estimate_poll`).
#[derive(Debug, Clone, Deserialize)]
pub struct PollPrice {
    /// The preset that chooses the models.
    pub(super) preset: String,
    /// Number of models.
    pub(super) models: u32,
    /// Cost if the poll stops as early as possible, in USD.
    pub(super) cost_usd_at_least: Usd,
    /// Cost if all models are asked, in USD.
    pub(super) cost_usd_typical_full_roster: Usd,
}

impl Site {
    /// A sentence with the price of a poll, as a paragraph; empty where polls are not charged, or the price is unknown.
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
