//! The data stored about an account, in pages.

use std::fmt;
use std::str::FromStr;

use ep_kernel::caller::UserId;
use ep_kernel::ctx::ToolPorts;
use ep_kernel::executor::PollState;
use ep_kernel::fault::Fault;
use ep_kernel::ports::{AccountRecord, NumberedTransfer, OwnFeedback, TaskRecord, TransferRecord};
use ep_kernel::tool::ToolOutput;
use ep_polling::ballot::{Ballot, Reason};
use ep_polling::money::Usd;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::feedback::ListedFeedback;
use crate::keys::ListedKey;
use crate::paging::{MAX_LIMIT, PollCursor, malformed_cursor};
use crate::webhooks::Notification;

/// A page of an account's stored data.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct AccountExport {
    /// The account; null after the first page.
    pub account: Option<AccountRecord>,
    /// Its API keys, without the keys themselves; only on the first page.
    pub keys: Vec<ListedKey>,
    /// Amounts added to and taken from the account, oldest first.
    pub transfers: Vec<TransferRecord>,
    /// Its polls, newest first.
    pub polls: Vec<ExportedPoll>,
    /// Its feedback on polls.
    pub feedback: Vec<ExportedFeedback>,
    /// Notifications about completed polls.
    pub notifications: Vec<Notification>,
    /// The tasks of its agents (A2A).
    pub tasks: Vec<TaskRecord>,
    /// Cursor of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// Feedback on one poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedFeedback {
    /// The poll.
    pub poll_id: PollId,
    /// The feedback.
    #[serde(flatten)]
    pub entry: ListedFeedback,
}

/// A poll, with every vote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedPoll {
    /// The poll's id.
    pub poll_id: PollId,
    /// The time it was accepted.
    pub created_at: Timestamp,
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// True if only its owner may read it.
    pub private: bool,
    /// The preset that chose its models; null if the request named them.
    pub preset: Option<String>,
    /// The confidence at which it could stop early.
    pub confidence_threshold: f64,
    /// The maximum cost, in USD.
    #[schemars(with = "f64")]
    pub max_cost_usd: Usd,
    /// The models on its roster, in roster order.
    pub models: Vec<String>,
    /// The responses, in order of arrival.
    pub votes: Vec<ExportedVote>,
    /// Outcome; null while it runs.
    pub end: Option<ExportedEnd>,
}

/// A model's response.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedVote {
    /// The model that was asked.
    pub model_id: String,
    /// The model that responded, if the upstream names another one.
    pub answered_by: Option<String>,
    /// The chosen option; null without a vote.
    pub option: Option<String>,
    /// The reason for the missing vote; null with a vote.
    pub reason: Option<Reason>,
    /// The reason in words.
    pub detail: Option<String>,
    /// The order in which the model saw the options, as zero-based indices into `options`.
    pub option_order: Vec<u32>,
    /// Response time of the model, in milliseconds.
    pub latency_ms: u32,
    /// Time of its response, in milliseconds since the first call.
    pub at_ms: u32,
    /// Cost, in USD.
    #[schemars(with = "f64")]
    pub cost_usd: Usd,
}

/// Outcome of a poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedEnd {
    /// Time of its end.
    pub closed_at: Timestamp,
    /// The rule that ended it; null if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// True if its owner cancelled it.
    pub cancelled: bool,
    /// Duration, in milliseconds.
    pub total_ms: u64,
    /// Cost of responses that came too late to count, in USD; null until known.
    #[schemars(with = "Option<f64>")]
    pub unused_calls_cost_usd: Option<Usd>,
}

impl ToolOutput for AccountExport {}

impl From<OwnFeedback> for ExportedFeedback {
    fn from(OwnFeedback { poll_id, entry }: OwnFeedback) -> Self {
        Self { poll_id, entry: entry.into() }
    }
}

impl From<&PollState> for ExportedPoll {
    fn from(state: &PollState) -> Self {
        let record = &state.record;
        let plan = &record.plan;
        let end = record.closing.as_ref().map(|closing| ExportedEnd {
            closed_at: closing.closed_at,
            termination_reason: closing.reason,
            cancelled: closing.cancelled,
            total_ms: closing.total_ms,
            unused_calls_cost_usd: closing.unused_calls_cost.map(Usd),
        });
        Self {
            poll_id: record.id.clone(),
            created_at: record.created_at,
            question: plan.question.to_string(),
            options: plan.options.clone(),
            private: plan.private,
            preset: plan.preset.clone(),
            confidence_threshold: plan.threshold.get(),
            max_cost_usd: Usd(plan.budget.amount()),
            models: plan.roster.iter().map(|member| member.model.to_string()).collect(),
            votes: state.ballots.iter().map(|ballot| ExportedVote::new(ballot, &plan.options)).collect(),
            end,
        }
    }
}

