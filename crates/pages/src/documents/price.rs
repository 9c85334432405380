//! The price of a poll, as documents quote it.

use ep_kernel::Tool;
use ep_site::Site;
use ep_tools::polls::{EstimatePoll, Estimates};

/// Returns a paragraph with the price of a poll; empty if polls are free or the price is unknown.
pub(super) fn paragraph(site: &Site) -> String {
    let Some(Estimates {
        preset: Some(preset), models, cost_usd_at_least, cost_usd_typical_full_roster, ..
    }) = site.price()
    else {
        return String::new();
    };
    let (least, all) = (cost_usd_at_least.0, cost_usd_typical_full_roster.0);
    let estimates = site.url_of(EstimatePoll::SPEC.name).unwrap_or_default();
    format!(
        "At the current prices, a short question to the {models} models of `{preset}` costs {least} if the poll stops \
         as early as possible, and {all} if all of them are asked. Estimate other polls at {estimates}.\n\n"
    )
}
