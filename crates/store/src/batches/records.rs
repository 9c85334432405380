//! Batches: many requests of an account, which the service works through in the background.

use crate::batches::{BatchId, FileId};

use std::time::Duration;

use ep_polling::{Agreement, Hold, MicroUsd, Timestamp, TokenUsage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{UnexpectedData, failed};
use crate::ids::{KeyId, UserId};
use crate::row::{Columns, FromRow, Json, Name, from_row};
use crate::store_error::Result;
use crate::webhooks::NotificationState;
use crate::webhooks::WebhookUrl;

ep_polling::words! {
    /// The state of a batch, in the words of OpenAI's API.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(inline)]
    pub enum BatchStatus {
        /// Its rows are being checked and priced.
        Validating = "validating",
        /// Its rows are being asked.
        InProgress = "in_progress",
        /// Its owner has cancelled it; rows that were begun are finished.
        Cancelling = "cancelling",
        /// All rows have ended.
        Completed = "completed",
        /// Its file has errors, or its cost could not be set aside; no row was asked.
        Failed = "failed",
        /// It was cancelled; some rows may have ended before.
        Cancelled = "cancelled",
        /// Its time was over; some rows may have ended before.
        Expired = "expired",
    }
}

impl BatchStatus {
    /// True if the batch has not ended.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Validating | Self::InProgress | Self::Cancelling)
    }
}

/// The terms of all rows of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchTerms {
    /// The path of the requests.
    pub endpoint: String,
    /// Arguments that apply to each row, unless the row has its own.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
    /// The most to spend for the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<MicroUsd>,
    /// Labels of the owner, up to 16.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An error in the file of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BatchError {
    /// A stable code.
    pub code: String,
    /// The number of the line, from 1; null if the error concerns the whole batch.
    pub line: Option<u32>,
    /// The problem, and what to do.
    pub message: String,
    /// The part of the line.
    pub param: Option<String>,
}

/// A batch to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBatch {
    /// Its id.
    pub id: BatchId,
    /// Its owner.
    pub user: UserId,
    /// The file of its rows.
    pub file: FileId,
    /// The terms of its rows.
    pub terms: BatchTerms,
    /// The key that pays, if its spending is capped.
    pub key: Option<KeyId>,
    /// The reference of the request. Each reference creates only one batch.
    pub request_ref: Option<String>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time after which no further row is begun.
    pub expires_at: Timestamp,
    /// The time for which the results are stored after the end.
    pub keep: Duration,
    /// URL for the end notification. `None` for the URL of the owner's webhook, if any.
    pub notify: Option<WebhookUrl>,
}

/// The numbers of rows of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RowCounts {
    /// All rows; 0 before they are counted.
    pub total: u32,
    /// Rows with a result.
    pub completed: u32,
    /// Rows with an error.
    pub failed: u32,
}

/// A batch as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRecord {
    /// Its id.
    pub id: BatchId,
    /// Its owner.
    pub user: UserId,
    /// The file of its rows.
    pub file: FileId,
    /// The terms of its rows.
    pub terms: BatchTerms,
    /// Its state.
    pub status: BatchStatus,
    /// The numbers of its rows.
    pub rows: RowCounts,
    /// The model that all its rows name, once they are checked; `None` if they name several, or none.
    pub model: Option<String>,
    /// The tokens of its rows with a result, once it has ended.
    pub usage: Option<TokenUsage>,
    /// The cost of its ended polls.
    pub spent: MicroUsd,
    /// The money set aside for rows that have not ended, including the holds of their polls.
    pub held: MicroUsd,
    /// The errors of a failed batch.
    pub errors: Vec<BatchError>,
    /// The notification of its end, if its owner wants one.
    pub notification: Option<BatchNotification>,
    /// True if everyone with the link may read its page.
    pub shared: bool,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time at which its rows were first asked.
    pub started_at: Option<Timestamp>,
    /// The time of its cancellation.
    pub cancelling_at: Option<Timestamp>,
    /// The time of its end.
    pub ended_at: Option<Timestamp>,
    /// The time after which no further row is begun.
    pub expires_at: Timestamp,
    /// The time at which it is deleted with its results, once it has ended.
    pub deleted_at: Option<Timestamp>,
}

/// The notification of a batch as shown to its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BatchNotification {
    /// Its state.
    pub state: NotificationState,
    /// The error of the last attempt.
    pub last_error: Option<String>,
}

impl BatchRecord {
    /// Returns the file of the results, once the batch has ended with some.
    pub fn output_file(&self) -> Option<FileId> {
        (self.ended_at.is_some() && self.rows.completed > 0).then_some(FileId::Output(self.id))
    }

    /// Returns the file of the errors, once the batch has ended with some.
    pub fn error_file(&self) -> Option<FileId> {
        (self.ended_at.is_some() && self.rows.failed > 0).then_some(FileId::Errors(self.id))
    }
}