impl ExportedVote {
    fn new(ballot: &Ballot, options: &[String]) -> Self {
        let (option, no_vote) = match &ballot.vote {
            Ok(option) => (options.get(*option).cloned(), None),
            Err(no_vote) => (None, Some(no_vote)),
        };
        Self {
            model_id: ballot.model.to_string(),
            answered_by: ballot.answered_by.clone(),
            option,
            reason: no_vote.map(|no_vote| no_vote.reason),
            detail: no_vote.map(|no_vote| no_vote.detail.clone()),
            option_order: ballot.option_order.iter().map(|position| *position as u32).collect(),
            latency_ms: ballot.latency_ms,
            at_ms: ballot.at_ms,
            cost_usd: Usd(ballot.spend.amount),
        }
    }
}

/// The start of a page: the entry after this key in one of the lists. The variants are in list order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExportCursor {
    Transfers(i64),
    Polls(Option<PollCursor>),
    Feedback(String),
    Notifications(String),
    Tasks(String),
}

impl fmt::Display for ExportCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfers(number) => write!(f, "transfers.{number}"),
            Self::Polls(None) => f.write_str("polls."),
            Self::Polls(Some(cursor)) => write!(f, "polls.{cursor}"),
            Self::Feedback(poll) => write!(f, "feedback.{poll}"),
            Self::Notifications(poll) => write!(f, "notifications.{poll}"),
            Self::Tasks(task) => write!(f, "tasks.{task}"),
        }
    }
}

impl FromStr for ExportCursor {
    type Err = Fault;

    fn from_str(cursor: &str) -> Result<Self, Fault> {
        let (list, key) = cursor.split_once('.').ok_or_else(malformed_cursor)?;
        Ok(match list {
            "transfers" => Self::Transfers(key.parse().map_err(|_| malformed_cursor())?),
            "polls" if key.is_empty() => Self::Polls(None),
            "polls" => Self::Polls(Some(key.parse()?)),
            "feedback" => Self::Feedback(key.to_owned()),
            "notifications" => Self::Notifications(key.to_owned()),
            "tasks" => Self::Tasks(key.to_owned()),
            _ => return Err(malformed_cursor()),
        })
    }
}

impl ExportCursor {
    /// Returns the start of the next list.
    const fn next_list(&self) -> Option<Self> {
        match self {
            Self::Transfers(_) => Some(Self::Polls(None)),
            Self::Polls(_) => Some(Self::Feedback(String::new())),
            Self::Feedback(_) => Some(Self::Notifications(String::new())),
            Self::Notifications(_) => Some(Self::Tasks(String::new())),
            Self::Tasks(_) => None,
        }
    }
}

/// Returns a page of an account's data with at most `limit` entries in all lists. The tool, the account page
/// and the operator's command share this function.
pub async fn export_page(
    ports: &ToolPorts,
    user: UserId,
    cursor: Option<&str>,
    limit: u32,
) -> Result<AccountExport, Fault> {
    let account = ports.account_data.own_account(user).await?;
    let mut export = AccountExport::default();
    let mut position = if let Some(cursor) = cursor {
        cursor.parse()?
    } else {
        export.account = Some(account);
        export.keys = ports.keys.of_user(user).await?.into_iter().map(Into::into).collect();
        ExportCursor::Transfers(0)
    };
    let mut room = limit;
    loop {
        let (count, last) = fill(ports, user, &position, room, &mut export).await?;
        if count == room {
            export.next_cursor = last.map(|last| last.to_string());
            return Ok(export);
        }
        room -= count;
        match position.next_list() {
            Some(next) => position = next,
            None => return Ok(export),
        }
    }
}

/// Returns the data of all pages; see [`export_page`].
pub async fn whole_export(ports: &ToolPorts, user: UserId) -> Result<AccountExport, Fault> {
    let mut whole = export_page(ports, user, None, MAX_LIMIT).await?;
    while let Some(cursor) = whole.next_cursor.take() {
        let page = export_page(ports, user, Some(&cursor), MAX_LIMIT).await?;
        whole.transfers.extend(page.transfers);
        whole.polls.extend(page.polls);
        whole.feedback.extend(page.feedback);
        whole.notifications.extend(page.notifications);
        whole.tasks.extend(page.tasks);
        whole.next_cursor = page.next_cursor;
    }
    Ok(whole)
}

