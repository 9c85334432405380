//! `list_panels`: lists the panels of the caller's account.

use ep_polling::{OrderBasis, PanelName, Threshold, TieRule, Timestamp};
use ep_store::StoredPanel;

use crate::prelude::*;

/// Lists the caller's panels.
pub struct ListPanels;

/// The panels of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PanelList {
    /// The panels, by name.
    pub panels: Vec<ListedPanel>,
}

/// The newest version of a panel, without its models.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedPanel {
    /// Its name.
    pub name: PanelName,
    /// Its newest version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The number of its models.
    pub size: u32,
    /// The basis of their order.
    pub order: OrderBasis,
    /// The rule for a tie; null for the default of polls.
    pub on_tie: Option<TieRule>,
    /// The confidence at which its polls stop early; null for the default of polls.
    #[schemars(with = "Option<f64>")]
    pub confidence_threshold: Option<Threshold>,
    /// The time the newest version was stored.
    pub created_at: Timestamp,
}

impl ToolOutput for PanelList {}

impl Tool for ListPanels {
    const SPEC: Spec = Spec {
        name: "list_panels",
        title: "List your panels",
        summary: "Lists the panels of your account, each with its newest version and rules. Free.",
        manual: include_str!("list_panels.md"),
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/panels")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["list my panels", "which panels do I have", "show all my panels"],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = PanelList;

    async fn call(cx: &Ctx, _: Nothing) -> Result<PanelList, Fault> {
        let panels = cx.store().panels_of(cx.account()?).await?;
        let listed = |StoredPanel { version, definition, created_at }| ListedPanel {
            name: version.name,
            version: version.version,
            size: definition.models.len() as u32,
            order: definition.order,
            on_tie: definition.on_tie,
            confidence_threshold: definition.confidence_threshold,
            created_at,
        };
        Ok(PanelList { panels: panels.into_iter().map(listed).collect() })
    }
}
