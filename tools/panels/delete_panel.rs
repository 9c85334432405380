//! `delete_panel`: deletes a panel of the caller's account.

use ep_polling::PanelName;

use super::get_panel::not_found;
use crate::prelude::*;

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
        rest: Some(Rest::delete("/api/panels/{name}")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["delete a panel", "remove a panel"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
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