/// The results of a batch to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Rows with a result.
    Completed,
    /// Rows with an error.
    Failed,
}

/// The rows of a batch after their check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedRows {
    /// The number of lines of their file.
    pub lines: u32,
    /// The number of rows.
    pub total: u32,
    /// The model that all of them name; `None` if they name several, or none.
    pub model: Option<String>,
}

/// The result of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowResult {
    /// A line of JSON.
    pub line: String,
    /// The answer, if the row has one poll.
    pub answer: Option<RowAnswer>,
    /// The tokens of its models.
    pub usage: TokenUsage,
}

/// The answer of a row with one poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAnswer {
    /// The option that its poll decided; `None` on a tie or without votes.
    pub option: Option<String>,
    /// The agreement of the models on it; none without an option.
    pub agreement: Agreement,
    /// True if the result of the poll is contested.
    pub contested: bool,
}

/// A stored answer, and the review of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRecord {
    /// The number of the row.
    pub number: u32,
    /// The answer of the models.
    pub answer: RowAnswer,
    /// The option that a person chose.
    pub reviewed: Option<String>,
}

/// The numbers of answers of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AnswerCounts {
    /// Rows with one poll that have a result.
    pub all: u32,
    /// Rows on which every model that was asked agrees.
    pub unanimous: u32,
    /// Rows with a contested result.
    pub contested: u32,
    /// Rows without an answer: ties, and polls without votes.
    pub undecided: u32,
    /// Rows that a person has reviewed.
    pub reviewed: u32,
}

/// The limits of an account's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Open batches.
    pub open: u32,
    /// Bytes of stored results of ended batches.
    pub results_bytes: u64,
    /// Failed batches that stay when another batch is created: the newest ones.
    pub failed: u32,
}

/// The end of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowEnd {
    /// It has a result.
    Completed(RowResult),
    /// It has an error: a line of JSON.
    Failed(String),
    /// It was not asked, because the batch ended before: a line of JSON with the error.
    NotAsked(String),
    /// The line is blank, and so no row.
    Blank,
}

/// Rows that a worker has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedRows {
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// The state in which the batch will end, if it is cancelled or over: rows without a poll are not asked any more.
    pub ending: Option<BatchStatus>,
}

/// The money of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchMoney {
    /// Money of the account, which is set aside.
    Hold(Hold),
    /// None, because polls are not charged. The maximum to spend, if there is one.
    Budget(Option<MicroUsd>),
}

/// The outcome of reserving a part of the budget of a batch for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBudget {
    /// The row can be asked.
    Reserved,
    /// The budget has too little until a row that is asked has ended.
    Waits,
    /// The budget has too little.
    UsedUp,
}

/// The outcome of starting a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStart {
    /// Its rows can be asked.
    Started,
    /// It is not being validated any more; nothing changed.
    Ended,
}

impl FromRow for BatchRecord {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (id, user, file) = columns.get()?;
        let (terms, status, total) = (columns.json()?, columns.name()?, columns.get()?);
        let model = columns.get()?;
        let (prompt, completion): (Option<u64>, Option<u64>) = columns.get()?;
        let (completed, failed_rows, spent) = columns.get()?;
        let (notification, last_error): (Option<Name<NotificationState>>, _) = columns.get()?;
        let (held, errors, shared): (_, Option<Json<Vec<BatchError>>>, _) = columns.get()?;
        let (created_at, started_at, cancelling_at) = columns.get()?;
        let (ended_at, expires_at, keep): (Option<Timestamp>, _, Duration) = columns.get()?;
        Ok(Self {
            id,
            user,
            file,
            terms,
            status,
            rows: RowCounts { total, completed, failed: failed_rows },
            model,
            usage: prompt
                .zip(completion)
                .map(|(prompt_tokens, completion_tokens)| TokenUsage { prompt_tokens, completion_tokens }),
            spent,
            held,
            errors: errors.map(|Json(errors)| errors).unwrap_or_default(),
            notification: notification.map(|Name(state)| BatchNotification { state, last_error }),
            shared,
            created_at,
            started_at,
            cancelling_at,
            ended_at,
            expires_at,
            deleted_at: ended_at.map(|ended| ended.after(keep)),
        })
    }
}

impl FromRow for AnswerRecord {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (number, option, agreement): (_, _, u32) = columns.get()?;
        let agreement = Agreement::from_number(agreement);
        let agreement = agreement.ok_or_else(|| failed(UnexpectedData::Value("an agreement")))?;
        let answer = RowAnswer { option, agreement, contested: columns.get()? };
        Ok(Self { number, answer, reviewed: columns.get()? })
    }
}

from_row!(AnswerCounts { all, unanimous, contested, undecided, reviewed });
