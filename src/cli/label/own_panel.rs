//! Panels of an account, for `ep label` with a server.

use ep_kernel::Kind;
use ep_labels::operations::Operations;
use ep_polling::{OrderBasis, TieRule};
use ep_tools::entry_of;
use ep_tools::panels::GetPanel;
use serde::Deserialize;
use serde_json::json;

use crate::cli::say;
use crate::cli::target::Target;

/// A panel of an account: its models, the strongest first, and its rule for ties.
#[derive(Deserialize)]
pub(super) struct OwnPanel {
    pub(super) models: Vec<String>,
    pub(super) order: OrderBasis,
    pub(super) on_tie: Option<TieRule>,
}

pub(super) fn say_price_order(panel: &str) {
    let text = format!(
        "the models of {panel} are ordered by price; `ep panel evaluate` judges them on labelled rows"
    );
    say(&text);
}

/// Returns a panel of the account at a service; `None` if it has no such panel.
pub(super) async fn own_panel(target: &Target, name: &str) -> anyhow::Result<Option<OwnPanel>> {
    if target.server().is_none() {
        return Ok(None);
    }
    let (name, version) = name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)));
    let mut input = json!({ "name": name });
    if let Some(version) = version.and_then(|version| version.parse::<u32>().ok()) {
        input["version"] = version.into();
    }
    match target.call(entry_of::<GetPanel>()?, input).await {
        Ok(found) => Ok(Some(serde_json::from_value(found)?)),
        Err(fault) if matches!(fault.kind(), Kind::NotFound | Kind::InvalidInput) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}
