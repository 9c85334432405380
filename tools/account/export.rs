//! The data stored about an account, in pages.

use ep_kernel::tool::ToolOutput;
use ep_kernel::{Fault, ToolPorts};
use ep_polling::PollId;
use ep_store::{AccountRecord, NumberedTransfer, OwnFeedback, PollScope, TaskRecord, TransferRecord, UserId};
use schemars::JsonSchema;
use serde::Serialize;

use super::export_cursor::ExportCursor;
use super::exported_poll::ExportedPoll;
use crate::feedback::ListedFeedback;
use crate::keys::ListedKey;
use crate::paging::{MAX_LIMIT, PollCursor};
use crate::panels::Panel;
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
    /// Its panels, every version.
    pub panels: Vec<Panel>,
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

impl ToolOutput for AccountExport {}

impl From<OwnFeedback> for ExportedFeedback {
    fn from(OwnFeedback { poll_id, entry }: OwnFeedback) -> Self {
        Self { poll_id, entry: entry.into() }
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

/// Returns the data of all pages; see [`export_page`]. One statement for everything could exceed the time limit of the store.
pub async fn whole_export(ports: &ToolPorts, user: UserId) -> Result<AccountExport, Fault> {
    let mut whole = export_page(ports, user, None, MAX_LIMIT).await?;
    while let Some(cursor) = whole.next_cursor.take() {
        let page = export_page(ports, user, Some(&cursor), MAX_LIMIT).await?;
        whole.transfers.extend(page.transfers);
        whole.polls.extend(page.polls);
        whole.feedback.extend(page.feedback);
        whole.notifications.extend(page.notifications);
        whole.tasks.extend(page.tasks);
        whole.panels.extend(page.panels);
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
    let store = &ports.store;
    let (count, last) = match position {
        ExportCursor::Transfers(after) => {
            let found = store.transfers_after(user, *after, room).await?;
            let read = (found.len(), found.last().map(|found| ExportCursor::Transfers(found.number)));
            export.transfers.extend(found.into_iter().map(|NumberedTransfer { transfer, .. }| transfer));
            read
        }
        ExportCursor::Polls(after) => {
            let after = after.as_ref().map(|after| (after.at, &after.id));
            let found = ports.store.polls_after(user, PollScope::All, room, after).await?;
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
        ExportCursor::Panels(after) => {
            let found = ports.store.panel_versions_after(user, after.as_ref(), room).await?;
            let last = found.last().map(|found| ExportCursor::Panels(Some(found.version.clone())));
            let read = (found.len(), last);
            export.panels.extend(found.into_iter().map(Into::into));
            read
        }
    };
    Ok((count as u32, last))
}

#[cfg(test)]
mod tests {
    use ep_kernel::{Caller, Kind};
    use serde_json::{Value, json};

    use super::super::ExportAccount;
    use crate::panels::CreatePanel;
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
        for (name, preset) in [("b", "trio"), ("b", "quintet"), ("a", "trio")] {
            service.call::<CreatePanel>(&user, json!({ "name": name, "preset": preset })).await.unwrap();
        }
        let whole = export(&service, &user, json!({ "limit": 100 })).await;
        assert_eq!((&whole["next_cursor"], whole["polls"].as_array().unwrap().len()), (&Value::Null, 3));
        assert_eq!(whole["panels"].as_array().unwrap().len(), 3);
        assert!(!whole["polls"][0]["votes"].as_array().unwrap().is_empty());
        for limit in 1..=4 {
            let mut page = export(&service, &user, json!({ "limit": limit })).await;
            let account = page["account"].take();
            assert_eq!(account["id"], whole["account"]["id"]);
            for list in ["transfers", "polls", "panels"] {
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
        for wrong in ["x", "polls.x", "transfers.x", "nothing.", "polls.1.EP-1", "panels.a", "panels.A@1"] {
            let refused = service.call::<ExportAccount>(&user, json!({ "cursor": wrong })).await;
            assert_eq!(refused.unwrap_err().kind(), Kind::InvalidInput, "{wrong}");
        }
    }
}