/// Adds up to `room` entries of one list. Returns their number and the cursor after the last one.
async fn fill(
    ports: &ToolPorts,
    user: UserId,
    position: &ExportCursor,
    room: u32,
    export: &mut AccountExport,
) -> Result<(u32, Option<ExportCursor>), Fault> {
    let store = ports.account_data.store();
    let (count, last) = match position {
        ExportCursor::Transfers(after) => {
            let found = store.transfers_after(user, *after, room).await?;
            let read = (found.len(), found.last().map(|found| ExportCursor::Transfers(found.number)));
            export.transfers.extend(found.into_iter().map(|NumberedTransfer { transfer, .. }| transfer));
            read
        }
        ExportCursor::Polls(after) => {
            let after = after.as_ref().map(|after| (after.at, &after.id));
            let found = ports.history.polls_after(user, room, after).await?;
            for poll in &found {
                // The poll may have been deleted in the meantime.
                let state = ports.polls.stored(&poll.id).await?;
                export.polls.extend(state.as_ref().map(Into::into));
            }
            let last = found.last().map(|poll| PollCursor { at: poll.created_at, id: poll.id.clone() });
            let last = last.map(|last| ExportCursor::Polls(Some(last)));
            (found.len(), last)
        }
        ExportCursor::Feedback(after) => {
            let found = store.feedback_after(user, after, room).await?;
            let read =
                (found.len(), found.last().map(|found| ExportCursor::Feedback(found.poll_id.to_string())));
            export.feedback.extend(found.into_iter().map(Into::into));
            read
        }
        ExportCursor::Notifications(after) => {
            let found = store.notifications_after(user, after, room).await?;
            let read =
                (found.len(), found.last().map(|found| ExportCursor::Notifications(found.poll.to_string())));
            export.notifications.extend(found.into_iter().map(Into::into));
            read
        }
        ExportCursor::Tasks(after) => {
            let found = store.tasks_after(user, after, room).await?;
            let read = (found.len(), found.last().map(|found| ExportCursor::Tasks(found.id.clone())));
            export.tasks.extend(found);
            read
        }
    };
    Ok((count as u32, last))
}

#[cfg(test)]
mod tests {
    use ep_kernel::caller::Caller;
    use ep_kernel::fault::Kind;
    use serde_json::{Value, json};

    use super::super::ExportAccount;
    use crate::polls::PollQuestion;
    use crate::testing::Service;

    async fn export(service: &Service, user: &Caller, input: Value) -> Value {
        service.call::<ExportAccount>(user, input).await.unwrap().value
    }

    #[tokio::test]
    async fn pages_of_any_size_contain_every_entry_once() {
        let service = Service::start().await;
        let user = service.user().await;
        for number in 0..3 {
            let request = json!({ "question": format!("Which of the two is better, {number}?"), "options": ["Alpha", "Beta"] });
            service.call::<PollQuestion>(&user, request).await.unwrap();
        }
        let whole = export(&service, &user, json!({ "limit": 100 })).await;
        assert_eq!((&whole["next_cursor"], whole["polls"].as_array().unwrap().len()), (&Value::Null, 3));
        assert!(!whole["polls"][0]["votes"].as_array().unwrap().is_empty());
        for limit in 1..=4 {
            let mut page = export(&service, &user, json!({ "limit": limit })).await;
            let account = page["account"].take();
            assert_eq!(account["id"], whole["account"]["id"]);
            for list in ["transfers", "polls"] {
                let mut read: Vec<Value> = page[list].as_array().unwrap().clone();
                let mut cursor = page["next_cursor"].clone();
                while cursor != Value::Null {
                    let next = export(&service, &user, json!({ "limit": limit, "cursor": cursor })).await;
                    assert_eq!(next["account"], Value::Null);
                    read.extend(next[list].as_array().unwrap().clone());
                    cursor = next["next_cursor"].clone();
                }
                assert_eq!(read, *whole[list].as_array().unwrap(), "{list} in pages of {limit}");
            }
        }
        for wrong in ["x", "polls.x", "transfers.x", "nothing.", "polls.1.EP-1"] {
            let refused = service.call::<ExportAccount>(&user, json!({ "cursor": wrong })).await;
            assert_eq!(refused.unwrap_err().kind(), Kind::InvalidInput, "{wrong}");
        }
    }
}
