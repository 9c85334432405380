//! The state of a batch, as the operations show it.

use ep_kernel::Ctx;
use ep_kernel::tool::{Presentation, ToolOutput};
use ep_polling::{Timestamp, Usd};
use ep_store::{BatchError, BatchId, BatchNotification, BatchRecord, BatchStatus, RowCounts, TaskState};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of errors in the facts.
const SHOWN_ERRORS: usize = 5;

/// The name of the page of a batch.
pub const BATCH_PAGE: &str = "batch_page";

/// A batch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchState {
    /// The batch's id.
    pub batch_id: BatchId,
    /// The state. `completed`: every row has a result or an error. `failed`: no row was asked; see `errors`.
    pub status: BatchStatus,
    /// The path of the rows' requests.
    pub endpoint: String,
    /// The numbers of rows.
    pub rows: RowCounts,
    /// The cost of ended polls, in USD.
    pub cost_usd: Usd,
    /// The money set aside for rows that have not ended, in USD; zero where polls are not charged.
    pub held_usd: Usd,
    /// The most to spend, in USD; null for the worst case of all rows.
    #[schemars(with = "Option<f64>")]
    pub max_cost_usd: Option<Usd>,
    /// The errors of a failed batch.
    pub errors: Vec<BatchError>,
    /// The notification of its end; null if there is none.
    pub notification: Option<BatchNotification>,
    /// Your labels.
    pub metadata: Map<String, Value>,
    /// The id of the file of its rows.
    pub input_file_id: String,
    /// The id of the file of results; null until a batch with results has ended.
    pub output_file_id: Option<String>,
    /// The id of the file of errors; null until a batch with errors has ended.
    pub error_file_id: Option<String>,
    /// True if everyone with the link can read its page.
    pub shared: bool,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time at which its rows were first asked.
    pub started_at: Option<Timestamp>,
    /// The time of its end.
    pub ended_at: Option<Timestamp>,
    /// The time after which no further row is begun.
    pub expires_at: Timestamp,
    /// The time at which the batch and its results are deleted; null until it has ended.
    pub deleted_at: Option<Timestamp>,
    /// The URL of this state.
    pub status_url: Option<String>,
    /// The URL of its page, with the rows to review.
    pub page_url: Option<String>,
}

/// Returns a state in words for people.
pub const fn status_text(status: BatchStatus) -> &'static str {
    match status {
        BatchStatus::Validating => "Checking the rows",
        BatchStatus::InProgress => "Asking",
        BatchStatus::Cancelling => "Cancelling",
        BatchStatus::Completed => "Completed",
        BatchStatus::Failed => "Failed: no row was asked",
        BatchStatus::Cancelled => "Cancelled",
        BatchStatus::Expired => "Expired: not all rows were asked in time",
    }
}

impl ToolOutput for BatchState {
    fn presentation(&self) -> Presentation {
        let state = TaskState::of_batch(self.status);
        let shown = Presentation { location: self.status_url.clone(), ..Presentation::default() };
        shown
            .task(self.batch_id, self.ended_at.unwrap_or(self.created_at))
            .running(!state.is_final())
            .failed(state == TaskState::Failed)
            .cancelled(state == TaskState::Canceled)
            .summary(self.sentence())
            .facts(self.facts())
    }
}

impl BatchState {
    /// Returns the next step, the addresses and the errors, a line each.
    fn facts(&self) -> String {
        let step = match (self.ended_at.is_some(), self.status) {
            (_, BatchStatus::Failed) => "Correct the errors, and create another batch.",
            (true, _) => "get_batch_results returns the answers.",
            (false, _) => {
                "Read the state again with get_batch in a few seconds; get_batch_results returns the answers so far."
            }
        };
        let page = self.page_url.as_ref().map(|url| format!("Page with the rows in doubt: {url}"));
        let files = [("Results", &self.output_file_id), ("Errors", &self.error_file_id)];
        let files = files.into_iter().filter_map(|(name, id)| Some(format!("{name}: file {}", id.as_ref()?)));
        let errors = self.errors.iter().take(SHOWN_ERRORS).map(|error| match error.line {
            Some(line) => format!("Line {line}: {}", error.message),
            None => error.message.clone(),
        });
        let lines = [Some(step.to_owned()), page].into_iter().flatten().chain(files).chain(errors);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the state in a sentence.
    fn sentence(&self) -> String {
        let Self { batch_id, rows: RowCounts { total, completed, failed }, cost_usd: Usd(cost), .. } = self;
        let counts = match failed {
            0 => format!("{completed} of {total} rows have a result"),
            1 => format!("{completed} of {total} rows have a result and 1 has an error"),
            _ => format!("{completed} of {total} rows have a result and {failed} have an error"),
        };
        let counts = if *total == 0 { "no row was asked".to_owned() } else { counts };
        match self.status {
            BatchStatus::Validating => format!("The rows of {batch_id} are being checked and priced."),
            BatchStatus::InProgress => format!("{batch_id} is in progress: {counts}. It has cost {cost}."),
            BatchStatus::Cancelling => {
                format!(
                    "{batch_id} is being cancelled; rows that were begun are finished: {counts}. It has cost {cost}."
                )
            }
            BatchStatus::Completed => format!("{batch_id} is completed: {counts}. It cost {cost}."),
            BatchStatus::Cancelled => format!("{batch_id} was cancelled: {counts}. It cost {cost}."),
            BatchStatus::Expired => {
                format!("The time of {batch_id} is over: {counts}. It cost {cost}.")
            }
            BatchStatus::Failed => format!("{batch_id} failed, and no row was asked."),
        }
    }

    /// Describes a batch.
    pub fn of(cx: &Ctx, batch: &BatchRecord) -> Self {
        let id = batch.id.to_string();
        let links = cx.links();
        Self {
            batch_id: batch.id,
            status: batch.status,
            endpoint: batch.terms.endpoint.clone(),
            rows: batch.rows,
            cost_usd: Usd(batch.spent),
            held_usd: Usd(batch.held),
            max_cost_usd: batch.terms.max_cost.map(Usd),
            errors: batch.errors.clone(),
            notification: batch.notification.clone(),
            metadata: batch.terms.metadata.clone(),
            input_file_id: batch.file.to_string(),
            output_file_id: batch.output_file().map(|file| file.to_string()),
            error_file_id: batch.error_file().map(|file| file.to_string()),
            shared: batch.shared,
            created_at: batch.created_at,
            started_at: batch.started_at,
            ended_at: batch.ended_at,
            expires_at: batch.expires_at,
            deleted_at: batch.deleted_at,
            status_url: links.has("get_batch").then(|| links.url("get_batch", &[("batch_id", &id)])),
            page_url: links.has(BATCH_PAGE).then(|| links.url(BATCH_PAGE, &[("batch_id", &id)])),
        }
    }
}
