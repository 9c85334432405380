//! A stored evaluation, as the operations show it.

use ep_kernel::fault::shown;
use ep_kernel::tool::ToolOutput;
use ep_kernel::{Ctx, Fault, Kind};
use ep_polling::Timestamp;
use ep_store::{EvaluationId, EvaluationRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the page of an evaluation.
pub const EVALUATION_PAGE: &str = "evaluation_page";

/// A stored evaluation without its report.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoredEvaluation {
    /// Its id.
    pub evaluation_id: EvaluationId,
    /// Its title.
    pub title: String,
    /// True if everyone with the link can read it.
    pub shared: bool,
    /// The time when it was stored.
    pub created_at: Timestamp,
    /// The URL of its page.
    pub page_url: Option<String>,
}

impl ToolOutput for StoredEvaluation {}

impl StoredEvaluation {
    /// Describes an evaluation.
    pub fn of(cx: &Ctx, record: &EvaluationRecord) -> Self {
        let (id, links) = (record.id.to_string(), cx.links());
        Self {
            evaluation_id: record.id,
            title: record.name.clone(),
            shared: record.shared,
            created_at: record.created_at,
            page_url: links
                .has(EVALUATION_PAGE)
                .then(|| links.url(EVALUATION_PAGE, &[("evaluation_id", &id)])),
        }
    }
}

/// Reads an id. An invalid one names no evaluation.
pub(super) fn id_of(text: &str) -> Result<EvaluationId, Fault> {
    text.parse().map_err(|_| not_found(text))
}

/// Returns the fault for an id that names no evaluation that the caller may read.
pub(super) fn not_found(id: &str) -> Fault {
    let id = shown(id, 64);
    Fault::new(
        Kind::NotFound,
        format!("there is no evaluation {id} that you may read; list_evaluations lists yours"),
    )
}
