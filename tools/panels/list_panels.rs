//! `list_panels`: lists the panels of the caller's account.

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Nothing, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::panel::{OrderBasis, PanelName};
use ep_polling::threshold::Threshold;
use ep_polling::tie_rule::TieRule;
use ep_polling::time::Timestamp;
use ep_store::StoredPanel;
use schemars::JsonSchema;
use serde::Serialize;

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

impl From<StoredPanel> for ListedPanel {
    fn from(StoredPanel { version, definition, created_at }: StoredPanel) -> Self {
        Self {
            name: version.name,
            version: version.version,
            size: definition.models.len() as u32,
            order: definition.order,
            on_tie: definition.on_tie,
            confidence_threshold: definition.confidence_threshold,
            created_at,
        }
    }
}

impl Tool for ListPanels {
    const SPEC: Spec = Spec {
        name: "list_panels",
        title: "List your panels",
        summary: "Lists the panels of your account, each with its newest version and rules. Free.",
        manual: include_str!("list_panels.md"),
        example: "{}",
        access: Access::ACCOUNT,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::get("/api/panels")),
        stream: None,
        agents: Agents::Extended,
        task: Task::None,
        intents: &["list my panels", "which panels do I have", "show all my panels"],
        faults: &[],
    };
    type Input = Nothing;
    type Output = PanelList;

    async fn call(cx: &Ctx, _: Nothing) -> Result<PanelList, Fault> {
        let panels = cx.store().panels_of(cx.account()?).await?;
        Ok(PanelList { panels: panels.into_iter().map(Into::into).collect() })
    }
}
