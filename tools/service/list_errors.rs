//! `list_errors`: lists every error code and its recovery actions.

use std::time::Duration;

use ep_kernel::RecoveryAction;

use crate::prelude::*;

/// Lists the errors.
pub struct ListErrors;

/// A kind of error, in the terms of problem details (RFC 9457).
#[derive(Debug, Serialize, JsonSchema)]
pub struct CatalogEntry {
    /// The URI of the problem type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The title of the problem type.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// True if the same request may succeed later, unchanged.
    pub retryable: bool,
    /// The recovery actions for the caller.
    pub recovery_actions: Vec<RecoveryAction>,
}

/// The catalogue of errors.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Catalog {
    /// Every kind of error.
    pub errors: Vec<CatalogEntry>,
}

impl ToolOutput for Catalog {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_hours(1))
    }
}

impl Tool for ListErrors {
    const SPEC: Spec = Spec {
        name: "list_errors",
        title: "List the errors",
        summary: "Lists every error code with its HTTP status and its recovery actions.",
        manual: include_str!("list_errors.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/errors/catalog")),
        agents: Agents::None,
        intents: &[
            "what does this error mean",
            "the catalogue of errors",
            "explain an error code",
            "list all error codes",
            "how do I recover from an error",
            "possible errors and how to handle them",
            "why do I get this error",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Catalog;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Catalog, Fault> {
        let links = cx.links();
        let can_occur = |kind: &Kind| *kind != Kind::InsufficientBalance || cx.settings().billing;
        let errors = Kind::all().filter(can_occur).map(Kind::row).map(|row| CatalogEntry {
            kind: row.kind.uri(links),
            title: row.title,
            status: row.http,
            code: row.code,
            retryable: row.retryable,
            recovery_actions: row
                .recovery
                .iter()
                .flat_map(|recovery| RecoveryAction::of(recovery, links, None))
                .collect(),
        });
        Ok(Catalog { errors: errors.collect() })
    }
}
