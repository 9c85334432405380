//! Rows of files and batches.

use std::time::Duration;

use ep_polling::agreement::Agreement;
use ep_polling::ballot::TokenUsage;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::{from_name, unreadable, user_id};
use crate::batch_id::{BatchId, FileId};
use crate::error::failed;
use crate::records::{
    AnswerCounts, AnswerRecord, BatchNotification, BatchRecord, FileRecord, RowAnswer, RowCounts, StoreError,
};

row! {
    /// A complete file.
    FileRow {
        id: String,
        user_id: String,
        name: String,
        bytes: i64,
        lines: i64,
        created_at: i64,
        expires_at: i64,
    }
}

row! {
    /// A number of rows, and their bytes together.
    TotalRow { count: i64, bytes: i64 }
}

row! {
    /// A file or batch and its owner.
    OwnedRow { id: String, user_id: String }
}

row! {
    /// The owner of a file that is being received, and the most that the owner's files may take.
    ReceivedFileRow { user_id: String, quota: i64 }
}

row! {
    /// The file of a reference. It has a digest once it is complete.
    RequestedFileRow { id: String, name: String, sha256: Option<String> }
}

row! {
    /// A part of a file: whole lines with their ends, and the number of the first one.
    ChunkRow { first: i64, lines: i64, content: String }
}

row! {
    /// A numbered text: the result of a row.
    LineRow { number: i64, content: String }
}

row! {
    /// A batch with the numbers of its rows and its cost.
    BatchRow {
        id: String,
        user_id: String,
        file: String,
        terms: String,
        status: String,
        total: i64,
        model: Option<String>,
        prompt_tokens: Option<i64>,
        completion_tokens: Option<i64>,
        completed: i64,
        failed: i64,
        spent: i64,
        notification_state: Option<String>,
        notification_error: Option<String>,
        held: i64,
        errors: Option<String>,
        shared: i64,
        created_at: i64,
        started_at: Option<i64>,
        cancelling_at: Option<i64>,
        ended_at: Option<i64>,
        expires_at: i64,
        keep_ms: i64,
    }
}

row! {
    /// An open batch, locked.
    LockedBatchRow {
        user_id: String,
        status: String,
        lines: i64,
        leased: i64,
        held: i64,
        key_id: Option<String>,
        day: Option<i64>,
        expires_at: i64,
        funder: Option<String>,
        frozen: i64,
        is_cut: i64,
        budget: Option<i64>,
    }
}

row! {
    /// The answer of a row.
    AnswerRow { number: i64, answer: Option<String>, agreement: i64, contested: i64, reviewed: Option<String> }
}

row! {
    /// The sizes of the results and the errors of a batch; null until they are measured.
    ResultsSizesRow { output_bytes: Option<i64>, error_bytes: Option<i64> }
}

row! {
    /// The numbers of answers of a batch.
    AnswerCountsRow { answers: i64, unanimous: i64, contested: i64, undecided: i64, reviewed: i64 }
}

row! {
    /// The caps of a key.
    KeyCapsRow { cap: Option<i64>, daily_cap: Option<i64> }
}

pub(crate) fn batch_id(text: &str) -> Result<BatchId, StoreError> {
    text.parse().map_err(failed)
}

pub(crate) fn file_id(text: &str) -> Result<FileId, StoreError> {
    text.parse().map_err(failed)
}

impl TryFrom<FileRow> for FileRecord {
    type Error = StoreError;

    fn try_from(row: FileRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: file_id(&row.id)?,
            user: user_id(&row.user_id)?,
            name: row.name,
            bytes: row.bytes.unsigned_abs(),
            lines: row.lines as u32,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        })
    }
}

fn notification(
    state: Option<&str>,
    last_error: Option<String>,
) -> Result<Option<BatchNotification>, StoreError> {
    let Some(state) = state else { return Ok(None) };
    let state = from_name(state).ok_or_else(|| unreadable("the state of a notification"))?;
    Ok(Some(BatchNotification { state, last_error }))
}

impl TryFrom<BatchRow> for BatchRecord {
    type Error = StoreError;

    fn try_from(row: BatchRow) -> Result<Self, StoreError> {
        let ended_at = row.ended_at.map(Timestamp::from_millis);
        let keep = Duration::from_millis(row.keep_ms.unsigned_abs());
        Ok(Self {
            id: batch_id(&row.id)?,
            user: user_id(&row.user_id)?,
            file: file_id(&row.file)?,
            terms: serde_json::from_str(&row.terms).map_err(failed)?,
            status: from_name(&row.status).ok_or_else(|| unreadable("the state of a batch"))?,
            rows: RowCounts {
                total: row.total as u32,
                completed: row.completed as u32,
                failed: row.failed as u32,
            },
            model: row.model,
            usage: row.prompt_tokens.zip(row.completion_tokens).map(|(prompt, completion)| TokenUsage {
                prompt_tokens: prompt.unsigned_abs(),
                completion_tokens: completion.unsigned_abs(),
            }),
            spent: MicroUsd::new(row.spent),
            held: MicroUsd::new(row.held),
            errors: row.errors.as_deref().map_or(Ok(Vec::new()), serde_json::from_str).map_err(failed)?,
            notification: notification(row.notification_state.as_deref(), row.notification_error)?,
            shared: row.shared != 0,
            created_at: Timestamp::from_millis(row.created_at),
            started_at: row.started_at.map(Timestamp::from_millis),
            cancelling_at: row.cancelling_at.map(Timestamp::from_millis),
            ended_at,
            expires_at: Timestamp::from_millis(row.expires_at),
            deleted_at: ended_at.map(|ended| ended.after(keep)),
        })
    }
}

impl TryFrom<AnswerRow> for AnswerRecord {
    type Error = StoreError;

    fn try_from(row: AnswerRow) -> Result<Self, StoreError> {
        let agreement = u32::try_from(row.agreement).ok().and_then(Agreement::from_number);
        let agreement = agreement.ok_or_else(|| unreadable("the agreement on an answer"))?;
        let answer = RowAnswer { option: row.answer, agreement, contested: row.contested != 0 };
        Ok(Self { number: row.number as u32, answer, reviewed: row.reviewed })
    }
}

impl From<AnswerCountsRow> for AnswerCounts {
    fn from(row: AnswerCountsRow) -> Self {
        Self {
            all: row.answers as u32,
            unanimous: row.unanimous as u32,
            contested: row.contested as u32,
            undecided: row.undecided as u32,
            reviewed: row.reviewed as u32,
        }
    }
}

row! {
    /// The cost of a row, and the number of other rows that are asked.
    RowCostRow { cost: Option<i64>, asked: i64 }
}
