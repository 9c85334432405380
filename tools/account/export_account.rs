//! `export_account`: exports the data stored about an account.

use super::export::{AccountExport, export_page};
use crate::paging::{MAX_LIMIT, check_limit, default_limit};
use crate::prelude::*;

/// Exports an account.
pub struct ExportAccount;

/// Cursor of a page of the export.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// Maximum number of entries in all lists of the page together; keys and sessions do not count.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl Tool for ExportAccount {
    const SPEC: Spec = Spec {
        name: "export_account",
        title: "Export your data",
        summary: "Returns everything stored about your account, a page at a time, without secrets. Free.",
        manual: include_str!("export_account.md"),
        example: r#"{ "limit": 20 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Disclose,
        rest: Some(Rest::get("/api/account/export")),
        agents: Agents::Set(ToolSet::Account),
        intents: &[
            "export my data",
            "download everything stored about my account",
            "what personal data do you have about me",
            "give me a copy of my data",
            "GDPR data export",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = ExportQuery;
    type Output = AccountExport;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, query: ExportQuery) -> Result<AccountExport, Fault> {
        check_limit(query.limit)?;
        export_page(cx.ports(), cx.account()?, query.cursor.as_deref(), query.limit).await
    }
}
