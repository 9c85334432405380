//! `get_batch_review`: the rows of a batch that a person should check.

use std::fmt;
use std::str::FromStr;

use ep_kernel::batches::line::custom_id_of_result;
use ep_polling::text::single_line;
use ep_polling::{Agreement, NamedTally};
use ep_store::{AnswerCounts, AnswerRecord, BatchId, BatchRecord, BatchStatus, RowCounts, RowKind};
use schemars::Schema;

use super::readable_batch;
use crate::paging::{MAX_LIMIT, check_limit, default_limit, malformed_cursor};
use crate::prelude::*;

/// Reads the review queue of a batch.
pub struct GetBatchReview;

/// The part of the queue to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReviewPage {
    /// The batch's id.
    #[schemars(with = "BatchId")]
    pub batch_id: String,
    /// Maximum number of rows.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
    /// `next_cursor` of the page before.
    #[schemars(transform = ReviewCursor::describe)]
    pub cursor: Option<String>,
}

/// The agreement of the models on the rows of a batch, and the rows to check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchReview {
    /// The batch's id.
    pub batch_id: BatchId,
    /// Its title: `name` in its metadata, or the name of its file.
    pub title: Option<String>,
    /// The state. Until the batch has ended, more rows can follow.
    pub status: BatchStatus,
    /// True if everyone with the link can read this.
    pub shared: bool,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// The numbers of rows.
    pub rows: RowCounts,
    /// The numbers of answers.
    pub answers: AnswerCounts,
    /// Rows that nobody has reviewed, those in most doubt first.
    pub queue: Vec<ReviewRow>,
    /// Cursor of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// A row to check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewRow {
    /// The number of the row.
    pub row: u32,
    /// The name of the row.
    pub custom_id: String,
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// Votes per option.
    pub tally: NamedTally,
    /// The answer of the models; null on a tie or without votes.
    pub answer: Option<String>,
    /// True if the result is contested.
    pub contested: bool,
    /// Cursor that continues after this row.
    pub cursor: String,
}

impl ToolOutput for BatchReview {}

/// The position after a row of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReviewCursor(Agreement, u32);

impl ReviewCursor {
    const fn after(record: &AnswerRecord) -> Self {
        Self(record.answer.agreement, record.number)
    }

    fn describe(schema: &mut Schema) {
        schema.insert("pattern".to_owned(), "^[0-9]{1,7}\\.[0-9]{1,7}$".into());
    }
}

impl fmt::Display for ReviewCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.number(), self.1)
    }
}

impl FromStr for ReviewCursor {
    type Err = Fault;

    fn from_str(cursor: &str) -> Result<Self, Fault> {
        let read = || {
            let (agreement, number) = cursor.split_once('.')?;
            let agreement = agreement.parse().ok()?;
            Some(Self(Agreement::from_number(agreement).unwrap_or(Agreement::FULL), number.parse().ok()?))
        };
        read().ok_or_else(malformed_cursor)
    }
}

impl Tool for GetBatchReview {
    const SPEC: Spec = Spec {
        name: "get_batch_review",
        title: "Read the review queue of a batch",
        summary: "Returns how far the models agree on the rows of a batch, and the rows that a person should check, those in \
                  most doubt first. Free.",
        manual: include_str!("get_batch_review.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c", "limit": 5 }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rate: Rate::Results,
        rest: Some(Rest::get("/api/batches/{batch_id}/review")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &[
            "which rows of my batch should a person check",
            "doubtful rows of a batch",
            "how far do the models agree on my batch",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = ReviewPage;
    type Output = BatchReview;

    async fn call(cx: &Ctx, page: ReviewPage) -> Result<BatchReview, Fault> {
        check_limit(page.limit)?;
        let after: Option<ReviewCursor> = page.cursor.map(|cursor| cursor.parse()).transpose()?;
        let batch = readable_batch(cx, &page.batch_id).await?;
        let after = after.map(|ReviewCursor(agreement, number)| (agreement, number));
        let mut found = cx.store().answers_to_review(batch.id, after, page.limit + 1).await?;
        let more = found.len() > page.limit as usize;
        found.truncate(page.limit as usize);
        let next_cursor = found.last().filter(|_| more).map(|last| ReviewCursor::after(last).to_string());
        let mut queue = Vec::with_capacity(found.len());
        for answer in found {
            queue.extend(review_row(cx, &batch, answer).await?);
        }
        Ok(BatchReview {
            batch_id: batch.id,
            title: title(cx, &batch).await?,
            status: batch.status,
            shared: batch.shared,
            simulated: is_simulated(cx, &batch).await?,
            rows: batch.rows,
            answers: cx.store().answer_counts(batch.id).await?,
            queue,
            next_cursor,
        })
    }
}

/// True if the voters of the first answer are simulated. A service has simulated voters only, or none.
async fn is_simulated(cx: &Ctx, batch: &BatchRecord) -> Result<bool, Fault> {
    let Some(first) = cx.store().answers(batch.id, 0, 1).await?.into_iter().next() else { return Ok(false) };
    let poll = cx.polls().only_poll_of(&batch.id.reference(first.number)).await?;
    Ok(poll.is_some_and(|poll| poll.record.plan.simulated))
}

/// Returns the title of a batch, or `None` if its file was deleted.
async fn title(cx: &Ctx, batch: &BatchRecord) -> Result<Option<String>, Fault> {
    if let Some(name) = batch.terms.metadata.get("name").and_then(|name| name.as_str()) {
        return Ok(Some(single_line(name)).filter(|name| !name.is_empty()));
    }
    match cx.batches().file(batch.user, batch.file).await {
        Ok(file) => Ok(Some(single_line(&file.name))),
        Err(fault) if fault.kind() == Kind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Returns a row as people see it; `None` if its poll was deleted.
async fn review_row(cx: &Ctx, batch: &BatchRecord, record: AnswerRecord) -> Result<Option<ReviewRow>, Fault> {
    let cursor = ReviewCursor::after(&record).to_string();
    let AnswerRecord { number, answer, .. } = record;
    let Some(poll) = cx.polls().only_poll_of(&batch.id.reference(number)).await? else { return Ok(None) };
    let lines = cx.batches().results(batch, RowKind::Completed, number.saturating_sub(1), 1).await?;
    let line = lines.into_iter().find(|(found, _)| *found == number);
    let named = line.and_then(|(_, line)| custom_id_of_result(&line));
    let plan = &poll.record.plan;
    Ok(Some(ReviewRow {
        row: number,
        custom_id: named.unwrap_or_else(|| number.to_string()),
        question: plan.question.to_string(),
        options: plan.options.clone(),
        tally: poll.tally().named(&plan.options),
        answer: answer.option,
        contested: answer.contested,
        cursor,
    }))
}
