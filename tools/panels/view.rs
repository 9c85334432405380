//! A version of a panel, as its account sees it.

use ep_polling::{OrderBasis, PanelName, Threshold, TieRule, Timestamp};
use ep_store::StoredPanel;
use schemars::JsonSchema;
use serde::Serialize;

/// A version of a panel.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Panel {
    /// Its name.
    pub name: PanelName,
    /// Its version, from 1.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// Ids of its models, the strongest first.
    pub models: Vec<String>,
    /// The basis of the order.
    pub order: OrderBasis,
    /// The rule for a tie; null for the default of polls.
    pub on_tie: Option<TieRule>,
    /// The confidence at which its polls stop early; null for the default of polls.
    #[schemars(with = "Option<f64>")]
    pub confidence_threshold: Option<Threshold>,
    /// The time this version was stored.
    pub created_at: Timestamp,
}

impl From<StoredPanel> for Panel {
    fn from(StoredPanel { version, definition, created_at }: StoredPanel) -> Self {
        Self {
            name: version.name,
            version: version.version,
            models: definition.models.iter().map(ToString::to_string).collect(),
            order: definition.order,
            on_tie: definition.on_tie,
            confidence_threshold: definition.confidence_threshold,
            created_at,
        }
    }
}
