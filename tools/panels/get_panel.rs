//! `get_panel`: reads a panel of the caller's account.

use ep_polling::PanelName;

use super::view::Panel;
use crate::prelude::*;

/// Reads a panel.
pub struct GetPanel;

/// The panel to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PanelQuery {
    /// Its name.
    pub name: PanelName,
    /// Its version (default the newest).
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
}

impl ToolOutput for Panel {}

impl Tool for GetPanel {
    const SPEC: Spec = Spec {
        name: "get_panel",
        title: "Get a panel",
        summary: "Returns the models and rules of a panel of your account. Free.",
        manual: include_str!("get_panel.md"),
        example: r#"{ "name": "support-tickets" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/panels/{name}")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["show the members of my panel", "read an earlier version of a panel", "rules of my panel"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = PanelQuery;
    type Output = Panel;

    async fn call(cx: &Ctx, PanelQuery { name, version }: PanelQuery) -> Result<Panel, Fault> {
        let found = cx.store().panel(cx.account()?, &name, version).await?;
        found.map(Into::into).ok_or_else(|| not_found(&name, version))
    }
}

/// Returns the fault for a panel that the account does not have.
pub(super) fn not_found(name: &PanelName, version: Option<u32>) -> Fault {
    let wanted = version.map_or_else(|| name.to_string(), |version| format!("{name}@{version}"));
    Fault::new(Kind::NotFound, format!("this account has no panel {wanted}; list_panels lists its panels"))
}
