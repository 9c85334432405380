//! The choices of a panel, with their prices in words.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use ep_kernel::guard::Admission;
use ep_kernel::schema::decode;
use ep_kernel::{Fault, Kind, Nothing};
use ep_polling::{MicroUsd, Timestamp};
use ep_site::http::{AppState, RequestHead};
use ep_tools::polls::sentences::number;
use ep_tools::polls::{Bundle, EstimatePoll, Estimates, ListProfiles, Profile};
use serde_json::{Value, json};

use super::form_values::FREE;
use crate::web::operation::ask;

/// Lifetime of the cached choices.
const LASTS: Duration = Duration::from_secs(60);
/// A cent in millionths of a dollar.
const CENT: u64 = 10_000;

/// A panel that a visitor can choose.
pub struct Panel {
    /// The value in the form: `free` or the name of a profile.
    pub value: &'static str,
    /// For example "15 free models" or "Quick".
    pub name: String,
    /// For example "under 1 cent".
    pub price: String,
    /// The number of models, and the advice on when to choose it. Empty for the free models.
    pub detail: String,
}

/// The panels, cheapest first, cached.
#[derive(Default)]
pub struct Panels(RwLock<Option<(Timestamp, Arc<[Panel]>)>>);

impl Panels {
    /// Returns the panels. They are estimated again after a minute.
    pub(super) async fn get(
        &self,
        state: &AppState,
        head: &RequestHead,
        admission: &Admission,
    ) -> Result<Arc<[Panel]>, Fault> {
        let now = state.app.ports.clock.now();
        if let Some((since, panels)) = self.0.read().ok().and_then(|cached| cached.clone())
            && now.since(since) < LASTS
        {
            return Ok(panels);
        }
        let panels: Arc<[Panel]> = estimated(state, head, admission).await?.into();
        if let Ok(mut cached) = self.0.write() {
            *cached = Some((now, Arc::clone(&panels)));
        }
        Ok(panels)
    }
}

async fn estimated(state: &AppState, head: &RequestHead, admission: &Admission) -> Result<Vec<Panel>, Fault> {
    let mut profiles = ask::<ListProfiles>(state, head, admission, Nothing {}).await?.profiles;
    profiles.reverse();
    // `None` if no model here fits. Without an estimate for another reason, a panel is shown by its maximum cost.
    let estimate = async |shape: Value| {
        let estimated = async { ask::<EstimatePoll>(state, head, admission, decode(shape)?).await };
        match estimated.await {
            Ok(estimates) => Some(Some(estimates)),
            Err(fault) => (fault.kind() != Kind::NotConfigured).then_some(None),
        }
    };
    let offer = &state.site.settings.offer;
    let mut panels = Vec::new();
    if let Some(free) = estimate(json!({ "preset": FREE })).await {
        panels.push(Panel {
            value: FREE,
            name: free_name(free.as_ref(), offer.simulated()),
            price: "free".to_owned(),
            detail: String::new(),
        });
    }
    for profile in profiles {
        if let Some(estimates) = estimate(json!({ "profile": profile.name })).await {
            panels.push(paid(&profile, estimates.as_ref(), offer.charges));
        }
    }
    Ok(panels)
}

fn free_name(estimates: Option<&Estimates>, simulated: bool) -> String {
    let kind = if simulated { "simulated" } else { "free" };
    match estimates {
        Some(estimates) => number(estimates.models, &format!("{kind} model")),
        None => "Free models".to_owned(),
    }
}

fn paid(profile: &Bundle, estimates: Option<&Estimates>, charges: bool) -> Panel {
    let name = match profile.name {
        Profile::Quick => "Quick",
        Profile::Balanced => "Balanced",
        Profile::Conservative => "Thorough",
    };
    let most = profile.max_cost_usd.0;
    let known = estimates.filter(|estimates| estimates.models_of_unknown_price == 0);
    let cost = known.map_or(most, |estimates| estimates.cost_usd_typical_full_roster.0.min(most));
    let models = estimates.map_or_else(String::new, |estimates| {
        let (least, all) = (estimates.calls_at_least, number(estimates.calls_at_most, "model"));
        if least < estimates.calls_at_most { format!("{least}–{all}. ") } else { format!("{all}. ") }
    });
    Panel {
        value: profile.name.as_str(),
        name: name.to_owned(),
        price: if charges { price(cost) } else { "no charge".to_owned() },
        detail: format!("{models}{}", profile.description),
    }
}

/// Returns an upper bound of a cost in words.
fn price(cost: MicroUsd) -> String {
    let cents = cost.micro().max(0).unsigned_abs().div_ceil(CENT);
    match cents {
        0 => "free".to_owned(),
        1 if cost.micro() < CENT as i64 => "under 1 cent".to_owned(),
        1 => "up to 1 cent".to_owned(),
        2..100 => format!("up to {cents} cents"),
        _ if cents.is_multiple_of(100) => format!("up to ${}", cents / 100),
        _ => format!("up to ${}.{:02}", cents / 100, cents % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_upper_bounds_in_words() {
        for (micro, words) in [
            (0, "free"),
            (9_999, "under 1 cent"),
            (10_000, "up to 1 cent"),
            (10_001, "up to 2 cents"),
            (250_000, "up to 25 cents"),
            (1_000_000, "up to $1"),
            (1_234_500, "up to $1.24"),
        ] {
            assert_eq!(price(MicroUsd::new(micro)), words);
        }
    }
}
