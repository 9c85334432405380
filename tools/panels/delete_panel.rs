//! `delete_panel`: deletes a panel of the caller's account.

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Rate, Rest, Spec, Task, Tool, ToolOutput};
use ep_polling::panel::PanelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_panel::not_found;

/// Deletes a panel.
pub struct DeletePanel;

/// The panel to delete.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PanelToDelete {
    /// Its name.
    pub name: PanelName,
}

/// The response to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedPanel {
    /// The panel's name.
    pub name: PanelName,
    /// Always true.
    pub deleted: bool,
}

impl ToolOutput for DeletedPanel {}

impl Tool for DeletePanel {
    const SPEC: Spec = Spec {
        name: "delete_panel",
        title: "Delete a panel",
        summary: "Deletes a panel of your account with all its versions; polls keep their models. Free.",
        manual: include_str!("delete_panel.md"),
        example: r#"{ "name": "support-tickets" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Destroy,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::delete("/api/panels/{name}")),
        stream: None,
        agents: Agents::Extended,
        task: Task::None,
        intents: &["delete a panel", "remove a panel"],
        faults: &[Kind::NotFound],
    };
    type Input = PanelToDelete;
    type Output = DeletedPanel;

    async fn call(cx: &Ctx, PanelToDelete { name }: PanelToDelete) -> Result<DeletedPanel, Fault> {
        if cx.store().delete_panel(cx.account()?, &name).await? {
            Ok(DeletedPanel { name, deleted: true })
        } else {
            Err(not_found(&name, None))
        }
    }
}
